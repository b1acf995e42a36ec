"""The short way through `solve` for small contact problems: one compiled call, one look at its verdict.

Taken by the default solver when nothing but a tolerance or a time limit is asked for. Where sweeps, and a few
Newton steps after them, do not solve the problem, what the sweeps reached is handed on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.compilation.stopwatch import STOPWATCH, working_time
from perp.problems import ContactProblem, ContactSolution, Status
from perp.problems.validation import Vector, freeze, is_sparse
from perp.solvers.auto_contact import record

if TYPE_CHECKING:
    from perp.kernels.short_solve import Chunk

# Up to this many rows: beyond, the work exceeds what the short way saves.
LARGEST = 150

Swept = tuple[Vector, tuple[float, int], tuple[float, int]]
# The compiled call, addresses of the packed problem and of the one as given, its rows, what is there.
Short = tuple[Any, int, int, int, Any, Any]
# looked up once: each takes as long as a product with W
_SOLVED, _NEW, _SET, _EMPTY = Status.SOLVED, ContactSolution.__new__, object.__setattr__, np.empty


def keep_short(problem: ContactProblem) -> Short | None:
    """What the short way takes; None where it is not taken.

    A problem cannot change: what is made of a small one is kept with it.
    """
    rows, sets = problem.size, problem.sets
    if not 0 < rows <= LARGEST or problem.dynamics is not None or sets.cohesion.any():
        return None
    with STOPWATCH.starting_up():
        from perp.kernels.packed import compressed_rows, pack
        from perp.kernels.short_solve import addresses, keep_given, short_solve

    packed, W = pack(problem), problem.W
    none = freeze(np.zeros(0, np.int64))
    matrix = compressed_rows(W) if is_sparse(W) else (freeze(W.reshape(-1)), none, none)
    all_sets = sets.kind, sets.start, sets.parameters, problem.rolling_length
    given = keep_given(packed.struct, matrix, problem.q, all_sets)
    form = (short_solve, *addresses(packed.struct, given), rows, packed.struct, given)
    problem.__dict__["_short_relaxed" if problem.relaxed else "_short"] = form
    return form


def solve_small(problem: ContactProblem, tol: float) -> tuple[ContactSolution | None, Swept | None]:
    """A verified solution, or None and what was reached: impulses, then residual and number of each stage."""
    began = working_time()
    form = problem.__dict__.get("_short_relaxed" if problem.relaxed else "_short") or keep_short(problem)
    if form is None or type(tol) is not float or not 0.0 < tol < math.inf:
        return None, None
    kernel, packed, given, rows, _, _ = form
    z, w = _EMPTY(rows), _EMPTY(rows)
    value, sweeps = kernel(packed, given, tol, z, w)
    if value <= tol:
        return _solution(problem, (z, w), (value, sweeps), tol, working_time() - began), None
    with STOPWATCH.starting_up():
        from perp.solvers.newton.short_newton import short_newton

    better, steps = short_newton(packed, given, tol, z, w)
    if better <= tol:
        seconds = working_time() - began
        return _after_steps(problem, (z, w), ((value, sweeps), (better, steps)), tol, seconds), None
    return None, (z, (value, sweeps), (better, steps))


class SmallProblems:
    """Problems that are packed, solved in compiled calls without Python's lock, and then made solutions of.

    Args:
        problems: What `is_plain` accepts.
        tol: Residual to reach, positive and finite.
    """

    def __init__(self, problems: Sequence[ContactProblem], tol: float) -> None:
        with STOPWATCH.starting_up():
            from perp.kernels.short_solve import Answers, short_solves
            from perp.solvers.newton.short_newton import short_newtons

        began = working_time()
        self._problems, self._tol, self._chunk = problems, tol, _chunk(problems)
        self._kernels, self._steps = (short_solves, short_newtons), np.zeros(0, np.int64)
        rows, count = self._chunk.q.size, len(problems)
        self._answers = Answers(np.empty(rows), np.empty(rows), np.empty(count), np.zeros(count, np.int64))
        self._first = self._answers.value
        self._seconds = working_time() - began

    def solve(self) -> SmallProblems:
        """Sweeps, and Newton steps on what they leave; several threads may do this at once."""
        began, answers = working_time(), self._answers
        self._kernels[0](self._chunk, self._tol, answers)
        self._first = answers.value.copy()
        self._steps = self._kernels[1](self._chunk, self._tol, answers)
        self._seconds += working_time() - began
        return self

    def solutions(self) -> list[ContactSolution | None]:
        """Verified solutions; None where sweeps and Newton steps do not do."""
        answers, tol, share = self._answers, self._tol, self._seconds / len(self._problems)
        z, w, begin, out = answers.impulse, answers.velocity, 0, []
        lists = self._first, answers.sweeps, answers.value, self._steps, self._chunk.row[1:]
        each = zip(self._problems, *(array.tolist() for array in lists), strict=True)
        for problem, before, sweeps, value, steps, end in each:
            answer = z[begin:end], w[begin:end]
            begin = end
            if before <= tol:
                out.append(_solution(problem, answer, (before, sweeps), tol, share))
            elif value <= tol:
                out.append(_after_steps(problem, answer, ((before, sweeps), (value, steps)), tol, share))
            else:
                out.append(None)
        return out


def is_plain(problem: ContactProblem) -> bool:
    """Whether a problem is given by a small dense matrix."""
    W = problem.__dict__.get("W")
    return type(W) is np.ndarray and 0 < len(W) <= LARGEST and problem.dynamics is None


def _chunk(problems: Sequence[ContactProblem]) -> Chunk:
    """The problems in flat arrays."""
    from perp.kernels.short_solve import Chunk

    # each pass over the problems is done with Python's lock held, which threads share
    sets = [problem.sets for problem in problems]
    q, kind, start = [problem.q for problem in problems], [s.kind for s in sets], [s.start for s in sets]
    rows, counts = np.array(list(map(len, q))), np.array(list(map(len, kind)))
    starts = np.concatenate(start)
    if (np.diff(starts) > 3).any():
        length = np.concatenate([problem.rolling_length for problem in problems])
    else:
        length = np.ones(counts.sum())
    return Chunk(
        np.concatenate([problem.W for problem in problems], axis=None),
        np.concatenate(q),
        np.concatenate(kind),
        starts,
        np.concatenate([s.parameters for s in sets]),
        length,
        _offsets(rows**2),
        _offsets(rows),
        _offsets(counts),
        np.array([problem.relaxed for problem in problems]),
    )


def _offsets(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)])


def _solution(
    problem: ContactProblem,
    answer: tuple[Vector, Vector],
    found: tuple[float, int],
    tol: float,
    seconds: float,
) -> ContactSolution:
    # the constructor of a frozen dataclass sets its fields one by one, which takes longer than a contact
    solution, (z, w), (value, iterations) = _NEW(ContactSolution), answer, found
    fields = {
        "problem": problem, "z": z, "w": w, "status": _SOLVED, "residual": value, "tolerance": tol,
        "iterations": iterations, "solver": "block-gauss-seidel", "solve_time": seconds,
    }  # fmt: skip
    _SET(solution, "__dict__", fields)
    return solution


def _after_steps(
    problem: ContactProblem,
    answer: tuple[Vector, Vector],
    found: tuple[tuple[float, int], tuple[float, int]],
    tol: float,
    seconds: float,
) -> ContactSolution:
    """A solution that Newton steps have found after sweeps: residual and number of both."""
    (before, sweeps), (value, steps) = found
    solution = _solution(problem, answer, (value, sweeps + steps), tol, seconds)
    solution.__dict__["solver"] = "proximal-point"
    stages = [
        record("block-gauss-seidel", 0.0, before, sweeps),
        record("proximal-point", seconds, value, steps),
    ]
    solution.__dict__["info"] = {"chosen_by": "auto", "stages": stages}
    return solution
