"""Block Gauss–Seidel for contact problems with every set.

Each sweep visits the constraints in order and solves constraint c for its impulse with all others fixed: a
closed form for single rows, for open and for sticking contacts, and a projected fixed point with an adaptive
step for sliding ones. A sweep costs one pass over the nonzeros of W.

Reference: Acary, Brémond and Huber, On solving contact problems with Coulomb friction (2018), section 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from perp.problems import ContactProblem
from perp.problems.boxed_kernels import clip
from perp.problems.set_kernels import BOX, COULOMB, FREE, ROLLING, project, shift
from perp.problems.validation import freeze, is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

SWEEPS = 20_000
# The local fixed point contracts by a factor of about 0.5 a step; 60 steps reach round-off.
LOCAL_STEPS = 60
_STEP_SHRINK, _STEP_GROW, _CONTRACTION_LOW, _CONTRACTION_HIGH = 0.6, 1.5, 0.3, 0.9


@njit(cache=True)
def _local_velocity(block, b, kind, p, r, relaxed, impulse, size, out):
    """The velocity of one constraint, shifted: W_cc λ + b + Γ."""
    for i in range(size):
        total = b[i]
        for j in range(size):
            total += block[i, j] * impulse[j]
        out[i] = total
    if not relaxed:
        out[0] += shift(kind, p, r, out, 0, size)


@njit(cache=True)
def _solve_cone(block, b, kind, p, r, relaxed, impulse, size, work):
    """Local contact: W_cc λ + b with a friction cone, improving `impulse` in place."""
    candidate, velocity, new_velocity = work[0], work[1], work[2]
    step = 0.0
    for i in range(size):
        step = max(step, abs(block[i, i]))
    if step == 0.0:
        return
    step = 1.0 / step
    change = velocity_change = norm = 0.0
    for _ in range(LOCAL_STEPS):
        _local_velocity(block, b, kind, p, r, relaxed, impulse, size, velocity)
        for _ in range(20):
            for i in range(size):
                candidate[i] = impulse[i] - step * velocity[i]
            project(kind, p, r, candidate, 0, size, candidate)
            _local_velocity(block, b, kind, p, r, relaxed, candidate, size, new_velocity)
            change = velocity_change = norm = 0.0
            for i in range(size):
                change += (candidate[i] - impulse[i]) ** 2
                velocity_change += (new_velocity[i] - velocity[i]) ** 2
                norm += candidate[i] ** 2
            if step * velocity_change**0.5 <= _CONTRACTION_HIGH * change**0.5:
                break
            step *= _STEP_SHRINK
        for i in range(size):
            impulse[i] = candidate[i]
        if change <= 1e-30 * norm:
            return
        if step * velocity_change**0.5 < _CONTRACTION_LOW * change**0.5:
            step *= _STEP_GROW


@njit(cache=True)
def _stick(block, b, size, lu, out):
    """Solves W_cc λ = −b by Gaussian elimination with partial pivoting; False when singular."""
    for i in range(size):
        out[i] = -b[i]
        for j in range(size):
            lu[i, j] = block[i, j]
    for k in range(size):
        best = k
        for i in range(k + 1, size):
            if abs(lu[i, k]) > abs(lu[best, k]):
                best = i
        if lu[best, k] == 0.0:
            return False
        if best != k:
            for j in range(size):
                lu[k, j], lu[best, j] = lu[best, j], lu[k, j]
            out[k], out[best] = out[best], out[k]
        for i in range(k + 1, size):
            factor = lu[i, k] / lu[k, k]
            for j in range(k + 1, size):
                lu[i, j] -= factor * lu[k, j]
            out[i] -= factor * out[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            out[k] -= lu[k, j] * out[j]
        out[k] /= lu[k, k]
    return True


@njit(cache=True)
def _sweeps(data, indices, indptr, q, kind, start, a, b, scale, divisor, relaxed, z, count):
    """Sweeps in coordinates where rolling rows are velocities: `scale` holds the length of each row."""
    block, lu, work = np.zeros((5, 5)), np.zeros((5, 5)), np.zeros((5, 5))
    rest, impulse, stick = np.zeros(5), np.zeros(5), np.zeros(5)
    for _ in range(count):
        for c in range(kind.size):
            first, size = start[c], start[c + 1] - start[c]
            for i in range(size):
                row = first + i
                total = q[row]
                for j in range(size):
                    block[i, j] = 0.0
                for k in range(indptr[row], indptr[row + 1]):
                    column = indices[k]
                    if first <= column < first + size:
                        block[i, column - first] = data[k] * scale[row] * scale[column]
                    else:
                        total += data[k] * z[column]
                rest[i] = total * scale[row]
                impulse[i] = z[row] / scale[row]
            kd, p, r = kind[c], a[c], b[c]
            if kd < COULOMB:
                free = -rest[0] / (block[0, 0] if block[0, 0] > 0.0 else divisor[c])
                if kd == FREE:
                    z[first] = free
                elif kd == BOX:
                    z[first] = clip(free, p, r)
                else:
                    z[first] = max(free, 0.0)
                continue
            if kd == ROLLING:
                r /= scale[first + 3]
            if rest[0] >= 0.0 and not relaxed:
                for i in range(size):
                    impulse[i] = 0.0
            else:
                sticks = _stick(block, rest, size, lu, stick)
                if sticks:
                    project(kd, p, r, stick, 0, size, work[0])
                    for i in range(size):
                        sticks = sticks and work[0, i] == stick[i]
                if sticks:
                    impulse[:size] = stick[:size]
                else:
                    _solve_cone(block, rest, kd, p, r, relaxed, impulse, size, work)
            for i in range(size):
                z[first + i] = impulse[i] * scale[first + i]


@register(
    "block-gauss-seidel",
    takes=ContactProblem,
    summary="sweeps of local contact solves; every set, exact and relaxed",
)
def block_gauss_seidel(problem: ContactProblem, control: Control, options: object) -> Attempt:
    """Solve a contact problem by block Gauss–Seidel sweeps."""
    from scipy.sparse import csr_array

    W: Any = problem.W if is_sparse(problem.W) else csr_array(problem.W)
    sets = problem.sets
    data, indices, indptr = (freeze(part) for part in (W.data, W.indices, W.indptr))

    def advance(z: np.ndarray, count: int) -> None:
        _sweeps(
            data, indices, indptr, problem.q, sets.kind, sets.start, sets.a, sets.b,
            problem.row_scale, problem.column_scale, problem.relaxed, z, count,
        )  # fmt: skip

    return control.iterate(advance, control.begin(problem.size), default_limit=SWEEPS, work=2.0 * W.nnz)
