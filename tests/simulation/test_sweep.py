"""perp.sweep: one table for many runs, here, on processes and on a cluster."""

from __future__ import annotations

import csv
import importlib.util
import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.scenes import library
from perp.scenes.engine import engine
from perp.simulation.sweeps.running import SweepProgress

SLOPE = 0.2


def tilted(spec, slope: float = 0.0, kill: bool = False) -> None:
    """An edit that other processes can import."""
    if kill:
        os.kill(os.getpid(), signal.SIGKILL)
    spec.option.gravity = [9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope)]


def travel(recording: perp.Recording) -> dict[str, float]:
    return {"travel": float(recording.position("box")[-1, 0])}


def test_rows_are_the_combinations_and_columns_the_figures() -> None:
    scene = library.box_on_plane(slope=SLOPE)
    table = perp.sweep(
        scene, {"friction": [0.1, 0.5], "step": [0.01, 0.02]}, seconds=0.5, measure=travel, workers=0
    )
    assert len(table) == 4
    assert table["friction"].tolist() == [0.1, 0.1, 0.5, 0.5]
    assert table["step"].tolist() == [0.01, 0.02, 0.01, 0.02]
    assert table["steps"].tolist() == [50, 25, 50, 25]
    assert table["error"].tolist() == [""] * 4
    # below the friction angle nothing moves; above it a = g (sin − μ cos), and v = n h a after n steps
    acceleration = library.GRAVITY * (np.sin(SLOPE) - 0.1 * np.cos(SLOPE))
    n, h = table["steps"], table["step"]
    expected = np.where(table["friction"] < 0.2, acceleration * h**2 * n * (n + 1) / 2, 0.0)
    assert table["travel"] == pytest.approx(expected, abs=1e-8)
    assert table["creep"].max() < 1e-9
    assert not table.failed
    with pytest.raises(perp.ProblemError, match="there are: friction"):
        table["colour"]


def test_a_failed_run_is_a_row_with_its_error() -> None:
    rows = [{"step": 0.01}, {"step": -1.0}, {"solver": "no-such"}, {"control": [np.nan]}]
    table = perp.sweep(library.box_on_plane(), rows, seconds=0.02, workers=0)
    assert [bool(row["error"]) for row in table] == [False, True, True, True]
    assert "step" in table["error"][1]
    assert "no-such" in table["error"][2]
    assert "control" in table["error"][3]
    assert np.isnan(table["penetration"][1])
    assert len(table.failed) == 3


def test_processes_give_the_bits_of_this_process_and_survive_a_dead_one(tmp_path: Path) -> None:
    scene = tmp_path / "box.xml"
    scene.write_text(library.box_on_plane(friction=0.3), encoding="utf-8")
    rows = [{"slope": 0.1}, {"slope": 0.0, "kill": True}, {"slope": 0.4}]
    table = perp.sweep(scene, rows, seconds=0.2, edit=tilted, measure=travel, workers=2)
    assert table["error"].tolist() == ["", "the process that ran it died", ""]
    here = perp.sweep(scene, [rows[0], rows[2]], seconds=0.2, edit=tilted, measure=travel, workers=0)
    for name in ("travel", "energy_end", "penetration", "residual", "steps"):
        assert table[name][[0, 2]].tolist() == here[name].tolist(), name
    table.to_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert [float(row["travel"]) for row in read] == pytest.approx(table["travel"].tolist(), nan_ok=True)
    assert read[1]["error"] == "the process that ran it died"


def test_specs_and_models_can_be_swept() -> None:
    mujoco = engine()
    spec = mujoco.MjSpec.from_string(library.box_on_plane(slope=SLOPE))
    table = perp.sweep(spec, {"friction": [0.1, 0.5]}, seconds=0.1, measure=travel, workers=0)
    assert table["travel"][0] > 1e-3 > table["travel"][1]
    model = mujoco.MjModel.from_xml_string(library.box_on_plane())
    table = perp.sweep(model, [{"level": "velocity"}, {"friction": 0.1}], seconds=0.1, workers=0)
    assert table["error"][0] == ""
    assert "cannot be edited" in table["error"][1]


def test_parameters_that_make_no_sense_are_refused_at_once() -> None:
    scene = library.box_on_plane()
    with pytest.raises(perp.ProblemError, match=r"'colour' is not a setting.*step, level"):
        perp.sweep(scene, {"colour": [1, 2]}, seconds=1.0)
    with pytest.raises(perp.ProblemError, match="list of values"):
        perp.sweep(scene, {"level": "position"}, seconds=1.0)
    with pytest.raises(perp.ProblemError, match="workers"):
        perp.sweep(scene, {"step": [0.01]}, seconds=1.0, workers=-1)
    with pytest.raises(perp.ProblemError, match="'error'"):
        perp.sweep(scene, [{"error": 1}], seconds=1.0)


def die_once(spec, marker: str, slope: float = 0.0, log: str = "") -> None:
    """An edit that kills its process where a file does not exist yet; it logs what it is called for."""
    if log:
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{slope}\n")
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    tilted(spec, slope)


def test_a_killed_process_loses_only_its_run_which_is_run_again(tmp_path: Path) -> None:
    safe, marker = tmp_path / "safe", tmp_path / "died"
    safe.touch()
    log = tmp_path / "log"
    rows = [{"slope": 0.05 * k, "marker": str(marker if k == 1 else safe), "log": str(log)} for k in range(4)]
    scene = library.box_on_plane(friction=0.05)
    table = perp.sweep(scene, rows, seconds=0.1, edit=die_once, measure=travel, workers=2)
    assert marker.exists()
    assert table["error"].tolist() == [""] * 4
    begun = sorted(float(line) for line in log.read_text(encoding="utf-8").splitlines())
    assert begun == sorted([*(row["slope"] for row in rows), rows[1]["slope"]])
    here = perp.sweep(scene, rows, seconds=0.1, edit=die_once, measure=travel, workers=0)
    assert table["travel"].tolist() == here["travel"].tolist()


def test_a_pool_that_breaks_loses_only_the_run_that_broke_it(tmp_path: Path) -> None:
    safe, marker = tmp_path / "safe", tmp_path / "died"
    safe.touch()
    rows = [{"slope": 0.05 * k, "marker": str(marker if k == 0 else safe)} for k in range(3)]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        table = perp.sweep(
            library.box_on_plane(friction=0.05),
            rows,
            seconds=0.1,
            edit=die_once,
            measure=travel,
            executor=pool,
        )
        assert marker.exists()
        assert table["error"].tolist() == [""] * 3
        # and takes no more work
        again = perp.sweep(library.box_on_plane(), {"step": [0.01]}, seconds=0.1, executor=pool)
    assert again["error"].tolist() == [""]


def test_any_executor_will_do_and_progress_is_told() -> None:
    seen: list[SweepProgress] = []
    with ThreadPoolExecutor(1) as executor:
        table = perp.sweep(
            library.box_on_plane(slope=SLOPE), {"friction": [0.1, 0.5, -1.0]}, seconds=0.1, measure=travel,
            executor=executor, progress=seen.append,
        )  # fmt: skip
        assert executor.submit(int).result() == 0
    assert table["travel"][0] > 1e-3 > table["travel"][1]
    assert table["error"][2]
    assert [p.done for p in seen] == [1, 2, 3]
    assert seen[-1].remaining == 0.0
    assert seen[0].rate > 0.0
    assert "3 of 3" in str(seen[-1])


def test_an_interrupted_sweep_goes_on(tmp_path: Path) -> None:
    """Only what is missing or failed is run, and other parameters are not taken for the same."""
    out, seen = tmp_path / "sweep.jsonl", list[int]()
    scene, values = library.box_on_plane(slope=SLOPE), {"friction": [0.1, 0.3, 0.5]}

    def again(**more) -> perp.Table:
        seen.clear()
        options = {"seconds": 0.1, "measure": travel, "workers": 0, "out": out} | more
        return perp.sweep(scene, values, progress=lambda p: seen.append(p.done), **options)

    class Interrupted(Exception):
        pass

    def stop(progress: SweepProgress) -> None:
        if progress.done == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        perp.sweep(scene, values, seconds=0.1, measure=travel, workers=0, out=out, progress=stop)
    text = out.read_text(encoding="utf-8")
    out.write_text(text + text[:20], encoding="utf-8")  # a line that was cut
    table = again()
    assert seen == [3]
    whole = perp.sweep(scene, values, seconds=0.1, measure=travel, workers=0)
    assert table["travel"].tolist() == whole["travel"].tolist()
    again()
    assert seen == []
    again(seconds=0.2)
    assert seen == [1, 2, 3]


def test_a_scene_file_that_was_edited_is_another_sweep(tmp_path: Path) -> None:
    path, out, seen = tmp_path / "scene.xml", tmp_path / "sweep.jsonl", list[int]()
    for slope, expected in ((0.1, [1]), (0.1, []), (0.2, [1])):
        path.write_text(library.box_on_plane(slope=slope))
        seen.clear()
        perp.sweep(
            path,
            {"friction": [0.1]},
            seconds=0.02,
            workers=0,
            out=out,
            progress=lambda p: seen.append(p.done),
        )
        assert seen == expected


def test_the_step_is_that_of_the_file() -> None:
    scene = library.box_on_plane().replace("<option ", '<option timestep="0.004" ')
    table = perp.sweep(scene, [{"friction": 0.1}, {"step": 0.01}], seconds=0.04, workers=0)
    assert table["steps"].tolist() == [10, 4]


CLUSTER = """
import sys
import perp
from distributed import LocalCluster
from perp.scenes import library

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        rows = [{"friction": 0.1}, {"friction": 0.5}, {"step": -1.0}]
        table = perp.sweep(
            library.box_on_plane(slope=0.2), rows, seconds=0.1, scheduler=cluster.scheduler_address
        )
    print([round(value, 12) for value in table["energy_end"][:2].tolist()], [bool(e) for e in table["error"]])
    here = perp.sweep(library.box_on_plane(slope=0.2), rows, seconds=0.1, workers=0)
    assert table["energy_end"][:2].tolist() == here["energy_end"][:2].tolist()
    try:
        perp.sweep(library.box_on_plane(), rows, seconds=0.1, scheduler="tcp://127.0.0.1:1")
    except perp.PerpError as error:
        print(error)
"""


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="dask is not installed")
def test_a_dask_cluster_gives_the_same_table(tmp_path: Path) -> None:
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER, encoding="utf-8")
    run = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "[False, False, True]" in run.stdout
    assert "scheduler tcp://127.0.0.1:1" in run.stdout


LATE_DEATH = """
import os, pathlib, signal, time
import perp
from perp.scenes import library

def edit(spec, k):
    with open("log", "a") as file:
        file.write(f"{k}\\n")
    if k == 7 and not pathlib.Path("died").exists():
        pathlib.Path("died").touch()
        while len(pathlib.Path("results").read_text().splitlines()) < 7:
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        table = perp.sweep(
            library.box_on_plane(), {"k": range(8)}, seconds=0.05, edit=edit, out="results",
            scheduler=cluster.scheduler_address,
        )
    print(table["error"].tolist())
"""


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="dask is not installed")
def test_what_a_killed_worker_of_a_cluster_had_done_is_not_done_again(tmp_path: Path) -> None:
    script = tmp_path / "cluster.py"
    script.write_text(LATE_DEATH, encoding="utf-8")
    run = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert str([""] * 8) in run.stdout
    begun = sorted(int(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines())
    assert begun == [0, 1, 2, 3, 4, 5, 6, 7, 7]


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="dask is not installed")
def test_a_killed_worker_of_a_cluster_loses_only_its_run(tmp_path: Path) -> None:
    """The example with two worker processes, one of which is killed once."""
    example = Path(__file__).parents[2] / "examples" / "sweep_on_dask.py"
    command = [sys.executable, str(example), "results.jsonl", str(tmp_path / "accident")]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "accident").exists()
    lines = [line for line in run.stdout.splitlines() if line.startswith("friction")]
    assert len(lines) == 4
    assert all(line.endswith(" m") for line in lines)
    assert "4 of 4" in run.stderr
    assert len((tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()) == 4
