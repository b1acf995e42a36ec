"""Runs: every solve becomes a row, whatever the solver does, and an interrupted run goes on where it ended."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import perp
from perp.bench import record as records
from perp.bench import rows as table
from perp.bench.report import as_markdown
from perp.bench.rows import Outcome, Row
from perp.cli import main
from perp.comparison.processes import WorkerProcess
from perp.solvers.registry import unregister

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The modules beside this file can be imported, here and in workers; strange solvers do not stay."""
    monkeypatch.syspath_prepend(str(HERE))
    yield
    if sys.modules.pop("strange_solvers", None) is not None:
        for name in ("liar", "crasher", "sleeper", "raiser"):
            unregister(name)


# Seconds that no solve of two rows needs, on whatever machine.
GENEROUS = 600.0


def bench(out: Path, solvers: str, *words: str) -> int:
    chosen = ["--set", "small_sets:TwoByTwo", "--import", "strange_solvers", "--solvers", solvers]
    limits = ["--repeat", "2", "--time-limit", str(GENEROUS)]
    return main(["bench", "run", *chosen, *limits, "--out", str(out), *words])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one solver, made once: each run starts processes."""
    out = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        assert bench(out, "lemke") == 0
    return out


@pytest.fixture
def done(finished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(finished, tmp_path / "done"))


def rows_of(out: Path) -> dict[tuple[str, str], Row]:
    return {(row.problem, row.solver): row for row in table.read(out / table.FILE_NAME)}


def test_lies_crashes_hangs_and_bugs_are_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    assert bench(tmp_path, "liar,crasher,raiser") == 0
    with monkeypatch.context() as impatient:
        ask = WorkerProcess.ask
        impatient.setattr(WorkerProcess, "ask", lambda self, request, _: ask(self, request, 1.0))
        assert bench(tmp_path, "sleeper") == 0
    assert bench(tmp_path, "lemke") == 0
    rows = rows_of(tmp_path)
    assert len(rows) == 10
    for problem in ("q0", "q1"):
        assert rows[problem, "liar"].outcome is Outcome.FALSE_CLAIM
        assert rows[problem, "liar"].claimed
        assert rows[problem, "crasher"].outcome is Outcome.CRASHED
        assert "signal 11" in rows[problem, "crasher"].message
        assert rows[problem, "sleeper"].outcome is Outcome.HUNG
        assert rows[problem, "raiser"].outcome is Outcome.ERROR
        assert "by design" in rows[problem, "raiser"].message
        assert rows[problem, "lemke"].outcome is Outcome.SOLVED
        assert (rows[problem, "lemke"].residual or 0.0) <= 1e-8
        assert rows[problem, "lemke"].repeats == 2
        assert (rows[problem, "lemke"].wall or 0.0) > 0
    capsys.readouterr()
    assert main(["bench", "report", str(tmp_path)]) == 0
    report = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| two-by-two | q0 | liar | 1.0e+00 |" in report
    assert "| two-by-two | q1 | crasher | crashed |" in report
    assert "| two-by-two | q1 | sleeper | no answer in time |" in report
    assert "| liar | 0 of 2 |  | **2** |" in report
    assert "| lemke | 2 of 2 |" in report
    assert "## Limitations" in report
    capsys.readouterr()
    assert main(["bench", "plot", str(tmp_path)]) == 0
    figures = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [figure.name for figure in figures] == [
        "two-by-two-profile.svg",
        "two-by-two-residuals.svg",
        "two-by-two-histories.svg",
    ]
    for figure in figures:
        assert "lemke" in figure.read_text(encoding="utf-8")
        assert f"({figure.name})" in report


def test_an_interrupted_run_ends_as_one_that_was_not(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert bench(whole, "lemke,dantzig,pgs") == 0
    assert bench(parts, "lemke,dantzig,pgs") == 0
    path = parts / table.FILE_NAME
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = lines[2]
    # the fourth line was being written when the machine went down
    path.write_text("".join(lines[:3]) + lines[3][:20], encoding="utf-8")
    assert bench(parts, "lemke,dantzig,pgs") == 0
    assert path.read_text(encoding="utf-8").splitlines(keepends=True)[2] == kept

    def facts(out: Path) -> dict:
        return {
            key: (row.outcome, row.status, row.residual, row.literature, row.iterations)
            for key, row in rows_of(out).items()
        }

    assert facts(whole) == facts(parts)
    assert len(facts(whole)) == 6


def test_a_finished_run_is_not_run_again(done: Path) -> None:
    before = (done / table.FILE_NAME).read_bytes()
    assert bench(done, "lemke") == 0
    assert (done / table.FILE_NAME).read_bytes() == before


@pytest.mark.skipif(sys.platform != "linux", reason="children are looked up in /proc")
def test_ctrl_c_ends_the_workers_and_keeps_the_rows(tmp_path: Path) -> None:
    """A solver that never ends does not outlive the command that started it."""
    words = ["--set", "small_sets:TwoByTwo", "--import", "strange_solvers", "--solvers", "liar,sleeper"]
    asleep, path = tmp_path / "asleep", tmp_path / table.FILE_NAME
    # a test run in the background hands down SIGINT as ignored
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"import sys; {listen}; from perp.cli import main; sys.exit(main(sys.argv[1:]))"
    run = subprocess.Popen(
        [sys.executable, "-c", code, "bench", "run", *words, "--out", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SLEEPER": str(asleep)},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (path.exists() and asleep.exists()):
        assert run.poll() is None
        time.sleep(0.05)
    lists = Path(f"/proc/{run.pid}/task").glob("*/children")  # of all its threads
    workers = [pid for children in lists for pid in children.read_text(encoding="ascii").split()]
    assert workers
    run.send_signal(signal.SIGINT)
    _, err = run.communicate()
    assert run.returncode == 130
    assert err == "perp: interrupted\n"
    assert [row.solver for row in table.read(path)] == ["liar"]
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def test_packed_rows_are_read_where_there_are_no_others(done: Path) -> None:
    path = done / table.FILE_NAME
    rows = table.read(path)
    packed = done / f"{table.FILE_NAME}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert table.read(path) == rows
    packed.write_bytes(b"no archive")
    with pytest.raises(perp.FileError, match=r"rows\.csv\.gz.*is damaged"):
        table.read(path)


def test_rows_of_another_tolerance_are_refused(done: Path, capsys: pytest.CaptureFixture) -> None:
    capsys.readouterr()
    assert bench(done, "lemke", "--tol", "1e-4") == 2
    assert "tol = 1e-08, not 0.0001" in capsys.readouterr().err


def test_several_workers_give_the_same_rows(tmp_path: Path) -> None:
    assert bench(tmp_path / "one", "lemke,pgs") == 0
    assert bench(tmp_path / "two", "lemke,pgs", "--workers", "2") == 0
    one, two = rows_of(tmp_path / "one"), rows_of(tmp_path / "two")
    assert {key: row.residual for key, row in one.items()} == {key: row.residual for key, row in two.items()}


def test_the_machine_and_the_command_are_described(done: Path) -> None:
    machine = json.loads((done / "machine.json").read_text(encoding="utf-8"))
    assert machine["python"].endswith(".".join(map(str, sys.version_info[:3])))
    assert machine["threads"]["OMP_NUM_THREADS"] == "1"
    run = json.loads((done / "run.json").read_text(encoding="utf-8"))
    assert run["settings"] == {"tol": 1e-8, "time_limit": GENEROUS, "repeat": 2}
    assert run["solvers"]["lemke"]["tolerance"] == "perp.residual ≤ 1e-08"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "fclibb"], "Did you mean 'fclib'"),
        (["--set", "fclib"], "--path DIR"),
        (["--set", "fclib", "--path", "nowhere"], "is not a folder"),
        (["--set", "nowhere:Set"], "cannot be imported"),
        (["--set", "small_sets:TwoByTwo", "--tol", "0"], "--tol 0"),
        (["--set", "small_sets:TwoByTwo", "--workers", "0"], "--workers 0"),
        (["--set", "small_sets:TwoByTwo", "--solvers", "lemky"], "lemke"),
        (["--set", "small_sets:TwoByTwo", "--import", "no_such_module"], "no_such_module"),
    ],
)
def test_bad_input_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture, words: list[str], said: str
) -> None:
    assert main(["bench", "run", "--out", str(tmp_path / "out"), *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_report_of_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["bench", "report", str(tmp_path)]) == 2
    assert "rows.csv" in capsys.readouterr().err


def test_the_list_names_sets_and_peers(capsys: pytest.CaptureFixture) -> None:
    assert main(["bench", "list"]) == 0
    out = capsys.readouterr().out
    for word in ("fclib", "clarabel", "scs"):
        assert word in out


def test_problems_that_are_too_large_are_left_out_and_listed(tmp_path: Path) -> None:
    assert bench(tmp_path, "lemke", "--largest", "1") == 0
    run = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert run["left_out"] == {"two-by-two/q0": 2, "two-by-two/q1": 2}
    assert not (tmp_path / table.FILE_NAME).exists()
    record = records.load(tmp_path)
    assert "- `two-by-two/q0`: 2 rows" in as_markdown([], record, [])
    assert bench(tmp_path, "lemke", "--largest", "2") == 0
    assert len(rows_of(tmp_path)) == 2
    assert records.load(tmp_path).left_out == {}
