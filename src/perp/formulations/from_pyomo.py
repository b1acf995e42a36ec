"""Pyomo models with `Complementarity` as MCPs, and the answer back into the model. Needs pyomo.

A complementarity pairs a bounded expression with another: `complements(e >= b, v >= l)`,
`complements(e == 0, v)` or `complements(inequality(l, v, u), e)`, in which one side is a single variable.
Equality constraints are paired with the variables that no complementarity has: as many as there are such
variables, in the order of the model. Values go back into the variables.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from perp.problems import MCP, ProblemError, Solution, SolverMissing
from perp.problems.validation import Vector


def from_pyomo(model: Any) -> tuple[MCP, Callable[[Solution], None]]:
    """The MCP of a Pyomo model, and a function that writes a solution into its variables.

    Args:
        model: A ConcreteModel with Complementarity components and equality constraints.

    Raises:
        ProblemError: A complementarity has no single variable on either side, or there are not as many
            equations as variables without one.
        SolverMissing: pyomo is not installed.
    """
    try:
        pyo: Any = import_module("pyomo.environ")
        mpec: Any = import_module("pyomo.mpec")
        calculus: Any = import_module("pyomo.core.expr.calculus.derivatives")
        visitor: Any = import_module("pyomo.core.expr.visitor")
    except ImportError:
        raise SolverMissing("pyomo is not installed; add it with: pip install pyomo") from None
    pairs: dict[int, tuple[Any, Any, float, float]] = {}  # variable, function, bounds
    for component in model.component_data_objects(mpec.Complementarity, active=True):
        variable, function, low, high = _pair(pyo, component)
        if id(variable) in pairs:
            raise ProblemError(f"{component.name}: {variable.name} has another complementarity already")
        pairs[id(variable)] = (variable, function, low, high)
    equations = [
        constraint
        for constraint in model.component_data_objects(pyo.Constraint, active=True)
        if constraint.equality
    ]
    used = {id(v): v for _, function, _, _ in pairs.values() for v in visitor.identify_variables(function)}
    used |= {id(v): v for c in equations for v in visitor.identify_variables(c.body)}
    unpaired = [
        v
        for v in model.component_data_objects(pyo.Var, active=True)
        if id(v) in used and id(v) not in pairs and not v.fixed
    ]
    if len(unpaired) != len(equations):
        names = ", ".join(v.name for v in unpaired)
        raise ProblemError(
            f"{len(equations)} equations for {len(unpaired)} variables without a complementarity ({names})"
        )
    for variable, equation in zip(unpaired, equations, strict=True):
        low, high = _bounds(variable)
        pairs[id(variable)] = (variable, equation.body - equation.upper, low, high)
    order = [v for v in model.component_data_objects(pyo.Var, active=True) if id(v) in pairs]
    rows = [pairs[id(v)] for v in order]
    place = {id(v): j for j, v in enumerate(order)}
    slopes = []
    for i, (_, function, _, _) in enumerate(rows):
        found = [v for v in visitor.identify_variables(function, include_fixed=False) if id(v) in place]
        by = (
            calculus.differentiate(function, wrt_list=found, mode=calculus.Modes.reverse_symbolic)
            if found
            else []
        )
        slopes += [(i, place[id(v)], slope) for v, slope in zip(found, by, strict=True)]

    def put(z: Vector) -> None:
        for variable, value in zip(order, z, strict=True):
            variable.set_value(float(value), skip_validation=True)

    def f(z: Vector) -> Vector:
        put(z)
        return np.array([_value(pyo, function) for _, function, _, _ in rows])

    def jacobian(z: Vector) -> Any:
        from scipy.sparse import csr_array

        put(z)
        values = [_value(pyo, slope) for _, _, slope in slopes]
        return csr_array(
            (values, ([i for i, _, _ in slopes], [j for _, j, _ in slopes])), shape=(len(rows),) * 2
        )

    start = [0.0 if v.value is None else float(v.value) for v in order]
    problem = MCP(
        f, [low for _, _, low, _ in rows], [high for _, _, _, high in rows], jacobian,
        start=np.array(start), names=[v.name for v in order],
    )  # fmt: skip
    put(np.array(start))
    return problem, lambda solution: put(solution.z)


def _value(pyo: Any, expression: Any) -> float:
    """An expression's value, NaN where it has none (a logarithm of −1)."""
    try:
        found = pyo.value(expression)
    except (ValueError, ZeroDivisionError, OverflowError):
        return float("nan")
    return float("nan") if isinstance(found, complex) else float(found)


def _bounds(variable: Any) -> tuple[float, float]:
    low, high = variable.bounds
    return -np.inf if low is None else float(low), np.inf if high is None else float(high)


def _pair(pyo: Any, component: Any) -> tuple[Any, Any, float, float]:
    """Variable, function and the variable's bounds of one complementarity."""
    sides = [_side(pyo, component, argument) for argument in component._args]
    for (body, low, high), (other, other_low, other_high) in (sides, sides[::-1]):
        if not body.is_variable_type():
            continue
        least, most = _bounds(body)
        least, most = max(least, low), min(most, high)
        # the other side is one inequality, an equation, or an expression without a relation
        function = other
        if np.isfinite(other_low) and other_low == other_high:
            return body, other - other_low, -np.inf, np.inf
        if np.isfinite(other_low):
            function = other - other_low
        elif np.isfinite(other_high):
            function = other - other_high
        return body, function, least, most
    raise ProblemError(f"{component.name}: one side has to be a single variable with its bounds")


def _side(pyo: Any, component: Any, argument: Any) -> tuple[Any, float, float]:
    """Body and bounds of one side."""
    relation = argument
    kinds: Any = import_module("pyomo.core.expr").ExpressionType
    if not (hasattr(relation, "is_expression_type") and relation.is_expression_type(kinds.RELATIONAL)):
        return relation, -np.inf, np.inf
    parts = list(relation.args)
    constant = [getattr(x, "is_fixed", lambda: True)() if hasattr(x, "is_fixed") else True for x in parts]
    if len(parts) == 3:
        return parts[1], float(pyo.value(parts[0])), float(pyo.value(parts[2]))
    equal = type(relation).__name__ == "EqualityExpression"
    left, right = parts
    if constant[0] == constant[1]:
        body, low = right - left, 0.0
        return body, low, low if equal else np.inf
    if constant[0]:
        bound = float(pyo.value(left))
        return right, bound, bound if equal else np.inf
    bound = float(pyo.value(right))
    return left, bound if equal else -np.inf, bound
