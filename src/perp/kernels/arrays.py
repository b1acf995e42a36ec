"""Whole arrays in compiled code: what `a[:] = b` does, without the code that numba makes for other cases."""

from __future__ import annotations

from perp.compilation.kernel import part


@part
def fill(array, value):
    """Set every number of a vector."""
    for i in range(array.size):
        array[i] = value


@part
def copy_into(array, given):
    """Copy a vector to the beginning of another one."""
    for i in range(given.size):
        array[i] = given[i]
