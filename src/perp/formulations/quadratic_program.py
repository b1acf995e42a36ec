"""An LCP or a boxed LCP with a symmetric positive semidefinite matrix as the quadratic program that it is.

    minimise ½ zᵀ M z + qᵀ z   subject to   lo ≤ z ≤ hi

Its optimality conditions are the boxed LCP: w = M z + q is the gradient, which must push against the bound
that z rests on. Rows are divided by the square root of their diagonal entry and everything by the size of q,
so that solvers with absolute tolerances see numbers near one; only bounds that are finite become rows.
"""

from typing import Any

import numpy as np

from perp.formulations.registry import Reformulated, formulation
from perp.problems import LCP, BoxedLCP
from perp.problems.cone_program import QuadraticProgram
from perp.problems.validation import Vector, is_sparse

# Up to this many rows a dense matrix is checked for semidefiniteness: beyond, the residual will tell.
LARGEST_CHECKED = 1500
# Eigenvalues down to this much of the largest diagonal entry are round-off of zero.
ROUND_OFF = 1e-10
# Vendors stop by a gap relative to the objective, which is of the second order in the error of z.
ACCURACY = 1e-2


def _refuses(problem: LCP | BoxedLCP) -> str | None:
    M = problem.M
    if isinstance(problem, BoxedLCP) and problem.friction_index is not None:
        return "it has rows with a friction index"
    difference = abs(M - M.T)
    largest = float(abs(M).max()) if problem.size else 0.0
    if problem.size and float(difference.max()) > 1e-10 * largest:
        return "its matrix is not symmetric: it is not the gradient of anything"
    diagonal = M.diagonal()
    if (diagonal < 0).any():
        return f"its matrix is not semidefinite: entry {int(np.argmin(diagonal))} of its diagonal is negative"
    if problem.size <= LARGEST_CHECKED:
        dense = M.toarray() if is_sparse(M) else M
        try:
            np.linalg.cholesky(dense + ROUND_OFF * (largest or 1.0) * np.eye(problem.size))
        except np.linalg.LinAlgError:
            return "its matrix is not positive semidefinite: the quadratic program would not be convex"
    return None


@formulation(
    "boxed-as-qp", source=BoxedLCP, target=QuadraticProgram, exact=True, automatic=True, refuses=_refuses,
    summary="a boxed LCP with a semidefinite matrix as a quadratic program over its box",
)  # fmt: skip
@formulation(
    "lcp-as-qp", source=LCP, target=QuadraticProgram, exact=True, automatic=True, refuses=_refuses,
    summary="an LCP with a semidefinite matrix as a quadratic program over z ≥ 0",
)  # fmt: skip
def as_quadratic_program(problem: LCP | BoxedLCP) -> Reformulated:
    """The quadratic program over the box of a problem."""
    from scipy.sparse import csc_array, diags_array, eye_array, vstack

    n, lo, hi = problem.size, problem.lo, problem.hi
    diagonal = problem.M.diagonal()
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, diagonal.max(initial=0.0) or 1.0))
    unit = float(np.abs(scale * problem.q).max(initial=0.0)) or 1.0
    # z = unit · scale · x
    P = csc_array(diags_array(scale) @ csc_array(problem.M) @ diags_array(scale))
    low, high = np.flatnonzero(np.isfinite(lo)), np.flatnonzero(np.isfinite(hi))
    identity: Any = eye_array(n, format="csr")
    G = csc_array(vstack([identity[low], -identity[high]]))
    factor = unit * scale
    h = np.concatenate([-lo[low] / factor[low], hi[high] / factor[high]])
    start = np.clip(0.0, lo, hi) / factor
    program = QuadraticProgram(
        P, scale * problem.q / unit, G, h, 0, h.size, (), start=start, accuracy=ACCURACY
    )

    def back(answer: Vector) -> Vector:
        return np.clip(factor * answer[:n], lo, hi)

    def begin(z: Vector) -> Vector:
        return np.concatenate([np.clip(z, lo, hi) / factor, np.zeros(h.size)])

    return Reformulated(program, back, begin)
