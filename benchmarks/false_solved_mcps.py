"""Families of MCPs with known solutions for `false_solved`; the oracles evaluate f in 50 digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from false_solved_families import Family, Try

import perp

DIGITS = 50
# Problems of a number: few solvers take MCPs, and they should be tried as often as the others.
PROBLEMS = 5
# An answer of a well-conditioned MCP that is off by more of a variable's own size is not one to 1e-8.
WRONG = 1e-4
# The same for one function of one variable, where a root may be triple or fivefold but nothing is coupled.
NEAR = 1e-6


def coupled(seed: int) -> Iterator[Try]:
    """MCPs f = R (A (z − z*) + D (g(z) − g(z*)) + w*) with scales of 1e±12, from near and far starts."""
    for part in range(PROBLEMS):
        yield from _coupled(np.random.default_rng([seed, 10, part]), part)


def _coupled(rng: np.random.Generator, part: int) -> Iterator[Try]:
    n = int(rng.integers(1, 7))
    rows = 10.0 ** rng.uniform(-12, 12, n)
    columns = 10.0 ** rng.uniform(-12, 12, n) if rng.random() < 0.5 else np.ones(n)
    A = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.5)
    A = A - np.diag(np.diag(A)) + np.diag(np.abs(A).sum(axis=1) + rng.uniform(0.1, 2, n))
    y = rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 1.5, n)
    mode = rng.integers(0, 3, n)
    slack = np.where(mode == 1, 1.0, np.where(mode == 2, -1.0, 0.0)) * 10.0 ** rng.uniform(-1, 2, n)
    lo = np.where(mode == 1, y, np.where(rng.random(n) < 0.5, -np.inf, y - 10.0 ** rng.uniform(0, 3, n)))
    hi = np.where(mode == 2, y, np.where(rng.random(n) < 0.5, np.inf, y + 10.0 ** rng.uniform(0, 3, n)))
    kind, weight = rng.integers(0, 4, n), rng.uniform(0, 3, n)

    def grown(x: np.ndarray) -> np.ndarray:
        """Growing functions: a cube, an exponential that is huge elsewhere, a fifth power, nothing."""
        return np.choose(kind, [x**3, np.exp(np.minimum(x, 600.0)), x**5, 0.0 * x])

    at_y = grown(y)

    def f(z: np.ndarray) -> np.ndarray:
        x = z / columns
        return rows * (A @ (x - y) + weight * (grown(x) - at_y) + slack)

    def exactly(z: list[Any], mp: Any) -> list[Any]:
        """The same in mpmath's numbers."""
        x = [z[j] / mp.mpf(columns[j]) for j in range(n)]
        powers = (lambda t: t**3, lambda t: mp.exp(min(t, mp.mpf(600))), lambda t: t**5, lambda t: 0 * t)
        return [
            mp.mpf(rows[i]) * (
                sum(mp.mpf(A[i, j]) * (x[j] - mp.mpf(y[j])) for j in range(n))
                + mp.mpf(weight[i]) * (powers[kind[i]](x[i]) - powers[kind[i]](mp.mpf(y[i])))
                + mp.mpf(slack[i])
            )
            for i in range(n)
        ]  # fmt: skip

    low, high = lo * columns, hi * columns
    exact = np.clip(y * columns, low, high)

    def oracle(z: np.ndarray) -> float:
        return np.inf if _is_wrong(z, exact, columns, exactly, low, high) else 0.0

    far = exact + columns * rng.standard_normal(n) * 10
    for name, start in ((f"near {part}", exact * (1 + 1e-3)), (f"far {part}", far)):
        moved = columns * np.where(rng.random((3, n)) < 0.5, 0.0, 10.0 ** rng.uniform(-3, 2, (3, n)))
        points = tuple(np.clip(exact + x * (1 + np.abs(y)), low, high) for x in moved)
        problem = perp.MCP(f, low, high, start=np.clip(start, low, high))
        yield Try(name, problem, oracle, None, points)


def _is_wrong(
    z: np.ndarray,
    exact: np.ndarray,
    unit: np.ndarray,
    evaluate: Callable[[list[Any], Any], list[Any]],
    lo: np.ndarray,
    hi: np.ndarray,
) -> bool:
    """Whether z is far from the only solution in every sense: in z itself, and in f of 50 digits."""
    if not (np.abs(z - exact) > WRONG * (np.abs(exact) + unit)).any():
        return False
    mp: Any = import_module("mpmath").mp
    with mp.workdps(DIGITS):
        here = evaluate([mp.mpf(float(x)) for x in z], mp)
        for i in range(z.size):
            moved = [mp.mpf(float(x)) for x in z]
            moved[i] += mp.mpf(float(WRONG * (abs(exact[i]) + unit[i])))
            change = abs(evaluate(moved, mp)[i] - here[i])
            pushes = (here[i] > 0 and z[i] > lo[i]) or (here[i] < 0 and z[i] < hi[i])
            if pushes and abs(here[i]) > change:
                return True
    return False


def _shapes(rng: np.random.Generator) -> tuple[Callable[[Any, Any], Any], float, float]:
    """A function of x and a library with its exp, atan, …, and bounds: steep, flat, far roots, poles."""
    a, b = 10.0 ** rng.uniform(0, 12), float(rng.uniform(-30, 30))
    kind = int(rng.integers(0, 9))
    ends = (-np.inf, np.inf) if rng.random() < 0.5 else (float(min(b, 0.0) - rng.exponential()), b + 40.0)
    if kind == 0:
        return lambda x, lib: a * lib.exp(-x) + x - b, *ends
    if kind == 1:
        return lambda x, lib: 1 + lib.sin(x) / a, 0.0, np.inf
    if kind == 2:
        return lambda x, lib: a * lib.exp(-x), 0.0, float(rng.uniform(0, 20))
    if kind == 3:
        power = int(rng.choice([3, 5]))
        return lambda x, _: (x - b * 1e3) ** power, -np.inf, np.inf
    if kind == 4:
        return lambda x, lib: lib.atan(a * (x - b)), *ends
    if kind == 5:
        return lambda x, _: 1 / x - 1 / a, 1e-3, np.inf
    if kind == 6:
        return lambda x, lib: lib.tanh(x - b) + 1 / (2 * a), *ends
    if kind == 7:
        return lambda x, lib: lib.log(1 + x * x) - b / 10, -1e6, 1e6
    return lambda x, lib: x + a * lib.sin(x / a) - b, *ends


class _Doubles:
    """The functions that `_shapes` uses, for doubles."""

    exp, sin, tanh, log, atan = np.exp, np.sin, np.tanh, np.log, np.arctan


def separate(seed: int) -> Iterator[Try]:
    """One to three functions of one variable each, in units of their own.

    A change of sign within reach of the answer proves a solution there, and a value of one sign on the way to
    a bound proves that there is none: every answer is judged beyond doubt.
    """
    for part in range(PROBLEMS):
        yield from _separate(np.random.default_rng([seed, 11, part]), part)


def _separate(rng: np.random.Generator, part: int) -> Iterator[Try]:
    n = int(rng.integers(1, 4))
    shapes = [_shapes(rng) for _ in range(n)]
    unit = 10.0 ** rng.uniform(-6, 6, n) if rng.random() < 0.5 else np.ones(n)
    # where a function hardly depends on its variable nothing tells the variable's unit: it is 1
    unit = np.where([shape[1] == 0.0 and np.isinf(shape[2]) for shape in shapes], 1.0, unit)
    rows = 10.0 ** rng.uniform(-12, 12, n)
    low, high = (np.array([shape[k] for shape in shapes]) * unit for k in (1, 2))

    def f(z: np.ndarray) -> np.ndarray:
        return np.array([r * s[0](x / u, _Doubles) for r, s, x, u in zip(rows, shapes, z, unit, strict=True)])

    def oracle(z: np.ndarray) -> float:
        met = all(_met(shapes[i][0], float(z[i]), low[i], high[i], float(unit[i])) for i in range(n))
        return 0.0 if met else np.inf

    for name, spread in ((f"near {part}", 3.0), (f"far {part}", 100.0)):
        start = np.clip(rng.standard_normal(n) * spread * unit, low, high)
        points = tuple(np.clip(rng.standard_normal(n) * s * unit, low, high) for s in (1.0, 30.0, 1e4))
        yield Try(name, perp.MCP(f, low, high, start=start), oracle, None, points)


def _met(shape: Callable[[Any, Any], Any], z: float, lo: float, hi: float, unit: float) -> bool:
    """Whether there is a solution within NEAR of z, in its own size or its unit."""
    mp: Any = import_module("mpmath").mp
    reach = NEAR * (abs(z) + unit)
    if not lo - reach <= z <= hi + reach:
        return False
    with mp.workdps(DIGITS):

        def value(at: Any) -> Any:
            return shape(at / mp.mpf(unit), mp)

        left, right = max(mp.mpf(z) - mp.mpf(reach), mp.mpf(lo)), min(mp.mpf(z) + mp.mpf(reach), mp.mpf(hi))
        at_left, at_right = value(left), value(right)
        if left == mp.mpf(lo) and at_left >= 0:
            return True
        if right == mp.mpf(hi) and at_right <= 0:
            return True
        return bool(at_left * at_right <= 0)


FAMILIES: dict[str, Family] = {"mcp coupled": coupled, "mcp separate": separate}
