"""Kernels say the same as NumPy, however an element is named and whoever holds an array."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from perp.compilation.kernel import kernel


class Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray


def negative(a: np.ndarray, i: int) -> float:
    return a[i - 3] + a[-1] + a[np.int32(i)] + a[np.uint8(1)]


def square(a: np.ndarray, i: int) -> float:
    index = (i, -i)
    return a[i, i + 1] + a[-1, i] + a[index] + a[0, -1]


def flagged(a: np.ndarray, i: int) -> float:
    flags = a > 1.0
    flags[i] = True
    flags[-1] = False
    return 1.0 * flags[0] + 2.0 * flags[i] + 4.0 * flags[-1]


def written(a: np.ndarray, i: int) -> float:
    whole = np.zeros(4, dtype=np.int32)
    whole[i] = a[i] + 0.75
    whole[-2] = i
    table = np.zeros((2, 3))
    table[i - 1, -1] = True
    table[-1, i] = 7
    return (whole * np.arange(4)).sum() + (table.ravel() * np.arange(6)).sum()


def counted(n: int, m: int) -> float:
    total, last = 0.0, -1
    for i in range(n):
        for j in range(i - 2, m):
            if j == 3:
                continue
            total += 10.0 * i + j
        for j in range(m, i, -2):
            total += 0.1 * j
        last = i
    ahead = range(n, m)
    for i in ahead:
        total += i
    for i in ahead:
        total -= 2 * i
        if i > 4:
            break
    return total + last + len(ahead) + sum([2 * i for i in range(3)])


@pytest.mark.parametrize("n", [-3, 0, 1, 5])
@pytest.mark.parametrize("m", [-1, 0, 4, 9])
def test_ranges(n: int, m: int) -> None:
    assert kernel(counted)(n, m) == pytest.approx(counted(n, m))
    assert kernel(counted)(np.int32(n), np.int8(m)) == pytest.approx(counted(n, m))


VECTORS = [np.arange(5.0), np.arange(10.0)[::2], np.arange(5, dtype=np.int8), np.arange(5.0)[::-1]]
MATRICES = [
    np.arange(12.0).reshape(3, 4),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    np.arange(24.0).reshape(3, 8)[:, ::2],
]


@pytest.mark.parametrize("function", [negative, flagged, written])
@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_elements_of_vectors(function: Callable[..., float], number: int) -> None:
    a = VECTORS[number]
    assert kernel(function)(a, 1) == function(a, 1)


@pytest.mark.parametrize("number", range(len(MATRICES)))
def test_elements_of_matrices(number: int) -> None:
    a = MATRICES[number]
    assert kernel(square)(a, 1) == square(a, 1)


def itself(pair: Pair) -> Any:
    first, again = pair.first, pair
    return first, again.second, again[0]


def other(a: np.ndarray, b: np.ndarray, times: int) -> np.ndarray:
    found = a
    for number in range(times):
        if number % 2:
            a = b
        found = a + 0.0 if number % 3 == 2 else a
    return found


def rebuilt(pair: Pair, times: int) -> float:
    total = 0.0
    for number in range(times):
        inner = Pair(pair.second, np.full(3, 1.0 + number))
        kept = inner.second
        inner = Pair(inner.second, pair.first)
        total += kept[0] + inner.first[1] + inner.second[2]
    return total


def references(*arrays: np.ndarray) -> list[int]:
    gc.collect()
    return [sys.getrefcount(array) for array in arrays]


@pytest.mark.parametrize("times", [0, 1, 2, 3, 4])
def test_references_are_given_back(times: int) -> None:
    a, b = np.arange(3.0), np.arange(3.0) + 10.0
    c, d = a.copy(), b.copy()
    expected = (itself(Pair(c, d)), other(c, d, times), rebuilt(Pair(c, d), times))
    found, before = None, references(a, b)
    for _ in range(3):
        pair = Pair(a, b)
        found = (kernel(itself)(pair), kernel(other)(a, b, times), kernel(rebuilt)(pair, times))
        np.testing.assert_equal(found, expected)
        del pair, found
    assert references(a, b) == before


def test_what_a_kernel_returns_outlives_its_arguments() -> None:
    found = kernel(itself)(Pair(np.arange(1000.0), np.ones(1000)))
    gc.collect()
    filler = [np.full(1000, np.nan) for _ in range(20)]
    assert len(filler) == 20
    np.testing.assert_array_equal(found[0], np.arange(1000.0))
    np.testing.assert_array_equal(found[1], np.ones(1000))
