"""Views of one body, one joint, one site and one contact of a simulation, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.collision import Contacts
from perp.problems.validation import vector
from perp.scenes import Model, SceneError
from perp.scenes.frames import multiply, rotate
from perp.scenes.naming import body_name, joint_names
from perp.simulation.arguments import triple, unit_quaternion
from perp.simulation.generalised import addresses, go_to
from perp.stepping import StepRecord

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation


_STATES = {-1: "open", 0: "slip", 1: "stick"}


class Body:
    """A view of one body of a simulation.

    Positions and velocities are those of its frame in the scene file, in the world.
    """

    def __init__(self, simulation: Simulation, index: int) -> None:
        self._simulation, self.index = simulation, index

    def __repr__(self) -> str:
        return f"<Body {self.name!r} at {_short(self.position)} m, moving at {_short(self.velocity)} m/s>"

    @property
    def name(self) -> str:
        return self._simulation.model.body_names[self.index]

    @property
    def position(self) -> np.ndarray:
        """Origin of the body frame in the world, shape (3,) [m]."""
        sim, i = self._simulation, self.index
        return sim.state.position[i] + rotate(sim.state.quaternion[i], sim.model.origin[i])

    @property
    def quaternion(self) -> np.ndarray:
        """Orientation of the body frame (w, x, y, z)."""
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
        linear, angular = triple("linear", linear), triple("angular", angular)
        arm = self.centre_of_mass - self.position
        sim = self._simulation
        sim.stepper.set_body_velocity(
            sim.state, self.index, np.concatenate([linear + np.cross(angular, arm), angular])
        )

    def set_pose(self, position: Any, quaternion: Any = (1.0, 0.0, 0.0, 0.0)) -> None:
        """Put the body frame there; the next step starts cold.

        Raises:
            SceneError: Joints of the body would open: they are to be set instead; nothing was moved.
        """
        sim = self._simulation
        there, turned = triple("position", position), unit_quaternion("quaternion", quaternion)
        state = sim.stepper.unpacked(sim.time, sim.state.packed.copy())
        sim.stepper.set_body_pose(state, self.index, there, turned)
        joints = [j.name for j in sim.model.joints if self.index in (j.child, j.parent)]
        if joints:
            held = f"body {self.name!r} hangs on {', '.join(joints)}: putting it there"
            go_to(sim, state, held)
        else:
            sim.state = state
            sim.stepper.forget()

    def apply(self, force: Any = (0.0, 0.0, 0.0), torque: Any = (0.0, 0.0, 0.0)) -> None:
        """A force on the centre of mass [N] and a torque [N m] in the world frame, until changed."""
        self._simulation._wrench[self.index] = np.concatenate(
            [triple("force", force), triple("torque", torque)]
        )

    def apply_force(self, force: Any, point: Any = None) -> None:
        """A force [N] at a point [m] of the world, until changed; at the centre of mass without one.

        The torque that it has about the centre of mass now stays, too: call it again as the body moves.
        """
        there = self.centre_of_mass if point is None else triple("point", point)
        push = triple("force", force)
        self.apply(push, np.cross(there - self.centre_of_mass, push))


class JointView:
    """A view of one joint of a simulation, by the name it has in the scene file."""

    def __init__(self, simulation: Simulation, name: str) -> None:
        self._simulation, self.name = simulation, name
        m = simulation.stepper.mujoco_model
        names = joint_names(m)
        # a body that is cut from the world has no joint: what the file calls its free joint is its pose
        free = name in names and int(m.jnt_type[names.index(name)]) == 0 and not simulation.stepper.reduced
        self._law = None if free else simulation.stepper.joint_law(name)

    def __repr__(self) -> str:
        return f"<JointView {self.name!r} at {_short(self.position)}, rate {_short(self.velocity)}>"

    @property
    def position(self) -> Any:
        """Angle [rad] or displacement [m]; quaternion of a ball, position and quaternion of a free joint."""
        if self._law is None:
            return self._simulation.qpos[self._addresses[0]]
        return self._law.position(self._simulation.state)

    @property
    def velocity(self) -> Any:
        """Its rate: a number, or three or six of them, as mujoco orders them."""
        if self._law is None:
            return self._simulation.qvel[self._addresses[1]]
        return self._law.velocity(self._simulation.state)

    def set_position(self, value: Any) -> None:
        """Put the joint there, with the bodies that hang on it.

        Raises:
            SceneError: It is beyond a limit, or other joints would open; nothing was moved.
        """
        qpos, at = self._simulation.qpos.copy(), self._addresses[0]
        qpos[at] = vector(f"position of {self.name!r}", np.atleast_1d(value), at.stop - at.start)
        self._simulation.qpos = qpos

    def set_velocity(self, value: Any) -> None:
        """Give the joint this rate, and the bodies that hang on it what follows."""
        qvel, at = self._simulation.qvel.copy(), self._addresses[1]
        qvel[at] = vector(f"velocity of {self.name!r}", np.atleast_1d(value), at.stop - at.start)
        self._simulation.qvel = qvel

    @property
    def _addresses(self) -> tuple[slice, slice]:
        m = self._simulation.stepper.mujoco_model
        names = joint_names(m)
        if self.name not in names:
            raise SceneError(f"joint {self.name!r} is none of the file's: move the bodies that it connects")
        return addresses(m, names.index(self.name))


class Site:
    """A view of one site of the file: a frame that is fixed to a body.

    Its velocity over `qvel` is `sim.jacobian(site.body, site.position)`.
    """

    def __init__(self, simulation: Simulation, name: str) -> None:
        self._simulation, self.name = simulation, name

    def __repr__(self) -> str:
        return f"<Site {self.name!r} of {self.body!r} at {_short(self.position)} m>"

    @property
    def body(self) -> str:
        """The body that it moves with."""
        m = self._simulation.stepper.mujoco_model
        return body_name(m, int(m.site(self.name).bodyid[0]))

    @property
    def position(self) -> np.ndarray:
        """Of its origin in the world, shape (3,) [m]."""
        return self._simulation._site_pose(self.name)[0]

    @property
    def quaternion(self) -> np.ndarray:
        """Orientation in the world (w, x, y, z)."""
        return self._simulation._site_pose(self.name)[1]


@dataclass(frozen=True)
class Contact:
    """One contact of the last step. The normal points from the first body to the second.

    Attributes:
        bodies: Names of the two bodies; "world" for what does not move.
        geoms: Names of the two shapes.
        point: Midway between the surfaces in the world, shape (3,) [m].
        frame: Normal and two tangents as rows, shape (3, 3).
        gap: Distance of the surfaces at the start of the step [m].
        force: Of the first body on the second, in the world, mean over the step, shape (3,) [N]. The first
            body feels the opposite.
        state: "open", "slip" or "stick".
    """

    bodies: tuple[str, str]
    geoms: tuple[str, str]
    point: np.ndarray
    frame: np.ndarray
    gap: float
    force: np.ndarray
    state: str

    @property
    def normal_force(self) -> float:
        """How hard the bodies press on each other [N], never negative."""
        return float(self.frame[0] @ self.force)


def contacts_of(model: Model, record: StepRecord) -> list[Contact]:
    """The contacts of a step."""
    found: Contacts = record.contacts
    forces = record.contact_forces()
    bodies = (*model.body_names, "world")
    return [
        Contact(
            (bodies[found.body[c, 0]], bodies[found.body[c, 1]]),
            (model.geom_names[found.geom[c, 0]], model.geom_names[found.geom[c, 1]]),
            found.point[c].copy(),
            found.frame[c].copy(),
            float(found.gap[c]),
            forces[c],
            _STATES[int(record.sticking[c])],
        )
        for c in range(found.count)
    ]


def _short(x: Any) -> str:
    return np.array2string(np.asarray(x), precision=4, suppress_small=True, separator=", ")
