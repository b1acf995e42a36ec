"""Semismooth Newton for mixed complementarity problems (`MCP`), sparse or dense, bounds of any kind.

Every condition becomes one equation (`mcp_equations`). A crash phase makes active-set steps, which find the
right bounds fast from far away; then come Newton steps along the path P(z + t d) that stays in the box (f
need not be defined outside of it), with a line search that lets the merit ‖Φ‖² rise now and then. A step that
does not go down is replaced by a damped one, then by a path search on the linearisation (`path_search`). What
stalls starts again from another point, and with the penalised function in place of Fischer and Burmeister's.
One sparse factorisation an iteration.

References: De Luca, Facchinei and Kanzow (1996); Billups, Algorithms for complementarity problems (1995);
Munson, Facchinei, Ferris, Fischer and Kanzow, The semismooth algorithm for large scale complementarity
problems (2001); Dirkse and Ferris, Crash techniques for large-scale complementarity problems (1997).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.compilation.deadline import OutOfTime
from perp.compilation.stopwatch import working_time
from perp.problems import MCP, ProblemError, Status
from perp.problems.residual import judge
from perp.problems.validation import Vector, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.large_dense import LARGE, gram
from perp.solvers.newton.mcp_equations import Equations
from perp.solvers.newton.mcp_log import Log, worst_rows
from perp.solvers.newton.path_search import path_search, path_step
from perp.solvers.registry import register

ITERATIONS = 1000
# After so many another start is worth more than another step.
ITERATIONS_A_START = 150
CRASH_STEPS = 12
# Armijo constant, and halvings of a step before another kind of step is tried.
ENOUGH, HALVINGS = 1e-4, 14
# A step may be as bad as the worst of so many merits: a narrow curved valley is crossed instead of followed.
MEMORY = 5
# Iterations in which the merit does not fall to this fraction of its best: time for a path search.
SLOW, PATIENCE = 0.8, 8
# Whole path steps from a start: they converge within a dozen, or not at all.
WHOLE_STEPS = 25
# Unknowns up to which paths are followed: a path costs some n³ operations.
LARGEST_PATH = 400
# Merit per row at which it is worth asking whether the MCP is solved although the problem behind it is not.
CONVERGED = 1e-20
DAMPINGS = (1e-6, 1e-4, 1e-2, 1.0, 1e2)
# Weight of the product in the penalised function (0.05 in Chen, Chen and Kanzow's experiments).
PENALTY = 0.05
# Further Newton steps after the tolerance is met, while each at least halves ‖Φ‖; a square of Φ per row that
# no step can make smaller.
POLISH, ROUND_OFF = 3, 1e-30


@dataclass(frozen=True)
class McpNewtonOptions:
    """Options of `mcp-newton`.

    Attributes:
        crash: Whether active-set steps come first.
        path_search: Whether paths of the linearisation are followed where line searches fail (n ≤ 400).
        restarts: Whether other starts and the penalised function follow a failure.
        memory: Merits that a line search looks back on; 1 is monotone.
        verbose: Print a line per iteration.
    """

    crash: bool = True
    path_search: bool = True
    restarts: bool = True
    memory: int = MEMORY
    verbose: bool = False

    def __post_init__(self) -> None:
        if not self.memory >= 1:
            raise ProblemError(f"memory = {self.memory}: at least 1 is needed")


@register(
    "mcp-newton",
    takes=MCP,
    options=McpNewtonOptions,
    summary="sparse semismooth Newton with crash, line search and path search for any MCP",
)
@np.errstate(all="ignore")
def mcp_newton(problem: MCP, control: Control, options: McpNewtonOptions) -> Attempt:
    """Solve an MCP from its start; if that stalls, from other points of the box."""
    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    limit = control.limit(ITERATIONS)
    run = _Run(problem, control, options)
    for start, penalty in _starts(problem, control, options):
        try:
            if run.descend(start, penalty, min(limit, run.done + ITERATIONS_A_START)):
                return run.attempt(None)
        except OutOfTime as late:
            run.message = str(late)
            return run.attempt(Status.TIME_LIMIT)
        if control.reason is Status.TIME_LIMIT:
            return run.attempt(Status.TIME_LIMIT)
        if run.done >= limit:
            return run.attempt(Status.ITERATION_LIMIT)
    return run.attempt(control.reason or Status.STALLED)


def _starts(problem: MCP, control: Control, options: McpNewtonOptions) -> Iterator[tuple[Vector, float]]:
    """Where to begin, with which weight of the product: the start, then points of the box near 0, 1, −1."""
    first = problem.first_point if control.start is None else control.start
    first = np.clip(first, problem.lo, problem.hi)
    yield first, 0.0
    if not options.restarts:
        return
    yield first, PENALTY
    seen = {first.tobytes()}
    inside = np.where(
        np.isfinite(problem.lo) & np.isfinite(problem.hi), 0.5 * problem.lo + 0.5 * problem.hi, 1.0
    )
    scale = np.maximum(np.abs(first), 1.0)
    for point in (
        np.zeros(first.size),
        np.ones(first.size),
        -np.ones(first.size),
        inside,
        10 * scale,
        first + scale,
    ):
        other = np.clip(point, problem.lo, problem.hi)
        if other.tobytes() not in seen:
            seen.add(other.tobytes())
            yield other, 0.0


class _Run:
    """The iterations of one solve, over all its starts."""

    def __init__(self, problem: MCP, control: Control, options: McpNewtonOptions) -> None:
        self.problem, self.control, self.options = problem, control, options
        self.done = self.searches = 0
        self.answer: Vector | None = None
        self.stuck: Status | None = None
        self.message = ""
        self.longest = 0.0  # seconds of an iteration
        self.latest: Vector | None = None
        self.log = Log(problem) if options.verbose else None

    def attempt(self, reason: Status | None) -> Attempt:
        """The best point, or what was converged to, with words about what is wrong with it."""
        if self.answer is not None:
            return Attempt(self.answer, self.done, info={"path_searches": self.searches})
        if self.latest is not None and self.control.best == np.inf:  # far off, none was worth measuring
            self.control.check(self.done, self.latest)
        self.control.reason = self.stuck if self.stuck is not None and reason is Status.STALLED else reason
        out = self.control.attempt(self.problem.first_point, self.done, path_searches=self.searches)
        if reason is not None:
            out.message = " ".join(
                x for x in (out.message, self.message, worst_rows(self.problem, out.z)) if x
            )
        return out

    def descend(self, z: Vector, penalty: float, limit: int) -> bool:
        """Iterate from z until solved; False when stalled or at the limit."""
        f = self.problem.evaluate(z)
        if not np.isfinite(f).all():
            z = _inside(self.problem, z)
            f = self.problem.evaluate(z)
        if not np.isfinite(f).all():
            if self.done == 0 and self.stuck is None:  # the user's own start, not one of ours
                self.stuck = Status.EVALUATION_ERROR
                self.message = f"{self.problem.where_not_finite(z, f)}."
            return False
        equations = Equations(self.problem, z, penalty)
        start = z
        if self.options.crash and not penalty:
            z = self._crash(equations, z)
        return self._newton(equations, z, start, limit)

    def _newton(self, equations: Equations, z: Vector, start: Vector, limit: int) -> bool:
        merits: list[float] = []
        best, slow, walked = np.inf, 0, False
        while True:
            began = working_time()
            value, by_z, by_f = equations.linear(z)
            merit = float(value @ value)
            merits.append(merit)
            if self._solved(equations, z, merit):
                return True
            if self.control.reason is Status.TIME_LIMIT or self._no_time():
                return False
            if self.done >= limit:
                return False
            slow = 0 if merit < SLOW * best else slow + 1
            best = min(best, merit)
            H = equations.jacobian(z, by_z, by_f)
            worst = max(merits[-self.options.memory :])
            step = self._step(equations, z, value, by_f, H, worst) if slow < PATIENCE else None
            if step is None and self.problem.size <= LARGEST_PATH and self.options.path_search:
                best, slow = np.inf, 0
                step = self._walk(equations, start, float(np.linalg.norm(value))) if not walked else None
                walked = True
                step = self._search(equations, z) if step is None else step
            if step is None:
                step, slow = self._step(equations, z, value, by_f, H, worst), 0
            if step is None or np.array_equal(step, z):
                self._stalled(z, value, H)
                return False
            z = step
            self.done += 1
            self.longest = max(self.longest, working_time() - began)

    def _solved(self, equations: Equations, z: Vector, merit: float) -> bool:
        """Whether z meets the tolerance; it is then made sharper as long as that is cheap."""
        if self.log is not None:
            self.log.line(self.done, merit, equations.epsilon, z)
        self.latest = z
        far = merit > 1e-4 * equations.d.size and not self.control.recorded
        if far and self.control.out_of_time():
            self.control.reason = Status.TIME_LIMIT
            return False
        if not far and self.control.check(self.done, z):
            if self.control.reason is not None:
                return False
            self.answer = self._polished(equations, z)
            return True
        if merit <= CONVERGED * z.size and judge(self.problem, z)[0] <= self.control.tol:
            # an answer of the MCP whose residual in the problem that it came from is large: a relaxation
            self.answer = z
            return True
        return False

    def _polished(self, equations: Equations, z: Vector) -> Vector:
        """The point after a few more Newton steps, if its residual is smaller."""
        first, residual = z, self.control.measure(z)
        value, by_z, by_f = equations.linear(z)
        merit = float(value @ value)
        for _ in range(POLISH):
            if merit <= ROUND_OFF * z.size or residual == 0.0 or self._no_time():
                break
            step = equations.direction(equations.jacobian(z, by_z, by_f), value, by_f)
            if step is None:
                break
            other = np.clip(z + step, self.problem.lo, self.problem.hi)
            value, by_z, by_f = equations.linear(other)
            sharper = float(value @ value)
            if not sharper < 0.25 * merit:
                break
            z, merit = other, sharper
        return first if z is first or self.control.measure(z) > residual else z

    def _no_time(self) -> bool:
        """Whether another iteration would end after the time limit."""
        left = self.control.remaining()
        if left is None or left > self.longest:
            return False
        self.control.reason = Status.TIME_LIMIT
        return True

    def _stalled(self, z: Vector, value: Vector, H: object) -> None:
        gradient = H.T @ value  # type: ignore[attr-defined]
        flat = float(np.linalg.norm(gradient)) <= 1e-6 * float(np.linalg.norm(value))
        self.stuck = Status.LOCAL_MINIMUM if flat else self.stuck
        self.control.reason = Status.STALLED
        if self.problem.size <= LARGEST_PATH and not self.message:
            try:
                self.problem.check_jacobian(z, tolerance=1e-2)
            except ProblemError as error:
                self.message = f"The Jacobian may be wrong: {error}."

    def _crash(self, equations: Equations, z: Vector) -> Vector:
        """Active-set steps: variables that f pushes into a bound go there, the others make Newton's step."""
        problem = self.problem
        value = equations.value(z)
        merit = float(value @ value)
        for _ in range(CRASH_STEPS):
            if merit <= 1e-16 * z.size or self._no_time():
                break
            began = working_time()
            f = equations.row * equations.function(z)
            lower = equations.has_lo & (equations.d * (z - equations.lo) <= f)
            upper = equations.has_hi & (equations.d * (z - equations.hi) >= f)
            at_bound = lower | upper
            distance = np.where(lower, z - equations.lo, np.where(upper, z - equations.hi, 0.0))
            H = equations.jacobian(z, np.where(at_bound, 1.0, 0.0), np.where(at_bound, 0.0, equations.row))
            step = equations.direction(
                H, np.where(at_bound, distance, f), np.where(at_bound, 0.0, equations.row)
            )
            if step is None or not np.isfinite(step).all():
                break
            other = np.clip(z + step, problem.lo, problem.hi)
            value = equations.value(other)
            new = float(value @ value)
            self.longest = max(self.longest, working_time() - began)
            if not new < 0.9 * merit:
                break
            z, merit = other, new
            self.done += 1
            if self.log is not None:
                self.log.line(self.done, merit, equations.epsilon, z, kind="crash")
        return z

    def _step(
        self, equations: Equations, z: Vector, value: Vector, by_f: Vector, H: object, worst: float
    ) -> Vector | None:
        """A point with a smaller merit on a Newton step, or a damped one; None when there is none."""
        newton = equations.direction(H, value, by_f)
        if newton is not None:
            found = self._line_search(equations, z, newton, value, H, worst)
            if found is not None:
                return found
        return self._damped(equations, z, value, H)

    def _damped(self, equations: Equations, z: Vector, value: Vector, H: object) -> Vector | None:
        """Levenberg and Marquardt's step for growing damping."""
        A: Any = H.T @ H if is_sparse(H) else gram(H)  # type: ignore[attr-defined]
        gradient = H.T @ value  # type: ignore[attr-defined]
        if not np.isfinite(gradient).all():
            return None
        from perp.solvers.linear import factorise

        diagonal = A.diagonal()
        size = float(diagonal.max(initial=0.0)) or 1.0
        merit = float(value @ value)
        for damping in DAMPINGS:
            if self._no_time():
                return None
            solve = factorise(
                A.tocsc() if is_sparse(A) else A,
                # larger ones in pieces, which LAPACK's Cholesky has not
                symmetric=is_sparse(A) or z.size < LARGE,
                shift=np.full(z.size, damping * size),
            )
            if solve is None:
                continue
            found = self._line_search(equations, z, -solve(gradient), value, H, merit)
            if found is not None:
                return found
        return None

    def _line_search(
        self, equations: Equations, z: Vector, step: Vector, value: Vector, H: object, worst: float
    ) -> Vector | None:
        """P(z + t · step) with ‖Φ‖² ≤ worst + 2 · ENOUGH · t · slope, t = 1, ½, ¼, …."""
        if not np.isfinite(step).all():
            return None
        slope = float(value @ (H @ step))  # type: ignore[operator]
        if slope >= 0:
            return None
        t = 1.0
        for _ in range(HALVINGS):
            candidate = np.clip(z + t * step, self.problem.lo, self.problem.hi)
            new = equations.value(candidate)
            merit = float(new @ new)
            if np.isfinite(merit) and merit <= worst + 2.0 * ENOUGH * t * slope:
                if self.log is not None:
                    self.log.length = t
                return candidate
            t *= 0.5
        return None

    def _walk(self, equations: Equations, z: Vector, size: float) -> Vector | None:
        """Whole path steps from a start, uphill or not: the best point met, if below `size` there."""
        best = None
        for _ in range(WHOLE_STEPS):
            if self._no_time():
                break
            derivative = self._dense(z)
            if not np.isfinite(derivative).all():
                break
            following, _ = path_step(
                self.problem, z, derivative, self._scale(equations), self.control.out_of_time
            )
            if not np.isfinite(following).all() or np.array_equal(following, z):
                break
            here = float(np.linalg.norm(equations.value(following)))
            if not np.isfinite(here):
                break
            if here < size:
                best, size = following, here
            z = following
            self.done += 1
            if size <= 1e-12:
                break
        self.searches += best is not None
        return best

    def _search(self, equations: Equations, z: Vector) -> Vector | None:
        derivative = self._dense(z)
        if not np.isfinite(derivative).all() or self._no_time():
            return None
        step = path_search(self.problem, z, derivative, self._scale(equations), self.control.out_of_time)
        self.searches += step is not None
        return step

    def _scale(self, equations: Equations) -> Vector:
        """What path searches multiply distances with: the change of a variable's own row."""
        return equations.d / equations.row

    def _dense(self, z: Vector) -> np.ndarray:
        matrix = self.problem.derivative(z)
        return matrix.toarray() if is_sparse(matrix) else np.array(matrix)


def _inside(problem: MCP, z: Vector) -> Vector:
    """A point near z off the bounds: logarithms and roots are often not defined at 0."""
    width = np.where(np.isfinite(problem.hi - problem.lo), problem.hi - problem.lo, np.inf)
    hair = np.minimum(1e-3 * np.maximum(1.0, np.abs(z)), 1e-2 * width)
    return np.where(
        z - problem.lo < hair, problem.lo + hair, np.where(problem.hi - z < hair, problem.hi - hair, z)
    )
