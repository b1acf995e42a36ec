"""Rows of w = M z + q as if computed with twice the digits, where round-off would show in a residual.

The plain sum of a row is off by up to its length times 2⁻⁵³ Σ |M_ij z_j|. Where impulses are large and
cancel, that is no longer small beside what is at work there: such rows are summed again with the errors of
every product and sum carried along.

Numba hands the fast mathematics of a caller on to what is compiled for it: all kernels of the verdict forbid
it explicitly, since an optimiser that may reorder sums would remove the errors that are carried along.

Reference: Ogita, Rump and Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005).
"""

from __future__ import annotations

import math

from perp.compilation.kernel import kernel, part
from perp.problems.matrix_entries import column, row_ends, rows_of

UNIT = 2.0**-53
# Errors below this part of what is at work cannot change a verdict at the tolerances that doubles allow.
NEGLIGIBLE = 1e-12
_SPLITTER = 2.0**27 + 1.0


@part
def product_error(a, b, product):
    """The part of a·b that `product` has lost (Dekker)."""
    t = _SPLITTER * a
    a1 = t - (t - a)
    a2 = a - a1
    t = _SPLITTER * b
    b1 = t - (t - b)
    b2 = b - b1
    return a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


@part
def sum_error(a, b, total):
    """The part of a + b that `total` has lost (Knuth)."""
    t = total - a
    return (a - (total - t)) + (b - t)


@part
def hidden(terms, count, size):
    """What a sum of so many terms may be off, relative to what is at work; 0 where that is negligible."""
    value = (count * UNIT) ** 2 * terms / size
    return value if value > NEGLIGIBLE else 0.0


@part
def exact_row(A, q, z, i):
    """Entry i of A z + q for the entries A of a matrix, and the largest of its terms."""
    total, lost, largest = q[i], 0.0, 0.0
    first, last = row_ends(A, z.size, i)
    for k in range(first, last):
        x = z[column(A, k, first)]
        product = A[0][k] * x
        largest = max(largest, abs(product))
        new = total + product
        lost += product_error(A[0][k], x, product) + sum_error(total, product, new)
        total = new
    return total + lost if math.isfinite(lost) else total, largest


@kernel(nogil=True)
def largest_length(entries):
    """How many entries a row may have before its round-off shows: NEGLIGIBLE over that of one entry.

    `entries` is the largest |M_ij z_j| relative to what is at work.
    """
    round_off = 0.25 * UNIT * entries
    return NEGLIGIBLE / round_off if round_off > 0.0 else math.inf


@part
def improve(A, q, z, push, size, start, w):
    """Rows of w that are not accurate beside the `size` of their constraint, again.

    `push` is the largest that an entry of z does to any row. Returns what a huge z hides of some row even
    then, relative to its size.
    """
    worst = 0.0
    for c in range(size.size):
        longest = largest_length(push / size[c])
        begin, end = rows_of(start, c)
        for i in range(begin, end):
            first, last = row_ends(A, z.size, i)
            if last - first > longest:
                w[i], terms = exact_row(A, q, z, i)
                worst = max(worst, hidden(terms, last - first, size[c]))
    return worst
