"""A scene that runs: state, stepper, controls and bodies by name.

sim = perp.Simulation("scene.xml", step=0.01)
sim.run(2.0)
sim.body("box").position
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from perp.collision import MujocoFinder
from perp.dynamics.state import State
from perp.problems import ProblemError
from perp.problems.validation import check_finite
from perp.scenes import Model, load_scene
from perp.scenes.model import find
from perp.scenes.stored import store_scene
from perp.stepping import Level, Route, Stepper, StepRecord, StepSettings

if TYPE_CHECKING:
    from perp.files.reading import PathName
    from perp.recording import Recording


class Simulation:
    """A scene, its state, and how it is stepped.

    Args:
        scene: MJCF text, a path, an MjSpec, an MjModel or a Model.
        step: Length of a step [s].
        level: "position" (no drift) or "velocity".
        solver: Contact solver, a name from `perp.solvers()`.
        restitution: For all shapes, or by geom name; scenes have no such attribute.
        settings: All options of the stepper; the arguments above take precedence where given.
        options: Single fields of `StepSettings`, by name.
    """

    def __init__(
        self,
        scene: Any,
        *,
        step: float,
        level: str | Level | None = None,
        solver: str | None = None,
        restitution: float | Mapping[str, float] = 0.0,
        settings: StepSettings | None = None,
        **options: Any,
    ) -> None:
        if not (np.isfinite(step) and step > 0):
            raise ProblemError(f"step = {step!r}: a positive number of seconds is needed")
        self.model = load_scene(scene, restitution=restitution)
        self.step_size = float(step)
        if level is not None:
            options["level"] = Level(level)
        if solver is not None:
            options["solver"] = solver
        if "route" in options:
            options["route"] = Route(options["route"])
        self.stepper = Stepper(
            self.model, MujocoFinder(self.model), replace(settings or StepSettings(), **options)
        )
        self.state = self.stepper.initial_state()
        self._last: StepRecord | None = None
        self._wrench = np.zeros((self.model.body_count, 6))
        self._control = np.array([motor.control for motor in self.model.motors], dtype=np.float64)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.state.time

    @property
    def last(self) -> StepRecord:
        """The record of the last step."""
        if self._last is None:
            raise ProblemError("no step has been taken yet")
        return self._last

    def step(self, control: Any = None) -> StepRecord:
        """One step; `control` holds one value per motor and stays until it is changed.

        Raises:
            StepFailed: The step could not be solved to its tolerance; the state is that before the step.
        """
        if control is not None:
            self.set_control(control)
        self.state, self._last = self.stepper.step(self.state, self.step_size, self._wrench)
        return self._last

    def run(
        self, seconds: float, control: Any = None, *, out: PathName | None = None, force: bool = False
    ) -> Recording:
        """Go on for some simulated time, from where the simulation is.

        Args:
            seconds: How long [s].
            control: For the motors, as `step` takes it.
            out: An HDF5 file to write to while running, in place of memory.
            force: Replace an existing file.

        Raises:
            StepFailed: A step could not be solved; what was recorded before is in `out`.
            FileError: `out` exists or cannot be written.
        """
        from perp.recorder import Recorder
        from perp.recording import Recording

        recorder = Recorder(self, out, force=force)
        try:
            for _ in range(round(seconds / self.step_size)):
                recorder.add(self.step(control))
        finally:
            recorder.close()
        return recorder.recording() if out is None else Recording.open(out)

    @property
    def control(self) -> np.ndarray:
        """What the motors have been given, shape (motors,)."""
        return self._control.copy()

    def snapshot(self) -> dict[str, np.ndarray]:
        """The whole state, to go on from later to the same bits: also what the stepper remembers."""
        state = {
            f"state.{part.name}": np.array(getattr(self.state, part.name)) for part in fields(self.state)
        }
        memory = {f"memory.{name}": array for name, array in self.stepper.memory().items()}
        return {**state, **memory, "control": self.control, "wrench": self._wrench.copy()}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Go back to a snapshot of this simulation, or of another one of the same scene.

        Raises:
            ProblemError: It belongs to another scene; nothing is changed.
        """
        now = self.snapshot()
        for name in ("control", "wrench", *(f"state.{part.name}" for part in fields(self.state))):
            found = np.shape(snapshot[name]) if name in snapshot else "no value"
            if found != now[name].shape:
                raise ProblemError(f"snapshot: {name} has {found}, this scene needs shape {now[name].shape}")
        values = {part.name: np.array(snapshot[f"state.{part.name}"]) for part in fields(self.state)}
        self.state = replace(self.state, **{**values, "time": float(values["time"])})
        self.stepper.set_memory(
            {name.removeprefix("memory."): x for name, x in snapshot.items() if name.startswith("memory.")}
        )
        self.set_control(snapshot["control"])
        self._wrench = np.array(snapshot["wrench"])
        self._last = None

    def copy(self) -> Self:
        """An independent simulation in the same state."""
        other = copy(self)
        other.stepper = Stepper(self.model, MujocoFinder(self.model), self.stepper.settings)
        other.restore(self.snapshot())
        other._last = self._last
        return other

    def scene_arrays(self) -> dict[str, np.ndarray]:
        """The scene as arrays, for a recording."""
        return store_scene(self.model)

    def set_control(self, control: Any) -> None:
        """Give the motors their values: one each in order, or a mapping from motor names."""
        names = tuple(motor.name for motor in self.model.motors)
        if isinstance(control, Mapping):
            rows = self.stepper.table
            for name, value in control.items():
                check_finite(f"control[{name!r}]", np.atleast_1d(np.asarray(value, dtype=np.float64)))
                motor = find(name, names, "motor")
                rows.set_motor(self.model, motor, float(value))
                self._control[motor] = float(value)
            return
        values = np.asarray(control, dtype=np.float64)
        if values.shape != (len(names),):
            raise ProblemError(f"control has shape {values.shape}: {len(names)} values are needed")
        check_finite("control", values)
        self.stepper.table.set_control(self.model, values)
        self._control = values.copy()

    def reset(self) -> None:
        """Back to the start of the scene, with no memory of earlier steps."""
        self.state = self.stepper.initial_state()
        self.stepper.forget()
        self._wrench[:] = 0.0
        self._last = None

    def body(self, name: str) -> Body:
        """A body by name."""
        return Body(self, self.model.body_index(name))

    def coordinate(self, joint: str) -> float:
        """The coordinate of a joint that has a limit, spring, loss or motor on it [m or rad]."""
        names = tuple(j.name for j in self.model.joints)
        return self.stepper.table.coordinate(self.model, find(joint, names, "joint"), self.state.coordinate)


class Body:
    """A view of one body of a simulation.

    Positions and velocities are those of its frame in the scene file.
    """

    def __init__(self, simulation: Simulation, index: int) -> None:
        self._simulation, self.index = simulation, index

    @staticmethod
    def origin_of(model: Model, state: State, index: int) -> np.ndarray:
        """Origin of the file's body frame, shape (3,) [m]."""
        from perp.scenes.frames import rotate

        return state.position[index] + rotate(state.quaternion[index], model.origin[index])

    @property
    def position(self) -> np.ndarray:
        """Origin of the body frame in the world, shape (3,) [m]."""
        return self.origin_of(self._simulation.model, self._simulation.state, self.index)

    @property
    def quaternion(self) -> np.ndarray:
        """Orientation of the body frame (w, x, y, z)."""
        from perp.scenes.frames import multiply

        sim = self._simulation
        return multiply(sim.state.quaternion[self.index], sim.model.frame[self.index])

    @property
    def centre_of_mass(self) -> np.ndarray:
        """In the world, shape (3,) [m]."""
        return self._simulation.state.position[self.index].copy()

    @property
    def mass(self) -> float:
        """[kg]."""
        return float(self._simulation.model.mass[self.index])

    @property
    def velocity(self) -> np.ndarray:
        """Linear velocity of the frame's origin in the world, shape (3,) [m/s]."""
        linear, angular = np.split(self._simulation.state.velocity[self.index], 2)
        return linear + np.cross(angular, self.position - self.centre_of_mass)

    @property
    def angular_velocity(self) -> np.ndarray:
        """In the world frame, shape (3,) [rad/s]."""
        return self._simulation.state.velocity[self.index, 3:].copy()

    def set_velocity(self, linear: Any = (0.0, 0.0, 0.0), angular: Any = (0.0, 0.0, 0.0)) -> None:
        """Velocity of the frame's origin [m/s] and angular velocity [rad/s], both in the world frame."""
        linear, angular = (_triple(name, x) for name, x in (("linear", linear), ("angular", angular)))
        arm = self.centre_of_mass - self.position
        self._simulation.state.velocity[self.index] = np.concatenate(
            [linear + np.cross(angular, arm), angular]
        )

    def set_pose(self, position: Any, quaternion: Any = (1.0, 0.0, 0.0, 0.0)) -> None:
        """Put the body frame there; the next step starts cold."""
        from perp.scenes.frames import conjugate, multiply, rotate

        sim = self._simulation
        given = np.asarray(quaternion, dtype=np.float64)
        principal = multiply(given / np.linalg.norm(given), conjugate(sim.model.frame[self.index]))
        sim.state.quaternion[self.index] = principal
        sim.state.position[self.index] = _triple("position", position) - rotate(
            principal, sim.model.origin[self.index]
        )
        sim.stepper.forget()

    def apply(self, force: Any = (0.0, 0.0, 0.0), torque: Any = (0.0, 0.0, 0.0)) -> None:
        """A force on the centre of mass [N] and a torque [N m] in the world frame, until changed."""
        self._simulation._wrench[self.index] = np.concatenate(
            [_triple("force", force), _triple("torque", torque)]
        )


def _triple(name: str, x: Any) -> np.ndarray:
    array = np.asarray(x, dtype=np.float64)
    if array.shape != (3,):
        raise ProblemError(f"{name} has shape {array.shape}: three numbers are needed")
    check_finite(name, array)
    return array
