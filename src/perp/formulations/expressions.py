"""Formulas that are written once: a Python function with its exact sparse Jacobian is made of them.

What is computed with `variables`, or read from models of GAMS (`from_gams`), is kept as operations,
differentiated forward and written as straight-line code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

INFINITY = float("inf")
# Functions of one argument beside exp and log, as Python has them.
UNARY: dict[str, Callable[[float], float]] = {
    "sin": lambda x: math.sin(x) if math.isfinite(x) else math.nan,
    "cos": lambda x: math.cos(x) if math.isfinite(x) else math.nan,
    "arctan": math.atan,
    "tanh": math.tanh,
    "abs": abs,
    "sign": lambda x: math.copysign(1.0, x) if x else 0.0,
}


class Symbol:
    """A node of a formula: an operation on earlier nodes, a variable or a constant."""

    __slots__ = ("arguments", "kind", "value")

    def __init__(self, kind: str, arguments: tuple[Symbol, ...] = (), value: float = 0.0) -> None:
        self.kind, self.arguments, self.value = kind, arguments, value

    def __add__(self, other: Any) -> Symbol:
        other = symbol(other)
        if _is(self, 0.0):
            return other
        return self if _is(other, 0.0) else Symbol("+", (self, other))

    def __radd__(self, other: Any) -> Symbol:
        return symbol(other) + self

    def __sub__(self, other: Any) -> Symbol:
        other = symbol(other)
        return self if _is(other, 0.0) else Symbol("-", (self, other))

    def __rsub__(self, other: Any) -> Symbol:
        return symbol(other) - self

    def __mul__(self, other: Any) -> Symbol:
        other = symbol(other)
        if _is(self, 0.0) or _is(other, 0.0):
            return symbol(0.0)
        if _is(self, 1.0):
            return other
        return self if _is(other, 1.0) else Symbol("*", (self, other))

    def __rmul__(self, other: Any) -> Symbol:
        return symbol(other) * self

    def __truediv__(self, other: Any) -> Symbol:
        other = symbol(other)
        return self if _is(other, 1.0) else Symbol("/", (self, other))

    def __rtruediv__(self, other: Any) -> Symbol:
        return symbol(other) / self

    def __neg__(self) -> Symbol:
        return symbol(-1.0) * self

    def __pow__(self, power: Any) -> Symbol:
        if isinstance(power, Symbol):
            return exp(power * log(self)) if power.kind != "number" else self**power.value
        return self if power == 1 else Symbol("^", (self,), float(power))


def symbol(x: Any) -> Symbol:
    """A number as a constant, a symbol as it is."""
    return x if isinstance(x, Symbol) else Symbol("number", value=float(x))


def _is(x: Symbol, value: float) -> bool:
    return x.kind == "number" and x.value == value


def exp(x: Any) -> Symbol:
    """The exponential function."""
    return Symbol("exp", (symbol(x),))


def log(x: Any) -> Symbol:
    """The natural logarithm."""
    return Symbol("log", (symbol(x),))


def unary(name: str, x: Any) -> Symbol:
    """A function of one argument of `UNARY`, exp or log."""
    return Symbol(name, (symbol(x),))


def variables(n: int) -> list[Symbol]:
    """The symbols z_0 … z_{n−1}."""
    return [Symbol("variable", value=float(i)) for i in range(n)]


def gradient(formula: Symbol, count: int) -> list[Symbol]:
    """The derivatives of a formula by the variables, as formulas."""
    return [derivatives(formula).get(j, symbol(0.0)) for j in range(count)]


def derivatives(formula: Any) -> dict[int, Symbol]:
    """The derivatives that are not zero, by variable."""
    known: dict[int, dict[int, Symbol]] = {}
    for node in _ordered([symbol(formula)]):
        known[id(node)] = _forward(node, [known[id(x)] for x in node.arguments])
    return known[id(symbol(formula))] if isinstance(formula, Symbol) else {}


def _forward(node: Symbol, inner: list[dict[int, Symbol]]) -> dict[int, Symbol]:
    """Derivatives of a node from those of its arguments."""
    if node.kind == "variable":
        return {int(node.value): symbol(1.0)}
    if node.kind == "number":
        return {}
    a = node.arguments[0]
    if len(node.arguments) == 2:
        b = node.arguments[1]
        factors: list[Any] = {
            "+": [1.0, 1.0],
            "-": [1.0, -1.0],
            "*": [b, a],
            "/": [1.0 / b, -1.0 * node / b] if node.kind == "/" else [],
        }[node.kind]
    else:
        p = node.value
        factors = [
            {
                "exp": lambda: node,
                "log": lambda: 1.0 / a,
                "sin": lambda: unary("cos", a),
                "cos": lambda: -unary("sin", a),
                "arctan": lambda: 1.0 / (1.0 + a**2),
                "tanh": lambda: 1.0 - node**2,
                "abs": lambda: unary("sign", a),
                "sign": lambda: 0.0,
                "^": lambda: p * a ** (p - 1) if p != 2 else 2.0 * a,
            }[node.kind]()
        ]
    out: dict[int, Symbol] = {}
    for factor, by in zip(factors, inner, strict=True):
        for j, slope in by.items():
            term = symbol(factor) * slope
            out[j] = out[j] + term if j in out else term
    return out


def _ordered(roots: Sequence[Symbol]) -> list[Symbol]:
    """Every node once, arguments first."""
    seen: set[int] = set()
    out: list[Symbol] = []
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if ready:
            out.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((x, False) for x in node.arguments if id(x) not in seen)
    return out


def compiled(
    rows: Sequence[Symbol], n: int
) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], Any]]:
    """f and its Jacobian (sparse for more than 60 unknowns) as Python functions."""
    slopes = [derivatives(row) for row in rows]
    places = [(i, j) for i, by in enumerate(slopes) for j in sorted(by)]
    entries = [slopes[i][j] for i, j in places]
    value, slope = _function(list(rows)), _function(entries)
    index = np.array([i for i, _ in places], dtype=np.int32), np.array([j for _, j in places], dtype=np.int32)

    def f(z: np.ndarray) -> np.ndarray:
        return np.array(value(z.tolist()))

    if n <= 60:

        def dense(z: np.ndarray) -> np.ndarray:
            out = np.zeros((n, n))
            out[index] = slope(z.tolist())
            return out

        return f, dense
    from scipy.sparse import csr_array

    pointers = np.concatenate([[0], np.cumsum(np.bincount(index[0], minlength=n))]).astype(np.int32)
    return f, lambda z: csr_array((np.array(slope(z.tolist())), index[1], pointers), shape=(n, n))


def _function(results: list[Symbol]) -> Callable[[list[float]], list[float]]:
    """Straight-line code for some formulas."""
    names: dict[int, str] = {}
    lines = []
    for node in _ordered(results):
        parts = [names[id(x)] for x in node.arguments]
        if node.kind == "variable":
            names[id(node)] = f"z[{int(node.value)}]"
        elif node.kind == "number":
            names[id(node)] = f"({node.value!r})"
        else:
            text = {
                **{name: f"{name}({{0}})" for name in ("exp", "log", *UNARY)},
                "^": f"power({{0}}, {node.value!r})",
                "/": "divide({0}, {1})",
            }.get(node.kind, f"{{0}} {node.kind} {{1}}")
            names[id(node)] = f"t{len(lines)}"
            lines.append(f"    t{len(lines)} = {text.format(*parts)}")
    body = "\n".join(lines)
    code = f"def formula(z):\n{body}\n    return [{', '.join(names[id(x)] for x in results)}]\n"
    scope: dict[str, Any] = {"exp": _exp, "log": _log, "power": _power, "divide": _divide, "inf": INFINITY}
    scope |= UNARY
    exec(compile(code, "<formula>", "exec"), scope)  # noqa: S102  our own text
    return scope["formula"]


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return INFINITY


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else (-INFINITY if x == 0.0 else math.nan)


def _divide(x: float, y: float) -> float:
    try:
        return x / y
    except ZeroDivisionError:
        return math.nan if x == 0.0 or x != x else math.copysign(INFINITY, x)


def _power(x: float, p: float) -> float:
    try:
        return x**p if x > 0.0 or p == int(p) else (0.0 if x == 0.0 and p > 0 else math.nan)
    except (OverflowError, ZeroDivisionError):
        return INFINITY
