"""Velocities u = J M⁻¹ (p + Jᵀ λ) + b + Σ λ as if computed with twice the digits, where round-off would show.

Sums are kept as pairs of numbers, a value and what it lost. The bodies' velocities are refined against the
mass as given, so that neither the inverse of the mass nor impulses that cancel leave an error. Costs some
twenty times a plain evaluation, and is done only where the estimate of `round_off_shows` asks for it.

Reference: Ogita, Rump and Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perp.compilation.kernel import kernel
from perp.problems.accurate_slack import UNIT, largest_length, product_error, sum_error
from perp.problems.validation import Vector, freeze

if TYPE_CHECKING:
    from perp.problems.contact import ContactProblem
    from perp.problems.dynamics import Dynamics

# Each refinement gains as many digits as the plain solve with the mass has: four where it has only three.
REFINEMENTS = 4
# The last of them changes velocities by less than this part of the largest one, or the mass is too close to
# singular for anything to be said about an answer.
CONVERGED = 1e-12
# Velocities below this part of what is summed to get them have lost the digits that a residual of 1e-8 needs.
CANCELS = 1e-7
# From this condition on the plain inverse of a mass leaves fewer digits than a residual of 1e-8 needs,
# whatever the impulses are.
ILL_CONDITIONED = 1e6


@kernel(nogil=True)
def add_products(data, indices, indptr, sign, x, x_lost, total, lost):
    """The pair (total, lost) += sign · A (x, x_lost), in place, for A in compressed rows."""
    for i in range(total.size):
        value, low = total[i], lost[i]
        for k in range(indptr[i], indptr[i + 1]):
            entry, j = sign * data[k], indices[k]
            product = entry * x[j]
            new = value + product
            low += product_error(entry, x[j], product) + sum_error(value, product, new) + entry * x_lost[j]
            value = new
        total[i] = value + low
        lost[i] = sum_error(value, low, total[i])


class ExactRows:
    """J, Jᵀ and M in compressed rows."""

    def __init__(self, dynamics: Dynamics) -> None:
        from scipy.sparse import csr_array

        J: Any = csr_array(dynamics.jacobian)
        self.jacobian, self.transposed = _arrays(J), _arrays(J.T.tocsr())
        self.mass = _arrays(dynamics.mass_rows)


def error_length(dynamics: Dynamics) -> float:
    """The length of a row of W whose plain sum is about as far off as a velocity of this form.

    It is what a row of W can have in entries, or what the errors of a solve with the mass amount to.
    """
    from scipy.sparse import csr_array

    J: Any = csr_array(dynamics.jacobian)
    row, column = int(np.diff(J.indptr).max(initial=0)), int(np.bincount(J.indices).max(initial=0))
    ones = np.ones(dynamics.momentum.size)
    off = np.abs(dynamics.mass_solver.solve(dynamics.mass_rows @ ones) - ones).max(initial=0.0)
    return max(row * column / 3.0, float(off) / UNIT)


def _arrays(rows: Any) -> tuple[Vector, Vector, Vector]:
    return (
        freeze(rows.data), freeze(rows.indices.astype(np.int32)), freeze(rows.indptr.astype(np.int32))
    )  # fmt: skip


def round_off_shows(problem: ContactProblem, impulse: Vector) -> bool:
    """Whether a plain evaluation may be off by what a residual would see."""
    dynamics, sets = problem.dynamics, problem.sets
    if dynamics is None or not impulse.size:
        return False
    size = np.repeat(problem.data_size, sets.dimension) / problem.row_scale
    if dynamics.condition > ILL_CONDITIONED or (size < CANCELS * dynamics.speed).any():
        return True
    d = np.repeat(problem.column_scale, sets.dimension)
    push = float((d * np.abs(impulse) / problem.row_scale).max())
    return dynamics.error_length > largest_length(push / float(problem.data_size.min()))


def accurate_velocity(dynamics: Dynamics, impulse: Vector) -> Vector:
    """The velocities at the constraints, shape (rows,), correct to the last digits of the data as given.

    NaN where refinement against the mass does not converge: then there are no digits to judge an answer by.
    """
    rows = dynamics.exact_rows
    n, m = dynamics.momentum.size, impulse.size
    push, push_lost = np.array(dynamics.momentum), np.zeros(n)
    add_products(*rows.transposed, 1.0, freeze(impulse), freeze(np.zeros(m)), push, push_lost)
    v, v_lost = np.array(dynamics.mass_solver.solve(push)), np.zeros(n)
    change = v
    for _ in range(REFINEMENTS):
        left, left_lost = push.copy(), push_lost.copy()
        add_products(*rows.mass, -1.0, freeze(v.copy()), freeze(v_lost.copy()), left, left_lost)
        change = dynamics.mass_solver.solve(left + left_lost)
        new = v + change
        t = new - v
        v_lost += (v - (new - t)) + (change - t)
        v = new
        if np.abs(change).max(initial=0.0) <= UNIT**2 * np.abs(v).max(initial=0.0):
            break
    if not np.abs(change).max(initial=0.0) <= CONVERGED * np.abs(v).max(initial=0.0):
        return np.full(m, np.nan)
    u, lost = np.array(dynamics.bias), np.zeros(m)
    if dynamics.compliance.any():
        identity = (dynamics.compliance, _range(m), _range(m + 1))
        add_products(*identity, 1.0, freeze(impulse), freeze(np.zeros(m)), u, lost)
    add_products(*rows.jacobian, 1.0, freeze(v), freeze(v_lost), u, lost)
    return u + lost


def _range(n: int) -> Vector:
    return freeze(np.arange(n, dtype=np.int32))
