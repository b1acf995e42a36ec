"""The residual that decides SOLVED, computed by the same code for every solver.

It bounds the violation of the law itself, row by row, as a velocity, with impulses brought to velocities by
the mobility d of their constraint, and divides it by what is at work there: on that constraint's island
(`data_size`), or at the constraint itself where that is less (`own_scale`):

    LCP, boxed   clip(w, d (z − hi), d (z − lo))
    contact      closed: u_N, (d λ_N)⁻ and friction on the set of radius μ λ_N (Alart and Curnier's second
                 map), or open: d λ and (u_N)⁻, whichever is smaller
    relaxed      d λ − P(d λ − u)

The largest over all constraints is the residual. It does not change with the units of mass, length or time,
nor with a scaling of the problem, hides no row behind the unit of another, and does not shrink with μ. Beside
it stand the figures that the literature uses (`Residuals.literature`), for comparing with other libraries.
Formulas: docs/theory/residual.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.problems.boxed import BoxedLCP
from perp.problems.contact import ContactProblem
from perp.problems.errors import ProblemError
from perp.problems.lcp import LCP
from perp.problems.mcp import MCP
from perp.problems.sets import BOX, COHESION
from perp.problems.validation import Vector, freeze, vector

Problem = LCP | BoxedLCP | MCP | ContactProblem


@dataclass(frozen=True)
class Residuals:
    """The parts of a residual. Velocities and lengths are relative to ‖q‖ unless a unit is given.

    Attributes:
        value: The residual that decides SOLVED.
        primal: Distance of the impulses from their sets, as a velocity.
        dual: Distance of the velocities u + Γ(u) from the dual cones.
        complementarity: Σ d |λ · (u + Γ)| / ‖q‖².
        literature: For contact e / max(‖q‖, ‖r‖, ‖u‖) with ρ = 1 (Siconos 4.4); else ‖z − P(z − w)‖ / ‖q‖.
        literature_q: The same e over ‖q‖ alone (Acary, Brémond and Huber 2018).
        approach_velocity: Largest −u_N of a unilateral constraint [m/s].
        sticking_velocity: Largest tangential speed of a contact inside its cone [m/s].
        dissipation_angle: Largest angle between friction and the direction that it must have [rad].
    """

    value: float
    primal: float
    dual: float
    complementarity: float
    literature: float
    literature_q: float
    approach_velocity: float = 0.0
    sticking_velocity: float = 0.0
    dissipation_angle: float = 0.0


def slack_of(problem: Problem, z: Vector) -> Vector:
    """The w (for contact the velocity u) that belongs to z, by code that solvers share with nobody."""
    from perp.problems.matrix_entries import entries_of, slack

    if isinstance(problem, MCP) or (isinstance(problem, ContactProblem) and problem.dynamics is not None):
        return problem.evaluate(z)
    w = np.empty(problem.size)
    matrix = problem.W if isinstance(problem, ContactProblem) else problem.M
    slack(entries_of(matrix), problem.q, z, w)
    return w


def judge(problem: Problem, z: Vector) -> tuple[float, Vector]:
    """The residual at z and the w that belongs to it; infinite where z or w is not finite."""
    if isinstance(problem, ContactProblem):
        return _judge_contact(problem, z)
    if not np.isfinite(z).all():
        return np.inf, np.full(problem.size, np.nan)
    if isinstance(problem, MCP):
        w = slack_of(problem, z)
        return _judge_mcp(problem, z, w), w
    from perp.problems.matrix_entries import entries_of
    from perp.problems.row_verdict import judge_entries

    w = np.empty(problem.size)
    value = judge_entries(
        entries_of(problem.M), problem.q, problem.lo, problem.hi, problem.limiting_row, problem.mobility,
        problem.data_size, freeze(z), w,
    )  # fmt: skip
    return value, w


def _judge_mcp(problem: MCP, z: Vector, w: Vector) -> float:
    from perp.problems.mcp_residual import mcp_map

    if not np.isfinite(w).all():
        return np.inf
    value = _largest(mcp_map(problem, z, w))
    return value if np.isfinite(value) else np.inf


def _judge_contact(problem: ContactProblem, impulse: Vector) -> tuple[float, Vector]:
    """In one compiled call where W is given: small contact problems are solved in microseconds."""
    from perp.problems.law_kernels import judge_contacts, verdict
    from perp.problems.matrix_entries import entries_of

    sets, u = problem.sets, np.empty(problem.size)
    law = (
        problem.data_size, sets.kind, sets.start, sets.parameters,
        problem.mobility, problem.rolling_length, problem.relaxed, freeze(impulse),
    )  # fmt: skip
    if problem.dynamics is not None:
        u = _velocity(problem, impulse)
        if not np.isfinite(u).all():
            return np.inf, u
        size, mobility = _own_scales(problem, impulse)
        return verdict(size, *law[1:4], mobility, *law[5:], u), u
    return judge_contacts(entries_of(problem.W), problem.q, *law, u), u


def _own_scales(problem: ContactProblem, impulse: Vector) -> tuple[Vector, Vector]:
    """What is at work at each constraint in dynamics form, and its mobility: as `own_scale` for a matrix."""
    from perp.problems.data_size import set_mobilities
    from perp.problems.own_scale import LEAST, SHARED

    dynamics, size, sets = problem.dynamics, problem.data_size, problem.sets
    if dynamics is None or not sets.count:
        return size, problem.mobility
    terms = np.maximum.reduceat(dynamics.terms(impulse) * problem.row_scale, sets.start[:-1])
    own = freeze(np.where(terms > 0.0, np.minimum(np.maximum(SHARED * terms, LEAST), size), size))
    if (own == size).all():
        return size, problem.mobility
    mobility = np.maximum(problem.column_scale * (own / size), problem.own_mobility)
    set_mobilities(sets.kind, sets.parameters, own, mobility)
    return own, freeze(mobility)


def _velocity(problem: ContactProblem, impulse: Vector) -> Vector:
    """Velocities of a problem in dynamics form, with twice the digits where round-off would show."""
    from perp.problems.accurate_dynamics import accurate_velocity, round_off_shows

    u = problem.evaluate(impulse)
    if problem.dynamics is None or not (np.isfinite(u).all() and round_off_shows(problem, impulse)):
        return u
    return accurate_velocity(problem.dynamics, impulse)


def residual(problem: Problem, z: Any) -> float:
    """The residual of an answer: relative, free of units, zero exactly at a solution.

    Args:
        problem: Any problem of perp.
        z: The answer, shape (size,): z of an LCP, impulses of a contact problem.

    Returns:
        The largest violation of the law relative to what is at work there; infinity where z or w is not
        finite.
    """
    return judge(problem, as_answer(problem, z))[0]


def residuals(problem: Problem, z: Any) -> Residuals:
    """The residual and its parts, with the literature's figures."""
    z = as_answer(problem, z)
    value, w = judge(problem, z)
    if not np.isfinite(value):
        inf = np.inf
        return Residuals(inf, inf, inf, inf, inf, inf, inf, inf, inf)
    if isinstance(problem, ContactProblem):
        return _contact_residuals(problem, z, w, value)
    if isinstance(problem, MCP):
        from perp.problems.mcp_residual import mcp_parts

        primal, dual, complementarity, literature = mcp_parts(problem, z, w)
        return Residuals(value, primal, dual, complementarity, literature, literature)
    return _boxed_residuals(problem, z, w, value)


def as_answer(problem: Problem, z: Any, name: str = "z") -> Vector:
    """An answer or a start as a checked array (values may be non-finite: that is for the residual to say)."""
    if not isinstance(problem, Problem):
        raise ProblemError(f"{type(problem).__name__} is not a problem: LCP, BoxedLCP, MCP or ContactProblem")
    return vector(name, z, problem.size, finite=False, copy=False)


def _contact_residuals(problem: ContactProblem, impulse: Vector, u: Vector, value: float) -> Residuals:
    from perp.problems.detail_kernels import measure

    # cones are homogeneous: with data of size 1 no square can overflow or vanish
    unit = _largest(problem.q) or 1.0
    impulse, u, q = impulse / unit, u / unit, problem.q / unit
    sets = problem.sets
    parameters = sets.parameters.copy()
    parameters[sets.kind == BOX] /= unit
    parameters[:, COHESION] /= unit
    size = float(np.linalg.norm(q * problem.row_scale)) or 1.0
    primal, dual, complementarity, e, approach, sticking, angle = measure(
        sets.kind, sets.start, freeze(parameters), problem.column_scale, problem.rolling_length,
        problem.relaxed, freeze(impulse), freeze(u), np.empty(problem.size), np.empty(problem.size),
        1e-6 * size / max(1, problem.size) ** 0.5,
    )  # fmt: skip
    q_norm = float(np.linalg.norm(q))
    largest = max(q_norm, float(np.linalg.norm(impulse)), float(np.linalg.norm(u)))
    return Residuals(
        value=value,
        primal=primal**0.5 / size,
        dual=dual**0.5 / size,
        complementarity=complementarity / size**2,
        literature=e**0.5 / (largest or 1.0),
        literature_q=e**0.5 / (q_norm or 1.0),
        approach_velocity=approach * unit,
        sticking_velocity=sticking * unit,
        dissipation_angle=angle,
    )


def _boxed_residuals(problem: LCP | BoxedLCP, z: Vector, w: Vector, value: float) -> Residuals:
    lo, hi = problem.bounds(z) if isinstance(problem, BoxedLCP) else (problem.lo, problem.hi)
    d = problem.column_scale
    unit = _largest(problem.q) or 1.0
    z, w, lo, hi = z / unit, w / unit, lo / unit, hi / unit
    size = float(np.linalg.norm(problem.q / unit)) or 1.0
    above, below = np.maximum(w, 0.0), np.maximum(-w, 0.0)
    from_lo = np.where(np.isfinite(lo), np.abs(z - np.where(np.isfinite(lo), lo, 0.0)), 0.0)
    from_hi = np.where(np.isfinite(hi), np.abs(np.where(np.isfinite(hi), hi, 0.0) - z), 0.0)
    unbounded = np.hypot(np.where(np.isinf(lo), above, 0.0), np.where(np.isinf(hi), below, 0.0))
    literature = float(np.linalg.norm(z - np.clip(z - w, lo, hi))) / size
    return Residuals(
        value=value,
        primal=float(np.linalg.norm(d * (z - np.clip(z, lo, hi)))) / size,
        dual=float(np.linalg.norm(unbounded)) / size,
        complementarity=float(np.sum(d * (from_lo * above + from_hi * below))) / size**2,
        literature=literature,
        literature_q=literature,
    )


def _largest(x: Vector) -> float:
    return float(np.abs(x).max()) if x.size else 0.0
