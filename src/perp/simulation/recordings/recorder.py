"""Collects the steps of a simulation into columns, and appends them to a file chunk by chunk."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import perp
from perp.dynamics.rows import JointRows
from perp.dynamics.state import State
from perp.files.reading import PathName
from perp.files.recordings import RecordingFile
from perp.scenes.frames import conjugate, multiply, rotate
from perp.scenes.geometry import spatial_tendons
from perp.scenes.naming import joint_names
from perp.scenes.stored import store_scene
from perp.simulation.recordings.columns import (
    CONTACT_COLUMNS,
    STEP_COLUMNS,
    Tables,
    empty_tables,
    pack_shapes,
    stored,
)
from perp.simulation.recordings.recording import Recording
from perp.simulation.recordings.trees import tree_of
from perp.stepping import Stepper, StepRecord
from perp.stepping.joint_access import known_turns, measure, measured_joints

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation

# mujoco's numbers of joints with one coordinate: slide and hinge.
_SCALAR = (2, 3)
CHUNK_STEPS = 256
"""A chunk is this many steps at most."""
CHUNK_SECONDS = 2.0
"""And no more than this much wall time passes before it is written [s]."""


class Recorder:
    """Takes down a simulation's steps from where it is, as a context (`Simulation.record`) or by `add`.

    Args:
        simulation: What is recorded.
        path: A file to write to; None keeps all of it in memory.
        force: Replace an existing file.
        goal: How long the run is to last, for whoever goes on with it [s].
    """

    def __init__(
        self,
        simulation: Simulation,
        path: PathName | None = None,
        *,
        force: bool = False,
        goal: float = 0.0,
    ) -> None:
        self._simulation = simulation
        self._records: list[StepRecord] = []
        self._states: list[State] = []
        self._controls: list[np.ndarray] = []
        self._since = monotonic()
        self._goal, self._path = goal, path
        self._about = describe(simulation)
        self._start = _start_of(simulation)
        self._tree = tree_of(simulation.stepper)
        self._file = None
        if path is not None:
            model = simulation.model
            groups = {
                "start": self._start,
                "geometry": pack_shapes(simulation.geometry),
                "scene": store_scene(model),
                "tree": self._tree,
            }
            empty = stored(self._empty(), self._about, self._tree)
            self._file = RecordingFile.create(path, self._about, groups, empty, force=force)
            self._append({}, "before the first step")

    @classmethod
    def going_on(cls, simulation: Simulation, path: PathName, *, goal: float = 0.0) -> Self:
        """Goes on with a file that ends where the simulation is."""
        out = cls(simulation, goal=goal)
        out._file, out._path = RecordingFile.resume(path), path
        return out

    def __enter__(self) -> Self:
        self._simulation._recorders.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._simulation._recorders.remove(self)
        self.close()

    def add(self, record: StepRecord) -> None:
        """Take down the step that the simulation has just made.

        Raises:
            FileError: The file cannot be written; what was written before is kept.
        """
        self._records.append(record)
        self._states.append(self._simulation.state)
        self._controls.append(self._simulation.ctrl)
        if self._file and (len(self._records) >= CHUNK_STEPS or monotonic() - self._since > CHUNK_SECONDS):
            self.flush()

    def flush(self) -> None:
        """Write what has not been written yet."""
        self._since = monotonic()
        if self._file is None or not self._records:
            return
        step = round(self._simulation.time / self._simulation.step_size)
        tables = self._tables()
        self._records, self._states, self._controls = [], [], []
        self._append(tables, f"at step {step} (t = {self._simulation.time:g} s)")

    def close(self) -> None:
        """Write the rest and close the file."""
        if self._file is None:
            return
        try:
            self.flush()
        finally:
            self._file.close()
            self._file = None

    def recording(self) -> Recording:
        """All that was recorded, so far in memory or once the file is closed."""
        if self._path is not None:
            self.flush()
            return Recording.open(self._path)
        tables = self._tables()
        shapes = self._simulation.geometry
        start, steps, contacts = self._start, tables["steps"], tables["contacts"]
        out = Recording.of_tables(self._about, start, shapes, steps, contacts, self._tree)
        out.records, out.states = self._records, self._states
        out.snapshot = self._simulation.snapshot()
        return out

    def _append(self, tables: Tables, when: str) -> None:
        if self._file is not None:
            state = {**self._simulation.snapshot(), "goal": np.array(self._goal)}
            self._file.append(stored(tables, self._about, self._tree), state, when=when)

    def _empty(self) -> Tables:
        about, m = self._about, self._simulation.stepper.mujoco_model
        sizes = {
            "bodies": len(about["body_names"]),
            "joints": len(about["joint_names"]),
            "motors": len(about["motor_names"]),
            "coordinates": m.nq if self._tree else 0,
            "freedoms": m.nv if self._tree else 0,
        }
        return empty_tables(sizes)

    def _tables(self) -> Tables:
        model, records = self._simulation.model, self._records
        if not records:
            return self._empty()
        steps = {
            name: np.array([getattr(record, name) for record in records], dtype=kind)
            for name, (_, kind) in STEP_COLUMNS.items()
            if hasattr(records[0], name)
        }
        states = self._states
        if self._tree:
            steps |= {name: np.array([getattr(state, name) for state in states]) for name in ("qpos", "qvel")}
        else:
            centre = np.array([state.position for state in states])
            principal = np.array([state.quaternion for state in states])
            steps["positions"] = centre + rotate(principal, model.origin)
            steps["quaternions"] = multiply(principal, model.frame)
            steps["velocities"] = np.array([state.velocity for state in states])
            steps |= joint_columns(self._simulation.stepper, states)
        steps["control"] = np.array(self._controls)
        steps["seconds"] = np.array([record.seconds for record in records])
        found = [record.contacts for record in records]
        contacts = {
            "force": np.concatenate([record.contact_forces() for record in records]),
            "torque": np.concatenate([record.contact_torques() for record in records]),
            "state": np.concatenate([record.sticking for record in records]),
            "slip": np.concatenate([record.slip for record in records]),
        }
        for name in CONTACT_COLUMNS:
            if name not in contacts:
                contacts[name] = np.concatenate([getattr(each, name) for each in found])
        return {"steps": steps, "contacts": contacts}


def describe(simulation: Simulation) -> dict[str, Any]:
    """What a recording says about its run: names, settings and versions."""
    model = simulation.model
    return {
        "body_names": list(model.body_names),
        "geom_names": list(model.geom_names),
        "joint_names": list(scalar_joints(simulation.stepper)),
        "motor_names": list(simulation.stepper.motor_names),
        "step": simulation.step_size,
        "coordinates": str(simulation.coordinates),
        "home": simulation.home,
        "settings": json.loads(json.dumps(asdict(simulation.stepper.settings), default=str)),
        "tendons": spatial_tendons(model.shapes),
        "report": [list(line) for line in model.report.ignored],
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """What the bits of a run depend on."""
    packages = ("numpy", "scipy", "numba", "mujoco-core")
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    return {"perp": perp.__version__, **machine, **{name: version(name) for name in packages}}


def _start_of(simulation: Simulation) -> dict[str, Any]:
    model, state = simulation.model, simulation.state
    # the centre of mass as seen from the file's frame: minus the origin, turned back
    centres = [-rotate(conjugate(q), x) for q, x in zip(model.frame, model.origin, strict=True)]
    return {
        "time": np.float64(state.time),
        "energy": np.float64(simulation.stepper.energy(state)),
        "position": state.position + rotate(state.quaternion, model.origin),
        "quaternion": multiply(state.quaternion, model.frame),
        "centres": np.array(centres).reshape(-1, 3),
    }


def scalar_joints(stepper: Stepper) -> tuple[str, ...]:
    """Names of the coordinates of a scene, in the order of the columns."""
    if stepper.reduced:
        names = joint_names(stepper.mujoco_model)
        return tuple(names[j] for j in _of_tree(stepper.mujoco_model))
    return tuple(q.name for _, _, q in measured_joints(stepper.model))


def joint_columns(stepper: Stepper, states: Sequence[Any]) -> dict[str, np.ndarray]:
    """Positions [rad or m] and velocities of the coordinates, shapes (states, joints)."""
    if stepper.reduced:
        m = stepper.mujoco_model
        j = _of_tree(m)
        qpos, qvel = (np.array([getattr(state, name) for state in states]) for name in ("qpos", "qvel"))
        return {"joint_positions": qpos[:, m.jnt_qposadr[j]], "joint_velocities": qvel[:, m.jnt_dofadr[j]]}
    scalars = measured_joints(stepper.model)
    rows = JointRows.measuring([(joint, q) for _, joint, q in scalars])
    if not states:
        return {name: np.zeros((0, len(scalars))) for name in ("joint_positions", "joint_velocities")}
    known = known_turns(stepper.table, scalars, np.array([state.coordinate for state in states]))
    found = np.array([measure(rows, turns, state) for turns, state in zip(known, states, strict=True)])
    found = found.reshape(len(states), 2, len(scalars))
    return {"joint_positions": found[:, 0], "joint_velocities": found[:, 1]}


def _of_tree(m: Any) -> np.ndarray:
    return np.flatnonzero(np.isin(m.jnt_type, _SCALAR))
