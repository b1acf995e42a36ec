"""The first attempt of `proximal-point` on small contact problems, in one compiled call.

What sweeps leave unsolved of a few contacts takes some Newton steps of microseconds; building their arrays
from Python takes ten times as long.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.kernels.borrowed import borrowed
from perp.kernels.friction_laws import MOST_ROWS, ROOM
from perp.kernels.packed import PackedType, view
from perp.kernels.packed_trees import _fill, _tree_of
from perp.kernels.short_solve import GivenType, judge_given, structs_of, unpack
from perp.kernels.structs import struct_at
from perp.kernels.tree_newton import FIRST, solve_islands
from perp.kernels.tree_problem import pack_tree_problem, problem_view
from perp.kernels.tree_workspace import _pack
from perp.problems.set_kernels import COULOMB
from perp.solvers.auto_contact import BUILT, FACE
from perp.solvers.friction_limits import ORDINARY
from perp.solvers.newton.proximal_point import MARGIN, SHARPER, STEPS, sharpened

_sharpened = part(sharpened)


@part
def _is_ordinary(given):
    """Whether `auto` would come here after its sweeps: no faces, and no friction to be limited first."""
    for c in range(given.kind.size):
        for k in range(5):
            if given.kind[c] >= COULOMB and given.parameters[c, k] > ORDINARY:
                return False
    return True


@part
def _trees(packed, impulse, unit):
    """The problem by trees, as `packed_trees.trees_of`."""
    b = view(packed)
    count, rows, entries = b.mu.size, b.q.size, b.data.size
    tree = np.empty(count, np.int64)
    trees = _tree_of(packed, tree)
    first, mass = np.zeros(trees + 1, np.int64), np.zeros(trees + 1, np.int64)
    for c in range(count):
        first[tree[c] + 1] += b.start[c + 1] - b.start[c]
    for t in range(trees):
        mass[t + 1] = mass[t] + first[t + 1] ** 2
        first[t + 1] += first[t]
    units, x = np.empty(rows), np.empty(rows)
    for c in range(count):
        for i in range(b.start[c], b.start[c + 1]):
            units[i], x[i] = unit * b.size[c], impulse[b.row[i]] / b.scale[i]
    problem = pack_tree_problem((
        np.zeros(3, np.int64), first, mass, np.zeros(mass[trees]), np.zeros(rows),
        np.zeros(count, np.int64), np.zeros(count + 1, np.int64), np.zeros((count, 6)),
        np.zeros(rows + 1, np.int64), np.zeros(entries, np.int64), np.zeros(entries), np.zeros(entries),
        np.zeros(rows), np.zeros(rows), units, x, np.zeros(rows), np.zeros(rows),
    ))  # fmt: skip
    _fill(packed, tree, problem)
    return problem


@part
def _integers(count):
    return np.zeros(count, np.int64)


@part
def _workspace(problem):
    """Room for Newton steps, as `tree_workspace.tree_workspace`."""
    p = problem_view(problem)
    n, trees, count, entries = p.bias.size, p.tree_start.size - 1, p.kind.size, p.column.size
    tree_of, widest = np.empty(n, np.int64), 0
    for t in range(trees):
        tree_of[p.tree_start[t] : p.tree_start[t + 1]] = t
        widest = max(widest, p.tree_start[t + 1] - p.tree_start[t])
    integers = (
        tree_of, _integers(trees + 1), _integers(entries), _integers(trees), _integers(trees),
        _integers(trees), _integers(trees + 1), _integers(count), _integers(trees + 1), _integers(count),
        _integers(count), _integers(n), _integers(entries), _integers(count), _integers(1),
        np.full(1, -1, np.int64),
    )  # fmt: skip
    mass = p.mass.size
    vectors = (
        np.zeros(mass), np.full(mass, np.nan), np.zeros(mass), np.zeros(entries), np.zeros(n), np.zeros(n),
        np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n),
        np.zeros(n), np.zeros(n), np.zeros(n),
    )  # fmt: skip
    planes = np.zeros((count, 3)), np.zeros((trees, 2)), np.zeros((widest, n)), np.zeros(ROOM)
    blocks = (
        np.zeros((count, MOST_ROWS, MOST_ROWS)), np.zeros((count, MOST_ROWS, MOST_ROWS)),
        np.zeros((count, MOST_ROWS, MOST_ROWS)),
    )  # fmt: skip
    return _pack(integers, vectors, planes, blocks)


@kernel(nogil=True)
def short_newton(packed, given, tol, impulse, velocity):
    """As `few_steps`, the problem by the addresses of its structs."""
    return few_steps(struct_at(PackedType, packed), struct_at(GivenType, given), tol, impulse, velocity)


@kernel(nogil=True, shared=True)
def few_steps(packed, given, tol, impulse, velocity):
    """Newton steps from the impulses given, which are replaced by what they reach; velocities by an answer's.

    Returns:
        The shared residual of what was reached, and the steps; infinite and none where a problem is not
        ordinary or its numbers mean nothing, and impulses are as they were.
    """
    if not _is_ordinary(given):
        return np.inf, 0
    blocks, impulse, velocity = view(packed), borrowed(impulse), borrowed(velocity)
    unit = MARGIN * tol
    problem = _trees(packed, impulse, unit)
    workspace, p = _workspace(problem), problem_view(problem)
    if given.kind.size >= max(BUILT, FACE * (p.tree_start.size - 1)):
        return np.inf, 0
    info, worst = np.zeros(4, np.int64), np.zeros(1)
    found, u = np.empty(impulse.size), np.empty(impulse.size)
    value, steps = np.inf, 0
    for _ in range(SHARPER + 1):
        solve_islands(problem, workspace, FIRST, STEPS, (0.0, 1.0, np.inf, unit), info, worst)
        steps += info[2]
        unpack(blocks, p.impulse, found)
        value = judge_given(given, blocks.relaxed, found, u)
        if value <= tol or info[1] != 0 or not np.isfinite(value):
            break
        share = _sharpened(worst[0], value, tol)
        unit *= share
        for i in range(p.unit.size):
            p.unit[i] *= share
    if not np.isfinite(value):
        return np.inf, 0
    impulse[:], velocity[:] = found, u
    return value, steps


@kernel(nogil=True)
def short_newtons(chunk, tol, answers):
    """Newton steps for the problems of a chunk that sweeps have not solved; returns how many each took."""
    steps = np.zeros(chunk.relaxed.size, np.int64)
    for k in range(steps.size):
        if answers.value[k] <= tol or np.isinf(answers.value[k]):
            continue
        packed, given = structs_of(chunk, k)
        rows = slice(chunk.row[k], chunk.row[k + 1])
        answers.value[k], steps[k] = few_steps(
            packed, given, tol, answers.impulse[rows], answers.velocity[rows]
        )
    return steps
