"""Rows of J and L by their entries: the freedoms of a free body are six in a row, and taken at once."""

from __future__ import annotations

from perp.compilation.kernel import part


@part
def times(column, value, begin, end, v):
    """The product of a row, entries begin … end − 1, and v."""
    total, e = 0.0, begin
    while e + 6 <= end and column[e + 5] == column[e] + 5:
        j = column[e]
        total += (
            value[e] * v[j] + value[e + 1] * v[j + 1] + value[e + 2] * v[j + 2]
            + value[e + 3] * v[j + 3] + value[e + 4] * v[j + 4] + value[e + 5] * v[j + 5]
        )  # fmt: skip
        e += 6
    while e < end:
        total += value[e] * v[column[e]]
        e += 1
    return total


@part
def add(column, value, begin, end, push, v):
    """Add push times a row to v."""
    e = begin
    while e + 6 <= end and column[e + 5] == column[e] + 5:
        j = column[e]
        for k in range(6):
            v[j + k] += push * value[e + k]
        e += 6
    while e < end:
        v[column[e]] += push * value[e]
        e += 1
