"""Scalar models of GAMS, as its CONVERT writes them: variables x1 … xn, equations in full, pairs by name.

This is no GAMS compiler: sets, sums and loops are gone when CONVERT has written a model. Read are the kinds
and bounds of variables, their levels, the equations and the pairs of `Model m / e1.x1, … /`.
"""

import re
from dataclasses import dataclass, field

import numpy as np

from perp.formulations.expressions import UNARY, Symbol, exp, log, symbol, unary
from perp.problems import ProblemError

TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:[eEdD][+-]?\d+)?|\.\d+(?:[eEdD][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*/(),]))"
)
RELATION = re.compile(r"=([EGLN])=", re.IGNORECASE)
ASSIGNMENT = re.compile(r"^(\w+)\.(lo|up|fx|l)\s*=\s*(.+)$", re.IGNORECASE | re.DOTALL)
KINDS = ("free", "positive", "negative", "nonnegative", "nonpositive")


@dataclass
class ScalarModel:
    """A scalar model."""

    variables: list[str] = field(default_factory=list)  # names in order
    # relation ("E", "G", "L", "N") and left less right side, by name in order
    equations: dict[str, tuple[str, Symbol]] = field(default_factory=dict)
    pairs: dict[str, str] = field(default_factory=dict)  # the variable of each equation that has one
    # by variable; what is missing is −inf, inf and 0
    lower: dict[str, float] = field(default_factory=dict)
    upper: dict[str, float] = field(default_factory=dict)
    level: dict[str, float] = field(default_factory=dict)


def read_scalar_model(text: str) -> ScalarModel:
    """Read the text of a scalar model."""
    model = ScalarModel()
    place: dict[str, Symbol] = {}
    lines = [line for line in text.splitlines() if not line.startswith("*")]
    for statement in (part.strip() for part in "\n".join(lines).split(";")):
        words = statement.split(None, 1)
        head = words[0].lower() if words else ""
        if head in ("variables", "variable"):
            model.variables = _names(words[1])
            place.update({x: Symbol("variable", value=float(i)) for i, x in enumerate(model.variables)})
        elif statement.lower().split("variable")[0].strip() in KINDS:
            _restrict(model, head, _names(statement.split(None, 2)[2]))
        elif ".." in statement:
            name, formula = statement.split("..", 1)
            model.equations[name.strip()] = _equation(name.strip(), formula, place)
        elif head == "model":
            model.pairs = _pairs(statement)
        elif match := ASSIGNMENT.match(statement):
            _assign(model, match)
        elif "variable" in statement.lower().split("\n", 1)[0]:
            raise ProblemError(f"{statement.splitlines()[0]} is not a part of an MCP")
    return model


def _names(text: str) -> list[str]:
    return [name for name in re.split(r"[\s,]+", text) if name]


def _restrict(model: ScalarModel, kind: str, names: list[str]) -> None:
    for name in names:
        if kind in ("positive", "nonnegative"):
            model.lower[name] = 0.0
        elif kind in ("negative", "nonpositive"):
            model.upper[name] = 0.0


def _assign(model: ScalarModel, match: re.Match[str]) -> None:
    name, what, value = match[1], match[2].lower(), _number(match[3])
    if what in ("lo", "fx"):
        model.lower[name] = value
    if what in ("up", "fx"):
        model.upper[name] = value
    if what in ("l", "fx"):
        model.level[name] = value


def _number(text: str) -> float:
    return float(text.strip().lower())  # Python reads GAMS' inf and -inf too


def _pairs(statement: str) -> dict[str, str]:
    """What stands between the slashes; an equation without a variable is left out."""
    listed = statement[statement.index("/") + 1 : statement.rindex("/")]
    return dict(pair.split(".", 1) for pair in _names(listed) if "." in pair)


def _equation(name: str, formula: str, place: dict[str, Symbol]) -> tuple[str, Symbol]:
    parts = RELATION.split(formula)
    if len(parts) != 3:
        raise ProblemError(f"equation {name}: =E=, =G=, =L= or =N= is needed once")
    left, relation, right = parts
    return relation.upper(), read_formula(name, left, place) - read_formula(name, right, place)


def read_formula(name: str, text: str, place: dict[str, Symbol]) -> Symbol:
    """A formula in variables, which are found by name; messages call it `name`."""
    return _Parser(name, text, place).all()


class _Parser:
    """Recursive descent over one side: sums of products of powers of functions, variables and numbers."""

    def __init__(self, equation: str, text: str, place: dict[str, Symbol]) -> None:
        self.equation, self.place = equation, place
        self.tokens: list[str] = []
        at, text = 0, text.strip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise ProblemError(f"equation {equation}: {text[at : at + 20]!r} cannot be read")
            self.tokens.append(match[0].strip())
            at = match.end()
        self.next = 0

    def all(self) -> Symbol:
        """The formula; nothing may be left."""
        found = self._sum()
        if self.next < len(self.tokens):
            raise ProblemError(f"equation {self.equation}: {self.tokens[self.next]!r} was not expected")
        return found

    def _take(self, *tokens: str) -> str | None:
        if self.next < len(self.tokens) and self.tokens[self.next] in tokens:
            self.next += 1
            return self.tokens[self.next - 1]
        return None

    def _sum(self) -> Symbol:
        sign = self._take("+", "-")
        found = -self._product() if sign == "-" else self._product()
        while operator := self._take("+", "-"):
            term = self._product()
            found = found + term if operator == "+" else found - term
        return found

    def _product(self) -> Symbol:
        found = self._power()
        while operator := self._take("*", "/"):
            factor = self._power()
            found = found * factor if operator == "*" else found / factor
        return found

    def _power(self) -> Symbol:
        if sign := self._take("+", "-"):
            return -self._power() if sign == "-" else self._power()
        found = self._atom()
        while self._take("**"):
            found = found ** self._exponent()
        return found

    def _exponent(self) -> Symbol:
        found = -self._atom() if self._take("-") else self._atom()
        return _constant(found)

    def _atom(self) -> Symbol:
        if self.next >= len(self.tokens):
            raise ProblemError(f"equation {self.equation} ends too early")
        if self._take("("):
            inside = self._sum()
            self._close()
            return inside
        token = self.tokens[self.next]
        self.next += 1
        if token[0].isdigit() or token[0] == ".":
            return symbol(float(token.lower().replace("d", "e")))
        if token in self.place:
            return self.place[token]
        if not self._take("("):
            raise ProblemError(f"equation {self.equation}: {token!r} is not a variable")
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._close()
        return self._call(token.lower(), [_constant(x) for x in arguments])

    def _close(self) -> None:
        if not self._take(")"):
            raise ProblemError(f"equation {self.equation}: a bracket is not closed")

    def _call(self, name: str, arguments: list[Symbol]) -> Symbol:
        a = arguments[0]
        if name in ("power", "rpower", "vcpower", "cvpower") and len(arguments) == 2:
            return (
                a ** arguments[1]
                if a.kind != "number" or name != "cvpower"
                else exp(arguments[1] * float(np.log(a.value)))
            )
        one = {
            "exp": lambda: exp(a),
            "log": lambda: log(a),
            "log10": lambda: log(a) / float(np.log(10)),
            "log2": lambda: log(a) / float(np.log(2)),
            "sqr": lambda: a**2,
            "sqrt": lambda: a**0.5,
            "tan": lambda: unary("sin", a) / unary("cos", a),
            "sinh": lambda: 0.5 * (exp(a) - exp(-a)),
            "cosh": lambda: 0.5 * (exp(a) + exp(-a)),
        } | {name: lambda name=name: unary(name, a) for name in UNARY}
        if name in one and len(arguments) == 1:
            return one[name]()
        if name in ("max", "min") and len(arguments) == 2:
            sign = 1.0 if name == "max" else -1.0
            return 0.5 * (a + arguments[1] + sign * unary("abs", a - arguments[1]))
        known = ", ".join([*one, "power", "max", "min"])
        raise ProblemError(f"equation {self.equation}: the function {name} is not known here ({known})")


def _constant(x: Symbol) -> Symbol:
    """A number where −1 · number or a quotient of two stands."""
    values = [_constant(a) for a in x.arguments]
    if x.kind in ("+", "-", "*", "/") and all(v.kind == "number" for v in values):
        a, b = (v.value for v in values)
        if x.kind == "/" and b == 0.0:
            return x
        return symbol({"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else 0.0}[x.kind])
    return x
