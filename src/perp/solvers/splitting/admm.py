"""ADMM: a linear solve with W + ρ D and a projection onto the sets, in turn.

The problem is split into x with the quadratic term and z in the sets, with x = z; De Saxcé's shift follows
the velocities with damping, without which sliding contacts cycle. One factorisation serves all iterations;
the penalty ρ is balanced from the primal and dual residuals a few times at most, since each change factorises
anew. Linear convergence, insensitive to the rank of W. Now and then a few Newton steps on the contacts that
the iterate shows as open, sticking or slipping are tried, and kept where they solve the problem (polishing).

Reference: Boyd, Parikh, Chu, Peleato and Eckstein, Distributed optimization and statistical learning via the
alternating direction method of multipliers (2011); Acary, Armand, Nguyen and Shpakovych, Second-order cone
programming for frictional contact mechanics using interior point algorithm (2022) for the shift.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.formulations.boxed_as_contact import as_contact, refuses_friction_index
from perp.problems import LCP, BoxedLCP, ContactProblem, ProblemError, SolverError
from perp.problems.validation import Vector, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

ITERATIONS = 20_000
# Penalties are compared at these iterations; a ratio of residuals below the threshold is not worth a
# factorisation.
BALANCE_EVERY, BALANCE_RATIO, BALANCES = 20, 5.0, 12
# Where W + ρ D is singular, ρ is multiplied by this, so many times: no ratio of two eigenvalues is likely to
# be a power of it.
GROWTH, PENALTIES = 1.7, 20
# The part of its change by which the shift follows in an iteration: halved at each multiple of so many
# iterations, down to the least.
FOLLOW, FOLLOW_LEAST, HALVE_EVERY = 0.5, 0.02, 500
# Polishing is tried after so many iterations, then after twice as many, and so on: it costs about as much as
# a few factorisations. So many Newton steps, held against this part of the tolerance.
POLISH_FROM, POLISH_STEPS, POLISH_MARGIN = 500, 16, 0.1
# Beyond this many constraints a Newton step costs more than it may save.
LARGEST_POLISH = 3000


@dataclass(frozen=True)
class AdmmOptions:
    """Options of admm.

    Attributes:
        penalty: ρ relative to the scale of each constraint.
        over_relaxation: Between 1 and 1.9; 1.6 is the usual choice.
        balance: Whether ρ follows the ratio of primal and dual residuals.
        polish: Whether Newton steps try to end what converges slowly.
    """

    penalty: float = 0.1
    over_relaxation: float = 1.6
    balance: bool = True
    polish: bool = True

    def __post_init__(self) -> None:
        if not self.penalty > 0.0:
            raise ProblemError(f"penalty = {self.penalty}: a positive number is needed")
        if not 0.0 < self.over_relaxation < 2.0:
            raise ProblemError(f"over_relaxation = {self.over_relaxation}: between 0 and 2 is needed")


@register(
    "admm",
    takes=(LCP, BoxedLCP, ContactProblem),
    options=AdmmOptions,
    refuses=refuses_friction_index,
    summary="one factorisation, then solves and projections; every set, positive semidefinite matrices",
)
def admm(problem: LCP | BoxedLCP | ContactProblem, control: Control, options: AdmmOptions) -> Attempt:
    """Solve a problem over convex sets by ADMM."""
    contact = as_contact(problem)
    if contact.size == 0:
        return Attempt(np.zeros(0), 0)
    splitting = _Splitting(contact, control.begin(contact.size), options, control.tol)
    # impulses may stand still on the boundary while the multipliers move: both are the state
    attempt = control.through(lambda state: state[: contact.size], None).iterate(
        splitting.advance, splitting.state(), default_limit=ITERATIONS, work=20.0 * splitting.nonzeros
    )
    attempt.z = attempt.z[: contact.size]
    attempt.info["polished"] = splitting.polished
    return attempt


class _Splitting:
    """The state of ADMM between chunks: x, z and the scaled multiplier y of x = z."""

    def __init__(self, problem: ContactProblem, start: Vector, options: AdmmOptions, tol: float) -> None:
        self.problem, self.options, self.tol = problem, options, tol
        scale = np.repeat(problem.column_scale, problem.sets.dimension)
        self.scale = scale / problem.row_scale**2
        self.nonzeros = problem.W.nnz if is_sparse(problem.W) else problem.size**2
        self.rho = options.penalty
        self.solve = self._factorise()
        self.z = problem.sets.project(start)
        u = problem.W @ self.z + problem.q
        self.shift = self._shift(u)
        # at rest z tells nothing about the multiplier; from there zero lets the first iteration move
        self.y = -(u + self.shift) / (self.rho * self.scale) if start.any() else np.zeros(u.size)
        self.balances = self.iteration = 0
        self.polish_at, self.polished = POLISH_FROM, False

    def _factorise(self) -> Callable[[Vector], Vector]:
        """Solves with W + ρ D; ρ grows where an indefinite W makes that singular."""
        from perp.solvers.linear import factorise

        W: Any = self.problem.W
        for _ in range(PENALTIES):
            solve = factorise(W, symmetric=False, shift=self.rho * self.scale)
            if solve is not None:
                return solve
            self.rho *= GROWTH
        raise SolverError("admm: the matrix cannot be factorised with any penalty")

    def _shift(self, u: Vector) -> Vector:
        shift = np.zeros(u.size)
        if not self.problem.relaxed:
            from perp.kernels.shifts import shifts

            sets = self.problem.sets
            shifts(sets.kind, sets.start, sets.parameters, u, shift)
        return shift

    def state(self) -> Vector:
        """Projected impulses and multipliers, shape (2 n,)."""
        return np.concatenate([self.z, self.y])

    def advance(self, state: Vector, count: int) -> None:
        """`count` iterations; `state` receives the result."""
        for _ in range(count):
            self.iteration += 1
            weight = self.rho * self.scale
            x = self.solve(weight * (self.z - self.y) - self.problem.q - self.shift)
            mixed = self.options.over_relaxation * x + (1.0 - self.options.over_relaxation) * self.z
            old = self.z
            self.z = self._project(mixed + self.y)
            self.y += mixed - self.z
            follow = max(FOLLOW_LEAST, FOLLOW * 0.5 ** (self.iteration // HALVE_EVERY))
            self.shift += follow * (self._shift(self.problem.W @ self.z + self.problem.q) - self.shift)
            if self.options.balance and self.iteration % BALANCE_EVERY == 0 and self.balances < BALANCES:
                self._balance(float(np.linalg.norm(self.scale * (x - self.z))), weight * (self.z - old))
            if self.options.polish and self.iteration == self.polish_at:
                self.polish_at *= 2
                self._polish()
                if self.polished:
                    break
        state[:] = self.state()

    def _polish(self) -> None:
        """Newton steps from z, which is replaced only by an answer that meets the tolerance."""
        from perp.kernels.packed import pack
        from perp.kernels.packed_trees import trees_of
        from perp.kernels.tree_newton import EXACT, solve_trees
        from perp.kernels.tree_workspace import tree_workspace
        from perp.problems.residual import judge

        if self.problem.contact_count > LARGEST_POLISH:
            return
        packed = pack(self.problem)
        trees = trees_of(packed, packed.unknowns(self.z), POLISH_MARGIN * self.tol)
        solve_trees(
            trees.struct, tree_workspace(trees), POLISH_STEPS, EXACT, np.zeros(4, np.int64), np.zeros(1)
        )
        impulse = packed.impulse(trees.impulse)
        if judge(self.problem, impulse)[0] <= self.tol:
            self.z, self.polished = impulse, True

    def _project(self, x: Vector) -> Vector:
        """Projection in the metric of `scale`, which differs within a rolling constraint."""
        from perp.problems.set_kernels import project_all

        sets, length = self.problem.sets, self.problem.row_scale
        out = np.empty(x.size)
        project_all(sets.kind, sets.start, self.problem.unit_parameters, x / length, out)
        return out * length

    def _balance(self, primal: float, moved: Vector) -> None:
        dual = float(np.linalg.norm(moved))
        if min(primal, dual) == 0.0:
            return
        ratio = primal / dual
        if 1.0 / BALANCE_RATIO < ratio < BALANCE_RATIO:
            return
        old = self.rho
        self.rho = float(np.clip(old * np.sqrt(ratio), 1e-8, 1e8))
        self.solve = self._factorise()
        self.y *= old / self.rho
        self.balances += 1
