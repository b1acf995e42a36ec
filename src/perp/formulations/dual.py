"""The dual: impulses minimise ½ λᵀ W λ + qᵀ λ over the friction cones.

`dual` is the cone complementarity problem of Anitescu and Tasora: convex, one program, and a relaxation,
because its optimum has u_N ≥ μ ‖u_T‖: it is exact only where nothing slides. `dual_fixed_point` adds the
shift Γ(u) of the last answer to the normal velocities and solves again until it stands still, which is exact
Coulomb friction. `dual_pyramid` replaces every cone by a pyramid inside it, for QP solvers. `dual_published`
is `dual` in impulse units, without scaling, for comparing with published digits.

References: Anitescu and Hart (2004); Tasora and Anitescu (2013); Acary, Cadoux, Lemaréchal and Malick (2011).
"""

from dataclasses import replace
from itertools import product

import numpy as np

from perp.formulations.fixed_point import FixedPoint
from perp.formulations.registry import Reformulated, formulation
from perp.formulations.scaled_contact import Ball, ScaledContact, refuses_asymmetric
from perp.problems import BoxedLCP, ContactProblem
from perp.problems.cone_program import ConeProgram, QuadraticProgram, Row, sparse_rows
from perp.problems.residual import judge
from perp.problems.sets import BOX, NONNEGATIVE, ROLLING
from perp.problems.validation import Vector

# Edges of a pyramid: the smallest even number whose friction errs by less than 8 % in any direction.
PYRAMID_EDGES = 8


def _relaxed(problem: ContactProblem) -> bool:
    return problem.relaxed


@formulation(
    "dual", source=ContactProblem, target=ConeProgram, exact=_relaxed, automatic=True,
    refuses=refuses_asymmetric,
    summary="impulses minimise over the friction cones; exact while nothing slides",
)  # fmt: skip
def dual(problem: ContactProblem) -> Reformulated:
    """The cone program whose unknowns are the impulses."""
    scaled = ScaledContact(problem)
    return _without_update(scaled, _program(scaled, scaled.q))


@formulation(
    "dual_published", source=ContactProblem, target=ConeProgram, exact=_relaxed, refuses=refuses_asymmetric,
    summary="the dual in impulse units, as published in 2014",
)  # fmt: skip
def dual_published(problem: ContactProblem) -> Reformulated:
    """The dual without scaling: solvers' absolute tolerances meet impulses of a thousandth.

    As in the published model, momentum and velocity of the bodies are unknowns too. They do not change the
    optimum, but they do change the averages in some stopping tests, and so the digits.
    """
    scaled = ScaledContact(problem, units="impulse")
    program = _program(scaled, scaled.q)
    if problem.dynamics is None:
        return _without_update(scaled, program)
    return _without_update(scaled, _with_bodies(program, scaled))


@formulation(
    "dual_pyramid", source=ContactProblem, target=QuadraticProgram, exact=False, refuses=refuses_asymmetric,
    summary=f"the dual with friction pyramids of {PYRAMID_EDGES} edges, for QP solvers",
)  # fmt: skip
def dual_pyramid(problem: ContactProblem) -> Reformulated:
    """The quadratic program over pyramids inside the cones."""
    scaled = ScaledContact(problem)
    turned = _without_update(scaled, _program(scaled, scaled.q, edges=PYRAMID_EDGES))
    if (problem.sets.kind == ROLLING).any():  # two pyramids on one normal are not spanned by edges
        return turned
    return replace(turned, measure=lambda z: _pyramid_residual(scaled, z[: problem.size]))


def _pyramid_residual(scaled: ScaledContact, x: Vector) -> float:
    """The residual of the boxed LCP in nonnegative weights of the edges, which the program's optimum solves.

    x = T t with one column an edge of a pyramid or a row without friction: lo ≤ t ≤ hi ⊥ Tᵀ (W x + q).
    """
    from scipy.optimize import nnls

    sets, columns, t, lo, hi = scaled.problem.sets, [], [], [], []
    for c in np.flatnonzero(sets.dimension == 1):
        row = int(sets.start[c])
        columns.append(np.eye(1, x.size, row)[0])
        t.append(x[row])
        bounded = sets.kind[c] == BOX
        lo.append(
            sets.a[c] / scaled.impulse_unit if bounded else 0.0 if sets.kind[c] == NONNEGATIVE else -np.inf
        )
        hi.append(sets.b[c] / scaled.impulse_unit if bounded else np.inf)
    for ball in scaled.balls:
        rows = [ball.normal, *ball.rows]
        edges = _edges(ball.rows.size)
        for edge in edges:
            columns.append(np.zeros(x.size))
            columns[-1][rows] = edge
        t += nnls(edges.T, x[rows])[0].tolist()
        lo += [0.0] * len(edges)
        hi += [np.inf] * len(edges)
    T = np.array(columns).reshape(-1, x.size).T
    return judge(BoxedLCP(T.T @ (scaled.W @ T), T.T @ scaled.q, lo, hi), np.clip(t, lo, hi))[0]


def _edges(count: int) -> np.ndarray:
    """The edges (1, d) of a pyramid over so many tangents, one a row: those on which its facets meet."""
    if count == 2:
        angle = 2 * np.pi * np.arange(PYRAMID_EDGES) / PYRAMID_EDGES
        return np.column_stack([np.ones(PYRAMID_EDGES), np.cos(angle), np.sin(angle)])
    return np.column_stack([np.ones(2 * count), np.vstack([np.eye(count), -np.eye(count)])])


@formulation(
    "dual_fixed_point", source=ContactProblem, target=ConeProgram, exact=True, automatic=True,
    refuses=refuses_asymmetric, summary="the dual, solved again with the sliding velocities that it gave",
)  # fmt: skip
def dual_fixed_point(problem: ContactProblem) -> Reformulated:
    """Cone programs whose normal velocities are shifted by Γ of the last answer, to the fixed point."""
    scaled = ScaledContact(problem)
    return _shifted(scaled, np.zeros(problem.size), FixedPoint())


def _shifted(scaled: ScaledContact, shift: Vector, state: FixedPoint) -> Reformulated:
    def update(z: Vector) -> Reformulated | None:
        velocity = scaled.coefficient * scaled.problem.evaluate(_impulse(scaled, z)) / scaled.velocity_unit
        following = state.advance(shift, scaled.sliding_shift(velocity))
        return None if following is None else _shifted(scaled, *following)

    turned = _without_update(scaled, _program(scaled, scaled.q + shift))
    return turned if scaled.problem.relaxed else replace(turned, update=update)


def _without_update(scaled: ScaledContact, program: ConeProgram) -> Reformulated:
    return Reformulated(
        program,
        back=lambda z: _impulse(scaled, z),
        start=lambda impulse: _start(scaled, program, impulse),
    )


def _impulse(scaled: ScaledContact, z: Vector) -> Vector:
    return scaled.impulse(z[: scaled.problem.size])


def _start(scaled: ScaledContact, program: ConeProgram, impulse: Vector) -> Vector:
    z = np.zeros(program.size)
    z[: impulse.size] = scaled.unknown(impulse)
    return z


def _program(scaled: ScaledContact, q: Vector, *, edges: int | None = None) -> ConeProgram:
    """½ xᵀ W x + qᵀ x with x in its sets; pyramids of so many edges in place of the cones unless None."""
    sets, n = scaled.problem.sets, scaled.problem.size
    rows: list[Row] = []
    for c in range(sets.count):
        row = int(sets.start[c])
        if sets.kind[c] == NONNEGATIVE:
            rows.append(([row], [1.0], 0.0))
        elif sets.kind[c] == BOX:
            if np.isfinite(sets.a[c]):
                rows.append(([row], [1.0], -sets.a[c] / scaled.impulse_unit))
            if np.isfinite(sets.b[c]):
                rows.append(([row], [-1.0], sets.b[c] / scaled.impulse_unit))
    if edges is not None:
        rows += [facet for ball in scaled.balls for facet in _facets(ball, edges)]
        G, h = sparse_rows(rows, n)
        return QuadraticProgram(scaled.W, q, G, h, 0, h.size, (), start=np.zeros(n))
    nonnegative = len(rows)
    for ball in scaled.balls:
        rows += [([int(i)], [1.0], 0.0) for i in (ball.normal, *ball.rows)]
    G, h = sparse_rows(rows, n)
    cones = tuple(1 + ball.rows.size for ball in scaled.balls)
    return ConeProgram(scaled.W, q, G, h, 0, nonnegative, cones, start=np.zeros(n))


def _with_bodies(program: ConeProgram, scaled: ScaledContact) -> ConeProgram:
    """The same program with k = p + Jᵀ x and v = M⁻¹ k as further unknowns."""
    from scipy.sparse import block_array, block_diag, csc_array, eye_array

    mass, jacobian, momentum, _ = scaled.bodies
    n = momentum.size
    nothing, one = csc_array((n, n)), eye_array(n)
    G = block_array(
        [
            [csc_array(-jacobian.T), one, nothing],
            [csc_array((n, scaled.problem.size)), csc_array(-np.linalg.inv(mass)), one],
            [program.G, csc_array((program.row_count, n)), csc_array((program.row_count, n))],
        ]
    )
    return ConeProgram(
        csc_array(block_diag([program.P, csc_array((2 * n, 2 * n))])),
        np.concatenate([program.c, np.zeros(2 * n)]),
        csc_array(G),
        np.concatenate([-momentum, np.zeros(n), program.h]),
        2 * n, program.nonnegative, program.second_order,
        start=np.concatenate([program.start, momentum, scaled.free_body_velocity]),
    )  # fmt: skip


def _facets(ball: Ball, edges: int) -> list[Row]:
    """x_N cos(π/k) − d · x_T ≥ 0 for the k facets of the pyramid inscribed in the cone."""
    normal = int(ball.normal)
    if ball.rows.size != 2:
        # the facets of the cross-polytope; along one line its two ends
        rows = [int(i) for i in ball.rows]
        return [([normal, *rows], [1.0, *signs], 0.0) for signs in product((1.0, -1.0), repeat=len(rows))]
    facets = []
    inside = float(np.cos(np.pi / edges))
    for k in range(edges):
        angle = (2 * k + 1) * np.pi / edges
        columns = [normal, *(int(i) for i in ball.rows)]
        facets.append((columns, [inside, -float(np.cos(angle)), -float(np.sin(angle))], 0.0))
    return facets
