"""What an answer of an LCP or a boxed LCP rests on: active set, complementary matrix, and the cases of a box.

The words are those of the documents that these problems come from: a row's force is counted from the point of
its box nearest 0, as λ⁺ above it and λ⁻ below it; β⁺ and β⁻ are what is missing from the row's equation w = 0
once the force is at its limit (Pivoting methods for LCP; Boxed constraints for pivoting solvers).
"""

from typing import Any, NamedTuple

import numpy as np

from perp.problems.boxed import BoxedLCP
from perp.problems.errors import ProblemError
from perp.problems.lcp import LCP
from perp.problems.validation import Vector, is_sparse

# A force this close to a bound, against its own size, and a velocity this small against q, count as equal.
CASE_TOLERANCE = 1e-9


class Case(NamedTuple):
    """Which case of the box a row is in.

    Attributes:
        plus: "1⁺" no force of the upper side, "2.1⁺" at the upper bound with the equation broken, "2.2⁺"
            active with the equation held.
        minus: "1⁻", "2.1⁻" or "2.2⁻": the same for the lower side.
        words: "no force", "slides at a bound" (2.1) or "holds" (2.2).
    """

    plus: str
    minus: str
    words: str


class SplitForces(NamedTuple):
    """λ⁺, λ⁻, β⁺, β⁻ of the split form, shape (n,) each: z = c + λ⁺ − λ⁻, c the point nearest 0."""

    plus: Vector
    minus: Vector
    beta_plus: Vector
    beta_minus: Vector


def split_forces(problem: BoxedLCP, z: Vector, w: Vector) -> SplitForces:
    """λ⁺, λ⁻, β⁺, β⁻ at an answer z with w = M z + q.

    A side that cannot move (c at that bound) has neither force nor β.
    """
    lo, hi = problem.bounds(z)
    force = z - np.clip(0.0, lo, hi)
    up, down = hi > np.clip(0.0, lo, hi), lo < np.clip(0.0, lo, hi)
    zero = np.zeros(z.size)
    return SplitForces(
        np.where(up, np.maximum(force, zero), zero), np.where(down, np.maximum(-force, zero), zero),
        np.where(up, np.maximum(-w, zero), zero), np.where(down, np.maximum(w, zero), zero),
    )  # fmt: skip


def cases(problem: BoxedLCP, z: Vector) -> list[Case]:
    """The case of every row at an answer z."""
    lo, hi = problem.bounds(z)
    w = problem.evaluate(z)
    force = z - np.clip(0.0, lo, hi)
    size = CASE_TOLERANCE * np.maximum(np.abs(z), np.max(np.abs(z), initial=0.0))
    still = CASE_TOLERANCE * max(float(np.max(np.abs(problem.q), initial=0.0)), np.finfo(float).tiny)
    found = []
    for i in range(problem.size):
        plus, minus = "1⁺", "1⁻"
        if force[i] > size[i]:
            plus = "2.1⁺" if w[i] < -still and z[i] >= hi[i] - size[i] else "2.2⁺"
        elif force[i] < -size[i]:
            minus = "2.1⁻" if w[i] > still and z[i] <= lo[i] + size[i] else "2.2⁻"
        broken = "2.1" in plus or "2.1" in minus
        words = "slides at a bound" if broken else "no force" if (plus, minus) == ("1⁺", "1⁻") else "holds"
        found.append(Case(plus, minus, words))
    return found


def active_rows(problem: LCP | BoxedLCP, z: Vector, w: Vector) -> tuple[np.ndarray, np.ndarray]:
    """The rows strictly between their bounds, whose w is zero, and those that rest at their upper bound."""
    lo, hi = problem.bounds(z) if isinstance(problem, BoxedLCP) else (problem.lo, problem.hi)
    margin = CASE_TOLERANCE * max(float(np.abs(z).max(initial=0.0)), np.finfo(float).tiny)
    # a distance from a bound that is small, but not against what w would be there, is a small force
    scale = problem.column_scale
    below, above = z - lo, hi - z
    inside = (below > np.minimum(margin, np.abs(w) / scale)) & (above > np.minimum(margin, np.abs(w) / scale))
    inside &= (below > 0) & (above > 0)
    return np.flatnonzero(inside), np.flatnonzero(~inside & (above < below))


def complementary_matrix(problem: LCP, active_set: Any) -> np.ndarray:
    """The matrix C of an active set: column i is −M's where i is active, else that of the identity.

    C s = q for s_i = z_i in active rows and s_i = w_i in the others; where s ≥ 0 it is a solution of the LCP.

    Args:
        problem: An LCP with n rows.
        active_set: Row numbers with z_i > 0, as in `solution.info["active_set"]`, or n truth values.

    Returns:
        C, shape (n, n).

    Examples:
        >>> import numpy as np, perp
        >>> problem = perp.LCP([[2, 1], [1, 2]], [-5, 1])
        >>> np.linalg.solve(perp.complementary_matrix(problem, [0]), problem.q)
        array([2.5, 3.5])
    """
    n = problem.size
    active = np.asarray(active_set)
    if active.dtype == bool and active.shape == (n,):
        active = np.flatnonzero(active)
    if active.size and (active.dtype.kind not in "iu" or active.ndim != 1):
        raise ProblemError(f"active_set = {active_set!r}: row numbers or {n} booleans are needed")
    rows = active.astype(np.int64)
    if rows.size and (rows.min() < 0 or rows.max() >= n):
        raise ProblemError(f"active_set holds row {rows[(rows < 0) | (rows >= n)][0]}: 0 … {n - 1} is needed")
    C = np.eye(n)
    C[:, rows] = -(problem.M[:, rows].toarray() if is_sparse(problem.M) else problem.M[:, rows])
    return C
