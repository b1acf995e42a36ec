"""Takes steps of a scene, remembering impulses from one step to the next."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import numpy as np

from perp.collision.errors import CollisionError
from perp.dynamics.actuators import control_names
from perp.dynamics.libmujoco import load
from perp.dynamics.place import make_place
from perp.dynamics.rows import JointRows
from perp.dynamics.scene_tables import make_scene, prepared_model, scene_tables
from perp.dynamics.state import State
from perp.kernels.tree_newton import solve_trees
from perp.problems import ContactProblem
from perp.scenes import Model, SceneError
from perp.scenes.engine import engine
from perp.scenes.frames import conjugate, multiply, rotate
from perp.scenes.loops import closes_loops, loop_joints
from perp.stepping import step as steps
from perp.stepping import verdict as end
from perp.stepping.arms import average_arms
from perp.stepping.explaining import cause, extent, put_right, runaway
from perp.stepping.joint_access import MaximalJoint, ReducedJoint
from perp.stepping.packing import pack_contacts, pack_state
from perp.stepping.record import StepFailed, StepRecord
from perp.stepping.settings import StepSettings
from perp.stepping.sleeping import Sleep, disturb, rest, sleep_of
from perp.stepping.solving import judge_as_itself, problem_of, solve_by
from perp.stepping.start import contradiction, quieten_forces, quieten_rows
from perp.stepping.world import (
    CONTACTS,
    JOINTS,
    LAST_PAUSE,
    PAUSE,
    World,
    set_recovery,
    set_stiff,
    set_velocity_level,
)

# Solves of a step for Coriolis forces at most: they converge like h |ω|.
_DRIFTS = 3
# Solves for the scale of restitution, and for contacts that only appear at the end of the step.
_BOUNCES, _LOOKS = 10, 8
# Work of joints that is worth forces of the end, as a share of the kinetic energy. A well resolved swing has
# none, and one whose links turn by a third of a radian a step a tenth.
_FED = 0.05
_LONGEST_PAUSE = 256
# Residual of a solve in its units, a tenth of the step's tolerance, that will do where no more is to be had.
_GOOD_ENOUGH = 5.0
# Solves that may put positions right after velocities: they converge linearly.
_PROJECTIONS = 40
# Contradictions of a start that are left to its first steps, and how far bodies may be moved to undo larger
# ones, as shares of the size of the largest body and of the scene.
_NEGLIGIBLE, _FURTHEST = 1e-5, 0.5
# What is remembered from step to step, of impulses and of bodies at rest.
_MEMORY, _REST = (
    ("joint", "geom", "local", "force", "rotor", "rotor_v", "pause"),
    ("time", "island", "wrench"),
)
# What solves a problem that the kernel misses; bounded too, so that a hopeless one costs no seconds.
_FALLBACK = StepSettings(solver="auto", solver_iterations=200)


class Stepper:
    """Takes steps of a model.

    Args:
        model: The scene.
        settings: How to step.
        reduced: The trees of the scene as they are; otherwise its joints are cut and become rows.
    """

    def __init__(self, model: Model, settings: StepSettings, *, reduced: bool) -> None:
        load()
        self.model, self.settings, self.reduced = model, settings, reduced
        self.mujoco_model = m = prepared_model(model)
        joints = loop_joints(model, reduced=reduced)
        self.table = JointRows.of_joints(joints, () if reduced else model.motors)
        tables = scene_tables(
            model, m, self.table, cut=not reduced, loops=reduced or closes_loops(joints, model.body_count)
        )
        self._places = [make_place(m, model.body_count, cut=not reduced) for _ in range(2)]
        tree_size = (
            np.bincount(m.dof_treeid, minlength=int(m.ntree)) if reduced else np.full(model.body_count, 6)
        )
        nq, na = (int(m.nq), int(m.na)) if reduced else (7 * model.body_count, 0)
        self.world = World(
            tables, make_scene(tables), (self._places[0][0], self._places[1][0]), tree_size.astype(np.int64),
            nq, na, int(m.nu) if reduced else 0,
        )  # fmt: skip
        self._sizes = nq, int(tree_size.sum()), na, self.table.law.size, model.body_count if reduced else 0
        self._overflows = [place[1].warning.number for place in self._places]
        self._full = int(engine().mjtWarning.mjWARN_CONTACTFULL)
        self._step_size, self._settled = 0.0, False
        self._own_residual: float | None = None  # of a relaxation that made the step
        self._fits_two_stages = bool(not reduced and self.table.law.size and settings.at_end[0])
        self._sleep: Sleep | None = (
            sleep_of(self.mujoco_model, reduced, model.body_count) if settings.sleep else None
        )
        self.forget()

    @property
    def motor_names(self) -> tuple[str, ...]:
        """One name per control value."""
        return control_names(self.mujoco_model) if self.reduced else tuple(m.name for m in self.model.motors)

    def initial_control(self) -> np.ndarray:
        """Control values at the start, shape (motors,)."""
        if self.reduced:
            return np.zeros(self.mujoco_model.nu)
        return np.array([motor.control for motor in self.model.motors], dtype=np.float64)

    def set_motor(self, motor: int, control: float) -> None:
        """Give one motor its control value."""
        if self.reduced:
            self.world.control[motor] = control
        else:
            self.table.set_motor(self.model, motor, control)
        if self._sleep is not None:
            self._sleep.wake()

    def joint_law(self, name: str) -> MaximalJoint | ReducedJoint:
        """Access to a joint by name."""
        return ReducedJoint(self, name) if self.reduced else MaximalJoint(self, name)

    def initial_state(self) -> State:
        """The state of the scene file, at rest."""
        m, model = self.mujoco_model, self.model
        if self.reduced:
            return self.state_of(m.qpos0.copy(), np.zeros(m.nv), np.zeros(m.na), 0.0)
        qpos = np.concatenate([model.position, model.quaternion], axis=1).ravel()
        return self.state_of(qpos, model.velocity.ravel().copy(), np.zeros(0), 0.0)

    def state_of(self, qpos: np.ndarray, qvel: np.ndarray, act: np.ndarray, time: float) -> State:
        """The state with these coordinates, velocities and activations; angles lie within half a turn."""
        _, _, _, rows, n = self._sizes
        packed = np.concatenate([qpos, qvel, act, self.table.at_reference, np.zeros(13 * n)])
        state = State.unpacked(time, packed, self._sizes)
        self.refresh(state)
        if rows:
            state.coordinate[:] = self.table.evaluate(
                state.position, state.quaternion, state.rotation, state.coordinate
            )[0]
        return state

    def unpacked(self, time: float, packed: np.ndarray) -> State:
        """The state of `State.packed`."""
        return State.unpacked(time, packed, self._sizes)

    def refresh(self, state: State) -> None:
        """Poses and velocities of the bodies from the coordinates, in place."""
        if not self.reduced:
            return
        self._load(state)
        self._settled = False
        position, quaternion, velocity = steps.bodies_at(self.world.struct)
        state.position[:], state.quaternion[:], state.velocity[:] = position, quaternion, velocity

    def _load(self, state: State) -> None:
        """The state into the world, which knows whether its last step ended there."""
        same = steps.load(self.world.struct, state.packed)
        self._settled = self._settled and same

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
        if self._sleep is not None:
            self._sleep.wake(body)
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
        self._settled = False
        if self._sleep is not None:
            self._sleep.wake()
        steps.forget(self.world.struct)

    def memory(self) -> dict[str, np.ndarray]:
        """Everything that is remembered from step to step, for a snapshot."""
        out: dict[str, np.ndarray] = dict(zip(_MEMORY, steps.memory(self.world.struct), strict=True))
        if self._sleep is not None:
            out |= {f"rest.{name}": getattr(self._sleep, name).copy() for name in _REST}
        return out

    def set_memory(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Remember what `memory` returned earlier; nothing if it is empty."""
        self.forget()
        if "joint" in arrays:
            steps.set_memory(self.world.struct, *(np.ascontiguousarray(arrays[name]) for name in _MEMORY))
        if self._sleep is not None and "rest.time" in arrays:
            for name in _REST:
                getattr(self._sleep, name)[:] = arrays[f"rest.{name}"]

    def energy(self, state: State) -> float:
        """Kinetic and potential energy of a state, with what rotors and springs store [J]."""
        self._load(state)
        self._settled = False
        return float(end.energy_at(self.world.struct))

    def step(self, state: State, h: float, wrench: np.ndarray) -> tuple[State, StepRecord]:
        """One step of length h under external forces and torques `wrench`, shape (n, 6), besides gravity.

        Raises:
            CollisionError: There are more contacts than mujoco's arena holds.
            StepFailed: Numbers overflow.
        """
        began = perf_counter()
        w, core, full = self.world, self.world.struct, self._full
        before = self._overflows[0][full] + self._overflows[1][full]
        self.begin(state, h, wrench)
        built = perf_counter()
        self._solve()
        solved = perf_counter()
        if self._sleep is not None:
            still = self._sleep
            rest(core, self.settings.sleep, still.time, still.island, still.body_tree, still.tree_q)
        end.finish(core)
        self._settled = True
        if self._overflows[0][full] + self._overflows[1][full] > before:
            self.forget()
            raise CollisionError(
                f"{int(w.count[CONTACTS])} contacts fill the memory of this MjModel: compile it with "
                '<size memory="…"/>, or pass the XML or the MjSpec'
            )
        after = State.unpacked(state.time + h, pack_state(core), self._sizes)
        record = StepRecord(
            after.time, h, self.settings.tolerance, w.info.copy(), w.figure.copy(), pack_contacts(core),
            int(w.count[CONTACTS]),
        )  # fmt: skip
        judge_as_itself(self, record, self._own_residual)
        if not w.figure[end.TRAVEL] < np.inf:
            self.forget()
            raise StepFailed(runaway(self.model, state, after), record)
        if w.info[end.CAUSE]:
            record.cause = cause(self.model, self.world, record)
        record.times = {"assembly": built - began, "solve": solved - built, "finish": perf_counter() - solved}
        return after, record

    def begin(self, state: State, h: float, wrench: np.ndarray) -> None:
        """The problem of a step from a state, into `world.problem`."""
        w, core = self.world, self.world.struct
        self._load(state)
        w.wrench[:] = wrench
        if h != self._step_size:
            self._step_size, self._settled = h, False
            w.set_options(h, self.settings)
        if not self._settled:
            steps.settle(core)
        steps.turn_over(core)
        self._settled = False
        self._assemble()

    def _assemble(self) -> None:
        w, core = self.world, self.world.struct
        while steps.collect(core) == steps.ROOM:
            w.grow(*(int(x) for x in w.info[:3]))
        if self._sleep is not None:
            disturb(core, self._sleep.time, self._sleep.island, self._sleep.body_tree, self._sleep.wrench)
        steps.assemble(core)
        set_stiff(core, 0)
        set_recovery(core, 0.0 if w.count[PAUSE] else self.settings.recovery_speed)
        steps.guessed(core)

    def _solve(self) -> None:
        """Solve and look at the end of the step, until it holds or its budget is used up."""
        w, core, count = self.world, self.world.struct, self.world.count
        looks = 0
        self._hold()
        if not count[CONTACTS] and not count[JOINTS]:
            steps.arrive(core)
            return
        if w.info[end.UNSOLVED] and self.settings.solver is None:
            self._rescue()
        if self._fits_two_stages and steps.work_of_joints(core) > _FED:
            self._two_stages()
        self._count_down()
        steps.arrive(core)
        while looks < _LOOKS:
            found = steps.look_around(core)
            if found == 0:
                if not (self.settings.at_end[1] and average_arms(core)):
                    break
                steps.again(core)
            if found < 0:
                w.grow(*(int(x) for x in w.info[:3]))
                self._assemble()
            looks += 1
            self._hold()
            steps.arrive(core)

    def _hold(self, limit: int = 0) -> None:
        """Solve until rows hold at the end, Coriolis forces are those of the step and it gains no energy."""
        core, info = self.world.struct, self.world.info
        rounds = drifts = bounces = 0
        while True:
            self._solve_once()
            off = steps.look(core)
            if info[end.UNSOLVED]:
                return
            if off > 1.0 and rounds < (limit or self.settings.rounds):
                rounds += 1
                info[end.ROUNDS] = rounds
                continue
            if drifts < _DRIFTS and steps.drift_again(core):
                drifts += 1
                continue
            if bounces < _BOUNCES and steps.lively(core, bounces):
                bounces += 1
                continue
            return

    def _solve_once(self) -> None:
        w = self.world
        if self.settings.solver is None:
            solve_trees(
                w.problem.struct, w.workspace, self.settings.newton_steps, w.solve_info, w.solve_worst
            )
            if w.solve_worst[0] <= _GOOD_ENOUGH:
                w.solve_info[1] = 0
        else:
            self._own_residual = solve_by(self.settings, w)

    def _rescue(self) -> None:
        """A step that the warm solve missed: from no impulses, without undoing overlap, by `perp.solve`."""
        w, core = self.world, self.world.struct
        steps.start_over(core)
        self._hold()
        if w.info[end.UNSOLVED] and not w.count[PAUSE] and steps.overlaps(core):
            set_recovery(core, 0.0)
            steps.start_over(core)
            self._hold()
            if not w.info[end.UNSOLVED]:
                # shapes that cannot be separated are asked to again after 1, 2, 4, … steps
                w.count[LAST_PAUSE] = min(max(2 * w.count[LAST_PAUSE], 1), _LONGEST_PAUSE)
                w.count[PAUSE] = w.count[LAST_PAUSE] + 1
        if w.info[end.UNSOLVED] and self._fits_two_stages:
            self._two_stages()
        if w.info[end.UNSOLVED] and self.settings.solver is None:
            p = w.problem
            kept = p.impulse.copy(), p.velocity.copy(), p.row_velocity.copy()
            if solve_by(_FALLBACK, w) is None and not w.solve_info[1]:
                steps.look(core)
            else:
                p.impulse[:], p.velocity[:], p.row_velocity[:] = kept

    def _two_stages(self) -> None:
        """Joints hold velocities, then positions are put right without a change of velocities.

        A step whose joints do work is too long for forces of its start. Velocities that are only projected
        lose energy whatever the step.

        Reference: Cline and Pai, Post-stabilization for rigid body simulation with contact (2003).
        """
        w, core, settings = self.world, self.world.struct, self.settings
        set_velocity_level(core, 1, 0.0)
        steps.start_over(core)
        self._hold()
        w.set_options(self._step_size, settings)
        set_stiff(core, 1)
        steps.second_stage(core)
        steps.again(core)
        self._hold(_PROJECTIONS)

    def _count_down(self) -> None:
        """Steps to come without undoing overlap are counted down."""
        count = self.world.count
        if count[PAUSE]:
            count[PAUSE] -= 1
        else:
            count[LAST_PAUSE] //= 2

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
        steps.load(core, state.packed)
        steps.settle(core)
        steps.turn_over(core)
        while steps.collect(core) == steps.ROOM:
            w.grow(*(int(x) for x in w.info[:3]))
        quieten_forces(core)
        steps.assemble(core)
        quieten_rows(core)
        set_stiff(core, 0)
        steps.guessed(core)
        self._hold()
        steps.arrive(core)
        end.finish(core)
        moved = State.unpacked(state.time, pack_state(core), self._sizes)
        moved.qvel[:], moved.act[:] = state.qvel, state.act
        far = np.linalg.norm(moved.position - state.position, axis=1)
        solved = not w.info[end.UNSOLVED] and w.figure[end.TRAVEL] < np.inf
        self.forget()
        set_recovery(core, self.settings.recovery_speed)
        if not solved or far.max(initial=0.0) > _FURTHEST * extent(self.model):
            return state, ""
        self.refresh(moved)
        return moved, put_right(self.model, wrong, allowed, far)

    def contact_problem(self) -> ContactProblem:
        """The problem of the world, as it stands."""
        return problem_of(self.world)
