"""Numba's own functions in kernels: the same results, errors that reach Python, and users who notice nothing."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.cpu import CPUContext
from numba.core.registry import cpu_target

from perp.compilation.inner import inner_functions
from perp.compilation.kernel import kernel


def assign(place, given):
    place[:] = given
    return place.sum()


def ordered(x):
    """Numba compiles a function of its own for each of these."""
    y = np.sort(x)
    y[:2] = np.cumsum(y)[-2:]
    return y, np.full(2, max(y[0], 2.0)), np.argmax(x)


def test_numbas_own_functions_give_what_they_give_without_kernels() -> None:
    x = np.array([3.0, -1.0, 2.0, 8.0])
    for one, other in zip(kernel(ordered)(x), njit(ordered)(x), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("first", ["kernel", "user"])
def test_users_and_kernels_share_what_numba_has_compiled(first: str) -> None:
    """With the flags of kernels numba gives both the same compiled function."""

    def length(x):
        return np.sqrt((x[::2] ** 2).sum()) + np.argmin(x)

    ours, users = kernel(length), njit(error_model="numpy")(length)
    x = np.arange(5.0) if first == "kernel" else np.arange(5.0, dtype=np.float32)
    for function in (ours, users) if first == "kernel" else (users, ours):
        assert function(x) == length(x)


def test_sizes_that_differ_are_an_error() -> None:
    ours = kernel(assign)
    assert ours(np.zeros(3), np.ones(3)) == 3.0
    with pytest.raises(ValueError, match="cannot assign slice"):
        ours(np.zeros(3), np.ones(2))


def test_users_are_told_both_sizes_as_ever() -> None:
    kernel(assign)(np.zeros(3), np.ones(3))
    with pytest.raises(ValueError, match=r"of shape \(3,\) from input of shape \(2,\)"):
        njit(assign)(np.zeros(3), np.ones(2))


def test_everything_is_as_before_at_the_end() -> None:
    context: Any = cpu_target.target_context
    codegen, threshold = context.codegen(), gc.get_threshold()
    executable = CPUContext.get_executable
    with inner_functions(), inner_functions():
        assert codegen._library_class is not JITCodeLibrary
    with pytest.raises(ZeroDivisionError), inner_functions():
        raise ZeroDivisionError
    assert codegen._library_class is JITCodeLibrary
    assert CPUContext.get_executable is executable
    assert gc.get_threshold() == threshold
