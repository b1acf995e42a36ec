"""What one reads from a simulation and sets in it: coordinates, names, sensors, bodies, joints, contacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from perp.dynamics.state import State
from perp.problems import ProblemError
from perp.problems.validation import vector
from perp.scenes import Model, SceneError
from perp.scenes.geometry import Shape, read_geometry
from perp.scenes.model import find
from perp.scenes.naming import joint_names
from perp.scenes.sensors import sensor_names
from perp.simulation.arguments import motor_index, number, read_only, triple, unit_quaternion
from perp.simulation.generalised import coordinates, go_to, read_positions, state_at
from perp.simulation.handles import Body, Contact, JointView, Site, contacts_of
from perp.simulation.sharing import Seat
from perp.simulation.start import stagger
from perp.stepping import Stepper, StepRecord
from perp.stepping.course import SETTLED
from perp.stepping.sleeping import wake
from perp.view.notebook import simulation_html

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation


# How names of what the stepper remembers begin in a snapshot.
_MEMORY = "memory"


class Access:
    """The part of `Simulation` that reads and sets its state by the words of the scene file."""

    model: Model
    _seat: Seat
    state: State
    _control: np.ndarray
    _geometry: tuple[Shape, ...] | None
    _last: StepRecord | None

    @property
    def stepper(self) -> Stepper:
        """What takes the steps; copies of a simulation share it."""
        return self._seat.stepper

    @stepper.setter
    def stepper(self, stepper: Stepper) -> None:
        self._seat = Seat(stepper)

    @property
    def _whole(self) -> Simulation:
        return cast("Simulation", self)

    def __repr__(self) -> str:
        names = {"bodies": self.body_names, "joints": self.joint_names, "motors": self.motor_names}
        counts = [f"{what} {len(found)}" for what, found in names.items() if found]
        words = ", ".join([*counts, f"{self._whole.coordinates.value} coordinates"])
        return f"<Simulation at t = {self.state.time:g} s, step {self._whole.step_size:g} s: {words}>"

    def _repr_html_(self) -> str:
        return simulation_html(self._whole)

    @property
    def ctrl(self) -> np.ndarray:
        """What the motors were given last, one value each in the order of `motor_names`, shape (motors,).

        As `qpos`, `qvel` and `wrench` it is a copy that cannot be written to: assign a whole array.
        """
        return read_only(self._control.copy())

    @ctrl.setter
    def ctrl(self, value: Any) -> None:
        self.set_control(value)

    def set_control(self, control: Any) -> None:
        """Give the motors their values: one each in order, or a mapping from motor names."""
        names = self.stepper.motor_names
        if isinstance(control, Mapping):
            given = [
                (motor_index(name, names), number(f"control[{name!r}]", x)) for name, x in control.items()
            ]
        else:
            given = enumerate(vector("control", control, len(names)))
        for motor, value in given:
            self.stepper.set_motor(motor, float(value))
            self._control[motor] = value

    @property
    def qpos(self) -> np.ndarray:
        """Coordinates as mujoco has them, in either kind of coordinates, shape (nq,).

        Setting them raises `SceneError` where joints are beyond their limits or would open. What is read
        cannot be written to: `q = sim.qpos.copy(); q[0] = 0.3; sim.qpos = q`.
        """
        return read_only(coordinates(self.stepper, self.state)[0])

    @qpos.setter
    def qpos(self, value: Any) -> None:
        go_to(
            self._whole,
            state_at(self._whole, read_positions(self.stepper.mujoco_model, value), self.qvel),
            "this qpos",
        )

    @property
    def qvel(self) -> np.ndarray:
        """Velocities as mujoco has them, in either kind of coordinates, shape (nv,)."""
        return read_only(coordinates(self.stepper, self.state)[1])

    @qvel.setter
    def qvel(self, value: Any) -> None:
        given = vector("qvel", value, self.stepper.mujoco_model.nv)
        self.state = state_at(self._whole, self.qpos, np.array(given, dtype=np.float64))
        wake(self.stepper.world.struct, -1)

    def stagger(self) -> None:
        """Move velocities half a step back, v ← v − ½ h a: positions are then of second order in the step.

        A step moves positions with the velocities of its end, which is leapfrog for velocities that belong to
        the middle of a step. Those that a user sets belong to the start. To be called once, after velocities
        and controls are set and before the first step; `qvel` is half a step behind `qpos` from then on.

        Raises:
            ProblemError: Something hits something in the first step: there is no acceleration then, and
                nothing was changed.
        """
        stagger(self._whole)

    @property
    def geometry(self) -> tuple[Shape, ...]:
        """The shapes of the scene as pictures need them."""
        return read_geometry(self.model) if self._geometry is None else self._geometry

    @geometry.setter
    def geometry(self, shapes: tuple[Shape, ...]) -> None:
        self._geometry = shapes

    @property
    def body_names(self) -> tuple[str, ...]:
        """Of the bodies that can move."""
        return self.model.body_names

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Of the joints of the file, in the order of `qpos`."""
        return joint_names(self.stepper.mujoco_model)

    @property
    def motor_names(self) -> tuple[str, ...]:
        """One per value of `ctrl`."""
        return self.stepper.motor_names

    @property
    def keyframe_names(self) -> tuple[str, ...]:
        """For `reset(keyframe=…)`."""
        m = self.stepper.mujoco_model
        return tuple(m.key(k).name or str(k) for k in range(m.nkey))

    @property
    def sensor_names(self) -> tuple[str, ...]:
        """Of the sensors of the file, in the order of `sensordata`."""
        return sensor_names(self.stepper.mujoco_model)

    @property
    def site_names(self) -> tuple[str, ...]:
        """Of the sites of the file: frames that it marks on bodies, such as that of a tool."""
        m = self.stepper.mujoco_model
        return tuple(m.site(i).name for i in range(m.nsite) if m.site(i).name)

    def apply_force(self, body: str, force: Any, point: Any = None) -> None:
        """A force [N] on a body at a point [m] of the world; at its centre of mass without one.

        It lasts until it is changed: the next one replaces it, (0, 0, 0) ends it.
        """
        self.body(body).apply_force(force, point)

    def body(self, name: str) -> Body:
        """A body by name."""
        return Body(self._whole, self.model.body_index(name))

    def contacts(self) -> list[Contact]:
        """The contacts of the last step, with forces; none before the first step."""
        return [] if self._last is None else contacts_of(self.model, self._last)

    def joint(self, name: str) -> JointView:
        """A joint by name."""
        return JointView(self._whole, name)

    def site(self, name: str) -> Site:
        """A site of the file by name."""
        find(name, self.site_names, "site")
        return Site(self._whole, name)

    def set_mocap(self, body: str, position: Any, quaternion: Any = None) -> None:
        """Put a mocap body of the scene somewhere: joints that hold on to it follow, shapes push.

        It is moved between steps and has no velocity of its own; move it by little in every step. What holds
        on to it follows at up to 1 m/s and 1 rad/s with the default `recovery_speed`.

        Args:
            body: Its name.
            position: Of its frame [m].
            quaternion: Orientation (w, x, y, z), as it is by default.
        """
        m = self.stepper.mujoco_model
        names = {m.body(b).name: int(m.body_mocapid[b]) for b in range(m.nbody) if m.body_mocapid[b] >= 0}
        if body not in names:
            raise SceneError(f"{body!r} is not a mocap body; the scene has {', '.join(names) or 'none'}")
        positions, quaternions = self.stepper.mocap
        positions[names[body]] = triple("position", position)
        if quaternion is not None:
            quaternions[names[body]] = unit_quaternion("quaternion", quaternion)
        self.stepper.set_mocap(positions, quaternions)

    def set_surface_velocity(self, geom: str, velocity: Any) -> None:
        """Let the surface of a shape move along itself, as that of a belt does.

        Args:
            geom: Its name.
            velocity: In the frame of the shape [m/s]; what points out of the surface has no effect.
        """
        m = self.stepper.mujoco_model
        at = find(geom, tuple(m.geom(g).name for g in range(m.ngeom)), "geom")
        m.geom_surfacevel[at, :3] = triple("velocity", velocity)
        m.flg_surfacevel = 1
        self.stepper.world.course[SETTLED] = 0
        wake(self.stepper.world.struct, -1)

    def snapshot(self) -> dict[str, np.ndarray]:
        """The whole state, with what the stepper remembers: a run from it gives the same bits."""
        out = {"state.time": np.array(self.state.time), "state.packed": self.state.packed.copy()}
        position, quaternion = self.stepper.mocap
        if len(position):
            out |= {"mocap.position": position, "mocap.quaternion": quaternion}
        return {**out, _MEMORY: self.stepper.memory(), "control": self.ctrl, "wrench": self._whole.wrench}

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Go back to a snapshot of this simulation, or of another one of the same scene.

        Raises:
            ProblemError: It belongs to another scene; nothing is changed.
        """
        now = self.snapshot()
        for name, array in now.items():
            if name == _MEMORY:
                continue
            found = np.shape(snapshot[name]) if name in snapshot else None
            if found != array.shape:
                has = "is missing" if found is None else f"has shape {found}"
                raise ProblemError(f"snapshot[{name!r}] {has}: this scene needs shape {array.shape}")
        packed = np.array(snapshot["state.packed"], dtype=np.float64)
        self.state = self.stepper.unpacked(float(snapshot["state.time"]), packed)
        self.set_control(snapshot["control"])
        self._whole.wrench = snapshot["wrench"]
        if "mocap.position" in now:
            self.stepper.set_mocap(snapshot["mocap.position"], snapshot["mocap.quaternion"])
        # a new control wakes sleepers: memory comes last
        self.stepper.set_memory(snapshot.get(_MEMORY, np.zeros(0)))
        self._last = self._whole._before = None
