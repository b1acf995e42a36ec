"""A boxed LCP as an LCP, in the split form (λ⁺, λ⁻, β⁺, β⁻) and in the shifted form of half the size.

Both write λ = c + Σ ±x with nonnegative parts x of known largest size, and give every part with a finite
limit a multiplier β ≥ 0 that lets the row's equation break once the part is at its limit:

    0 ≤ x ⊥ ± (A λ + p) + β ≥ 0          0 ≤ β ⊥ limit − x ≥ 0

Split takes the parts λ⁺ and λ⁻ around the point c of [lo, hi] nearest 0, shifted the one part λ − lo (or
hi − λ where only hi is finite). Parts that cannot move (c at a bound) and multipliers without a bound are
left out, so that any lo ≤ hi is taken: infinite, fixed, one-sided, both of one sign. Bounds that follow
another row (friction index) make c and the limits linear in that row's unknown. The new matrix is monotone
where A is and no bound follows another row.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.formulations.free_rows_eliminated import free_rows, free_rows_eliminated
from perp.formulations.registry import Reformulated, composed, formulation
from perp.problems import LCP, BoxedLCP, ProblemError
from perp.problems.active_sets import cases, split_forces
from perp.problems.validation import Vector, is_sparse

# A part this close to its limit, relative to that, is there.
ROUND_OFF = 1e-14


@dataclass(frozen=True)
class Parts:
    """λ = constant + Σ sign · x over nonnegative parts x, each part of one row and limited by `limit`."""

    constant: Vector  # the reference c, or for a row that follows another its factor of that row, shape (n,)
    row: np.ndarray  # the row of each part, shape (m,)
    sign: Vector  # +1 or −1 of each part, shape (m,)
    # the largest size of each part (its factor of the limiting row where there is one), shape (m,)
    limit: Vector


def split_parts(problem: BoxedLCP) -> Parts:
    """λ⁺ and λ⁻ around the point of the box nearest 0, all λ⁺ first."""
    lo, hi = problem.lo, problem.hi
    constant = np.clip(0.0, lo, hi)
    plus, minus = np.flatnonzero(hi > constant), np.flatnonzero(lo < constant)
    return Parts(
        constant,
        np.concatenate([plus, minus]),
        np.concatenate([np.ones(plus.size), -np.ones(minus.size)]),
        np.concatenate([hi[plus] - constant[plus], constant[minus] - lo[minus]]),
    )


def shifted_parts(problem: BoxedLCP) -> Parts:
    """One part per row, counted from lo, or from hi where lo is infinite; two where both are."""
    lo, hi = problem.lo, problem.hi
    from_lo = np.isfinite(lo)
    constant = np.where(from_lo, lo, np.where(np.isfinite(hi), hi, 0.0))
    up = np.flatnonzero((from_lo & (hi > lo)) | (np.isinf(lo) & np.isinf(hi)))
    down = np.flatnonzero(np.isinf(lo))
    return Parts(
        constant,
        np.concatenate([up, down]),
        np.concatenate([np.ones(up.size), -np.ones(down.size)]),
        np.concatenate([np.where(from_lo[up], hi[up] - constant[up], np.inf), np.full(down.size, np.inf)]),
    )


def _refuses(problem: BoxedLCP) -> str | None:
    index = problem.friction_index
    limiting = index[index >= 0] if index is not None else np.empty(0, dtype=np.int64)
    wrong = limiting[problem.lo[limiting] < 0]
    if wrong.size:
        return f"row {wrong[0]} limits another row but may be negative itself (lo = {problem.lo[wrong[0]]})"
    return None


@formulation(
    "split", source=BoxedLCP, target=LCP, exact=True, refuses=_refuses,
    summary="boxed LCP as an LCP in λ⁺, λ⁻, β⁺, β⁻",
)  # fmt: skip
def boxed_as_split_lcp(problem: BoxedLCP) -> Reformulated:
    """The LCP in λ⁺, λ⁻, β⁺, β⁻."""
    return _assemble(problem, split_parts(problem))


@formulation(
    "shifted", source=BoxedLCP, target=LCP, exact=True, automatic=True, refuses=_refuses,
    summary="boxed LCP as an LCP in λ − lo and β, free rows eliminated",
)  # fmt: skip
def boxed_as_shifted_lcp(problem: BoxedLCP) -> Reformulated:
    """The LCP in λ − lo and β, after free rows have left by a Schur complement."""
    if free_rows(problem).any():
        try:
            reduced = free_rows_eliminated(problem)
        except ProblemError:  # too many redundant free rows: they stay, as the difference of two parts
            return _assemble(problem, shifted_parts(problem))
        inner: Any = reduced.problem
        turned = composed(reduced, _assemble(inner, shifted_parts(inner)))
        return Reformulated(
            turned.problem, turned.back, turned.start, lambda x: _information(problem, turned.back(x))
        )
    return _assemble(problem, shifted_parts(problem))


def _assemble(problem: BoxedLCP, parts: Parts) -> Reformulated:
    A, q, n, m = problem.M, problem.q, problem.size, parts.row.size
    follows = problem.limiting_row
    limited = np.flatnonzero(follows >= 0)
    # the part of a limiting row is its λ⁺ (lo ≥ 0), if it can move at all
    part_of = np.full(n, -1)
    up = np.flatnonzero(parts.sign > 0)
    part_of[parts.row[up]] = up
    constant = parts.constant.copy()
    constant[limited] *= parts.constant[follows[limited]]
    moving = limited[(part_of[follows[limited]] >= 0) & (parts.constant[limited] != 0.0)]
    shape, sparse = (n, m), is_sparse(A)
    # λ = constant + spread x; the rows of the new problem are picked with their sign
    picked = _matrix(parts.sign, parts.row, np.arange(m), shape, sparse)
    spread = picked + _matrix(parts.constant[moving], moving, part_of[follows[moving]], shape, sparse)
    bounded = np.flatnonzero(np.isfinite(parts.limit))
    k = bounded.size
    limiter = follows[parts.row[bounded]]
    has_limiter = limiter >= 0
    room = parts.limit[bounded] * np.where(has_limiter, parts.constant[limiter], 1.0)
    own = _matrix(np.ones(k), bounded, np.arange(k), (m, k), sparse)
    followed = np.flatnonzero(has_limiter & (part_of[limiter] >= 0))
    opening = _matrix(parts.limit[bounded[followed]], followed, part_of[limiter[followed]], (k, m), sparse)
    top = picked.T @ (A @ spread)
    M = _stacked(top, own, opening - own.T, sparse) if k else top
    lcp = LCP(M, np.concatenate([picked.T @ (A @ constant + q), room]), copy=False)

    def back(x: Vector) -> Vector:
        z = constant + spread @ x[:m]
        low, high = problem.bounds(z)
        # λ⁺ with a β⁺ is at its limit: not by round-off below
        row, up = parts.row[bounded], parts.sign[bounded] > 0.0
        limit = np.where(up, high[row], low[row])
        full = (x[m:] > 0.0) & (np.abs(z[row] - limit) <= ROUND_OFF * np.abs(limit))
        z[row[full]] = limit[full]
        return np.clip(z, low, high)

    def start(z: Vector) -> Vector:
        low, high = problem.bounds(z)
        clipped = np.clip(z, low, high)
        reference = parts.constant.copy()
        reference[limited] *= np.maximum(clipped[follows[limited]], 0.0)
        size = np.maximum(parts.sign * (clipped - reference)[parts.row], 0.0)
        pull = parts.sign * problem.evaluate(clipped)[parts.row]
        return np.concatenate([size, np.maximum(-pull, 0.0)[bounded]])

    return Reformulated(lcp, back, start, lambda x: _information(problem, back(x)))


def _matrix(values: Vector, row: Any, column: Any, shape: tuple[int, int], sparse: bool) -> Any:
    """A matrix with at most one value at each place, stored as the problem's own is."""
    if sparse:
        from scipy.sparse import csr_array

        return csr_array((values, (row, column)), shape=shape)
    dense = np.zeros(shape)
    dense[row, column] = values
    return dense


def _stacked(top: Any, right: Any, left: Any, sparse: bool) -> Any:
    """Four blocks, the last of them zero."""
    if sparse:
        from scipy.sparse import block_array

        return block_array([[top, right], [left, None]], format="csr")
    return np.block([[top, right], [left, np.zeros((right.shape[1], left.shape[0]))]])


def _information(problem: BoxedLCP, z: Vector) -> dict[str, Any]:
    return {"cases": cases(problem, z), "split": split_forces(problem, z, problem.evaluate(z))}
