"""Work against precision: the error of a run over its CPU time, for perp, MuJoCo and Drake.

    python benchmarks/work_precision.py                                    # all scenes (pip install drake)
    python benchmarks/work_precision.py cube pendulum --csv rows.csv --figure figure.png

The error is the largest distance of the scene's points from the reference at any 20 ms, over the size of the
body. References: a formula for the cube, an integration of Lagrange's equations to 1e-12 for the pendulum;
for capsule and quadruped perp itself with a step of 10 µs (`--reference`), whose own error is estimated by
twice and four times that step and drawn as a line: errors below it mean nothing. Engines take turns, so that
load on the machine meets all alike.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np
from precision_engines import (
    Engine,
    drake_with,
    mujoco_with,
    run_fourth_order,
    run_perp,
    run_staggered,
)
from precision_scenes import SCENES, PrecisionScene

# Step lengths that divide 20 ms.
STEPS = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5)
ACCURACIES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)

ENGINES: dict[str, Engine] = {
    "perp": run_perp,
    "perp, staggered": run_staggered,
    "perp, RK4": run_fourth_order,
    "MuJoCo": mujoco_with(),
    "MuJoCo, hard": mujoco_with(hard=True),
    "MuJoCo, RK4": mujoco_with(integrator="RK4"),
    "Drake, SAP": drake_with(),
    "Drake, lagged, stiff": drake_with("lagged", 1e-5),
    "Drake, continuous": drake_with("continuous"),
}
COLOURS = {"perp": "#c1272d", "MuJoCo": "#1f5fa8", "Drake": "#3a8a3a"}
MARKS = {"perp": "o", "perp, staggered": "*", "perp, RK4": "h", "MuJoCo": "s", "MuJoCo, hard": "D",
         "MuJoCo, RK4": "^",
         "Drake, SAP": "v", "Drake, lagged, stiff": "P", "Drake, continuous": "X"}  # fmt: skip

Row = dict[str, Any]


def engines_of(scene: PrecisionScene) -> dict[str, Engine]:
    """Those that mean something there: hard contacts where there are contacts, high order without."""
    contacts = "plane" in scene.text
    smooth, hard = {"Drake, continuous", "perp, RK4"}, {"MuJoCo, hard", "Drake, lagged, stiff"}
    left_out = smooth if contacts else hard
    return {name: engine for name, engine in ENGINES.items() if name not in left_out}


def reference(scene: PrecisionScene, h: float) -> tuple[np.ndarray, float]:
    """Points of the truth, and an estimate of their own error over the size."""
    if scene.exact is not None:
        return scene.exact(scene.times), 0.0
    fine, _ = run_perp(scene, h)
    return fine, max(error(scene, run_perp(scene, k * h)[0], fine) for k in (2, 4))


def error(scene: PrecisionScene, points: np.ndarray, truth: np.ndarray) -> float:
    """Largest distance over the size."""
    with np.errstate(invalid="ignore"):
        found = float(np.linalg.norm(points - truth, axis=2).max() / scene.size)
    return found if np.isfinite(found) else np.inf


def measure(scene: PrecisionScene, fine: float, repeats: int) -> list[Row]:
    """All engines at all steps; of several repeats the fastest counts."""
    truth, floor = reference(scene, fine)
    rows: list[Row] = [
        {"scene": scene.name, "engine": "reference", "step": fine, "error": floor, "seconds": 0.0}
    ]
    for k, h in enumerate(STEPS):
        for name, engine in engines_of(scene).items():
            if name == "Drake, continuous":
                if k >= len(ACCURACIES):
                    continue
                h = ACCURACIES[k]
            row: Row = {"scene": scene.name, "engine": name, "step": h}
            try:
                runs = [engine(scene, h) for _ in range(repeats)]
            except Exception as problem:  # noqa: BLE001  an engine that gives up has no point here
                print(f"{scene.name}: {name} at {h:g}: {type(problem).__name__}: {str(problem)[:150]}")
                continue
            row["error"] = error(scene, runs[0][0], truth)
            row["seconds"] = min(seconds for _, seconds in runs)
            rows.append(row)
            print(
                f"{scene.name:18} {name:22} {h:8.0e} {row['error']:9.2e} {row['seconds']:9.4f} s", flush=True
            )
    return rows


def draw(rows: list[Row], path: Path) -> None:
    """Four panels."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row["scene"] for row in rows))
    figure, axes = plt.subplots(2, 2, figsize=(10, 8), constrained_layout=True)
    for axis, name in zip(axes.flat, names, strict=False):
        for engine in ENGINES:
            mine = [r for r in rows if r["scene"] == name and r["engine"] == engine and r["error"] < 10]
            if not mine:
                continue
            colour = COLOURS[engine.split(",", maxsplit=1)[0]]
            axis.loglog(
                [r["seconds"] for r in mine], [r["error"] for r in mine], marker=MARKS[engine], color=colour,
                label=engine, markersize=5, lw=2.2 if engine.startswith("perp") else 1.2,
                ls="-" if engine in ("perp", "MuJoCo", "Drake, SAP") else "--",
            )  # fmt: skip
        floor = max(r["error"] for r in rows if r["scene"] == name and r["engine"] == "reference")
        if floor > 0:
            axis.axhline(floor, color="0.6", lw=1, ls=":")
            axis.annotate("error of the reference", (0.02, floor), xycoords=("axes fraction", "data"),
                          fontsize=8, color="0.4", va="bottom")  # fmt: skip
        axis.axhline(1e-4, color="0.8", lw=1)
        axis.set_title(name)
        axis.set_xlabel("CPU time [s]")
        axis.set_ylabel("largest error / size")
        axis.grid(visible=True, which="major", color="0.9")
        axis.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Parse the command line, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scenes", nargs="*", help=f"of {', '.join(SCENES)}")
    parser.add_argument("--reference", type=float, default=1e-5, help="step of perp's own references [s]")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    rows: list[Row] = []
    for name in given.scenes or SCENES:
        rows += measure(SCENES[name](), given.reference, given.repeats)
        if given.csv:
            with given.csv.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, rows[0])
                writer.writeheader()
                writer.writerows(rows)
    if given.figure:
        draw(rows, given.figure)


if __name__ == "__main__":
    main()
