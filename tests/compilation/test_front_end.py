"""What is remembered while kernels are compiled changes nothing but the time, and is put back."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from perp.compilation.front_end import REPLACEMENTS
from perp.compilation.inner import inner_functions
from perp.compilation.kernel import kernel


def test_numba_is_as_before_at_the_end() -> None:
    before = [getattr(owner, name) for owner, name, _ in REPLACEMENTS]
    with inner_functions():
        assert [getattr(owner, name) for owner, name, _ in REPLACEMENTS] == [new for *_, new in REPLACEMENTS]
    assert [getattr(owner, name) for owner, name, _ in REPLACEMENTS] == before


def comprehended(n: int) -> float:
    def double(x: float) -> float:
        return 2.0 * x

    values = [double(1.0 * i) for i in range(n)]
    return np.array([v + 1.0 for v in values]).sum() + sum(values)


def test_comprehensions_and_inner_functions() -> None:
    assert kernel(comprehended)(4) == comprehended(4)


def constants(x: np.ndarray) -> float:
    return (np.array([1.0, 2.0, 3.0]) * x + x**2 - 1).sum() + max(3, 2) ** 2 + (7 // 2) % 2


def test_expressions_of_arrays_and_constants() -> None:
    x = np.arange(3.0)
    assert kernel(constants)(x) == constants(x) == njit(constants)(x)


def divided(x: float, y: float) -> float:
    return np.sum(np.array([x, 1.0])) / y


def test_options_of_a_kernel_are_not_those_of_a_user() -> None:
    assert kernel(divided)(1.0, 0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        njit(divided)(1.0, 0.0)
    assert kernel(divided, fastmath=True)(1.0, 2.0) == 1.0


def wrong(x):
    return x + "text"


def test_errors_are_told() -> None:
    for _ in range(2):  # what failed once is not remembered as an answer
        with pytest.raises(TypingError, match="No implementation of function"):
            kernel(wrong)(np.zeros(2))
