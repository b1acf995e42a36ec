"""A sweep over friction and slope on a local Dask cluster of two worker processes, which may be lost.

A worker that is killed loses only the run that it was at: Dask starts another one and runs it again. Results
are kept in a file as they come, so that a sweep that is interrupted goes on where it was. The same lines
run on many machines with the address of their scheduler. Needs dask: pip install 'perp[cluster]'.

    python examples/sweep_on_dask.py [results.jsonl]
"""

from __future__ import annotations

import math
import os
import signal
import sys
from pathlib import Path
from typing import Any

import perp
from perp.scenes import library


def tilt(spec: Any, slope: float, accident: str = "") -> None:
    """Lean gravity; with the name of a file, the process is killed where the file does not exist yet."""
    if accident and not Path(accident).exists():
        Path(accident).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    spec.option.gravity = [9.81 * math.sin(slope), 0.0, -9.81 * math.cos(slope)]


def travel(recording: perp.Recording) -> dict[str, float]:
    """How far the box slid [m]."""
    return {"travel": float(recording.position("box")[-1, 0])}


def main(out: str | None = None, accident: str = "") -> None:
    """Run the sweep and print its table."""
    import distributed

    local: Any = distributed.LocalCluster  # its types are those of its asynchronous use
    rows: list[dict[str, Any]] = [
        {"friction": mu, "slope": slope} for mu in (0.1, 0.3) for slope in (0.05, 0.2)
    ]
    if accident:
        rows[1]["accident"] = accident
    with local(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        table = perp.sweep(
            library.box_on_plane(), rows, seconds=0.5, edit=tilt, measure=travel, out=out,
            scheduler=cluster.scheduler_address, progress=True,
        )  # fmt: skip
    for row in table:
        print(
            f"friction {row['friction']:.1f}, slope {row['slope']:.2f}: {row['travel']:.4f} m{row['error']}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
