"""Cone programs and equations of motion as GAMS models: text in, a file of numbers out.

Every model ends by writing two status codes, the iterations and the unknowns, one a line.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from perp.formulations.equations_of_motion import ROOT_FLOOR, MotionMCP
from perp.problems.cone_program import ConeProgram
from perp.problems.validation import Vector

ANSWER = "answer.txt"
# MILES stops at singular Jacobians: this times (x − centre) is added to the force rows, and re-centred.
PROXIMAL, CENTRINGS = 1e-6, 4


def cone_program_model(program: ConeProgram, start: Vector, kind: str, ending: str) -> str:
    """A cone program with squared cones, as QCP or NLP."""
    n, m = program.variable_count, program.row_count
    fixed, signed = range(program.zero), range(program.zero, program.zero + program.nonnegative)
    starts = program.cone_starts
    heads = [(k, int(row)) for k, row in enumerate(starts[:-1])]
    tails = [(k, row) for k in range(len(heads)) for row in range(int(starts[k]) + 1, int(starts[k + 1]))]
    lines = [
        _set("i", n), "alias(i, j);", _set("r", m), _set("k", len(heads)),
        _matrix("P", "i,j", program.P), _vector("c", "i", program.c),
        _matrix("G", "r,i", program.G), _vector("h", "r", program.h),
        _pairs("head", "k,r", heads), _pairs("tail", "k,r", tails),
        "variables x(i), s(r), cost;",
        "equations objective, slack(r), conic(k);",
        "objective.. cost =e= 0.5*sum((i,j)$P(i,j), P(i,j)*x(i)*x(j)) + sum(i, c(i)*x(i));",
        "slack(r).. s(r) =e= sum(i$G(r,i), G(r,i)*x(i)) + h(r);",
        "conic(k).. sum(r$tail(k,r), sqr(s(r))) =l= sum(r$head(k,r), sqr(s(r)));",
        *(f"s.fx('{row + 1}') = 0;" for row in fixed),
        *(f"s.lo('{row + 1}') = 0;" for row in [*signed, *(row for _, row in heads)]),
        *_levels("x", "i", start), *_levels("s", "r", program.slack(start)),
        "model contact / all /;",
        ending,
        f"solve contact using {kind} minimizing cost;",
        _report([("i", "x.l(i)"), ("r", "s.l(r)")]),
    ]  # fmt: skip
    return "\n".join(lines)


def optimality_model(program: ConeProgram, start: Vector, ending: str) -> str:
    """The first-order conditions of a cone program with squared cones, as an MCP: an NLP for PATH and MILES.

    GAMS gives those two no NLP (only PATHNLP, which writes the same conditions itself). Unknowns are x, the
    rows s = G x + h, their multipliers y and one multiplier t for each squared cone.
    """
    n, m = program.variable_count, program.row_count
    starts = program.cone_starts
    heads = [(k, int(row)) for k, row in enumerate(starts[:-1])]
    tails = [(k, row) for k in range(len(heads)) for row in range(int(starts[k]) + 1, int(starts[k + 1]))]
    signed = range(program.zero, program.zero + program.nonnegative)
    lines = [
        _set("i", n), "alias(i, j);", _set("r", m), _set("k", len(heads)),
        _matrix("P", "i,j", program.P), _vector("c", "i", program.c),
        _matrix("G", "r,i", program.G), _vector("h", "r", program.h),
        _pairs("head", "k,r", heads), _pairs("tail", "k,r", tails),
        f"scalar epsilon / {PROXIMAL!r} /; parameter centre(r);",
        "variables x(i), s(r), y(r), t(k);",
        "equations stationary(i), push(r), slack(r), conic(k);",
        "stationary(i).. sum(j$P(i,j), P(i,j)*x(j)) + c(i) - sum(r$G(r,i), G(r,i)*y(r)) =n= 0;",
        "push(r).. y(r) + 2*s(r)*(sum(k$tail(k,r), t(k)) - sum(k$head(k,r), t(k)))",
        "  + epsilon*(s(r) - centre(r)) =n= 0;",
        "slack(r).. s(r) - sum(i$G(r,i), G(r,i)*x(i)) - h(r) =n= 0;",
        "conic(k).. sum(r$head(k,r), sqr(s(r))) - sum(r$tail(k,r), sqr(s(r))) =n= 0;",
        *(f"s.fx('{row + 1}') = 0;" for row in range(program.zero)),
        *(f"s.lo('{row + 1}') = 0;" for row in [*signed, *(row for _, row in heads)]),
        "t.lo(k) = 0;" if heads else "t.fx(k) = 0;",
        *_levels("x", "i", start), *_levels("s", "r", program.slack(start)), "t.l(k) = 1;",
        "model contact / stationary.x, push.s, slack.y, conic.t /;",
        ending,
        f"set pass / 1*{CENTRINGS} /;",
        "loop(pass, centre(r) = s.l(r); solve contact using mcp;);",
        _report([("i", "x.l(i)"), ("r", "s.l(r)")]),
    ]  # fmt: skip
    return "\n".join(lines)


def motion_model(problem: MotionMCP, start: Vector, ending: str, *, proximal: bool) -> str:
    """The equations of motion as an MCP, every equation matched with its unknown."""
    n, rows = problem.momentum.size, problem.bias.size
    tangents = np.concatenate([[], *(ball.rows for ball in problem.balls)]).astype(int)
    centrings = CENTRINGS if proximal else 1
    lines = [
        *_motion_data(problem),
        _members("tangent", "r", tangents),
        f"scalar epsilon / {PROXIMAL if proximal else 0.0!r} /;",
        "parameter centre(r);",
        "variables v(i), x(r), sigma(k);",
        *_bounds(problem, range(n, n + rows), "x"),
        "sigma.lo(k) = 0;" if problem.balls else "sigma.fx(k) = 0;",
        "equations motion(i), law(r), cone(k);",
        "motion(i).. sum(j$M(i,j), M(i,j)*v(j)) - p(i) - sum(r$D(r,i), D(r,i)*x(r)) =e= 0;",
        f"law(r).. ({_U('r')}{_relaxation(problem, 'r')})$(not tangent(r))",
        f"  + (sum((k,q)$(tail(k,r) and head(k,q)), x(q))*({_U('r')})",
        "  + sum(k$tail(k,r), sigma(k))*x(r))$tangent(r)",
        "  + epsilon*(x(r) - centre(r)) =n= 0;",
        f"cone(k).. sum(q$head(k,q), x(q)) - sqrt(sum(q$tail(k,q), sqr(x(q))) + {ROOT_FLOOR!r}) =g= 0;",
        *_levels("v", "i", start[:n]), *_levels("x", "r", start[n : n + rows]),
        *_levels("sigma", "k", start[n + rows :]),
        "model contact / motion.v, law.x, cone.sigma /;",
        ending,
        f"set pass / 1*{centrings} /;",
        "loop(pass, centre(r) = x.l(r); solve contact using mcp;);",
        _report([("i", "v.l(i)"), ("r", "x.l(r)"), ("k", "sigma.l(k)")]),
    ]  # fmt: skip
    return "\n".join(lines)


def equilibrium_model(problem: MotionMCP, start: Vector, ending: str) -> str:
    """The equations of motion as an extended mathematical program: friction minimises, contact by contact."""
    n, rows = problem.momentum.size, problem.bias.size
    tangents = np.concatenate([[], *(ball.rows for ball in problem.balls)]).astype(int)
    plain = np.setdiff1d(np.arange(rows), tangents)
    lines = [
        *_motion_data(problem),
        _members("tangent", "r", tangents), _members("plain", "r", plain),
        "variables v(i), x(r), f(r), energy(k);",
        *_bounds(problem, n + plain, "x", offset=n),
        "equations motion(i), gap(r), work(k), conic(k);",
        "motion(i).. sum(j$M(i,j), M(i,j)*v(j)) - p(i) - sum(r$(D(r,i) and plain(r)), D(r,i)*x(r))",
        "  - sum(r$(D(r,i) and tangent(r)), D(r,i)*f(r)) =e= 0;",
        f"gap(r)$plain(r).. {_U('r')}{_relaxation(problem, 'r')} =g= 0;",
        f"work(k).. energy(k) =e= sum(q$tail(k,q), ({_U('q')})*f(q));",
        "conic(k).. sum(q$tail(k,q), sqr(f(q))) =l= sum(q$head(k,q), sqr(x(q)));",
        *_levels("v", "i", start[:n]), *_levels("x", "r", start[n : n + rows]),
        *_levels("f", "r", start[n : n + rows]),
        "model contact / all /;" if problem.balls else "model contact / motion, gap /; energy.fx(k) = 0;",
        ending,
        "file empinfo / '%emp.info%' /;",
        "put empinfo 'equilibrium' /;",
        "put 'vi motion v' /; put 'vi gap x' /;",
        "loop(k$sum(q$tail(k,q), 1), put 'min ' energy.tn(k) /; loop(q$tail(k,q), put f.tn(q) /;);",
        "  put work.tn(k) conic.tn(k) /;);",
        "putclose empinfo;",
        "solve contact using emp;",
        "x.l(r)$tangent(r) = f.l(r);",
        _report([("i", "v.l(i)"), ("r", "x.l(r)"), ("k", "energy.l(k)")]),
    ]  # fmt: skip
    return "\n".join(lines)


def _motion_data(problem: MotionMCP) -> list[str]:
    heads = [(k, int(ball.normal)) for k, ball in enumerate(problem.balls)]
    tails = [(k, int(row)) for k, ball in enumerate(problem.balls) for row in ball.rows]
    return [
        _set("i", problem.momentum.size), "alias(i, j);", _set("r", problem.bias.size), "alias(r, q);",
        _set("k", len(problem.balls)),
        _matrix("M", "i,j", problem.mass), _vector("p", "i", problem.momentum),
        _matrix("D", "r,i", problem.jacobian_matrix), _vector("b", "r", problem.bias),
        _pairs("head", "k,r", heads), _pairs("tail", "k,r", tails),
    ]  # fmt: skip


def _U(row: str) -> str:
    """The velocity of a row."""
    return f"sum(i$D({row},i), D({row},i)*v(i)) + b({row})"


def _relaxation(problem: MotionMCP, row: str) -> str:
    if not problem.relaxed:
        return ""
    return f" - sum(k$head(k,{row}), sqrt(sum(q$tail(k,q), sqr({_U('q')})) + {ROOT_FLOOR!r}))"


def _bounds(
    problem: MotionMCP, unknowns: Iterable[int], name: str, *, offset: int | None = None
) -> list[str]:
    first = problem.momentum.size if offset is None else offset
    lines = []
    for i in unknowns:
        for bound, value in (("lo", problem.lo[i]), ("up", problem.hi[i])):
            if np.isfinite(value):
                lines.append(f"{name}.{bound}('{i - first + 1}') = {float(value)!r};")
    return lines


def _set(name: str, count: int) -> str:
    return f"set {name} / 1*{count} /;" if count else f"set {name} / none /;"


def _members(name: str, over: str, members: Any) -> str:
    inside = ", ".join(str(int(i) + 1) for i in members)
    return f"set {name}({over}) / {inside} /;" if inside else f"set {name}({over}); {name}({over}) = no;"


def _pairs(name: str, over: str, pairs: list[tuple[int, int]]) -> str:
    inside = ",\n".join(f"{a + 1}.{b + 1}" for a, b in pairs)
    return f"set {name}({over}) / {inside} /;" if inside else f"set {name}({over}); {name}({over}) = no;"


def _vector(name: str, over: str, values: Vector) -> str:
    inside = ",\n".join(f"{i + 1} {float(value)!r}" for i, value in enumerate(values) if value)
    return (
        f"parameter {name}({over}) / {inside} /;"
        if inside
        else f"parameter {name}({over}); {name}({over}) = 0;"
    )


def _matrix(name: str, over: str, matrix: Any) -> str:
    from scipy.sparse import coo_array

    entries = coo_array(matrix)
    cells = zip(entries.row, entries.col, entries.data, strict=True)
    inside = ",\n".join(f"{i + 1}.{j + 1} {float(a)!r}" for i, j, a in cells if a)
    return (
        f"parameter {name}({over}) / {inside} /;"
        if inside
        else f"parameter {name}({over}); {name}({over}) = 0;"
    )


def _levels(name: str, over: str, values: Vector) -> list[str]:
    return [f"{name}.l({over}) = 0;"] + [
        f"{name}.l('{i + 1}') = {float(value)!r};" for i, value in enumerate(values) if value
    ]


def _report(values: list[tuple[str, str]]) -> str:
    lines = [
        f"file answer / '{ANSWER}' /;",
        "answer.nr = 2; answer.nd = 17; answer.nw = 30;",
        "put answer;",
        "put contact.modelstat /; put contact.solvestat /; put contact.iterusd /;",
        *(f"loop({over}, put {value} /;);" for over, value in values),
        "putclose answer;",
    ]
    return "\n".join(lines)
