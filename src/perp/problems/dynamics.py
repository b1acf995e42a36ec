"""The dynamics form of a contact problem: mass, Jacobian, momentum and bias.

    v = M⁻¹ (p + Jᵀ λ)          velocities of the bodies after the impulses λ
    u = J v + b + Σ λ           velocities at the constraints

so that W = J M⁻¹ Jᵀ + Σ and q = J M⁻¹ p + b.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, InitVar, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems.errors import ProblemError
from perp.problems.mass import InverseMass, MassSolver, mass_solver
from perp.problems.validation import (
    Matrix,
    Vector,
    check_finite,
    describe,
    freeze,
    is_sparse,
    matrix,
    per_row,
    same_array,
    square_matrix,
    to_float,
    vector,
)

if TYPE_CHECKING:
    from perp.problems.accurate_dynamics import ExactRows

# Real files carry inertias that were rotated in floating point: relative asymmetries of 2e-6 occur.
ASYMMETRY_ALLOWED = 1e-5
# Rows of W that are formed at a time where W is needed only once: a few megabytes.
ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, eq=False, repr=False)
class Dynamics:
    """Bodies and constraints before they are condensed into W and q; see `ContactProblem.from_dynamics`."""

    mass: Matrix
    jacobian: Matrix
    momentum: Vector
    _: KW_ONLY
    bias: Vector = 0.0  # type: ignore[assignment]
    compliance: Vector = 0.0  # type: ignore[assignment]
    copy: InitVar[bool] = True

    def __post_init__(self, copy: bool) -> None:
        assign = object.__setattr__
        assign(self, "mass", _mass("mass", self.mass, copy=copy))
        n = self.mass.shape[0] * (self.mass.shape[1] if self.mass.ndim == 3 else 1)
        assign(self, "jacobian", matrix("jacobian", self.jacobian, columns=n, copy=copy))
        rows = self.jacobian.shape[0]
        assign(self, "momentum", vector("momentum", self.momentum, n, copy=copy))
        assign(self, "bias", per_row("bias", self.bias, rows, copy=copy))
        assign(self, "compliance", per_row("compliance", self.compliance, rows, copy=copy))
        if (self.compliance < 0).any():
            i = int(np.argmax(self.compliance < 0))
            raise ProblemError(f"compliance[{i}] = {self.compliance[i]} is negative")

    @cached_property
    def mass_solver(self) -> MassSolver:
        """M⁻¹ as something that can be applied; factorised on first use."""
        return mass_solver(self.mass)

    @property
    def mass_rows(self) -> Any:
        """M in compressed rows, whatever form it was given in."""
        from scipy.sparse import bsr_array, csr_array

        if self.mass.ndim != 3:
            return csr_array(self.mass)
        count, k, _ = self.mass.shape
        shape, offsets = (count * k, count * k), np.arange(count + 1)
        return bsr_array((self.mass, offsets[:-1], offsets), shape=shape).tocsr()

    @cached_property
    def exact_rows(self) -> ExactRows:
        """The data in rows, for evaluations with twice the digits."""
        from perp.problems.accurate_dynamics import ExactRows

        return ExactRows(self)

    @cached_property
    def condition(self) -> float:
        """‖M‖ ‖M⁻¹‖ in the norm of the largest column sum, after its diagonal was scaled to 1; at least."""
        return self.mass_solver.condition(self.mass_rows)

    @cached_property
    def error_length(self) -> float:
        """How long a row of W would have to be for the round-off of a plain evaluation."""
        from perp.problems.accurate_dynamics import error_length

        return error_length(self)

    @cached_property
    def delassus(self) -> Matrix:
        """W = J M⁻¹ Jᵀ + Σ, shape (rows, rows): sparse when J is."""
        W = self.mass_solver.delassus(self.jacobian)
        if self.compliance.any():
            if is_sparse(W):
                from scipy.sparse import diags_array

                W = W + diags_array(self.compliance)
            else:
                W = W + np.diag(self.compliance)
        return matrix("W", W, copy=False)

    def delassus_rows(self) -> Iterator[Any] | None:
        """W in blocks of rows, for what needs to see it once; None where it comes whole."""
        solver = self.mass_solver
        if not (isinstance(solver, InverseMass) and is_sparse(solver.inverse) and is_sparse(self.jacobian)):
            return None
        from scipy.sparse import diags_array

        J: Any = self.jacobian
        rows = J.shape[0]
        spread = solver.inverse @ J.T
        compliance = diags_array(self.compliance).tocsr() if self.compliance.any() else None

        def block(first: int) -> Any:
            part = slice(first, first + ROWS_AT_A_TIME)
            W = J[part] @ spread
            return (W if compliance is None else W + compliance[part]).tocsr()

        return (block(first) for first in range(0, rows, ROWS_AT_A_TIME))

    @cached_property
    def speed(self) -> Vector:
        """What is summed to get the velocities of the free motion, shape (rows,) [m/s].

        Σ |J_ij v_j| + |b_i|, or what the round-off of v = M⁻¹ p is the last digit of.
        """
        from perp.problems.accurate_slack import UNIT

        v = self._free_motion
        change = self.mass_solver.solve(self.momentum - self.mass_rows @ v)
        return freeze(abs(self.jacobian) @ np.maximum(np.abs(v), np.abs(change) / UNIT) + np.abs(self.bias))

    @cached_property
    def _free_motion(self) -> Vector:
        """M⁻¹ p: the bodies' velocities without impulses."""
        return self.mass_solver.solve(self.momentum)

    @cached_property
    def free_velocity(self) -> Vector:
        """q = J M⁻¹ p + b: the velocities at the constraints without impulses [m/s].

        Where motions cancel, as those of the joints of a robot that falls, with twice the digits: what is
        left would be round-off.
        """
        from perp.problems.accurate_dynamics import CANCELS, accurate_velocity

        q = self.jacobian @ self.mass_solver.solve(self.momentum) + self.bias
        if ((q != 0.0) & (np.abs(q) < CANCELS * self.speed)).any():
            exact = accurate_velocity(self, np.zeros(q.size))
            q = exact if np.isfinite(exact).all() else q
        return freeze(q)

    def body_velocity(self, impulse: Vector) -> Vector:
        """The bodies' velocities v = M⁻¹ (p + Jᵀ λ), shape (n,)."""
        return self.mass_solver.solve(self.momentum + self._transposed @ impulse)

    @cached_property
    def _transposed(self) -> Any:
        """Jᵀ; making it takes longer than a product with it where it is sparse and small."""
        return self.jacobian.T

    def velocity(self, impulse: Vector) -> Vector:
        """The constraints' velocities u = J v + b + Σ λ, shape (rows,)."""
        return self.jacobian @ self.body_velocity(impulse) + self.bias + self.compliance * impulse

    def terms(self, impulse: Vector) -> Vector:
        """What is summed to get the velocities with and without impulses, shape (rows,) [m/s].

        Or what round-off leaves at a row of impulses on the same bodies, a share of √(W_ii W_jj) |λ_j|.
        """
        from perp.problems.own_scale import ROUND_OFF_SHARE

        reach, (rows, columns), mass = self._reach
        root = np.sqrt(self.own_mobility)
        on_body = np.zeros(self.momentum.size)
        np.maximum.at(on_body, columns, (root * np.abs(impulse))[rows])
        on_body = np.maximum.reduceat(on_body[mass.indices], mass.indptr[:-1])
        beside = np.zeros(root.size)
        np.maximum.at(beside, rows, on_body[columns])
        moving = np.abs(self._free_motion) + np.abs(self.body_velocity(impulse))
        summed = reach @ moving + np.abs(self.bias) + np.abs(self.compliance * impulse)
        return np.maximum(summed, ROUND_OFF_SHARE * root * beside)

    @cached_property
    def _reach(self) -> tuple[Any, tuple[Any, Any], Any]:
        """|J|, where it is not zero, and which freedoms the mass couples; a diagonal is never zero."""
        reach: Any = abs(self.jacobian)
        return reach, reach.nonzero(), self.mass_rows

    @cached_property
    def own_mobility(self) -> Vector:
        """The diagonal of W, shape (rows,)."""
        blocks = self.delassus_rows() if "delassus" not in self.__dict__ else None
        if blocks is None:
            return freeze(np.array(self.delassus.diagonal()))
        first, parts = 0, []
        for block in blocks:
            parts.append(block.diagonal(first))
            first += block.shape[0]
        return freeze(np.concatenate(parts))

    def equals(self, other: Dynamics) -> bool:
        return all(
            same_array(getattr(self, name), getattr(other, name))
            for name in ("mass", "jacobian", "momentum", "bias", "compliance")
        )


def _mass(name: str, x: Any, *, copy: bool) -> Matrix:
    """Checks shape, finiteness, symmetry and a positive diagonal."""
    if not is_sparse(x) and np.ndim(x) == 3:
        blocks = freeze(to_float(name, x, copy=copy))
        if blocks.shape[1] != blocks.shape[2]:
            raise ProblemError(f"{name} has shape {blocks.shape}: (bodies, k, k) is needed")
        check_finite(name, blocks)
        _check_symmetric(name, blocks - np.swapaxes(blocks, 1, 2), blocks)
        _check_diagonal(name, np.diagonal(blocks, axis1=1, axis2=2).ravel())
        return blocks
    mass = square_matrix(name, x, copy=copy)
    _check_symmetric(name, mass - mass.T, mass)
    _check_diagonal(name, mass.diagonal())
    return mass


def _check_symmetric(name: str, difference: Any, mass: Any) -> None:
    if 0 not in mass.shape and abs(difference).max() > ASYMMETRY_ALLOWED * abs(mass).max():
        if is_sparse(difference):
            entries = difference.tocoo()
            at = int(np.argmax(np.abs(entries.data)))
            index = (entries.row[at], entries.col[at])
        else:
            index = np.unravel_index(int(np.argmax(np.abs(difference))), difference.shape)
        value = mass[index]
        opposite = value - difference[index]
        raise ProblemError(
            f"{name}{describe(index)} = {value} but the opposite entry is {opposite}: a mass is symmetric"
        )


def _check_diagonal(name: str, diagonal: np.ndarray) -> None:
    if not (diagonal > 0).all():
        i = int(np.argmin(diagonal > 0))
        raise ProblemError(f"{name}[{i}, {i}] = {diagonal[i]}: a mass is positive")
