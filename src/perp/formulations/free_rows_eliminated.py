"""Rows without bounds leave by a Schur complement: a mixed LCP becomes an LCP, a mixed box a smaller box.

A free row F demands w_F = 0, which fixes z_F = −A_FF⁺ (q_F + A_FC z_C) once the other unknowns z_C are known:

    A' = A_CC − A_CF A_FF⁺ A_FC          q' = q_C − A_CF A_FF⁺ q_F

A redundant joint makes A_FF singular; the pseudo-inverse A_FF⁺ is then still exact for a positive
semidefinite A, where the columns of A_FC lie in the range of A_FF. Whether q_F does is for the residual to
say.

Reference: Cottle, Pang and Stone, The Linear Complementarity Problem, section 1.5 (mixed LCP).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from perp.formulations.registry import Reformulated, formulation
from perp.problems import LCP, BoxedLCP, ProblemError
from perp.problems.validation import Matrix, Vector, is_sparse

# Singular values below this fraction of the largest one are round-off of a rank-deficient block.
RANK_TOLERANCE = 1e-12
# A singular sparse block is factorised densely up to this many rows.
LARGEST_DENSE_BLOCK = 2000


def free_rows(problem: BoxedLCP) -> np.ndarray:
    """Which rows have no bounds and limit no other row, shape (n,)."""
    free = np.isinf(problem.lo) & np.isinf(problem.hi)
    if problem.friction_index is not None:
        free[problem.friction_index[problem.friction_index >= 0]] = False
    return free


def _no_free_rows(problem: BoxedLCP) -> str | None:
    return None if free_rows(problem).any() else "it has no free rows"


def _not_mixed(problem: BoxedLCP) -> str | None:
    kept = ~free_rows(problem)
    if problem.friction_index is not None and (problem.friction_index >= 0).any():
        return "it has rows with a friction index"
    if (problem.lo[kept] != 0.0).any() or (problem.hi[kept] != np.inf).any():
        return "it has rows that are neither free nor [0, ∞)"
    return None


@formulation(
    "schur", source=BoxedLCP, target=BoxedLCP, exact=True, refuses=_no_free_rows,
    summary="free rows eliminated by a Schur complement",
)  # fmt: skip
def free_rows_eliminated(problem: BoxedLCP) -> Reformulated:
    """The boxed LCP of the rows that have bounds."""
    free = free_rows(problem)
    C, F = np.flatnonzero(~free), np.flatnonzero(free)
    A, q = problem.M, problem.q
    A_CC, A_CF = A[C][:, C], A[C][:, F]
    A_FC, A_FF = A[F][:, C], A[F][:, F]
    inverse = _inverse_of(A_FF)
    constant, slope = inverse(q[F]), inverse(A_FC.toarray() if is_sparse(A_FC) else A_FC)
    reduced = A_CC - A_CF @ slope
    if is_sparse(A):
        from scipy.sparse import csr_array

        reduced = csr_array(reduced)
    index = problem.friction_index
    if index is not None:
        position = np.full(problem.size, -1)
        position[C] = np.arange(C.size)
        index = np.where(index[C] >= 0, position[index[C]], -1)
    inner = BoxedLCP(
        reduced, q[C] - A_CF @ constant, problem.lo[C], problem.hi[C], friction_index=index,
        negative_limit=problem.negative_limit, copy=False,
    )  # fmt: skip

    def back(kept: Vector) -> Vector:
        z = np.empty(problem.size)
        z[C] = kept
        z[F] = -(constant + slope @ kept)
        return z

    return Reformulated(inner, back, start=lambda z: z[C])


@formulation(
    "schur-lcp", source=BoxedLCP, target=LCP, exact=True, refuses=_not_mixed,
    summary="a mixed LCP (free rows and [0, ∞)) as an LCP",
)  # fmt: skip
def mixed_lcp_as_lcp(problem: BoxedLCP) -> Reformulated:
    """The LCP of the complementarity rows of a mixed LCP."""
    turned = free_rows_eliminated(problem)
    boxed: Any = turned.problem
    return Reformulated(LCP(boxed.M, boxed.q, copy=False), turned.back, turned.start)


def _inverse_of(block: Matrix) -> Callable[[Any], Any]:
    """A_FF⁺ as a function: a factorisation where the block is regular, the pseudo-inverse where it is not."""
    if block.shape[0] == 0:
        return lambda x: x
    if is_sparse(block):
        inverse = _sparse_inverse(block)
        if inverse is not None:
            return inverse
        if block.shape[0] > LARGEST_DENSE_BLOCK:
            raise ProblemError(
                f"the {block.shape[0]} free rows are redundant (their block of M is singular) and too many "
                "for a dense pseudo-inverse: use a solver that takes the boxed problem as it is"
            )
        block = block.toarray()
    pseudo_inverse = np.linalg.pinv(block, rcond=RANK_TOLERANCE)
    return lambda x: pseudo_inverse @ x


def _sparse_inverse(block: Any) -> Callable[[Any], Any] | None:
    """A sparse factorisation of the block, or None when it is singular."""
    from scipy.sparse.linalg import splu

    try:
        factor = splu(block.tocsc())
    except RuntimeError:
        return None
    pivots = np.abs(factor.U.diagonal())
    return factor.solve if pivots.min() > RANK_TOLERANCE * pivots.max() else None
