"""A scene that runs: state, stepper, controls and bodies by name.

sim = perp.Simulation("scene.xml", step=0.01)
sim.run(2.0)
sim.body("box").position
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from perp.collision import MujocoFinder
from perp.dynamics.state import State
from perp.problems import ProblemError
from perp.problems.validation import check_finite
from perp.scenes import Model, load_scene
from perp.scenes.model import find
from perp.stepping import Level, Route, Stepper, StepRecord, StepSettings


@dataclass(slots=True)
class Recording:
    """Records and states of a run, one entry per step.

    Attributes:
        model: The scene.
        records: One `StepRecord` per step.
        states: The state after each step.
    """

    model: Model
    records: list[StepRecord] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    @property
    def time(self) -> np.ndarray:
        """Times at the ends of the steps, shape (steps,) [s]."""
        return np.array([state.time for state in self.states])

    def position(self, body: str) -> np.ndarray:
        """Origin of a body after each step, shape (steps, 3) [m]."""
        return np.array(
            [Body.origin_of(self.model, state, self.model.body_index(body)) for state in self.states]
        )

    def velocity(self, body: str) -> np.ndarray:
        """Linear and angular velocity of a body's centre of mass after each step, shape (steps, 6)."""
        i = self.model.body_index(body)
        return np.array([state.velocity[i] for state in self.states])

    def of(self, name: str) -> np.ndarray:
        """A field of the records over the steps: `recording.of("energy")`."""
        return np.array([getattr(record, name) for record in self.records])


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

    def run(self, seconds: float, control: Any = None) -> Recording:
        """Go on for some simulated time, from where the simulation is."""
        recording = Recording(self.model)
        for _ in range(round(seconds / self.step_size)):
            recording.records.append(self.step(control))
            recording.states.append(self.state)
        return recording

    def set_control(self, control: Any) -> None:
        """Give the motors their values: one each in order, or a mapping from motor names."""
        names = tuple(motor.name for motor in self.model.motors)
        if isinstance(control, Mapping):
            rows = self.stepper.table
            for name, value in control.items():
                check_finite(f"control[{name!r}]", np.atleast_1d(np.asarray(value, dtype=np.float64)))
                rows.set_motor(self.model, find(name, names, "motor"), float(value))
            return
        values = np.asarray(control, dtype=np.float64)
        if values.shape != (len(names),):
            raise ProblemError(f"control has shape {values.shape}: {len(names)} values are needed")
        check_finite("control", values)
        self.stepper.table.set_control(self.model, values)

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
