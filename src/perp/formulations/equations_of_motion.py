"""The equations of motion as an MCP: Newton–Euler, gaps, friction by maximal dissipation.

Unknowns are the bodies' velocities v̂, the impulses x and one sliding speed σ per friction ball:

    M̂ v̂ − p̂ − Ĵᵀ x = 0                 v̂ free
    û_N ≥ 0                             ⊥ x_N ≥ 0        (joints: û = 0 ⊥ x free; motors: û ⊥ lo ≤ x ≤ hi)
    x_N û_T + σ x_T = 0                 x_T free         friction opposes sliding
    x_N − ‖x_T‖ ≥ 0                     ⊥ σ ≥ 0          and sliding only at the edge of the cone

which is exact Coulomb friction. `equations_of_motion_relaxed` has û_N − ‖û_T‖ in place of û_N, as published
in 2014.

References: Stewart and Trinkle (1996); Anitescu and Potra (1997).
"""

import numpy as np

from perp.formulations.registry import Reformulated, formulation
from perp.formulations.scaled_contact import Ball, ScaledContact, refuses_asymmetric
from perp.problems import MCP, ContactProblem
from perp.problems.residual import judge
from perp.problems.sets import BOX, FREE, NONNEGATIVE
from perp.problems.validation import Vector

# Under the root of a norm, so that it has a derivative at 0; far below round-off of unknowns of size 1.
ROOT_FLOOR = 1e-30
WEIGHT_FLOOR = 1e-8


class MotionMCP(MCP):
    """The MCP above, with its data for solvers that want formulas in place of functions."""

    __slots__ = ("balls", "bias", "jacobian_matrix", "mass", "momentum", "relaxed")

    mass: np.ndarray  # M̂
    jacobian_matrix: np.ndarray  # Ĵ
    momentum: Vector  # p̂
    bias: Vector  # b̂
    balls: list[Ball]  # the friction conditions on x
    relaxed: bool  # whether the gaps carry −‖û_T‖


@formulation(
    "equations_of_motion", source=ContactProblem, target=MotionMCP, exact=True, automatic=True,
    refuses=refuses_asymmetric,
    summary="Newton–Euler, gap and maximal dissipation as one MCP",
)  # fmt: skip
def equations_of_motion(problem: ContactProblem) -> Reformulated:
    """The mixed complementarity problem of bodies in contact."""
    return _build(problem, relaxed=problem.relaxed)


@formulation(
    "equations_of_motion_relaxed", source=ContactProblem, target=MotionMCP,
    exact=lambda problem: problem.relaxed, refuses=refuses_asymmetric,
    summary="the equations of motion with the relaxed gap, as published in 2014",
)  # fmt: skip
def equations_of_motion_relaxed(problem: ContactProblem) -> Reformulated:
    """The same with u_N − μ ‖u_T‖ in place of u_N: the convex relaxation as an MCP."""
    return _build(problem, relaxed=True)


def _build(problem: ContactProblem, *, relaxed: bool) -> Reformulated:
    scaled = ScaledContact(problem)
    mcp = _mcp(scaled, relaxed)
    n, rows = scaled.bodies[2].size, problem.size

    def start(impulse: Vector) -> Vector:
        mass, jacobian, momentum, _ = scaled.bodies
        x = scaled.unknown(impulse)
        v = np.linalg.solve(mass, momentum + jacobian.T @ x)
        return _consistent(scaled, v, x, fill=False)

    def back(z: Vector) -> Vector:
        return scaled.impulse(z[n : n + rows])

    # where a contact is open the rows of the MCP are sums of nothing: the law itself has a scale there
    law = problem.as_relaxed() if relaxed else problem
    return Reformulated(mcp, back=back, start=start, measure=lambda z: judge(law, back(z))[0])


def _mcp(scaled: ScaledContact, relaxed: bool) -> MotionMCP:
    mass, jacobian, momentum, bias = scaled.bodies
    n, rows, count = momentum.size, scaled.problem.size, len(scaled.balls)
    sets = scaled.problem.sets
    lo, hi = np.full(n + rows + count, -np.inf), np.full(n + rows + count, np.inf)
    lo[n + rows :] = 0.0
    for c in range(sets.count):
        row = n + int(sets.start[c])
        if sets.kind[c] == BOX:
            lo[row], hi[row] = sets.a[c] / scaled.impulse_unit, sets.b[c] / scaled.impulse_unit
        elif sets.kind[c] == NONNEGATIVE or sets.kind[c] > FREE:
            lo[row] = 0.0
    balls = scaled.balls

    def f(z: Vector) -> Vector:
        v, x, speed = z[:n], z[n : n + rows], z[n + rows :]
        u = jacobian @ v + bias
        out = np.empty(z.size)
        out[:n] = mass @ v - momentum - jacobian.T @ x
        out[n : n + rows] = u
        for k, ball in enumerate(balls):
            i, t = ball.normal, ball.rows
            out[n + t] = (x[i] * u[t] + speed[k] * x[t]) / _weight(x[i], speed[k])
            out[n + rows + k] = x[i] - _norm(x[t])
            if relaxed:
                out[n + i] -= _norm(u[t])
        return out

    def derivative(z: Vector) -> np.ndarray:
        v, x, speed = z[:n], z[n : n + rows], z[n + rows :]
        u = jacobian @ v + bias
        D = np.zeros((z.size, z.size))
        D[:n, :n] = mass
        D[:n, n : n + rows] = -jacobian.T
        D[n : n + rows, :n] = jacobian
        for k, ball in enumerate(balls):
            i, t = ball.normal, ball.rows
            weight = _weight(x[i], speed[k])
            law = (x[i] * u[t] + speed[k] * x[t]) / weight**2
            D[n + t, :n] *= x[i] / weight
            D[n + t, n + i] = (u[t] - law * x[i]) / weight
            D[n + t, n + t] = speed[k] / weight
            D[n + t, n + rows + k] = (x[t] - law * speed[k]) / weight
            D[n + rows + k, n + i] = 1.0
            D[n + rows + k, n + t] = -x[t] / _norm(x[t])
            if relaxed:
                D[n + i, :n] -= (u[t] / _norm(u[t])) @ jacobian[t]
        return D

    first = _consistent(scaled, scaled.free_body_velocity, np.zeros(rows), fill=True)
    mcp = MotionMCP(f, lo, hi, derivative, start=np.clip(first, lo, hi))
    mcp.mass, mcp.jacobian_matrix, mcp.momentum, mcp.bias = mass, jacobian, momentum, bias
    mcp.balls, mcp.relaxed = balls, relaxed
    return mcp


def _weight(push: float, speed: float) -> float:
    """√(x_N² + σ²): makes the friction row a mixture of û_T and x_T whose weights do not vanish together."""
    return float(np.sqrt(push**2 + speed**2 + WEIGHT_FLOOR**2))


def _norm(x: Vector) -> float:
    return float(np.sqrt(x @ x + ROOT_FLOOR))


def _consistent(scaled: ScaledContact, v: Vector, x: Vector, *, fill: bool) -> Vector:
    """A point whose friction rows hold: full friction against the sliding of v, with `fill` under an impulse.

    From x = 0 the rows x_N û_T + σ x_T = 0 have no useful derivative; with friction opposing the free sliding
    they do.
    """
    _, jacobian, _, bias = scaled.bodies
    u = jacobian @ v + bias
    x = x.copy()
    speed = np.zeros(len(scaled.balls))
    for k, ball in enumerate(scaled.balls):
        i, t = ball.normal, ball.rows
        if fill:
            x[i] = max(-u[i], 0.0)
            slip = float(np.linalg.norm(u[t]))
            speed[k] = slip
            x[t] = -x[i] * u[t] / slip if slip > 0 else 0.0
        elif np.linalg.norm(x[t]) >= (1 - 1e-9) * x[i]:
            speed[k] = np.linalg.norm(u[t])
    return np.concatenate([v, x, speed])
