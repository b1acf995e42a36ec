"""All cases of a small contact problem: open or closed, stick or slip, at a bound or between.

A constraint in the plane is in one of a few cases, and with the case of every constraint given the problem
is linear. Matrices of sliding rods (Painlevé) are not positive definite, and then Newton steps and paths may
miss a solution that is there: for a few constraints every combination is solved and measured. The sliding of
contacts in space has no fixed direction and is left out. Cost: one linear system for each combination.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import inf, prod

import numpy as np

from perp.problems import ContactProblem
from perp.problems.sets import BOX, COULOMB, ELLIPTIC, FREE, NONNEGATIVE
from perp.problems.validation import Vector, is_sparse
from perp.solvers.least_norm import least_norm

# A combination of a few rows costs some 50 µs.
MOST_COMBINATIONS, LARGEST = 1024, 30

# One linear equation: the row whose velocity vanishes, or coefficients of impulses and what they add up to.
Equation = tuple[int | None, tuple[tuple[int, float], ...], float]
Mode = list[Equation]


def mode_points(problem: ContactProblem) -> Iterator[Vector]:
    """Impulses of every combination of cases, shape (rows,); none where there are too many."""
    if problem.relaxed or problem.size > LARGEST:
        return
    modes = [_modes(problem, c) for c in range(problem.contact_count)]
    if prod(len(m) for m in modes) > MOST_COMBINATIONS:
        return
    W = problem.W.toarray() if is_sparse(problem.W) else problem.W
    scale = float(np.abs(W).max()) or 1.0
    for combination in product(*modes):
        matrix, right = np.zeros_like(W), np.zeros(problem.size)
        for i, (row, impulses, value) in enumerate(e for mode in combination for e in mode):
            if row is not None:
                matrix[i], right[i] = W[row], -problem.q[row]
                continue
            for j, coefficient in impulses:
                matrix[i, j] = coefficient * scale
            right[i] = value * scale
        yield least_norm(matrix, right, rank_tolerance=1e-13)


def _modes(problem: ContactProblem, c: int) -> list[Mode]:
    """The cases of one constraint, each with as many equations as rows."""
    sets = problem.sets
    kind, a, b = int(sets.kind[c]), float(sets.a[c]), float(sets.b[c])
    rows = range(int(sets.start[c]), int(sets.start[c + 1]))
    first = rows[0]
    closed: Mode = [(i, (), 0.0) for i in rows]
    if kind == FREE:
        return [closed]
    if kind == NONNEGATIVE:
        return [_fixed(first, 0.0), closed]
    if kind == BOX:
        return [*(_fixed(first, bound) for bound in sorted({a, b}) if abs(bound) < inf), closed]
    opened: Mode = [equation for i in rows for equation in _fixed(i, 0.0)]
    if a == 0.0 and (kind == COULOMB or b == 0.0):
        return [opened, [closed[0], *opened[1:]]]
    if kind == COULOMB and len(rows) == 2:
        slips: list[Mode] = [
            [closed[0], (None, ((first + 1, 1.0), (first, -s * a)), 0.0)] for s in (1.0, -1.0)
        ]
        return [opened, closed, *slips]
    if kind == ELLIPTIC and 0.0 in (a, b):
        free, held, mu = (first + 2, first + 1, a) if b == 0.0 else (first + 1, first + 2, b)
        none = _fixed(free, 0.0)
        slips = [[closed[0], *none, (None, ((held, 1.0), (first, -s * mu)), 0.0)] for s in (1.0, -1.0)]
        return [opened, [closed[0], *none, (held, (), 0.0)], *slips]
    return [opened, closed]


def _fixed(row: int, value: float) -> Mode:
    return [(None, ((row, 1.0),), value)]
