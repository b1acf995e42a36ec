"""Newton's method on the natural map of a cone program: the last digits that an interior point cannot reach.

Where a slack and its multiplier both vanish, a point on the central path is off by the root of the gap. From
there the equations P x + c = Gᵀ y, s = P_C(s − y) are solved by semismooth Newton steps of least norm, kept
while they help. Each costs one dense factorisation, O((n + m)³).

Reference: Qi and Sun, A nonsmooth version of Newton's method (1993).
"""

from __future__ import annotations

import itertools

import numpy as np

from perp.problems.cone_program import ConeProgram
from perp.problems.validation import Vector
from perp.solvers.least_norm import least_norm

STEPS = 10
# Singular values below this fraction of the largest count as zero: impulses of redundant contacts are not
# unique.
RANK_TOLERANCE = 1e-11
# A step that does not at least halve the error has met round-off.
ENOUGH = 0.5


def polish(program: ConeProgram, x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """A pair that satisfies the optimality conditions at least as well as x, y, nearly always much better."""
    P, G = program.P.toarray(), program.G.toarray()
    value, derivative = _natural_map(program, P, G, x, y)
    error = float(np.linalg.norm(value))
    for _ in range(STEPS):
        if not np.isfinite(derivative).all() or error == 0.0:
            break
        step = least_norm(derivative, -value, rank_tolerance=RANK_TOLERANCE)
        new_x, new_y = x + step[: x.size], y + step[x.size :]
        new_value, new_derivative = _natural_map(program, P, G, new_x, new_y)
        new_error = float(np.linalg.norm(new_value))
        if not new_error <= ENOUGH * error:
            break
        x, y, value, derivative, error = new_x, new_y, new_value, new_derivative, new_error
    return x, y


def _natural_map(
    program: ConeProgram, P: np.ndarray, G: np.ndarray, x: Vector, y: Vector
) -> tuple[Vector, np.ndarray]:
    """(P x + c − Gᵀ y, s − P_C(s − y)) and an element of its generalised Jacobian."""
    s = G @ x + program.h
    projected, D = _project(program, s - y)
    value = np.concatenate([P @ x + program.c - G.T @ y, s - projected])
    return value, np.block([[P, -G.T], [G - D @ G, D]])


def _project(program: ConeProgram, w: Vector) -> tuple[Vector, np.ndarray]:
    """The point of the cones nearest to w, and a derivative of that."""
    out, D = np.zeros(w.size), np.zeros((w.size, w.size))
    rows = np.arange(program.zero, program.zero + program.nonnegative)
    out[rows] = np.maximum(w[rows], 0.0)
    D[rows, rows] = w[rows] > 0
    starts = program.cone_starts
    for begin, end in itertools.pairwise(starts):
        cone = slice(int(begin), int(end))
        t, v = float(w[begin]), w[begin + 1 : end]
        length = float(np.linalg.norm(v))
        if length <= t:
            out[cone] = w[cone]
            D[cone, cone] = np.eye(end - begin)
        elif length > -t:
            unit = v / length
            out[begin] = (t + length) / 2
            out[begin + 1 : end] = (t + length) / 2 * unit
            block = np.empty((end - begin, end - begin))
            block[0, 0] = 1.0
            block[0, 1:] = block[1:, 0] = unit
            ratio = t / length
            block[1:, 1:] = (1.0 + ratio) * np.eye(v.size) - ratio * np.outer(unit, unit)
            D[cone, cone] = block / 2
    return out, D
