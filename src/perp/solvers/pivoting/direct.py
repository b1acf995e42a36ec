"""Every complementary cone of a small LCP, and all of its solutions on request.

For each of the 2ⁿ choices between a column of I and one of −M, q lies in the cone they span exactly when a
solution rests on that choice. In two and three dimensions this is decided by signs alone, of q against the
lines or planes through the cone's edges, relative to the sign of the cone's determinant. From four to sixteen
rows each choice is solved and its signs are tested, at O(2ⁿ n³); cones without volume are tried last, by
nonnegative least squares. Where no cone holds q there is no solution: for every cone a plane that has q on
one side and the cone on the other is the proof. More than sixteen rows are handed on to Lemke's method.

Reference: Murty, Linear Complementarity, Linear and Nonlinear Programming, section 1.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from perp.problems import LCP, ProblemError, Status
from perp.problems.validation import Vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.pivoting.factors import lu, lu_solve, pivot_kernel, pivot_part
from perp.solvers.pivoting.lemke import LemkeOptions, lemke
from perp.solvers.pivoting.rows import dense
from perp.solvers.registry import register

# 2¹⁶ solves of up to 16 rows take about a tenth of a second.
LARGEST = 16
# Signs are wrong only beyond this fraction of what was summed to get them.
ROUND_OFF = 1e-12
# Solutions closer than this fraction of their size are the same one, met on several cones.
SAME = 1e-9
# Where q is against a cone.
OUTSIDE, INSIDE, FLAT = 0, 1, 2


@dataclass(frozen=True)
class DirectOptions:
    """Options of the direct solver.

    Attributes:
        all_solutions: Test every cone and put all solutions into `info["solutions"]`, instead of stopping at
            the first. Solutions that fill a segment or a face are represented by its corners.
    """

    all_solutions: bool = False


@pivot_part
def _edge(M, choice, j, i):
    """Component i of edge j of a cone: of −M where the choice has bit j, else of I."""
    if (choice >> j) & 1:
        return -M[i, j]
    return 1.0 if i == j else 0.0


@pivot_part
def _cone_2d(M, q, choice, z):
    """Whether q lies in a cone of the plane, by the signs of its areas with the edges; z if it does."""
    a, b = _edge(M, choice, 0, 0), _edge(M, choice, 0, 1)
    c, d = _edge(M, choice, 1, 0), _edge(M, choice, 1, 1)
    area = a * d - b * c
    if abs(area) <= ROUND_OFF * (abs(a * d) + abs(b * c)):
        return FLAT
    first, second = q[0] * d - q[1] * c, a * q[1] - b * q[0]
    noise_first = ROUND_OFF * (abs(q[0] * d) + abs(q[1] * c))
    noise_second = ROUND_OFF * (abs(a * q[1]) + abs(b * q[0]))
    sign = 1.0 if area > 0.0 else -1.0
    if sign * first < -noise_first or sign * second < -noise_second:
        return OUTSIDE
    z[0] = max(first / area, 0.0) if choice & 1 else 0.0
    z[1] = max(second / area, 0.0) if choice & 2 else 0.0
    return INSIDE


@pivot_part
def _volume(a, b, c):
    """The determinant of three vectors, and the sum of the magnitudes in it."""
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = a, b, c
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    size = (
        (abs(ay * bz) + abs(az * by)) * abs(cx)
        + (abs(az * bx) + abs(ax * bz)) * abs(cy)
        + (abs(ax * by) + abs(ay * bx)) * abs(cz)
    )
    return x * cx + y * cy + z * cz, size


@pivot_part
def _cone_3d(M, q, choice, z):
    """Whether q lies in a cone of space, by the signs of its volumes with the cone's faces; z if it does."""
    a = _edge(M, choice, 0, 0), _edge(M, choice, 0, 1), _edge(M, choice, 0, 2)
    b = _edge(M, choice, 1, 0), _edge(M, choice, 1, 1), _edge(M, choice, 1, 2)
    c = _edge(M, choice, 2, 0), _edge(M, choice, 2, 1), _edge(M, choice, 2, 2)
    volume, size = _volume(a, b, c)
    if abs(volume) <= ROUND_OFF * size:
        return FLAT
    point = q[0], q[1], q[2]
    first, noise_first = _volume(b, c, point)
    second, noise_second = _volume(c, a, point)
    third, noise_third = _volume(a, b, point)
    sign = 1.0 if volume > 0.0 else -1.0
    if (
        sign * first < -ROUND_OFF * noise_first
        or sign * second < -ROUND_OFF * noise_second
        or sign * third < -ROUND_OFF * noise_third
    ):
        return OUTSIDE
    z[0] = max(first / volume, 0.0) if choice & 1 else 0.0
    z[1] = max(second / volume, 0.0) if choice & 2 else 0.0
    z[2] = max(third / volume, 0.0) if choice & 4 else 0.0
    return INSIDE


@pivot_part
def _cone(M, q, choice, z, block, order, x):
    """Whether the choice of free rows gives a solution, by solving for them; z if it does."""
    n = q.size
    rows, k = order[n : 2 * n], 0
    for i in range(n):
        z[i] = 0.0
        if (choice >> i) & 1:
            rows[k] = i
            k += 1
    for a in range(k):
        x[a] = -q[rows[a]]
        for b in range(k):
            block[a, b] = M[rows[a], rows[b]]
    if lu(block, k, order) >= 0:
        return FLAT
    lu_solve(block, k, order, x)
    size = 0.0
    for a in range(k):
        if not abs(x[a]) < np.inf:
            return FLAT
        size = max(size, abs(x[a]))
    for a in range(k):
        if x[a] < -ROUND_OFF * size:
            return OUTSIDE
        z[rows[a]] = max(x[a], 0.0)
    for i in range(n):
        w, noise = q[i], abs(q[i])
        for a in range(k):
            w += M[i, rows[a]] * x[a]
            noise += abs(M[i, rows[a]] * x[a])
        if (choice >> i) & 1:
            # only a nearly singular block leaves w in its own rows
            if abs(w) > 1e3 * ROUND_OFF * noise:
                return FLAT
        elif w < -ROUND_OFF * noise:
            return OUTSIDE
    return INSIDE


@pivot_kernel
def next_solution(M, q, choice, end, z, work, order):
    """The first choice from `choice` on that gives a solution, with that solution in z; `end` for none.

    `order`, shape (2 n + 1,), is workspace; its last entry counts the cones without volume.
    """
    n = q.size
    x, block = work[:n], work[n : n + n * n].reshape((n, n))
    while choice < end:
        if n == 2:
            found = _cone_2d(M, q, choice, z)
        elif n == 3:
            found = _cone_3d(M, q, choice, z)
        else:
            found = _cone(M, q, choice, z, block, order, x)
        if found == INSIDE:
            return choice
        if found == FLAT:
            order[2 * n] += 1
        choice += 1
    return choice


@register(
    "direct",
    takes=LCP,
    summary="every complementary cone up to 16 rows, all solutions on request; more are handed to lemke",
    options=DirectOptions,
)
def direct(problem: LCP, control: Control, options: DirectOptions) -> Attempt:
    """Solve a small LCP by testing its complementary cones, the one of the start first."""
    n = problem.size
    if n > LARGEST:
        return _handed_on(problem, control, options)
    M = dense(problem.M)
    z, work, order = np.zeros(n), np.empty(n + n * n), np.zeros(2 * n + 1, dtype=np.int64)
    limit = control.limit(1 << n)
    found: list[tuple[int, Vector]] = []
    if control.start is not None and not options.all_solutions:
        choice = sum(1 << i for i in range(n) if control.start[i] > 0)
        if next_solution(M, problem.q, choice, choice + 1, z, work, order) == choice:
            return Attempt(z, 1, info=_describe(choice, n, 1))
    choice = 0
    while choice < min(limit, 1 << n):
        choice = int(next_solution(M, problem.q, choice, 1 << n, z, work, order))
        if choice < (1 << n):
            if not any(_same(z, other) for _, other in found):
                found.append((choice, z.copy()))
            if not options.all_solutions:
                break
        choice += 1
    if order[2 * n] and choice >= (1 << n) and (options.all_solutions or not found):
        for flat, solution in _flat_solutions(M, problem.q, control, everything=options.all_solutions):
            if not any(_same(solution, other) for _, other in found):
                found.append((flat, solution))
    tested = min(choice + 1, 1 << n) if found and not options.all_solutions else min(choice, 1 << n)
    if not found:
        info: dict[str, object] = {"pivots": tested, "solutions": []}
        if tested < (1 << n):
            return Attempt(np.zeros(n), tested, Status.ITERATION_LIMIT, info)
        info["certificate"] = separators(M, problem.q, control)
        message = f"None of the {1 << n} complementary cones holds q."
        return Attempt(np.zeros(n), tested, Status.INFEASIBLE, info, message)
    first, answer = found[0]
    info = _describe(first, n, tested)
    if options.all_solutions:
        info["solutions"] = [solution for _, solution in found]
    return Attempt(answer, tested, info=info)


def _handed_on(problem: LCP, control: Control, options: DirectOptions) -> Attempt:
    """The answer of Lemke's method, with a note: 2ⁿ cones are too many."""
    if options.all_solutions:
        raise ProblemError(f"all_solutions: {problem.size} rows have too many cones, {LARGEST} is the most")
    attempt = lemke(problem, control, LemkeOptions())
    note = f"direct enumerates at most {LARGEST} rows: these {problem.size} were handed on to lemke."
    attempt.info["solver"] = "lemke"
    attempt.message = f"{note} {attempt.message}".strip()
    return attempt


def separators(M: np.ndarray, q: Vector, control: Control) -> np.ndarray | None:
    """For every cone C a vector y with Cᵀ y ≥ 0 and qᵀ y < 0, shape (2ⁿ, n); None where one has none.

    Where q = C x has a negative x_k that is row k of C⁻¹; else, and for cones without volume, what
    nonnegative least squares leave of q, reversed.
    """
    n = q.size
    found = np.empty((1 << n, n))
    size = float(np.linalg.norm(q))
    for choice in range(1 << n):
        if choice % 1024 == 0 and control.out_of_time():
            return None
        free = [i for i in range(n) if (choice >> i) & 1]
        cone = np.eye(n)
        cone[:, free] = -M[:, free]
        try:
            inverse = np.linalg.inv(cone)
        except np.linalg.LinAlgError:
            inverse = np.full((n, n), np.nan)
        shares = inverse @ q
        k = int(np.argmin(shares / np.linalg.norm(inverse, axis=1))) if np.isfinite(shares).all() else -1
        if k >= 0 and shares[k] < -1e3 * ROUND_OFF * np.linalg.norm(inverse[k]) * size:
            found[choice] = inverse[k] / np.linalg.norm(inverse[k])
            continue
        _, left = _nearest(cone, q)
        distance = np.linalg.norm(left)
        if not 10 * ROUND_OFF < distance < np.inf:
            return None
        found[choice] = -left / distance
    return found


def _flat_solutions(
    M: np.ndarray, q: Vector, control: Control, *, everything: bool
) -> Iterator[tuple[int, Vector]]:
    """Solutions on cones without volume: at most one from each, the first only unless all are wanted."""
    n = q.size
    for choice in range(1 << n):
        if control.out_of_time():
            return
        free = [i for i in range(n) if (choice >> i) & 1]
        cone = np.eye(n)
        cone[:, free] = -M[:, free]
        y, left = _nearest(cone, q)
        if np.linalg.norm(left) <= 10 * ROUND_OFF:
            z = np.zeros(n)
            z[free] = y[free]
            yield choice, z
            if not everything:
                return


def _nearest(cone: np.ndarray, q: Vector) -> tuple[Vector, Vector]:
    """Shares y ≥ 0 with C y nearest to q, and what they leave of q in units of |q|; infinite without an end.

    Least squares square what they are given: without units of its own a q of 1e-322 has the length 0.
    """
    from scipy.optimize import nnls

    unit = float(np.abs(q).max(initial=0.0))
    if unit == 0.0:
        return np.zeros(q.size), np.zeros(q.size)
    q = q / unit
    length = float(np.linalg.norm(q))
    try:
        y, _ = nnls(cone, q, maxiter=100 * (q.size + 1))
    except RuntimeError:  # it turned in a circle: nothing is known about this cone
        return np.zeros(q.size), np.full(q.size, np.inf)
    return y * unit, (q - cone @ y) / length


def _same(a: Vector, b: Vector) -> bool:
    return bool(
        np.abs(a - b).max(initial=0.0) <= SAME * max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    )


def _describe(choice: int, n: int, tested: int) -> dict[str, object]:
    return {
        "active_set": np.array([i for i in range(n) if (choice >> i) & 1], dtype=np.int64),
        "pivots": tested,
    }
