"""Rows of J and L by their entries: the freedoms of a free body are six in a row, and taken at once."""

from __future__ import annotations

from perp.compilation.kernel import part
from perp.kernels.borrowed import onward


@part
def times(column, value, begin, end, v):
    """The product of a row, entries begin … end − 1, and v."""
    total, e = 0.0, begin
    while e + 6 <= end and column[e + 5] == column[e] + 5:
        a, x = onward(value, e), onward(v, column[e])
        total += a[0] * x[0] + a[1] * x[1] + a[2] * x[2] + a[3] * x[3] + a[4] * x[4] + a[5] * x[5]
        e += 6
    while e < end:
        total += value[e] * v[column[e]]
        e += 1
    return total


@part
def times_three(column, value, span, v, given):
    """The products of three rows with the same columns and v, added to three numbers, entry by entry.

    The span: first entry of the first row, and the one after its last.
    """
    (e, end), (total, other, third) = span, given
    width = end - e
    while e + 6 <= end and column[e + 5] == column[e] + 5:
        a, b, c = onward(value, e), onward(value, e + width), onward(value, e + 2 * width)
        x = onward(v, column[e])
        for k in range(6):
            total += a[k] * x[k]
            other += b[k] * x[k]
            third += c[k] * x[k]
        e += 6
    while e < end:
        speed = v[column[e]]
        total += value[e] * speed
        other += value[e + width] * speed
        third += value[e + 2 * width] * speed
        e += 1
    return total, other, third


@part
def add(column, value, begin, end, push, v):
    """Add push times a row to v."""
    e = begin
    while e + 6 <= end and column[e + 5] == column[e] + 5:
        a, x = onward(value, e), onward(v, column[e])
        for k in range(6):
            x[k] += push * a[k]
        e += 6
    while e < end:
        v[column[e]] += push * value[e]
        e += 1


@part
def add_three(column, value, span, push, v):
    """Add push, three numbers, times three rows with the same columns to v.

    The span: where the first row begins, its length, and the first and last (not included) of its entries
    that are not zero.
    """
    begin, width, e, end = span
    f, g, h = push
    while e < end:
        at = begin + e
        a, b, c = onward(value, at), onward(value, at + width), onward(value, at + 2 * width)
        x = onward(v, column[at])
        if e + 6 <= end and column[at + 5] == column[at] + 5:
            for k in range(6):
                x[k] += f * a[k] + g * b[k] + h * c[k]
            e += 6
        else:
            x[0] += f * a[0] + g * b[0] + h * c[0]
            e += 1
