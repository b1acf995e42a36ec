"""Jobs on a Dask scheduler give the rows that local processes give."""

from __future__ import annotations

from pathlib import Path

import pytest

from perp.bench import rows as table
from perp.cli import main

distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'perp[cluster]'")


def test_a_local_cluster_gives_the_rows_of_local_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    words = ["--set", "small_sets:TwoByTwo", "--solvers", "lemke,pgs", "--repeat", "1", "--time-limit", "600"]
    assert main(["bench", "run", *words, "--out", str(tmp_path / "here")]) == 0
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0"
    ) as cluster:
        address = cluster.scheduler_address
        assert main(["bench", "run", *words, "--scheduler", address, "--out", str(tmp_path / "there")]) == 0
    here, there = (
        {row.key: (row.outcome, row.residual) for row in table.read(tmp_path / name / table.FILE_NAME)}
        for name in ("here", "there")
    )
    assert here == there
    assert len(here) == 4
