"""Bounds that follow a normal row, frozen at a given normal: one step of the fixed point over the bounds.

A solution of the boxed LCP with friction index is a fixed point of z ↦ the solution of the boxed LCP whose
friction bounds are lo_i z_n, hi_i z_n at the given z. The map contracts where friction is weak or weakly
coupled to the normals; the solver "friction-fixed-point" iterates it and says when it does not. The
formulation "fixed-bounds" iterates it, mixed by Anderson's method, with any solver for fixed bounds
("box+fixed-bounds" of a contact problem).
"""

from __future__ import annotations

import numpy as np

from perp.formulations.fixed_point import FixedPoint
from perp.formulations.registry import Reformulated, formulation
from perp.problems import BoxedLCP
from perp.problems.validation import Vector, freeze


def friction_index_as_fixed_point(problem: BoxedLCP, z: Vector) -> BoxedLCP:
    """The boxed LCP whose bounds are those in force at z: the same matrix, no friction index."""
    lo, hi = problem.bounds(z)
    frozen = BoxedLCP(problem.M, problem.q, freeze(lo), freeze(hi), copy=False)
    frozen.__dict__["column_scale"] = problem.column_scale
    return frozen


@formulation(
    "fixed-bounds", source=BoxedLCP, target=BoxedLCP, exact=True,
    summary="friction bounds frozen at the last normals, solved again until they agree",
)  # fmt: skip
def fixed_bounds(problem: BoxedLCP) -> Reformulated:
    """Boxed LCPs without a friction index, the first without friction."""
    return _frozen(problem, np.zeros(problem.size), FixedPoint())


def _frozen(problem: BoxedLCP, point: Vector, state: FixedPoint) -> Reformulated:
    index = problem.friction_index
    follows = np.zeros(0, dtype=np.int64) if index is None else np.unique(index[index >= 0])

    def update(z: Vector) -> Reformulated | None:
        found = state.advance(point[follows], np.maximum(z[follows], 0.0))
        if found is None:
            return None
        following = np.zeros(problem.size)
        following[follows] = found[0]
        return _frozen(problem, following, found[1])

    return Reformulated(
        friction_index_as_fixed_point(problem, point),
        back=lambda z: z, start=lambda z: z, update=update if follows.size else None, own=problem,
    )  # fmt: skip
