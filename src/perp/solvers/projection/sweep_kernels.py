"""Compiled sweeps shared by the projection methods.

Letters: w = M z + q, D the divisors, ω the relaxation. One row step is z_i ← clip(z_i − ω w_i / D_i, lo_i,
hi_i), with bounds times max(z_j, 0) where the row follows row j. `bounds` are lo, hi and the rows j.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.problems.boxed_kernels import bounds_at, clip


@kernel(fastmath={"contract"})
def dense_sweeps(columns, bounds, step, order, z, w, count):
    """Sweeps that keep w up to date: `columns` holds column i of M in row i, `step` holds ω / D.

    Rows that stay at a bound cost nothing, and the columns of the others are read contiguously.
    """
    n, (lo, hi, limiting_row) = z.size, bounds
    for _ in range(count):
        for i in order:
            low, high = bounds_at(lo[i], hi[i], limiting_row[i], z)
            old = z[i]
            new = old - step[i] * w[i]
            if new <= low:
                new = low
            elif new >= high:
                new = high
            if new == old:
                continue
            change = new - old
            z[i] = new
            column = columns[i]
            for k in range(n):
                w[k] += change * column[k]


@kernel
def first_not_below(indices, indptr, out):
    """For each row of a CSR matrix the place of its first entry on or above the diagonal."""
    for i in range(out.size):
        k = indptr[i]
        while k < indptr[i + 1] and indices[k] < i:
            k += 1
        out[i] = k


@kernel(fastmath={"contract"})
def sparse_sweeps(rows, q, bounds, step, order, z, count):
    """Sweeps that read row i of M when they reach it.

    `rows` are entries, columns, beginnings and middles (`first_not_below`) of M's rows. Entries below the
    diagonal come last: the unknown just computed, on which a forward sweep waits, is used at the very end.
    Unsigned counters spare the check for negative ones, and the clip without branches does not depend on
    guessing which rows are at a bound. An empty `order` means forward, an empty list of limiting rows none:
    what need not be read takes no bandwidth.
    """
    (data, indices, indptr, middle), (lo, hi, limiting_row) = rows, bounds
    one = np.uint64(1)
    ordered, limited = order.size > 0, limiting_row.size > 0
    steps = order.size if ordered else q.size
    for _ in range(count):
        for place in range(steps):
            i = order[place] if ordered else place
            k, last, below = np.uint64(middle[i]), np.uint64(indptr[i + 1]), np.uint64(indptr[i])
            diagonal = k
            w, other = q[i], 0.0
            while k + one < last:
                w += data[k] * z[indices[k]]
                k += one
                other += data[k] * z[indices[k]]
                k += one
            if k < last:
                w += data[k] * z[indices[k]]
            w += other
            while below < diagonal:
                w += data[below] * z[indices[below]]
                below += one
            low, high = bounds_at(lo[i], hi[i], limiting_row[i] if limited else -1, z)
            new = z[i] - step[i] * w
            new = low if new < low else new
            z[i] = high if new > high else new


@kernel
def body_sweeps(J, T, terms, bounds, order, z, v, count):
    """Sweeps over the rows of J that keep the bodies' velocities v; T = J M⁻¹ holds what an impulse does.

    J and T are compressed rows, `terms` are bias, compliance and ω / D of the rows.
    """
    (j_data, j_indices, j_indptr), (t_data, t_indices, t_indptr) = J, T
    (bias, compliance, step), (lo, hi, limiting_row) = terms, bounds
    for _ in range(count):
        for i in order:
            w = bias[i] + compliance[i] * z[i]
            for k in range(j_indptr[i], j_indptr[i + 1]):
                w += j_data[k] * v[j_indices[k]]
            low, high = bounds_at(lo[i], hi[i], limiting_row[i], z)
            new = clip(z[i] - step[i] * w, low, high)
            change = new - z[i]
            if change != 0.0:
                z[i] = new
                for k in range(t_indptr[i], t_indptr[i + 1]):
                    v[t_indices[k]] += change * t_data[k]
