"""A contact problem as a boxed LCP: friction bounded per tangent by its normal impulse.

Every cone becomes a box that follows its normal row: |λ_t| ≤ μ_t λ_N for each tangent (and rolling) row. In
the plane, and for sets of a single row, that is the same problem. In space it replaces the disc by a square
around it, aligned with the tangents: friction is up to √2 too strong and depends on the direction.
"""

import numpy as np

from perp.formulations.registry import Reformulated, formulation
from perp.problems import BoxedLCP, ContactProblem, Status, residual
from perp.problems.sets import BOX, COULOMB, ELLIPTIC, FREE, ROLLING, Sets


def rows_of(sets: Sets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds and limiting row of every row: lo, hi, friction_index, each of shape (rows,).

    Friction rows have lo = −μ, hi = μ and the index of their normal.
    """
    lo, hi = np.zeros(sets.rows), np.full(sets.rows, np.inf)
    index = np.full(sets.rows, -1, dtype=np.int64)
    kind, first = sets.kind, sets.start[:-1]
    lo[first[kind == FREE]] = -np.inf
    boxes = kind == BOX
    lo[first[boxes]], hi[first[boxes]] = sets.a[boxes], sets.b[boxes]
    for offset in range(1, 6):
        cones = (kind >= COULOMB) & (sets.dimension > offset)
        column = np.where(kind == ELLIPTIC, offset - 1, np.where((kind == ROLLING) & (offset >= 3), 1, 0))
        mu = sets.parameters[np.arange(sets.count), column][cones]
        row = first[cones] + offset
        lo[row], hi[row], index[row] = -mu, mu, first[cones]
    return lo, hi, index


def _boxed(problem: ContactProblem) -> BoxedLCP:
    lo, hi, index = rows_of(problem.sets)
    return BoxedLCP(
        problem.W, problem.q, lo, hi, friction_index=index if (index >= 0).any() else None, copy=False
    )


def not_scalar(problem: ContactProblem) -> str | None:
    """Why a contact problem is not exactly a boxed LCP, or None."""
    cones = problem.sets.kind >= COULOMB
    if not cones.any():
        return None
    if (problem.sets.dimension[cones] > 2).any():
        return "it has friction in space, whose cone is not a box; 'box' puts one in its place"
    return "its relaxation couples the rows of a contact" if problem.relaxed else None


def _relaxed_cones(problem: ContactProblem) -> str | None:
    if problem.relaxed and (problem.sets.kind >= COULOMB).any():
        return "it is a relaxation: a box or pyramid approximates the exact law"
    return None


@formulation(
    "rows", source=ContactProblem, target=BoxedLCP, exact=True, automatic=True, refuses=not_scalar,
    summary="single rows and friction in the plane as a boxed LCP",
)  # fmt: skip
def contact_rows_as_boxed(problem: ContactProblem) -> Reformulated:
    """The boxed LCP with the same unknowns, for problems that are one already."""
    return Reformulated(_boxed(problem), back=lambda z: z, start=lambda z: z)


@formulation(
    "box", source=ContactProblem, target=BoxedLCP, exact=False, refuses=_relaxed_cones,
    shortfall=Status.APPROXIMATE, summary="friction boxes aligned with the tangents in place of cones",
)  # fmt: skip
def contact_as_boxed(problem: ContactProblem) -> Reformulated:
    """The boxed LCP with a friction box per contact; `info["cone_error"]` is the exact problem's residual."""
    return Reformulated(
        _boxed(problem),
        back=lambda z: z,
        start=lambda z: z,
        info=lambda z: {"cone_error": residual(problem, z)},
    )
