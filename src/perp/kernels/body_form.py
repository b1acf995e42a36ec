"""Contact problems as bodies and the rows that act on them: W is never formed.

With B = J M⁻¹ a sweep needs only J, B and the velocities v = M⁻¹ Jᵀ x of the bodies: constraint c reads
u_c = J_c v + q_c and writes v += B_cᵀ Δx_c. A body is a group of unknowns that the mass couples, so that both
matrices fall into one small block per constraint and body. Memory is proportional to the entries of J, where
W has a block for each pair of constraints that share a body.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.packed import pack_sets
from perp.problems import ContactProblem
from perp.problems.mass import InverseMass
from perp.problems.validation import is_sparse


class BodyForm(NamedTuple):
    """A packed contact problem on bodies; names that `Blocks` has too mean the same.

    Attributes:
        start, row, low, high, mu, mu_r, scale, q, d, relaxed: As in `Blocks`. first: Offsets of the bodies
        of a constraint in `body`, shape (count + 1,). body: Which bodies a constraint acts on. at: Where the
        block of a constraint and a body begins in J and B, each in rows. unknown: Offsets of the bodies'
        unknowns in v, shape (bodies + 1,). J, B: Entries of T J and T J M⁻¹. own, own_at: The constraints'
        diagonal blocks of W, each in rows, and where they begin. soft: Compliance, shape (rows,).
    """

    start: np.ndarray
    row: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mu: np.ndarray
    mu_r: np.ndarray
    scale: np.ndarray
    q: np.ndarray
    first: np.ndarray
    body: np.ndarray
    at: np.ndarray
    unknown: np.ndarray
    J: np.ndarray
    B: np.ndarray
    own: np.ndarray
    own_at: np.ndarray
    soft: np.ndarray
    d: np.ndarray
    relaxed: bool


def has_body_form(problem: ContactProblem) -> bool:
    """Whether a problem has bodies: it is in dynamics form, and its mass falls into small groups."""
    if problem.dynamics is None or not is_sparse(problem.dynamics.jacobian):
        return False
    solver = problem.dynamics.mass_solver
    return isinstance(solver, InverseMass) and is_sparse(solver.inverse)


def body_form_of(problem: ContactProblem) -> BodyForm:
    """The body form of a problem that has one."""
    dynamics: Any = problem.dynamics
    inverse: Any = dynamics.mass_solver.inverse
    group, place, unknown = group_unknowns(dynamics.mass, inverse)
    sets = problem.sets
    packed = pack_sets(sets.kind, sets.start, sets.parameters, problem.rolling_length)
    start, row, low, high, mu, mu_r, _, scale = packed
    from scipy.sparse import diags_array

    J: Any = (diags_array(scale) @ dynamics.jacobian[row]).tocsr()
    B: Any = (J @ inverse).tocsr()
    parts = (J.data, *_whole(J), B.data, *_whole(B))
    soft = scale * dynamics.compliance[row] * scale
    first, body, at, J_blocks, B_blocks, own, own_at = _build(*parts, group, place, unknown, start, soft)
    return BodyForm(
        start, row, low, high, mu, mu_r, scale, scale * problem.q[row], first, body, at, unknown, J_blocks,
        B_blocks, own, own_at, soft, np.array(problem.column_scale), problem.relaxed,
    )  # fmt: skip


def _whole(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Columns and row offsets of a matrix in compressed rows, as kernels take them."""
    return matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)


def group_unknowns(mass: Any, inverse: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which body each unknown belongs to, where it stands in v, and the bodies' offsets."""
    n = inverse.shape[0]
    if not is_sparse(mass):
        k = mass.shape[1]
        return np.arange(n) // k, np.arange(n), np.arange(0, n + 1, k)
    from scipy.sparse.csgraph import connected_components

    count, group = connected_components(inverse, directed=False)
    order = np.argsort(group, kind="stable")
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    return (
        group.astype(np.int64),
        place,
        np.concatenate([[0], np.cumsum(np.bincount(group, minlength=count))]),
    )


@kernel(nogil=True)
def _fill(data, indices, indptr, group, place, unknown, start, first, body, at, values):
    """Entries of a matrix in compressed rows into the blocks."""
    for c in range(start.size - 1):
        for i in range(start[c], start[c + 1]):
            for k in range(indptr[i], indptr[i + 1]):
                g = group[indices[k]]
                for slot in range(first[c], first[c + 1]):
                    if body[slot] == g:
                        width = unknown[g + 1] - unknown[g]
                        p = at[slot] + (i - start[c]) * width
                        values[p + place[indices[k]] - unknown[g]] += data[k]
                        break


@kernel(nogil=True)
def _build(
    data, indices, indptr, data_b, indices_b, indptr_b, group, place, unknown, start, soft
):  # fmt: skip
    """The blocks of J and B, of each constraint's own W, and where they are."""
    count = start.size - 1
    mark = np.full(unknown.size - 1, -1, np.int64)
    first = np.zeros(count + 1, np.int64)
    for c in range(count):
        bodies = 0
        for k in range(indptr[start[c]], indptr[start[c + 1]]):
            g = group[indices[k]]
            if mark[g] != c:
                mark[g] = c
                bodies += 1
        first[c + 1] = first[c] + bodies
    body, at = np.empty(first[count], np.int64), np.empty(first[count] + 1, np.int64)
    own_at = np.empty(count + 1, np.int64)
    mark[:] = -1
    at[0] = own_at[0] = 0
    slot = 0
    for c in range(count):
        size = start[c + 1] - start[c]
        for k in range(indptr[start[c]], indptr[start[c + 1]]):
            g = group[indices[k]]
            if mark[g] != c:
                mark[g] = c
                body[slot] = g
                at[slot + 1] = at[slot] + size * (unknown[g + 1] - unknown[g])
                slot += 1
        own_at[c + 1] = own_at[c] + size * size
    J, B = np.zeros(at[slot]), np.zeros(at[slot])
    _fill(data, indices, indptr, group, place, unknown, start, first, body, at, J)
    _fill(data_b, indices_b, indptr_b, group, place, unknown, start, first, body, at, B)
    own = np.zeros(own_at[count])
    for c in range(count):
        size, p = start[c + 1] - start[c], own_at[c]
        for slot in range(first[c], first[c + 1]):
            width = unknown[body[slot] + 1] - unknown[body[slot]]
            for r in range(size):
                for s in range(size):
                    for m in range(width):
                        own[p + r * size + s] += J[at[slot] + r * width + m] * B[at[slot] + s * width + m]
        for r in range(size):
            i = start[c] + r
            own[p + r * (size + 1)] += soft[i]
    return first, body, at, J, B, own, own_at


@kernel(nogil=True)
def push(c, size, first, body, at, unknown, B, change, v):
    """v += B_cᵀ Δ: what a change of the impulse of constraint c does to the velocities of its bodies."""
    for slot in range(first[c], first[c + 1]):
        p, j = at[slot], unknown[body[slot]]
        width = unknown[body[slot] + 1] - j
        if size == 3 and width == 6:
            # constant indices into short views: no test for negative ones is left
            D, V, e0, e1, e2 = B[p : p + 18], v[j : j + 6], change[0], change[1], change[2]
            for m in range(6):
                V[m] += D[m] * e0 + D[m + 6] * e1 + D[m + 12] * e2
        else:
            for r in range(size):
                for m in range(width):
                    v[j + m] += B[p + r * width + m] * change[r]


@kernel(nogil=True)
def body_velocity(form, x, v):
    """v = M⁻¹ Jᵀ x: the part of the bodies' velocities that the impulses cause."""
    start, first, body, at, unknown, B = form.start, form.first, form.body, form.at, form.unknown, form.B
    v[:] = 0.0
    for c in range(start.size - 1):
        push(c, start[c + 1] - start[c], first, body, at, unknown, B, x[start[c] : start[c + 1]], v)


@kernel(nogil=True)
def pull(c, i, size, first, body, at, unknown, J, q, soft, x, v, b):
    """Velocity of constraint c, whose rows begin at i, into b: q_c + J_c v + Σ_c x_c."""
    if size == 3:
        s0, s1, s2 = (
            q[i] + soft[i] * x[i],
            q[i + 1] + soft[i + 1] * x[i + 1],
            q[i + 2] + soft[i + 2] * x[i + 2],
        )
        for slot in range(first[c], first[c + 1]):
            p, j = at[slot], unknown[body[slot]]
            width = unknown[body[slot] + 1] - j
            if width == 6:
                D, V = J[p : p + 18], v[j : j + 6]
                for m in range(6):
                    s0 += D[m] * V[m]
                    s1 += D[m + 6] * V[m]
                    s2 += D[m + 12] * V[m]
            else:
                for m in range(width):
                    s0 += J[p + m] * v[j + m]
                    s1 += J[p + width + m] * v[j + m]
                    s2 += J[p + 2 * width + m] * v[j + m]
        b[0], b[1], b[2] = s0, s1, s2
        return
    for r in range(size):
        total = q[i + r] + soft[i + r] * x[i + r]
        for slot in range(first[c], first[c + 1]):
            j = unknown[body[slot]]
            width = unknown[body[slot] + 1] - j
            p = at[slot] + r * width
            for m in range(width):
                total += J[p + m] * v[j + m]
        b[r] = total
