"""The Newton system of contacts by constraints or by bodies, as the order that is given says.

Compiled code calls `factors_of` and `solve_factors` with what `eliminate` returned for the constraints, or
with a `BodyOrder`: the choice is made by type when a kernel is compiled. Both cost the sum of the squares of
the rows of U, in blocks of a constraint or of a body.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numba import types
from numba.extending import overload

from perp.kernels.block_elimination import factorise, substitute
from perp.kernels.body_elimination import (
    BodyOrder,
    body_order_of,
    factorise_bodies,
    substitute_bodies,
)
from perp.kernels.packed import Packed
from perp.problems import ContactProblem, ProblemError

# Up to this many constraints an elimination of W takes about a millisecond.
BODIES_FROM = 300
# The body system pays when it is so much cheaper: it loses digits and solves twice to get them back.
PAYS = 0.5


def choose_order(
    problem: ContactProblem, packed: Packed, work_on: Literal["auto", "delassus", "bodies"] = "auto"
) -> tuple[Any, float]:
    """The order of elimination, and the operations that one takes.

    Args:
        problem: In dynamics form for an order by bodies.
        packed: The problem in packed form.
        work_on: "delassus" for constraints, "bodies", or "auto" for the cheaper one.
    """
    wanted = work_on == "bodies" or (work_on == "auto" and problem.contact_count >= BODIES_FROM)
    bodies = body_order_of(problem) if wanted else None
    if bodies is None and work_on == "bodies":
        raise ProblemError("work_on = 'bodies' needs a sparse Jacobian and a mass in small groups")
    rows = problem.size / problem.contact_count
    by_bodies = np.inf
    if bodies is not None:
        by_bodies = _operations(bodies.order, float(np.diff(bodies.mass.start).mean()))
        # W of a constraint has at least the blocks that it has before fill
        degree = np.diff(packed.blocks.first).astype(np.float64)
        least = rows**3 * float((degree**2).sum())
        if work_on == "bodies" or by_bodies < PAYS * least:
            return bodies, by_bodies
    order = packed.order
    by_constraints = _operations(order, rows)
    return (bodies, by_bodies) if by_bodies < PAYS * by_constraints else (order, by_constraints)


def _operations(order: Any, size: float) -> float:
    """Floating-point operations of an elimination with blocks of this size."""
    return 2.0 * size**3 * float(np.sum((np.diff(order[1]) + 1.0) ** 2))


def factors_of(blocks, order, rho, sigma, closed, B, C):
    """Factors of the system; see `block_elimination.factorise`. For compiled code."""
    raise NotImplementedError


def solve_factors(blocks, order, factors, closed, B, C, F, dx):
    """The solution into dx; see `block_elimination.substitute`. For compiled code."""
    raise NotImplementedError


def rescaled(order, factor):
    """The order for constraints whose rows are multiplied by `factor`. For compiled code."""
    raise NotImplementedError


def _by_bodies(order: Any) -> bool:
    return isinstance(order, types.NamedTuple) and order.instance_class is BodyOrder


@overload(factors_of)
def _factors_of(blocks, order, rho, sigma, closed, B, C):
    chosen = factorise_bodies if _by_bodies(order) else factorise

    def call(blocks, order, rho, sigma, closed, B, C):
        return chosen(blocks, order, rho, sigma, closed, B, C)

    return call


@overload(solve_factors)
def _solve_factors(blocks, order, factors, closed, B, C, F, dx):
    chosen = substitute_bodies if _by_bodies(order) else substitute

    def call(blocks, order, factors, closed, B, C, F, dx):
        chosen(blocks, order, factors, closed, B, C, F, dx)

    return call


@overload(rescaled)
def _rescaled(order, factor):
    def by_bodies(order, factor):
        return BodyOrder(
            order.order, order.mass, order.first, order.body, order.at, order.J, order.own, order.own_at,
            order.pair, order.pair_first, factor,
        )  # fmt: skip

    def by_constraints(order, factor):
        return order

    return by_bodies if _by_bodies(order) else by_constraints
