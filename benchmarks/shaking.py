"""One robot at rest, then under random controls, beside `mj_step` on the same model in the same run.

    python benchmarks/shaking.py scene.xml [--step 0.005] [--rest 200] [--move 300]

Prints what is known so far as JSON every few seconds and at the end, so that a run that is stopped leaves a
row. Controls are drawn anew every 20 steps within 15 % of their range, from seed 0. Times are CPU time of the
thread: the clock of the process counts in ticks of 4 ms where its CPU time is limited.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
from robot_scenes import staged  # noqa: E402

from perp.scenes.engine import engine  # noqa: E402

# Steps before the clock runs: code is loaded, robots settle.
WARM_UP = 10
# So many failures end a phase.
_ENOUGH = 3
_REPORT_SECONDS = 5.0


@dataclass
class Phase:
    """Steps of one kind; times in ms of CPU time."""

    steps: int = 0
    mean: float = 0.0
    median: float = 0.0
    largest: float = 0.0
    mj_step: float = 0.0
    contacts: int = 0

    @property
    def ratio(self) -> float:
        """Mean step over mean `mj_step`."""
        return self.mean / self.mj_step if self.mj_step else np.nan


@dataclass
class Row:
    """How a robot fared.

    Attributes:
        coordinates, dof, motors: Of the scene.
        ignored: Lines of the import report.
        load: CPU seconds until the simulation was there.
        failed, inaccurate: Steps that raised, steps that missed their tolerance; of all phases.
        overlap: Largest overlap at the end of a step, as the record says [m].
        resets: How often mujoco found its own state bad.
        doing: What was under way when this was written.
        problem: The first failure, in words.
    """

    coordinates: str = ""
    dof: int = 0
    motors: int = 0
    ignored: int = 0
    load: float = 0.0
    failed: int = 0
    inaccurate: int = 0
    overlap: float = 0.0
    resets: int = 0
    doing: str = "loading"
    problem: str = ""
    rest: Phase = field(default_factory=Phase)
    move: Phase = field(default_factory=Phase)


class Shaking:
    """A robot, mujoco's copy of it, and the row that grows."""

    def __init__(self, path: Path, step: float) -> None:
        self._mujoco = engine()
        began = time.thread_time()
        self.sim = staged(path, step)
        self.row = Row(load=time.thread_time() - began)
        self.model = copy.copy(self.sim.model.shapes)
        self.model.opt.timestep = step
        self.data = self._mujoco.MjData(self.model)
        if self.model.nkey:
            self._mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        m = self.model
        self._start = self.data.ctrl.copy()
        self._limited = m.actuator_ctrllimited.astype(bool)
        self._low, self._high = m.actuator_ctrlrange.T if m.nu else (np.zeros(0), np.zeros(0))
        self._rng, self._reported = np.random.default_rng(0), time.monotonic()
        self.row.coordinates = str(getattr(self.sim.coordinates, "value", self.sim.coordinates))
        self.row.dof, self.row.motors = int(m.nv), int(m.nu)
        self.row.ignored = len(self.sim.report.ignored)

    def phase(self, out: Phase, count: int, *, moving: bool) -> None:
        """So many steps of both."""
        ours, theirs, failed = [], [], 0
        for k in range(count):
            if moving and self.model.nu and k % 20 == 0:
                self._draw()
            began = time.thread_time()
            try:
                record = self.sim.step()
                if not np.isfinite(self.sim.state.position).all():
                    raise FloatingPointError("the state has NaN or infinity")
            except Exception as error:  # noqa: BLE001  whatever is raised is a failed step of the row
                failed += 1
                self.row.failed += 1
                self.row.problem = self.row.problem or (
                    f"{type(error).__name__} at {self.sim.time:.3f} s: {' '.join(str(error).split())}"
                )
                if failed >= _ENOUGH:
                    break
                continue
            ours.append(1e3 * (time.thread_time() - began))
            self._judge(record, out)
            began = time.thread_time()
            self._mujoco.mj_step(self.model, self.data)
            theirs.append(1e3 * (time.thread_time() - began))
            out.steps, out.mean, out.median = len(ours), float(np.mean(ours)), float(np.median(ours))
            out.largest, out.mj_step = float(np.max(ours)), float(np.mean(theirs))
            if time.monotonic() - self._reported > _REPORT_SECONDS:
                self.report(f"step {k} {'in motion' if moving else 'at rest'}")

    def _judge(self, record: Any, out: Phase) -> None:
        self.row.inaccurate += not record.met
        self.row.overlap = max(self.row.overlap, float(record.penetration))
        out.contacts = max(out.contacts, int(record.contact_count))

    def _draw(self) -> None:
        """New controls, for both."""
        reach = np.where(self._limited, 0.15 * (self._high - self._low), 0.1)
        control = self._start + reach * self._rng.uniform(-1, 1, self.model.nu)
        control = np.where(self._limited, np.clip(control, self._low, self._high), control)
        self.sim.set_control(control)
        self.data.ctrl[:] = control

    def report(self, doing: str) -> None:
        """One line of JSON."""
        bad = self._mujoco.mjtWarning
        kinds = (bad.mjWARN_BADQPOS, bad.mjWARN_BADQVEL, bad.mjWARN_BADQACC)
        self.row.resets = int(sum(self.data.warning[int(kind)].number for kind in kinds))
        self.row.doing, self._reported = doing, time.monotonic()
        print(json.dumps(asdict(self.row)), flush=True)


def shake(path: Path, step: float, rest: int, move: int) -> None:
    """Load, warm up, rest, move; prints rows."""
    print(json.dumps(asdict(Row())), flush=True)
    try:
        shaking = Shaking(path, step)
    except Exception as error:  # noqa: BLE001  a scene that does not load is a row
        row = Row(doing="", problem=f"not loaded: {type(error).__name__}: {' '.join(str(error).split())}")
        print(json.dumps(asdict(row)), flush=True)
        return
    shaking.report("step 0 of the warm-up")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shaking.phase(Phase(), WARM_UP, moving=False)
        shaking.phase(shaking.row.rest, rest, moving=False)
        shaking.phase(shaking.row.move, move, moving=True)
    shaking.report("")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scene", type=Path)
    parser.add_argument("--step", type=float, default=0.005)
    parser.add_argument("--rest", type=int, default=200)
    parser.add_argument("--move", type=int, default=300)
    given = parser.parse_args()
    shake(given.scene, given.step, given.rest, given.move)


if __name__ == "__main__":
    main()
