"""Bounds that follow another row, frozen at the last answer: a fixed point over the bounds.

A solution of the boxed LCP with friction index is a fixed point of z ↦ the solution of the boxed LCP whose
friction bounds are lo_i z_n, hi_i z_n at the given z. The map contracts where friction is weak or weakly
coupled to the normals; mixed by Anderson's method it converges on most others too, with any solver for fixed
bounds ("box+fixed-bounds" of a contact problem). Where it does not the solve ends as stalled.

Reference: Pfeiffer and Glocker, Multibody Dynamics with Unilateral Contacts (1996), for the decoupling of
normal and friction problems.
"""

import numpy as np

from perp.formulations.fixed_point import FixedPoint
from perp.formulations.registry import Reformulated, formulation
from perp.problems import BoxedLCP
from perp.problems.residual import judge
from perp.problems.validation import Vector, freeze

# Of 154 random and simulated contacts these leave 10 unsolved with μ up to 0.8, a memory of 5 and a patience
# of 10 leave 17, no memory 100.
MEMORY, PATIENCE = 2, 25


def frozen_bounds(problem: BoxedLCP, z: Vector) -> BoxedLCP:
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
    return _frozen(problem, np.zeros(problem.size), FixedPoint(memory=MEMORY, patience=PATIENCE))


def _frozen(problem: BoxedLCP, point: Vector, state: FixedPoint) -> Reformulated:
    index = problem.friction_index
    follows = np.zeros(0, dtype=np.int64) if index is None else np.unique(index[index >= 0])
    magnitude = problem.negative_limit == "magnitude"

    def update(z: Vector) -> Reformulated | None:
        size = np.abs(z[follows]) if magnitude else np.maximum(z[follows], 0.0)
        found = state.advance(point[follows], size)
        if found is None:
            return None
        following = np.zeros(problem.size)
        following[follows] = found[0]
        return _frozen(problem, following, found[1])

    return Reformulated(
        frozen_bounds(problem, point),
        back=lambda z: z, start=lambda z: z, update=update if follows.size else None,
        measure=lambda z: judge(problem, z)[0],
    )  # fmt: skip
