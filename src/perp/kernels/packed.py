"""Contact problems in the one form that the compiled solvers work on, made at one border.

Two kinds of constraint are left: a scalar row with bounds (Free, Nonnegative, Box, contacts without friction)
and a contact with a normal row and one or two discs ‖x_T‖ ≤ μ x_N. The rest is a change of variables: an
elliptic disc is circular in λ_i / t_i with t_i = μ_i / max μ, since normal cones follow a linear map; rows
that turn are scaled to velocities; a tangent without friction has no impulse and its row is left out. With
λ = T x the problem is W̃ = Tᵀ W T, q̃ = Tᵀ q, kept in blocks, one per pair of constraints that act on each
other.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba.experimental import structref

from perp.compilation.kernel import kernel, part
from perp.kernels.borrowed import borrowed
from perp.kernels.structs import FLAG, INTEGERS, REALS, StructType
from perp.problems import ContactProblem
from perp.problems.data_size import join, own_sizes, spread
from perp.problems.set_kernels import BOX, COULOMB, FREE, ROLLING, coefficient_of
from perp.problems.validation import Vector, freeze, is_sparse

# A coefficient beyond this is taken as this: what sticks below it sticks below more, and squares stay finite.
ENDLESS = 1e12


class Blocks(NamedTuple):
    """A packed problem inside compiled code; constraint c has rows start[c] … start[c+1]−1.

    Attributes:
        start: Row offsets, shape (count + 1,). row: The row of the problem that each row is, shape (rows,).
        low, high: Bounds of scalar rows; zero for contacts. mu: Friction coefficient of the disc; −1 for
        scalar rows. mu_r: That of the second disc of a rolling contact, on its last two rows; −1 without.
        stretch: t, shape (rows,). scale: T, shape (rows,). q: q̃, shape (rows,). first: Offsets of the blocks
        of a constraint in `column`, shape (count + 1,). column: Which constraint a block belongs to;
        ascending in each row of blocks, the diagonal always there. at: Where a block begins in `data`, shape
        (blocks + 1,). diagonal: Which block is the diagonal one, shape (count,). data: The entries of all
        blocks, each in rows. d: Largest velocity that a unit impulse of each constraint causes, shape
        (count,). size: What is at work there, `ContactProblem.data_size`, shape (count,). relaxed: Whether Γ
        is left out.
    """

    start: np.ndarray
    row: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mu: np.ndarray
    mu_r: np.ndarray
    stretch: np.ndarray
    scale: np.ndarray
    q: np.ndarray
    first: np.ndarray
    column: np.ndarray
    at: np.ndarray
    diagonal: np.ndarray
    data: np.ndarray
    d: np.ndarray
    size: np.ndarray
    relaxed: bool


_WHOLE = ("start", "row", "first", "column", "at", "diagonal")
PackedType = StructType(
    [(name, FLAG if name == "relaxed" else INTEGERS if name in _WHOLE else REALS) for name in Blocks._fields]
)


@part
def to_struct(blocks):
    """The struct of these arrays; nothing is copied."""
    packed = structref.new(PackedType)  # type: ignore[call-arg]
    packed.start, packed.row, packed.low, packed.high = blocks.start, blocks.row, blocks.low, blocks.high
    packed.mu, packed.mu_r, packed.stretch = blocks.mu, blocks.mu_r, blocks.stretch
    packed.scale, packed.size = blocks.scale, blocks.size
    packed.q, packed.first, packed.column, packed.at = blocks.q, blocks.first, blocks.column, blocks.at
    packed.diagonal, packed.data, packed.d = blocks.diagonal, blocks.data, blocks.d
    packed.relaxed = blocks.relaxed
    return packed


@part
def view(packed):
    """The arrays of a struct, borrowed: the caller holds the struct while they are used."""
    return Blocks(
        borrowed(packed.start), borrowed(packed.row), borrowed(packed.low), borrowed(packed.high),
        borrowed(packed.mu), borrowed(packed.mu_r), borrowed(packed.stretch), borrowed(packed.scale),
        borrowed(packed.q), borrowed(packed.first), borrowed(packed.column),
        borrowed(packed.at), borrowed(packed.diagonal), borrowed(packed.data), borrowed(packed.d),
        borrowed(packed.size), packed.relaxed,
    )  # fmt: skip


@part
def pack_sets(kind, given, parameters, length):
    """The sets in the packed form: start, row, low, high, mu, mu_r, stretch, scale of `Blocks`."""
    count = kind.size
    start, row = np.zeros(count + 1, np.int64), np.empty(given[count], np.int64)
    low, high = np.zeros(count), np.zeros(count)
    mu, mu_r = np.full(count, -1.0), np.full(count, -1.0)
    stretch, scale = np.ones(given[count]), np.ones(given[count])
    end = 0
    for c in range(count):
        k, first = kind[c], given[c]
        row[end] = first
        end += 1
        if k == FREE:
            low[c], high[c] = -np.inf, np.inf
        elif k == BOX:
            low[c], high[c] = parameters[c, 0], parameters[c, 1]
        elif k < COULOMB:
            high[c] = np.inf
        else:
            for r in range(first + 1, given[c + 1]):
                unit = length[c] if r - first >= 3 else 1.0
                coefficient = min(coefficient_of(k, parameters[c], r - first) / unit, ENDLESS)
                if coefficient == 0.0:
                    continue
                row[end], scale[end], stretch[end] = r, unit, coefficient
                if k == ROLLING and r - first >= 3 and mu[c] >= 0.0 and end - start[c] == 3:
                    mu_r[c] = coefficient
                elif mu_r[c] < 0.0:
                    mu[c] = max(mu[c], coefficient)
                end += 1
            for i in range(start[c] + 1, end):
                stretch[i] /= mu[c] if mu_r[c] < 0.0 or i < start[c] + 3 else mu_r[c]
                scale[i] *= stretch[i]
            if mu[c] < 0.0:
                high[c] = np.inf
        start[c + 1] = end
    return start, row[:end], low, high, mu, mu_r, stretch[:end], scale[:end]


@part
def _ascending(column, begin, end):
    """Sort a stretch in place, by insertion over shrinking distances: short ones are nearly sorted."""
    apart = 1
    while end - begin > 64 * apart:
        apart = 3 * apart + 1
    while apart > 0:
        for k in range(begin + apart, end):
            value, j = column[k], k
            while j >= begin + apart and column[j - apart] > value:
                column[j] = column[j - apart]
                j -= apart
            column[j] = value
        apart //= 3


@part
def _block_pattern(indices, indptr, given, start, owner):
    """Which constraints act on which, diagonal included: offsets, columns and data offsets of the blocks."""
    count = start.size - 1
    mark = np.full(count, -1, np.int64)
    first = np.zeros(count + 1, np.int64)
    for c in range(count):
        mark[c] = c
        blocks = 1
        for k in range(indptr[given[c]], indptr[given[c + 1]]):
            other = owner[indices[k]]
            if mark[other] != c:
                mark[other] = c
                blocks += 1
        first[c + 1] = first[c] + blocks
    column = np.empty(first[count], np.int64)
    at = np.empty(first[count] + 1, np.int64)
    diagonal = np.empty(count, np.int64)
    mark[:] = -1
    at[0] = 0
    for c in range(count):
        mark[c] = c
        end = first[c]
        column[end] = c
        end += 1
        for k in range(indptr[given[c]], indptr[given[c + 1]]):
            other = owner[indices[k]]
            if mark[other] != c:
                mark[other] = c
                column[end] = other
                end += 1
        _ascending(column, first[c], end)
        size = start[c + 1] - start[c]
        for k in range(first[c], end):
            at[k + 1] = at[k] + size * (start[column[k] + 1] - start[column[k]])
            if column[k] == c:
                diagonal[c] = k
    return first, column, at, diagonal


@part
def _scales(W, q, sets, owner):
    """d and size of `Blocks`, from the problem as it was given."""
    (data, indices, indptr), (kind, given, parameters, length) = W, sets
    count = kind.size
    d, parent, column = np.zeros(count), np.arange(count), np.zeros(q.size)
    largest = 0.0
    for c in range(count):
        for i in range(given[c], given[c + 1]):
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                o = owner[j]
                value = abs(data[k])
                if i - given[c] >= 3:
                    value *= length[c]
                if j - given[o] >= 3:
                    value *= length[o]
                if value > 0.0 and o != c:
                    join(parent, c, o)
                column[j] = max(column[j], value)
                largest = max(largest, value)
    if largest == 0.0:
        largest = 1.0
    for c in range(count):
        for j in range(given[c], given[c + 1]):
            d[c] = max(d[c], column[j] if column[j] > 0.0 else largest)
    size = own_sizes(q, given, kind, parameters, d, length)
    spread(parent, size)
    return d, size


@kernel(nogil=True)
def build(W, q, sets, relaxed):
    """The struct of a problem.

    Args:
        W: Compressed rows: entries, columns, where each row begins.
        q: Free velocities.
        sets: Kinds, first rows, parameters and rolling lengths of the constraints.
        relaxed: Whether the relaxation is meant.
    """
    (data, indices, indptr), (kind, given, parameters, length) = W, sets
    count, n = kind.size, q.size
    start, row, low, high, mu, mu_r, stretch, scale = pack_sets(kind, given, parameters, length)
    owner, place_of = np.empty(n, np.int64), np.full(n, -1, np.int64)
    for c in range(count):
        for i in range(given[c], given[c + 1]):
            owner[i] = c
        for i in range(start[c], start[c + 1]):
            place_of[row[i]] = i
    first, column, at, diagonal = _block_pattern(indices, indptr, given, start, owner)
    values, free, place = np.zeros(at[at.size - 1]), np.empty(row.size), np.empty(count, np.int64)
    for c in range(count):
        for k in range(first[c], first[c + 1]):
            place[column[k]] = at[k]
        for i in range(start[c], start[c + 1]):
            free[i] = scale[i] * q[row[i]]
            for k in range(indptr[row[i]], indptr[row[i] + 1]):
                j = place_of[indices[k]]
                if j < 0:
                    continue
                o = owner[indices[k]]
                width = start[o + 1] - start[o]
                values[place[o] + (i - start[c]) * width + j - start[o]] = scale[i] * data[k] * scale[j]
    d, size = _scales(W, q, sets, owner)
    return to_struct(Blocks(
        start, row, low, high, mu, mu_r, stretch, scale, free,
        first, column, at, diagonal, values, d, size, relaxed,
    ))  # fmt: skip


@kernel(nogil=True)
def build_dense(W, q, sets, relaxed):
    """The struct of a problem with a dense W."""
    n = W.shape[0]
    count = 0
    for i in range(n):
        for j in range(n):
            if W[i, j] != 0.0:
                count += 1
    data, indices, indptr = np.empty(count), np.empty(count, np.int64), np.empty(n + 1, np.int64)
    k = 0
    for i in range(n):
        indptr[i] = k
        for j in range(n):
            if W[i, j] != 0.0:
                data[k] = W[i, j]
                indices[k] = j
                k += 1
    indptr[n] = k
    return build((data, indices, indptr), q, sets, relaxed)


@part
def velocity(blocks, x, u):
    """The velocities u = W x + q."""
    start, q, data = blocks.start, blocks.q, blocks.data
    first, column, at = blocks.first, blocks.column, blocks.at
    for c in range(start.size - 1):
        begin, size = start[c], start[c + 1] - start[c]
        if size == 3:
            s0, s1, s2 = 0.0, 0.0, 0.0
            for k in range(first[c], first[c + 1]):
                p, j = at[k], start[column[k]]
                if start[column[k] + 1] - j == 3:
                    # constant indices into short views: no test for negative ones is left
                    B, X = data[p : p + 9], x[j : j + 3]
                    s0 += B[0] * X[0] + B[1] * X[1] + B[2] * X[2]
                    s1 += B[3] * X[0] + B[4] * X[1] + B[5] * X[2]
                    s2 += B[6] * X[0] + B[7] * X[1] + B[8] * X[2]
                else:
                    width = start[column[k] + 1] - j
                    for m in range(width):
                        s0 += data[p + m] * x[j + m]
                        s1 += data[p + width + m] * x[j + m]
                        s2 += data[p + 2 * width + m] * x[j + m]
            u[begin], u[begin + 1], u[begin + 2] = s0 + q[begin], s1 + q[begin + 1], s2 + q[begin + 2]
        else:
            for i in range(size):
                total = 0.0
                for k in range(first[c], first[c + 1]):
                    j = start[column[k]]
                    width = start[column[k] + 1] - j
                    p = at[k] + i * width
                    for m in range(width):
                        total += data[p + m] * x[j + m]
                u[begin + i] = total + q[begin + i]


@kernel(nogil=True)
def _newton_scales(packed):
    """The scale of each constraint for Newton: the mean of its own diagonal, or d where that is zero."""
    blocks = view(packed)
    rho = np.empty(blocks.d.size)
    for c in range(rho.size):
        size = blocks.start[c + 1] - blocks.start[c]
        p = blocks.at[blocks.diagonal[c]]
        total = 0.0
        for r in range(size):
            total += abs(blocks.data[p + r * (size + 1)])
        rho[c] = total / size if total > 1e-12 * blocks.d[c] else blocks.d[c]
    return rho


@kernel(nogil=True)
def _arrays(packed):
    return Blocks(
        packed.start, packed.row, packed.low, packed.high, packed.mu, packed.mu_r, packed.stretch,
        packed.scale, packed.q, packed.first, packed.column, packed.at, packed.diagonal,
        packed.data, packed.d, packed.size, packed.relaxed,
    )  # fmt: skip


@kernel(nogil=True)
def _velocity(packed, x, u):
    velocity(view(packed), x, u)


class Packed:
    """A packed problem on the Python side.

    Attributes:
        struct: What kernels take.
        size: Rows of the problem as it was given.
    """

    def __init__(self, struct: Any, size: int) -> None:
        self.struct, self.size = struct, size

    @cached_property
    def blocks(self) -> Blocks:
        """Its arrays by name."""
        return _arrays(self.struct)

    @property
    def rows(self) -> int:
        """Rows of the packed form: tangents without friction are left out."""
        return self.blocks.q.size

    @cached_property
    def rho(self) -> Vector:
        """The scales by which Newton tells open, stick and slip apart, shape (count,)."""
        return _newton_scales(self.struct)

    def impulse(self, x: Vector) -> Vector:
        """Impulses of the problem as given from packed ones, shape (size,) [N·s]."""
        impulse = np.zeros(self.size)
        impulse[self.blocks.row] = self.blocks.scale * x
        return impulse

    def unknowns(self, impulse: Vector) -> Vector:
        """Packed impulses from those of the problem as given, shape (rows,)."""
        return impulse[self.blocks.row] / self.blocks.scale

    def velocity(self, x: Vector) -> Vector:
        """ũ = W̃ x + q̃, shape (rows,)."""
        u = np.empty(self.rows)
        _velocity(self.struct, x, u)
        return u


def compressed_rows(W: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries, columns and beginnings of the rows of a sparse matrix, as kernels take them."""
    return freeze(W.data), freeze(W.indices.astype(np.int64)), freeze(W.indptr.astype(np.int64))


def pack(problem: ContactProblem) -> Packed:
    """The packed form of a problem, made once and kept with it."""
    name = "_packed_relaxed" if problem.relaxed else "_packed"
    kept = problem.__dict__.get(name)
    if kept is not None:
        return kept
    W: Any = problem.W
    sets = problem.sets
    data = problem.q, (sets.kind, sets.start, sets.parameters, problem.rolling_length), problem.relaxed
    struct = build(compressed_rows(W), *data) if is_sparse(W) else build_dense(W, *data)
    problem.__dict__[name] = packed = Packed(struct, problem.size)
    return packed
