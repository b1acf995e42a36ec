"""Impulses in the relative interior of all answers with the same velocities.

A solver may return a vertex: a box on four corners, carried by two of them. The other two have neither
impulse nor velocity and look like contacts at a switch of modes. With δ from the null space of W that keeps
what slips on its cone, the slacks τ of such constraints are made as large as they can be,

    maximise Σ τ_c   with   W δ = 0,   x + δ in K and τ_c inside it,   τ_c ≤ a small share of what is at work

and the constraints whose τ stays zero are at a switch indeed.
"""

from typing import Any

import numpy as np

from perp.derivatives.laws import CLOSED, HOLDS, SLIDE, SLIDE_AND_ROLL, STICK
from perp.problems import ContactProblem
from perp.problems.cone_program import ConeProgram
from perp.problems.discs import discs
from perp.problems.set_kernels import WIDEST
from perp.problems.sets import BOX, COULOMB, NONNEGATIVE
from perp.problems.validation import Vector, is_sparse

# Slacks beyond this share of what is at work tell nothing more.
ENOUGH = 1e-3
# Of the program, whose numbers are of size 1.
TOLERANCE = 1e-8
RANK = 1e-10
LARGEST = 1500


def inner_impulse(
    problem: ContactProblem, x: Vector, u: Vector, code: np.ndarray, degenerate: np.ndarray
) -> Vector | None:
    """Such impulses, or None where there are no others than x or the problem is large.

    `code` has the mode of each constraint, see `laws`; `degenerate` tells which look like being at a switch.
    """
    if problem.size > LARGEST:
        return None
    E = _allowed(problem, x, u, code, degenerate)
    W: Any = problem.W
    moved = (W.toarray() if is_sparse(W) else np.asarray(W)) @ E
    if E.shape[1] == 0:
        return None
    _, s, vt = np.linalg.svd(moved)
    rank = int((s > RANK * max(s.max(initial=0.0), 1e-300)).sum())
    N = E @ vt[rank:].T
    if N.shape[1] == 0 or not np.abs(N).max(initial=0.0) > 0:
        return None
    return _widened(problem, x, N, code, degenerate)


def _allowed(
    problem: ContactProblem, x: Vector, u: Vector, code: np.ndarray, degenerate: np.ndarray
) -> np.ndarray:
    """Columns that changes of the impulses are made of, mode by mode."""
    sets, n = problem.sets, problem.size
    near = 1e-6 * problem.data_size
    columns: list[np.ndarray] = []
    for c in range(sets.count):
        a, b = int(sets.start[c]), int(sets.start[c + 1])
        if sets.kind[c] <= BOX:
            if code[c] in (HOLDS, CLOSED) or (degenerate[c] and abs(u[a]) <= near[c]):
                columns.append(np.eye(1, n, a)[0])
            continue
        if abs(u[a]) > near[c] and not problem.relaxed:
            continue
        still = bool((np.abs(u[a + 1 : b] * problem.row_scale[a + 1 : b]) <= near[c]).all())
        if still and (code[c] == STICK or degenerate[c]):
            columns += [np.eye(1, n, i)[0] for i in range(a, b)]
        elif code[c] in (SLIDE, SLIDE_AND_ROLL) or degenerate[c]:
            column = np.eye(1, n, a)[0]
            if _slip(discs(sets, c), u, column):
                columns.append(column)
    return np.array(columns).reshape(-1, n).T


def _slip(discs: list[tuple[np.ndarray, np.ndarray]], u: Vector, out: np.ndarray) -> bool:
    """The impulse of everything that slips, for a push of one; False where a disc does not slip."""
    for rows, mu in discs:
        speed = float(np.linalg.norm(mu * u[rows]))
        if not u[rows].any() or (mu > WIDEST).any():
            return False
        out[rows] = -(mu**2) * u[rows] / (speed or 1.0)
    return True


def _widened(
    problem: ContactProblem, x: Vector, N: np.ndarray, code: np.ndarray, degenerate: np.ndarray
) -> Vector | None:
    """Maximise the slacks over x + N y by an interior point method."""
    from scipy.sparse import csc_array

    from perp.solvers.external.adapter import Request
    from perp.solvers.external.clarabel import clarabel

    sets, free = problem.sets, N.shape[1]
    suspects = np.flatnonzero(degenerate)
    unit = problem.data_size / np.where(problem.mobility > 0, problem.mobility, 1.0)
    scale = float(unit.max(initial=0.0)) or 1.0
    N = N / np.abs(N).max(axis=0)
    place = {int(c): free + k for k, c in enumerate(suspects)}
    width = free + suspects.size
    lines: list[np.ndarray] = []
    values: list[float] = []
    cones: list[tuple[np.ndarray, np.ndarray]] = []

    def with_slack(row: np.ndarray, c: int) -> np.ndarray:
        line = np.concatenate([row, np.zeros(suspects.size)])
        if c in place:
            line[place[c]] = -1.0
        return line

    def nonnegative(row: np.ndarray, value: float, c: int) -> None:
        lines.append(with_slack(row, c))
        values.append(value / scale)

    for c in range(sets.count):
        a, b = int(sets.start[c]), int(sets.start[c + 1])
        p, kind = sets.parameters[c], int(sets.kind[c])
        if not np.abs(N[a:b]).any():
            continue
        if kind == NONNEGATIVE:
            nonnegative(N[a], x[a], c)
        elif kind == BOX:
            for sign, bound in ((1.0, p[0]), (-1.0, p[1])):
                if np.isfinite(bound):
                    nonnegative(sign * N[a], sign * (x[a] - bound), c)
        elif kind >= COULOMB:
            nonnegative(N[a], x[a] + p[5], c)
            if code[c] != STICK and not degenerate[c]:
                continue  # moves on its cone
            for rows, mu in discs(sets, c):
                # directions without friction or without limit have no weight
                finite = (mu > 0) & (mu <= WIDEST)
                if not finite.any():
                    continue
                weights = np.divide(1.0, mu, out=np.zeros_like(mu), where=finite)
                block = np.zeros((1 + weights.size, width))
                block[0], block[1:, :free] = with_slack(N[a], c), weights[:, None] * N[rows]
                cones.append((block, np.concatenate([[x[a] + p[5]], weights * x[rows]]) / scale))
    for c in suspects:
        nonnegative(np.zeros(free), ENOUGH * unit[c], int(c))
    # slack directions stay bounded: impulses as such are not
    G = np.vstack([np.array(lines).reshape(-1, width), *(block for block, _ in cones)])
    h = np.concatenate([values, *(offset for _, offset in cones)])
    cost = np.concatenate([np.zeros(free), -np.ones(suspects.size)])
    # the shortest of many changes
    P = csc_array((np.full(free, 1e-6), (np.arange(free), np.arange(free))), shape=(width, width))
    program = ConeProgram(
        P, cost, csc_array(G), h, 0, len(lines), tuple(offset.size for _, offset in cones), np.zeros(width)
    )
    reply = clarabel(Request(program, TOLERANCE, None, None, None, None))
    if reply.reason is not None or reply.x is None or not np.isfinite(reply.x).all():
        return None
    return x + scale * (N @ reply.x[:free])
