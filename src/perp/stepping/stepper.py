"""Takes steps of a scene, remembering impulses from one step to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from perp.collision.errors import CollisionError
from perp.compilation.stopwatch import working_time
from perp.dynamics.actuators import control_names
from perp.dynamics.libmujoco import load
from perp.dynamics.place import make_place
from perp.dynamics.rows import JointRows, put_mocap
from perp.dynamics.scalar_tables import has_laws
from perp.dynamics.scene_tables import make_scene, prepared_model, scene_tables
from perp.dynamics.state import State
from perp.problems import ContactProblem
from perp.scenes import Model, Motor, SceneError
from perp.scenes.engine import engine
from perp.scenes.frames import conjugate, multiply, rotate
from perp.scenes.loops import closes_loops, loop_joints
from perp.stepping import course, memory, tasks
from perp.stepping import step as steps
from perp.stepping import verdict as end
from perp.stepping.explaining import cause, extent, missed, put_right, runaway
from perp.stepping.joint_access import MaximalJoint, ReducedJoint
from perp.stepping.record import StepFailed, StepRecord
from perp.stepping.settings import Integrator, Softness, StepSettings
from perp.stepping.sleeping import trees_of, wake
from perp.stepping.softness import let_go, set_rows
from perp.stepping.solving import judge_as_itself, problem_of, solve_by
from perp.stepping.start import contradiction
from perp.stepping.world import World

# Contradictions of a start that are left to its first steps, and how far bodies may be moved to undo larger
# ones, as shares of the size of the largest body and of the scene.
_NEGLIGIBLE, _FURTHEST = 1e-5, 0.5
# What is left of contradictions that is worth a word, as a share of the largest one.
_VISIBLE = 0.1
# What is said of a start that nothing near it puts right.
_NOWHERE = "no position near it satisfies joints, limits and shapes, so steps undo what they can"
# A start far from one that holds is put right from where the last attempt left it: Cassie's takes two.
_ATTEMPTS = 5
# The friction pyramids among the cones of a file, as mujoco numbers them.
_PYRAMIDS = 0
# What is remembered from step to step, of impulses and of bodies at rest.
_MEMORY, _SLEEP = (
    ("joint", "geom", "points", "force", "rotor", "rotor_v", "pause"),
    ("still_time", "sleep_island", "sleep_wrench"),
)


class Stepper:
    """Takes steps of a model.

    Args:
        model: The scene.
        settings: How to step.
        reduced: The trees of the scene as they are; otherwise its joints are cut and become rows.

    Attributes:
        fourth: Whether steps on which no row acts are of fourth order.
    """

    def __init__(self, model: Model, settings: StepSettings, *, reduced: bool) -> None:
        load()
        self.model, self.settings, self.reduced = model, settings, reduced
        self.mujoco_model = m = prepared_model(model)
        self.joints = joints = loop_joints(model, reduced=reduced)
        measured = not reduced and has_laws(m)
        self.table = JointRows.of_joints(joints, () if reduced else model.motors, model if measured else None)
        tables = scene_tables(
            model, m, self.table, cut=not reduced, loops=reduced or closes_loops(joints, model.body_count)
        )
        self.tables = tables = tables | trees_of(m, reduced, model.body_count)
        soft = settings.softness == Softness.FILE
        tables["soft"] = 2 if soft and int(m.opt.cone) == _PYRAMIDS else int(soft)
        self._places = [make_place(m, model.body_count, cut=not reduced) for _ in range(2)]
        tree_size = (
            np.bincount(m.dof_treeid, minlength=int(m.ntree)) if reduced else np.full(model.body_count, 6)
        )
        nq, na = int(m.nq) if reduced else 7 * model.body_count, int(m.na)
        self.world = World(
            tables, make_scene(tables), (self._places[0][0], self._places[1][0]), tree_size.astype(np.int64),
            nq, na, len(self.initial_control()),
        )  # fmt: skip
        self.handles: dict[int, float] = {}  # compliance of the file of rows that hold on to mocap bodies
        set_rows(self)
        self.sizes = nq, int(tree_size.sum()), na, self.table.law.size, model.body_count if reduced else 0
        self._aside: Any = None
        self._step_size = 0.0
        self._two_stages = not reduced and bool(self.table.law.size)
        of_file = int(model.shapes.opt.integrator) == int(engine().mjtIntegrator.mjINT_RK4)
        self.fourth = reduced and (settings.integrator or (of_file and Integrator.RK4)) == Integrator.RK4
        self.world.control[:] = self.initial_control()
        self.forget()

    @property
    def motor_names(self) -> tuple[str, ...]:
        """One name per control value: those of the file, then those added in Python."""
        return *control_names(self.mujoco_model), *(motor.name for motor in self._own_motors)

    @property
    def _own_motors(self) -> tuple[Motor, ...]:
        return () if self.reduced else self.model.motors

    def initial_control(self) -> np.ndarray:
        """Control values at the start, shape (motors,)."""
        own = [motor.control for motor in self._own_motors]
        return np.concatenate([np.zeros(self.mujoco_model.nu), own])

    def set_motor(self, motor: int, control: float) -> None:
        """Give one motor its control value."""
        self.world.control[motor] = control
        wake(self.world.struct, -1)

    @property
    def mocap(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and quaternions of the mocap bodies."""
        data = self._places[0][1]
        return data.mocap_pos.copy(), data.mocap_quat.copy()

    def aside(self) -> Any:
        """Mujoco's data for what is asked beside the steps: as after a reset, mocap bodies where they are.

        Making such data takes as long as several steps, so there is one.
        """
        mujoco = engine()
        if self._aside is None:
            self._aside = mujoco.MjData(self.mujoco_model)
        mujoco.mj_resetData(self.mujoco_model, self._aside)
        self._aside.mocap_pos[:], self._aside.mocap_quat[:] = self.mocap
        return self._aside

    def set_mocap(self, position: np.ndarray, quaternion: np.ndarray) -> None:
        """Put all mocap bodies somewhere: their shapes and the joints that hold on to them follow.

        Of trees at once; cut ones are held by joints, and go there in the next step.
        """
        for _, data in self._places:
            data.mocap_pos[:], data.mocap_quat[:] = position, quaternion
            engine().mj_kinematics(self.mujoco_model, data)
        if not self.reduced:
            put_mocap(self.model, self.table, position, quaternion)
        self.world.course[course.SETTLED] = 0
        wake(self.world.struct, -1)

    def inputs(self) -> dict[str, np.ndarray]:
        """What was given besides the state: controls, poses of mocap bodies, velocities of surfaces."""
        m, data = self.mujoco_model, self._places[0][1]
        out = {"control": self.world.control.copy()}
        if m.nmocap:
            out |= {"mocap_pos": data.mocap_pos.copy(), "mocap_quat": data.mocap_quat.copy()}
        if m.flg_surfacevel:
            out["surface"] = m.geom_surfacevel.copy()
        return out

    def set_inputs(self, inputs: Mapping[str, np.ndarray]) -> None:
        """Give what `inputs` returned; surfaces that it says nothing about stand still."""
        m = self.mujoco_model
        for motor, value in enumerate(inputs["control"].tolist()):
            self.set_motor(motor, value)
        if "mocap_pos" in inputs:
            self.set_mocap(inputs["mocap_pos"], inputs["mocap_quat"])
        m.flg_surfacevel = int("surface" in inputs)
        if "surface" in inputs:
            m.geom_surfacevel[:] = inputs["surface"]
        self.world.course[course.SETTLED] = 0

    def limited(self, dof: int) -> str:
        """The joint of a freedom of mujoco's, or of a row of the table, which come behind these."""
        row = dof - self.tables["freedom_row"].size
        if row < 0:
            return self.mujoco_model.jnt(int(self.mujoco_model.dof_jntid[dof])).name
        return self.joints[int(self.table.joint[row])].name

    def joint_law(self, name: str) -> MaximalJoint | ReducedJoint:
        """Access to a joint by name."""
        return ReducedJoint(self, name) if self.reduced else MaximalJoint(self, name)

    def initial_state(self) -> State:
        """The state of the scene file, at rest."""
        m, model = self.mujoco_model, self.model
        if self.reduced:
            return self.state_of(m.qpos0.copy(), np.zeros(m.nv), np.zeros(m.na), 0.0)
        qpos = np.concatenate([model.position, model.quaternion], axis=1).ravel()
        return self.state_of(qpos, model.velocity.ravel().copy(), np.zeros(m.na), 0.0)

    def state_of(self, qpos: np.ndarray, qvel: np.ndarray, act: np.ndarray, time: float) -> State:
        """The state with these coordinates, velocities and activations; angles lie within half a turn."""
        _, _, _, rows, n = self.sizes
        packed = np.concatenate([qpos, qvel, act, self.table.at_reference, np.zeros(13 * n)])
        state = State(time, packed, self.sizes)
        self.refresh(state)
        if rows:
            state.coordinate[:] = self.table.evaluate(
                state.position, state.quaternion, state.rotation, state.coordinate
            )[0]
        return state

    def unpacked(self, time: float, packed: np.ndarray) -> State:
        """The state of `State.packed`."""
        return State(time, packed, self.sizes)

    def refresh(self, state: State) -> None:
        """Poses and velocities of the bodies from the coordinates, in place."""
        if not self.reduced:
            return
        self._load(state)
        position, quaternion, velocity = steps.bodies_at(self.world.struct)
        state.position[:], state.quaternion[:], state.velocity[:] = position, quaternion, velocity

    def _load(self, state: State) -> None:
        """The state into the world, whose last step does not end there any more."""
        steps.load(self.world.struct, state.packed)
        self.world.course[course.SETTLED] = 0

    def set_body_velocity(self, state: State, body: int, velocity: np.ndarray) -> None:
        """Velocity of a centre of mass and angular velocity in the world frame, shape (6,)."""
        if not self.reduced:
            state.velocity[body] = velocity
            return
        dof, _ = self._free_joint(body)
        # six columns of the body's own Jacobian
        columns = np.empty((6, 6))
        trial = state.qvel.copy()
        for k in range(6):
            state.qvel[:] = 0.0
            state.qvel[dof + k] = 1.0
            self.refresh(state)
            columns[:, k] = state.velocity[body]
        state.qvel[:] = trial
        state.qvel[dof : dof + 6] = np.linalg.solve(columns, velocity)
        self.refresh(state)

    def set_body_pose(self, state: State, body: int, origin: np.ndarray, quaternion: np.ndarray) -> None:
        """Put the file's frame of a body somewhere."""
        wake(self.world.struct, body)
        if self.reduced:
            _, at = self._free_joint(body)
            state.qpos[at : at + 3], state.qpos[at + 3 : at + 7] = origin, quaternion
            self.refresh(state)
            return
        principal = multiply(quaternion, conjugate(self.model.frame[body]))
        state.quaternion[body] = principal
        state.position[body] = origin - rotate(principal, self.model.origin[body])

    def _free_joint(self, body: int) -> tuple[int, int]:
        """Addresses of a free body's velocity and position."""
        m = self.mujoco_model
        b = int(np.flatnonzero(m.body_weldid > 0)[body])
        j = int(m.body_jntadr[b])
        if j < 0 or int(m.jnt_type[j]) != 0:
            raise SceneError(
                f"body {self.model.body_names[body]!r} moves by its joints in reduced coordinates: "
                "set them with sim.joint(name)"
            )
        return int(m.jnt_dofadr[j]), int(m.jnt_qposadr[j])

    def forget(self) -> None:
        """Drop the impulses of earlier steps: the next step starts cold."""
        self.world.course[:] = 0
        wake(self.world.struct, -1)
        memory.forget(self.world.struct)

    def memory(self) -> dict[str, np.ndarray]:
        """Everything that is remembered from step to step, for a snapshot."""
        out: dict[str, np.ndarray] = dict(zip(_MEMORY, memory.memory(self.world.struct), strict=True))
        if self.settings.sleep:
            out |= {name: getattr(self.world, name).copy() for name in _SLEEP}
        return out

    def set_memory(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Remember what `memory` returned earlier; nothing if it is empty."""
        self.forget()
        # snapshots of earlier versions have no points or fewer counts, and start cold
        if "points" in arrays and arrays[_MEMORY[-1]].size == self.world.count.size:
            memory.set_memory(self.world.struct, *(np.ascontiguousarray(arrays[name]) for name in _MEMORY))
        if self.settings.sleep and _SLEEP[0] in arrays:
            for name in _SLEEP:
                getattr(self.world, name)[:] = arrays[name]

    def energy(self, state: State) -> float:
        """Kinetic and potential energy of a state, with what rotors and springs store [J]."""
        self._load(state)
        return float(end.energy_at(self.world.struct))

    def step(self, state: State, h: float, wrench: np.ndarray) -> tuple[State, StepRecord]:
        """One step of length h under external forces and torques `wrench`, shape (n, 6), besides gravity.

        Raises:
            CollisionError: There are more contacts than mujoco's arena holds.
            StepFailed: Numbers overflow.
        """
        began = working_time()
        w = self.world
        self.set_step(h, wrench)
        own: float | None = None  # residual of a relaxation that makes the step
        code, packed, report = tasks.run(w.address, state.packed, tasks.STEP)
        while code != course.DONE:
            if code == course.NEEDS_ROOM:
                w.grow(*(int(x) for x in w.info[:3]))
            else:
                own = solve_by(self.settings, w)
            code, packed, report = tasks.run(w.address, state.packed, tasks.GO_ON)
        after = State(state.time + h, packed, self.sizes)
        record = StepRecord(after.time, h, self.settings.tolerance, report)
        if own is not None:
            judge_as_itself(self, record, own)
        if w.info[end.CAUSE]:
            self._object(state, after, record)
        record.seconds = working_time() - began
        return after, record

    def _object(self, before: State, after: State, record: StepRecord) -> None:
        """What is wrong with a step, into its record; an error where it is none."""
        wrong = int(self.world.info[end.CAUSE])
        if wrong >= end.FAILED:
            self.forget()
        if wrong == end.FULL:
            raise CollisionError(
                f"{record.contact_count} contacts fill the memory of this MjModel: compile it with "
                '<size memory="…"/>, or pass the XML or the MjSpec'
            )
        if wrong == end.FAILED:
            raise StepFailed(runaway(self.model, before, after), record)
        record.cause = cause(self, record.residual)

    def set_tolerance(self, tolerance: float) -> None:
        """What steps are solved to from the next one on."""
        self.settings = replace(self.settings, tolerance=tolerance)
        self._step_size = float("nan")

    def set_step(self, h: float, wrench: np.ndarray) -> None:
        """Length of the next step, and the wrenches that act during it."""
        self.world.wrench[:] = wrench
        if h != self._step_size:
            self._step_size = h
            self.world.set_options(h, self.settings, self._two_stages, self.fourth)

    def begin(self, state: State, h: float, wrench: np.ndarray) -> None:
        """The problem of a step from a state, into `world.problem`."""
        w = self.world
        self.set_step(h, wrench)
        while tasks.run(w.address, state.packed, tasks.PROBLEM)[0] != course.DONE:
            w.grow(*(int(x) for x in w.info[:3]))

    def consistent(self, state: State, h: float) -> tuple[State, str]:
        """The state whose positions contradict no joint, limit or shape, and what was moved, in words.

        Errors that a first step would hardly notice are left to it.
        """
        w, core = self.world, self.world.struct
        self.begin(state, h, np.zeros_like(w.wrench))
        wrong = contradiction(core)
        allowed = _NEGLIGIBLE * (self.model.size if np.isfinite(self.model.size) else 1.0)
        if max(wrong) <= allowed:
            return state, ""
        moved, note = self._put_right(state, wrong, allowed)
        self.begin(moved, h, np.zeros_like(w.wrench))
        left = contradiction(core)
        if max(left) > max(wrong):
            # limits that were not within reach are no rows: an arm went through hundreds of turns
            moved, note, left = state, f"the start {missed(wrong, allowed)}: {_NOWHERE}", wrong
            self.refresh(state)
        self.forget()
        if left[0] > allowed and let_go(self):
            note += (
                f"; a mocap body is {left[0]:.2g} out of reach: what holds on to it is soft as its file says"
            )
        elif moved is not state and max(left) > _VISIBLE * max(wrong):
            note += f"; it still {missed(left, allowed)}: not all of it can hold at once"
        return moved, note

    def _put_right(self, state: State, wrong: tuple[float, ...], allowed: float) -> tuple[State, str]:
        """A state without the contradictions `wrong` where there is one near, and what was moved."""
        w, moved, solved = self.world, state, False
        for _ in range(_ATTEMPTS):
            code, packed, _ = tasks.run(w.address, moved.packed, tasks.PUT_RIGHT)
            while code != course.DONE:
                w.grow(*(int(x) for x in w.info[:3]))
                code, packed, _ = tasks.run(w.address, moved.packed, tasks.PUT_RIGHT)
            moved = State(state.time, packed.copy(), self.sizes)
            moved.qvel[:], moved.act[:] = state.qvel, state.act
            solved = not w.info[end.UNSOLVED] and w.figure[end.TRAVEL] < np.inf
            self.forget()
            if solved or not w.figure[end.TRAVEL] < np.inf:
                break
        far = np.linalg.norm(moved.position - state.position, axis=1)
        whole = extent(self.model)
        # what a joint is open by is what something has to be moved by, or turned with all that it carries
        allowed_far = _FURTHEST * whole + wrong[0] * max(whole, 1.0)
        words = ""
        if not solved:
            words = _NOWHERE
        elif far.max(initial=0.0) > allowed_far:
            words = "too far to be corrected at once, so steps undo it slowly"
        if words:
            return state, f"the start {missed(wrong, allowed)}: {words}"
        self.refresh(moved)
        return moved, put_right(self.model, wrong, allowed, far)

    def contact_problem(self) -> ContactProblem:
        """The problem of the world, as it stands."""
        return problem_of(self.world)
