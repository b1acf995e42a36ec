"""Takes steps: contacts, system, route, retries, new state and record."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from time import perf_counter
from warnings import warn

import numpy as np

from perp.collision import ContactFinder, Contacts
from perp.dynamics.rows import DRIVE, FORCE_LIMIT, LIMIT, JointRows
from perp.dynamics.state import State
from perp.scenes import Model
from perp.scenes.frames import conjugate, multiply, rotate
from perp.stepping.body_quick import begin_step, finish_step
from perp.stepping.body_route import (
    FIRST_WEIGHT,
    STEPS,
    WITHIN,
    solve_by_bodies,
    solve_with_forces_of_the_end,
)
from perp.stepping.energy_guard import fed_by_joints
from perp.stepping.evaluation import end_of_step
from perp.stepping.fischer_burmeister import solve_newton
from perp.stepping.joint_access import MaximalJoint, ReducedJoint
from perp.stepping.late_contacts import GAIN, OVERLAP
from perp.stepping.outcome import Attempt, Blocks, Outcome, measure
from perp.stepping.position_level import solve_sequence
from perp.stepping.record import StepFailed, StepInaccurate, StepRecord
from perp.stepping.record_of_step import NO_SLIP, record_of
from perp.stepping.rotors import RotorRates, rotor_rates, stored_energy
from perp.stepping.routes import BODY, IMPLICIT, NEWTON, all_routes, routes
from perp.stepping.scales import reach
from perp.stepping.second_look import look_again
from perp.stepping.settings import Level, Route, StepSettings
from perp.stepping.sleeping import Rest, after_step, disturbed, of_the_awake, touched
from perp.stepping.system import LARGEST_TURN, StepSystem
from perp.stepping.velocity_level import solve_velocity_level
from perp.stepping.warm_start import Memory

# A step is solved so often at most, for contacts that appear at its end and for what its bodies turn.
_LOOKS = 12
_NOTHING = np.zeros(0)


class Stepper:
    """Takes steps of a model, remembering impulses from one step to the next.

    Args:
        model: The scene.
        finder: Finds contacts.
        settings: How to step.
    """

    def __init__(self, model: Model, finder: ContactFinder, settings: StepSettings) -> None:
        self.model, self.finder, self.settings = model, finder, settings
        self.table = JointRows.of(model)
        start = self.initial_state()
        _, jacobian = self.table.evaluate(start.position, start.quaternion, start.rotation, start.coordinate)
        self._redundant = self.table.redundant(jacobian, model.body_count)
        self._weight = np.zeros((model.body_count, 6))
        self._weight[:, :3] = model.mass[:, None] * model.gravity
        self._fall = float(np.linalg.norm(model.gravity))
        limited = (self.table.law == DRIVE) & (self.table.parameters[:, FORCE_LIMIT] < np.inf)
        self._bounded = bool(((self.table.law == LIMIT) | limited).any())
        self.forget()

    @property
    def motor_names(self) -> tuple[str, ...]:
        """One name per control value."""
        return tuple(motor.name for motor in self.model.motors)

    def initial_control(self) -> np.ndarray:
        """Control values at the start, shape (motors,)."""
        return np.array([motor.control for motor in self.model.motors], dtype=np.float64)

    def set_motor(self, motor: int, control: float) -> None:
        """Give one motor its control value."""
        self.table.set_motor(self.model, motor, control)
        self._memory.wake(slice(None))

    def joint_law(self, name: str) -> MaximalJoint | ReducedJoint:
        """Access to a joint by name."""
        return MaximalJoint(self, name)

    def initial_state(self) -> State:
        """The model's starting state."""
        start = State.of(self.model, self.table.at_reference)
        start.coordinate = self.table.evaluate(
            start.position, start.quaternion, start.rotation, start.coordinate
        )[0]
        return start

    def energy_of_joints(self, state: State) -> float:
        """What rotors and springs store in a state [J]."""
        jacobian = self.table.evaluate(state.position, state.quaternion, state.rotation, state.coordinate)[1]
        rates = rotor_rates(self.table, jacobian, state.velocity, self._memory.rotors)
        return sum(stored_energy(self.table, state.coordinate, rates))

    def set_body_velocity(self, state: State, body: int, velocity: np.ndarray) -> None:
        """Velocity of a centre of mass and angular velocity in the world frame, shape (6,)."""
        state.velocity[body] = velocity

    def set_body_pose(self, state: State, body: int, origin: np.ndarray, quaternion: np.ndarray) -> None:
        """Put the file's frame of a body somewhere."""
        self._memory.wake(body)
        principal = multiply(quaternion, conjugate(self.model.frame[body]))
        state.quaternion[body] = principal
        state.position[body] = origin - rotate(principal, self.model.origin[body])

    def forget(self) -> None:
        """Drop the impulses of earlier steps: the next step starts cold."""
        self._memory = Memory(self.table.constraint_count)

    def memory(self) -> dict[str, np.ndarray]:
        """Everything that is remembered from step to step, for a snapshot."""
        return self._memory.arrays()

    def set_memory(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Remember what `memory` returned earlier."""
        self._memory = Memory.of_arrays(self.table.constraint_count, arrays)

    def step(self, state: State, h: float, wrench: np.ndarray) -> tuple[State, StepRecord]:
        """One step of length h under external forces and torques `wrench`, shape (n, 6), besides gravity.

        A step that misses its tolerance is tried by the other route, then as smaller steps. If that fails
        too, the best answer is taken with a warning and `record.met` False, provided that it meets the
        loosest tolerance.

        Raises:
            StepFailed: Not even that; the stepper's memory is that before the step.
        """
        return self._step(state, h, wrench, self.settings.largest_division)

    def _step(self, state: State, h: float, wrench: np.ndarray, division: int) -> tuple[State, StepRecord]:
        quick = self._quick_step(state, h, wrench) if self._fits_quick_step() else None
        if isinstance(quick, tuple):
            return quick
        if quick is None:
            system, times = self._prepare(state, h, wrench)
            answer, attempts = self._by_routes(system, self._memory.recall(system), times)
        else:
            answer, attempts, system, times = quick, [], quick.system, {"collision": 0.0}
        if answer is not None and not (answer.fed and division >= 2):
            return self._accept(answer, attempts, times)
        tried = tuple(attempt.message for attempt in attempts)
        reasons = "; ".join(tried)
        best = min(attempts, key=lambda attempt: attempt.blocks.worst)
        try:
            if division >= 2:
                return self._halves(state, h, wrench, division // 2, tried)
        except StepFailed:
            pass
        if answer is not None:
            return self._accept(answer, attempts, times)
        met = np.isfinite(best.outcome.impulse).all() and best.blocks.met(self.settings.loosest_tolerance)
        if met and division == self.settings.largest_division:
            warn(
                f"the step at t = {state.time:g} s is accurate to {best.blocks.worst:.0e} only: {reasons}",
                StepInaccurate,
                stacklevel=3,
            )
            after, record = self._finish(best.system, best.outcome, best.blocks, best.route, tried, times)
            record.met = False
            return after, record
        record = record_of(best.system, best.outcome, best.blocks, best.route, tried, times)
        raise StepFailed(f"the step at t = {state.time:g} s did not meet its tolerance: {reasons}", record)

    def _accept(
        self, answer: Attempt, attempts: list[Attempt], times: dict[str, float]
    ) -> tuple[State, StepRecord]:
        """The state and the record that an answer leads to, after a second look at it."""
        self._memory.separated(done=answer.system.settings is self.settings)
        found = answer.system.contacts.count
        answer, attempts, overlap = self._second_look(answer, attempts, times)
        self._memory.directed(at_end=answer.route == IMPLICIT)
        tried = tuple(attempt.message for attempt in attempts)
        after, record = self._finish(answer.system, answer.outcome, answer.blocks, answer.route, tried, times)
        record.late_contacts = record.contacts.count - found
        record.penetration = max(record.penetration, overlap)
        return after, record

    def _fits_quick_step(self) -> bool:
        """Whether the step may be taken by `body_quick`."""
        settings, table = self.settings, self.table
        chosen = settings.solver == "auto" and settings.route in (Route.AUTO, Route.BODY)
        plain = table.constraint_count == table.law.size and not table.rotors.size
        weighs = bool(self._fall) or not table.law.size
        memory = self._memory
        free = not (self._redundant or memory.pause or memory.stiff or settings.sleep)
        return chosen and plain and weighs and free

    def _quick_step(
        self, state: State, h: float, wrench: np.ndarray
    ) -> tuple[State, StepRecord] | Attempt | None:
        """The step by `body_quick`; what to look at again; or None where it misses the tolerance."""
        began = perf_counter()
        model, table, settings, memory, bound = (
            self.model, self.table, self.settings, self._memory, self.finder.bound,
        )  # fmt: skip
        n, m = model.body_count, table.law.size
        R, spin, predicted = np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((n, 6))
        inverse, mass, near = np.empty((n, 6, 6)), np.empty((n, 36)), np.empty(n)
        value, jacobian = np.empty(m), np.empty((m, 12))
        begin_step(
            model.mass, model.inertia, state.position, state.quaternion, state.velocity, wrench, self._weight,
            h, table.links, table.geometry, state.coordinate, bound, R, spin, predicted, inverse, mass, value,
            jacobian, near,
        )  # fmt: skip
        built = perf_counter()
        contacts = self.finder.find(state.position, R, near)
        found = perf_counter()
        count = contacts.count
        if m and not count and not self._bounded:
            return None
        rows, at_end = m + contacts.row_count, settings.level is Level.POSITION
        impulse, u, bias = np.empty(rows), np.empty((n, 6)), np.empty(rows)
        x, quat, velocity = np.empty((n, 3)), np.empty((n, 4)), np.empty((n, 6))
        coordinate, force = np.empty(m), np.empty(m)
        first, sticking, slip = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
        local, world = np.empty((count, 3)), np.empty((count, 2, 3))
        info, out, energies = np.empty(5, np.int64), np.empty(11), np.empty(8)
        fall = h * self._fall
        finish_step(
            table.links, table.geometry, table.law, table.parameters, value, jacobian, contacts.geom,
            contacts.body, contacts.point, contacts.frame, contacts.gap, contacts.rows, contacts.friction,
            contacts.restitution, contacts.roundness, contacts.accuracy, model.mass, model.inertia,
            model.gravity, bound, state.position, state.quaternion, state.velocity, R, spin, predicted,
            inverse, mass, *memory.last, h, at_end, float(settings.correction),
            float(settings.recovery_speed), 2.0 * fall, model.size, settings.solvable_share,
            settings.tolerance, fall, WITHIN, NO_SLIP, FIRST_WEIGHT, STEPS * settings.max_iterations, impulse,
            u, bias, x, quat, velocity, coordinate, first, slip, sticking, force, local, world, info, out,
            energies,
        )  # fmt: skip
        solved = perf_counter()
        speed, length, joints, normal, tangent, drift, penetration, joint_error, turned, far, work = (
            out.tolist()
        )
        blocks = Blocks(joints, normal, tangent, drift, length, speed)
        if not (turned < LARGEST_TURN and blocks.met(settings.tolerance)):
            return None
        steps, inner, _, _, passes = info.tolist()
        if at_end and (passes or far > OVERLAP or work > GAIN):
            system = StepSystem(model, table, state, h, wrench + self._weight, settings)
            system.add_contacts(contacts)
            if fed_by_joints(system, impulse, u):
                return None
            return Attempt(system, BODY, Outcome(impulse, u, steps, inner, bias), blocks)
        memory.separated(done=True)
        memory.keep(force, contacts, local, world)
        kinetic, potential = stored_energy(table, coordinate, _NOTHING)
        times = {
            "collision": found - built, "assembly": built - began, "solve": solved - found,
            "finish": perf_counter() - solved,
        }  # fmt: skip
        record = StepRecord(
            time=state.time + h, step=h, route=BODY, iterations=steps, solver_iterations=inner,
            joint_residual=blocks.joint, contact_residual=blocks.contact,
            friction_residual=blocks.friction, momentum_residual=blocks.momentum, residual=blocks.worst,
            penetration=penetration, joint_error=joint_error, kinetic_energy=float(energies[0]) + kinetic,
            potential_energy=float(energies[1]) + potential, linear_momentum=energies[2:5],
            angular_momentum=energies[5:8], contacts=contacts, contact_impulse=impulse[m:],
            contact_first=first, sticking=sticking, slip=slip, joint_impulse=impulse[:m], times=times,
        )  # fmt: skip
        return State(record.time, x, quat, velocity, coordinate), record

    def _by_routes(
        self, system: StepSystem, start: np.ndarray, times: dict[str, float]
    ) -> tuple[Attempt | None, list[Attempt]]:
        """The first route's answer that meets the tolerance, from the impulses `start`, and those before."""
        attempts: list[Attempt] = []
        kept: Attempt | None = None
        paused = self._memory.pause
        for route, limit in all_routes(system, self.settings, self._memory, self._routes):
            # impulses that pushed shapes apart mislead a step that does not
            cold = system.settings is not self.settings and not paused
            firsts = [np.zeros_like(start)] if cold or not start.any() else [start, np.zeros_like(start)]
            for first in firsts:
                began = perf_counter()
                solved, outcome = self._answer(system, first, route, limit)
                times["solve"] = times.get("solve", 0.0) + perf_counter() - began
                blocks = measure(solved, outcome)
                met = np.isfinite(outcome.impulse).all() and blocks.met(self.settings.tolerance)
                fed = bool(met) and fed_by_joints(solved, outcome.impulse, outcome.velocity)
                attempt = Attempt(solved, route, outcome, blocks, fed)
                if met and not fed:
                    return attempt, attempts
                if fed:
                    outcome.message = "its joints would feed it"
                    kept = attempt
                attempts.append(attempt)
                # impulses after a blow may lead to a root with a turn too many
                if blocks.joint < np.inf:
                    break
        return kept, attempts

    def _second_look(
        self, answer: Attempt, attempts: list[Attempt], times: dict[str, float]
    ) -> tuple[Attempt, list[Attempt], float]:
        """The answer solved again where contacts appear at its end, or feed what turns far.

        Returns:
            The answer, routes that missed the tolerance, and the overlap at the end [m].
        """
        overlap = 0.0
        if self.settings.level is Level.VELOCITY or not isinstance(answer.system, StepSystem):
            return answer, attempts, overlap
        for k in range(_LOOKS):
            system, impulse, u = answer.system, answer.outcome.impulse, answer.outcome.velocity
            began = perf_counter()
            overlap, other = look_again(self.finder, system, impulse, u)
            times["collision"] += perf_counter() - began
            if other is None or k + 1 == _LOOKS:
                break
            start = np.zeros(other.rows)
            start[: impulse.size] = impulse
            better, failed = self._by_routes(other, start, times)
            attempts += failed
            if better is None:
                break
            better.outcome.iterations += answer.outcome.iterations
            better.outcome.solver_iterations += answer.outcome.solver_iterations
            answer = better
        return answer, attempts, overlap

    def _halves(
        self, state: State, h: float, wrench: np.ndarray, division: int, tried: tuple[str, ...]
    ) -> tuple[State, StepRecord]:
        """Two half steps, each of which may be halved again."""
        memory = copy(self._memory)
        try:
            middle, first = self._step(state, 0.5 * h, wrench, division)
            end, second = self._step(middle, 0.5 * h, wrench, division)
        except StepFailed:
            self._memory = memory
            raise
        second.retries = (*tried, *first.retries, *second.retries)
        second.substeps += first.substeps
        second.iterations += first.iterations
        second.solver_iterations += first.solver_iterations
        return end, second

    def _routes(self, system: StepSystem) -> list[tuple[str, int]]:
        """Routes in the order to try, with their limits of outer iterations."""
        return routes(system, self.settings, redundant=self._redundant)

    def _prepare(self, state: State, h: float, wrench: np.ndarray) -> tuple[StepSystem, dict[str, float]]:
        began = perf_counter()
        rest = self._memory.rest
        if self.settings.sleep:
            rest = disturbed(rest or Rest.none(self.model.body_count), state.velocity, wrench)
        system, contacts, built, found = self._find(state, h, wrench, rest)
        if rest is not None:
            awake = touched(rest, contacts)
            if awake is not rest:
                system, contacts, built, found = self._find(state, h, wrench, awake)
            contacts = of_the_awake(awake, contacts)
            self._memory.rest = awake._replace(wrench=wrench.copy())
        system.add_contacts(contacts)
        return system, {"collision": found - built, "assembly": built - began + perf_counter() - found}

    def _find(
        self, state: State, h: float, wrench: np.ndarray, rest: Rest | None
    ) -> tuple[StepSystem, Contacts, float, float]:
        """The system without contacts, the contacts, and when either was there."""
        force = wrench + self._weight
        if rest is not None:
            force[rest.asleep] = 0.0
        system = StepSystem(self.model, self.table, state, h, force, self.settings, self._memory.rotors)
        built = perf_counter()
        near = reach(self.finder.bound, state.velocity, system.predicted, h)
        contacts = self.finder.find(state.position, system.rotation, near)
        return system, contacts, built, perf_counter()

    def _answer(
        self, system: StepSystem, start: np.ndarray, route: str, limit: int
    ) -> tuple[StepSystem, Outcome]:
        """The answer of a route, and the system that it answers."""
        if route == IMPLICIT:
            return solve_with_forces_of_the_end(system, start, limit)
        return system, self._solve(system, start, route, limit)

    def _solve(self, system: StepSystem, start: np.ndarray, route: str, limit: int) -> Outcome:
        if route == "velocity":
            return solve_velocity_level(system, start)
        if route == BODY:
            return solve_by_bodies(system, start, limit)
        if route == NEWTON:
            return solve_newton(system, start, limit=limit, redundant=self._redundant)
        return solve_sequence(system, start, system.before)

    def _finish(
        self,
        system: StepSystem,
        outcome: Outcome,
        blocks: Blocks,
        route: str,
        tried: tuple[str, ...],
        times: dict[str, float],
    ) -> tuple[State, StepRecord]:
        began = perf_counter()
        state, model = system.state, self.model
        u = outcome.velocity.copy()
        x, quat, numbers = np.empty_like(state.position), np.empty_like(state.quaternion), np.empty(8)
        end_of_step(
            model.mass, model.inertia, model.gravity, system.bodies, system.jacobian, outcome.impulse,
            system.spin, state.position, state.quaternion, system.h, route == IMPLICIT, x, quat, u, numbers,
        )  # fmt: skip
        memory = self._memory
        if memory.rest is not None:
            memory.rest = after_step(memory.rest, system, self.finder.bound, u, self.settings.sleep)
            still = memory.rest.asleep
            u[still], x[still], quat[still] = 0.0, state.position[still], state.quaternion[still]
        after = State(state.time + system.h, x, quat, u, system.joint_values_after(outcome.velocity).copy())
        record = record_of(system, outcome, blocks, route, tried, times)
        rates = system.rotor_rates(outcome.velocity)
        kinetic, potential = stored_energy(self.table, after.coordinate, rates)
        record.kinetic_energy = float(numbers[0]) + kinetic
        record.potential_energy = float(numbers[1]) + potential
        record.linear_momentum, record.angular_momentum = numbers[2:5], numbers[5:8]
        self._memory.remember(system, outcome.impulse)
        self._memory.rotors = RotorRates(rates, u.copy()) if rates.size else None
        times["finish"] = perf_counter() - began
        return after, record
