"""Bounds that follow a normal row, frozen at a given normal: one step of the fixed point over the bounds.

A solution of the boxed LCP with friction index is a fixed point of z ↦ the solution of the boxed LCP whose
friction bounds are lo_i z_n, hi_i z_n at the given z. The map contracts where friction is weak or weakly
coupled to the normals; the solver "friction-fixed-point" iterates it and says when it does not.
"""

from __future__ import annotations

from perp.problems import BoxedLCP
from perp.problems.validation import Vector, freeze


def friction_index_as_fixed_point(problem: BoxedLCP, z: Vector) -> BoxedLCP:
    """The boxed LCP whose bounds are those in force at z: the same matrix, no friction index."""
    lo, hi = problem.bounds(z)
    frozen = BoxedLCP(problem.M, problem.q, freeze(lo), freeze(hi), copy=False)
    frozen.__dict__["column_scale"] = problem.column_scale
    return frozen
