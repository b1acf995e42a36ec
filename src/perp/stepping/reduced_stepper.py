"""Takes steps in generalised coordinates: joints need no rows, and cannot drift."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any

import numpy as np

from perp.collision import ContactFinder
from perp.dynamics.actuators import Actuators
from perp.dynamics.generalised import GeneralisedState, Tree
from perp.problems import ProblemError
from perp.scenes import Model, SceneError
from perp.scenes.engine import engine
from perp.stepping.joint_access import ReducedJoint
from perp.stepping.outcome import Blocks, Outcome
from perp.stepping.record import StepFailed, StepRecord
from perp.stepping.record_of_step import NO_SLIP, record_of
from perp.stepping.reduced_assembly import room_needed
from perp.stepping.reduced_end import end_of_tree
from perp.stepping.reduced_quick import tree_step
from perp.stepping.reduced_route import FIRST_WEIGHT, LARGEST_NV, STEPS, WITHIN, solve_by_trees
from perp.stepping.reduced_rows import TreeRows, tendon_rows
from perp.stepping.reduced_system import LIMIT_RECOVERY, QUARTER, ReducedSystem
from perp.stepping.settings import Level, Route, StepSettings
from perp.stepping.stepper import Stepper
from perp.stepping.warm_start import Memory

_TREE = "tree"
# Bias forces that change by less than this share of the largest do not show in the energy.
_BIAS_CHANGE = 1e-5


class ReducedStepper(Stepper):
    """A `Stepper` whose state is mujoco's qpos and qvel.

    Args:
        model: The scene.
        finder: Finds contacts.
        settings: How to step.
    """

    def __init__(self, model: Model, finder: ContactFinder, settings: StepSettings) -> None:
        if settings.sleep:
            raise ProblemError("sleep: bodies fall asleep in maximal coordinates only")
        self.model, self.finder, self.settings = model, finder, settings
        self.tree = Tree(model)
        self.actuators = Actuators(self.tree.mujoco_model)
        self.rows = TreeRows(self.tree, self.actuators, int(model.shapes.opt.disableflags))
        # equalities often close loops that the tree holds already
        m = self.tree.mujoco_model
        self._redundant = bool(m.neq)
        self._tendon_rotors = bool(m.tendon_armature.any())
        self._mean: np.ndarray | None = None
        self._whole, self._real = np.empty(0, np.int64), np.empty(0)
        self._springs = bool(m.jnt_stiffness.any() or m.tendon_stiffness.any())
        self.forget()

    @property
    def motor_names(self) -> tuple[str, ...]:
        """One name per control value."""
        return self.actuators.names

    def initial_control(self) -> np.ndarray:
        """Control values at the start, shape (motors,)."""
        return np.zeros(self.actuators.count)

    def set_motor(self, motor: int, control: float) -> None:
        """Give one motor its control value."""
        self.actuators.control[motor] = control

    def joint_law(self, name: str) -> ReducedJoint:
        """Access to a joint by name."""
        return ReducedJoint(self, name)

    def initial_state(self) -> GeneralisedState:
        """The state of the scene file: its reference position, at rest."""
        m = self.tree.mujoco_model
        return self.state_of(m.qpos0.copy(), np.zeros(m.nv), np.zeros(m.na), 0.0)

    def state_of(self, qpos: np.ndarray, qvel: np.ndarray, act: np.ndarray, time: float) -> GeneralisedState:
        """The state with these coordinates, shapes (nq,), (nv,), (na,)."""
        return self._state_and_numbers(qpos, qvel, act, time)[0]

    def _state_and_numbers(
        self, qpos: np.ndarray, qvel: np.ndarray, act: np.ndarray, time: float
    ) -> tuple[GeneralisedState, np.ndarray]:
        """The state, and its energy and momentum as in `mechanics`."""
        tree, model = self.tree, self.model
        tree.evaluate_end(qpos, jacobian=True)
        d, m, n = tree.end, tree.mujoco_model, tree.movable.size
        position, quaternion, velocity = np.empty((n, 3)), np.empty((n, 4)), np.empty((n, 6))
        numbers = np.empty(8)
        end_of_tree(
            *tree.chain, tree.slot, d.cdof, d.subtree_com, d.xipos, d.ximat, d.xquat, m.body_iquat, qvel,
            m.dof_armature, model.mass, model.inertia, model.gravity, position, quaternion, velocity, numbers,
        )  # fmt: skip
        return GeneralisedState(time, position, quaternion, velocity, np.zeros(0), qpos, qvel, act), numbers

    def forget(self) -> None:
        """Drop the impulses of earlier steps: the next step starts cold."""
        self._memory = Memory(self.rows.identities)

    def set_memory(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Remember what `memory` returned earlier."""
        self._memory = Memory.of_arrays(self.rows.identities, arrays)

    def set_body_velocity(self, state: Any, body: int, velocity: np.ndarray) -> None:
        """Velocity of a centre of mass and angular velocity in the world frame, shape (6,)."""
        dof, _ = self._free_joint(body)
        tree = self.tree
        tree.evaluate_end(state.qpos, jacobian=True)
        # six columns of the body's own Jacobian
        columns = np.empty((6, 6))
        for k in range(6):
            unit = np.zeros(tree.nv)
            unit[dof + k] = 1.0
            columns[:, k] = tree.body_velocities(tree.end, unit)[body]
        state.qvel[dof : dof + 6] = np.linalg.solve(columns, velocity)
        self.refresh(state)

    def set_body_pose(self, state: Any, body: int, origin: np.ndarray, quaternion: np.ndarray) -> None:
        """Put the file's frame of a body somewhere."""
        _, at = self._free_joint(body)
        state.qpos[at : at + 3], state.qpos[at + 3 : at + 7] = origin, quaternion
        self.refresh(state)

    def _free_joint(self, body: int) -> tuple[int, int]:
        """Addresses of a free body's velocity and position."""
        m = self.tree.mujoco_model
        b = int(self.tree.movable[body])
        j = int(m.body_jntadr[b])
        if j < 0 or int(m.jnt_type[j]) != 0:
            raise SceneError(
                f"body {self.model.body_names[body]!r} moves by its joints in reduced coordinates: "
                "set them with sim.joint(name)"
            )
        return int(m.jnt_dofadr[j]), int(m.jnt_qposadr[j])

    def refresh(self, state: Any) -> None:
        """Poses and velocities of the bodies from the generalised coordinates, in place."""
        new = self.state_of(state.qpos, state.qvel, state.act, state.time)
        state.position[:], state.quaternion[:], state.velocity[:] = new.position, new.quaternion, new.velocity

    def energy_of_joints(self, state: Any) -> float:
        """What rotors and springs store in a state [J]."""
        self.tree.evaluate_end(state.qpos)
        return sum(self._stored_energy(state.qvel))

    def _stored_energy(self, v: np.ndarray) -> tuple[float, float]:
        """Kinetic energy of rotors and energy of springs at the positions of `tree.end` [J]."""
        m = self.tree.mujoco_model
        kinetic, potential = self._stored_beside_rotors(v)
        return float(0.5 * m.dof_armature @ v**2) + kinetic, potential

    def _stored_beside_rotors(self, v: np.ndarray) -> tuple[float, float]:
        """The same without the rotors of the degrees of freedom."""
        m, d, kinetic = self.tree.mujoco_model, self.tree.end, 0.0
        if self._tendon_rotors:
            kinetic = 0.5 * float(m.tendon_armature @ (tendon_rows(m, d) @ v) ** 2)
        if not self._springs:
            return kinetic, 0.0
        mujoco, flags = engine(), int(m.opt.disableflags)
        # without gravity only springs are left
        m.opt.disableflags = flags | int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
        mujoco.mj_energyPos(m, d)
        m.opt.disableflags = flags
        return kinetic, float(d.energy[0])

    def step(self, state: Any, h: float, wrench: np.ndarray) -> tuple[Any, StepRecord]:
        """One step as in `Stepper`, with bias forces at the mean of its velocities.

        The step is solved again with the bias of its own mean velocity until that stays. With the bias of the
        start alone a double pendulum gains energy at any step.
        """
        after: Any
        after, record = super().step(state, h, wrench)
        if record.substeps > 1 or not record.met:
            return after, record
        pause = self._memory.pauses
        for _ in range(self.settings.bias_rounds):
            mean = 0.5 * (state.qvel + after.qvel)
            if not self.tree.bias_change(mean) > _BIAS_CHANGE:
                break
            self._mean, last = mean, record
            try:
                after, record = self._step(state, h, wrench, 1)
            except StepFailed:
                break
            finally:
                self._mean, self._memory.pauses = None, pause
            record.iterations += last.iterations
            record.solver_iterations += last.solver_iterations
            record.times = {name: spent + last.times.get(name, 0.0) for name, spent in record.times.items()}
        return after, record

    def _fits_quick_step(self) -> bool:
        """Whether the step may be taken by `tree_step`."""
        return self._by_trees and not self.rows.curved and not self._memory.pause

    def _quick_step(
        self, state: Any, h: float, wrench: np.ndarray
    ) -> tuple[GeneralisedState, StepRecord] | None:
        """The step by `tree_step`; None where it misses the tolerance."""
        began = perf_counter()
        tree, settings, model, memory = self.tree, self.settings, self.model, self._memory
        tree.evaluate_start(state, self.actuators.control, self._mean)
        force = tree.generalised_force(wrench)
        system = ReducedSystem(tree, self.rows, state, h, force, settings, self.finder.bound)
        built = perf_counter()
        contacts = self.finder.find(system.position, system.rotation, system.reach)
        found = perf_counter()
        d, joint, at_end = tree.start, system.joint, settings.level is Level.POSITION
        m, count = joint.law.size, contacts.count
        rows = m + contacts.row_count
        integers, numbers = room_needed(m, count, rows, tree.nv, tree.width)
        if integers > self._whole.size or numbers > self._real.size:
            self._whole, self._real = np.empty(2 * integers, np.int64), np.empty(2 * numbers)
        impulse, v, first = np.empty(rows), np.empty(tree.nv), np.empty(count, np.int64)
        slip, sticking = np.empty(count), np.empty(count, np.int64)
        forces, local, world = np.zeros(self.rows.identities), np.empty((count, 3)), np.empty((count, 2, 3))
        info, out = np.empty(3, np.int64), np.empty(8)
        recovery, gained = settings.recovery_speed, system.gained
        tree_step(
            joint.identity, joint.law, joint.dof, joint.sign, joint.source, joint.dense, joint.value,
            joint.force, joint.gain, joint.low, joint.high, contacts.geom, contacts.body, contacts.point,
            contacts.frame, contacts.rows, contacts.friction, contacts.gap, contacts.roundness,
            contacts.restitution, contacts.accuracy, tree.parent, tree.last_dof, tree.dof_root, *tree.rows,
            system.factor, d.M, system.extra, system.predicted, system.body_predicted, system.position,
            system.rotation, state.qpos, state.qvel, d.cdof, d.subtree_com, d.xpos, d.xmat, d.xquat,
            tree.turning, tree.links, tree.width, *memory.last, h, at_end,
            1.0 if at_end else settings.correction, recovery, LIMIT_RECOVERY * recovery, system.rest_speed,
            model.size, settings.solvable_share, settings.tolerance, gained, WITHIN, NO_SLIP, FIRST_WEIGHT,
            STEPS * settings.max_iterations, self._whole, self._real, impulse, v, first, slip, sticking,
            forces, local, world, info, out,
        )  # fmt: skip
        solved = perf_counter()
        speed, length, joints, normal, tangent, drift, penetration, turned = out.tolist()
        blocks = Blocks(joints, normal, tangent, drift, length, speed)
        if not (turned <= QUARTER and blocks.met(settings.tolerance)):
            return None
        memory.separated(done=True)
        memory.keep(forces, contacts, local, world)
        after, energies = self._state_and_numbers(
            tree.moved(state.qpos, v, h), v, system.next_activation, state.time + h
        )
        kinetic, potential = self._stored_beside_rotors(v)
        times = {
            "collision": found - built, "assembly": built - began, "solve": solved - found,
            "finish": perf_counter() - solved,
        }  # fmt: skip
        return after, StepRecord(
            time=after.time, step=h, route=_TREE, iterations=int(info[0]), joint_residual=blocks.joint,
            contact_residual=blocks.contact, friction_residual=blocks.friction,
            momentum_residual=blocks.momentum, residual=blocks.worst, penetration=penetration,
            kinetic_energy=float(energies[0]) + kinetic, potential_energy=float(energies[1]) + potential,
            linear_momentum=energies[2:5], angular_momentum=energies[5:8], contacts=contacts,
            contact_impulse=impulse[m:], contact_first=first, sticking=sticking, slip=slip,
            joint_impulse=impulse[:m], times=times,
        )  # fmt: skip

    def _prepare(self, state: Any, h: float, wrench: np.ndarray) -> tuple[Any, dict[str, float]]:
        began = perf_counter()
        tree = self.tree
        tree.evaluate_start(state, self.actuators.control, self._mean)
        force = tree.generalised_force(wrench)
        system = ReducedSystem(tree, self.rows, state, h, force, self.settings, self.finder.bound)
        built = perf_counter()
        contacts = self.finder.find(system.position, system.rotation, system.reach)
        found = perf_counter()
        system.add_contacts(contacts)
        return system, {"collision": found - built, "assembly": built - began + perf_counter() - found}

    def _finish(
        self,
        system: Any,
        outcome: Outcome,
        blocks: Blocks,
        route: str,
        tried: tuple[str, ...],
        times: dict[str, float],
    ) -> tuple[GeneralisedState, StepRecord]:
        began = perf_counter()
        state, tree, h, v = system.state, self.tree, system.h, outcome.velocity
        after, numbers = self._state_and_numbers(
            tree.moved(state.qpos, v, h), v.copy(), system.next_activation, state.time + h
        )
        # the record asks for the same positions
        tree.visitor = v
        record = record_of(system, outcome, blocks, route, tried, times)
        kinetic, potential = self._stored_beside_rotors(v)
        record.kinetic_energy = float(numbers[0]) + kinetic
        record.potential_energy = float(numbers[1]) + potential
        record.linear_momentum, record.angular_momentum = numbers[2:5], numbers[5:8]
        self._memory.remember(system, outcome.impulse)
        times["finish"] = perf_counter() - began
        return after, record

    @property
    def _by_trees(self) -> bool:
        """Whether Newton's method in the velocities is to be tried."""
        settings = self.settings
        return settings.solver == "auto" and settings.route is Route.AUTO and self.tree.nv <= LARGEST_NV

    def _routes(self, system: Any) -> list[tuple[str, int]]:
        """Newton's method in the velocities first, then the routes of maximal coordinates."""
        others = super()._routes(system)
        return [(_TREE, self.settings.max_iterations), *others] if self._by_trees and system.rows else others

    def _solve(self, system: Any, start: np.ndarray, route: str, limit: int) -> Outcome:
        if route == _TREE:
            return solve_by_trees(system, start, limit)
        return super()._solve(system, start, route, limit)
