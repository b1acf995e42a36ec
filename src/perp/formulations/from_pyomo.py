"""Pyomo models with `Complementarity` as MCPs, and the answer back into the model. Needs pyomo.

One side of a complementarity is a single variable v, the other an expression e. Of two inequalities both hold
and one is tight; between two bounds v takes the sign of e as in any MCP:

| written | v in | f |
|---|---|---|
| `complements(v >= l, e >= b)` | [l, ∞) | e − b |
| `complements(v >= l, e <= b)` | [l, ∞) | b − e |
| `complements(v <= u, e <= b)` | (−∞, u] | e − b |
| `complements(v <= u, e >= b)` | (−∞, u] | b − e |
| `complements(inequality(l, v, u), e)` | [l, u] | e |
| `complements(v, e == b)` | free | e − b |

Equality constraints are paired with the variables that no complementarity has: as many as there are such
variables, in the order of the model. A fixed variable keeps its value. Values go back into the variables.
"""

from collections.abc import Callable, Iterable
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
    _refuse_programs(pyo, model)
    pairs: dict[int, tuple[Any, Any, float, float]] = {}  # variable, function, bounds
    for component in model.component_data_objects(mpec.Complementarity, active=True):
        variable, function, low, high = _pair(pyo, component)
        if id(variable) in pairs:
            raise ProblemError(f"{component.name}: {variable.name} has another complementarity already")
        if variable.fixed:
            low = high = float(pyo.value(variable))
        pairs[id(variable)] = (variable, function, low, high)
    equations = list(model.component_data_objects(pyo.Constraint, active=True))
    used = {id(v): v for _, function, _, _ in pairs.values() for v in visitor.identify_variables(function)}
    used |= {id(v): v for c in equations for v in visitor.identify_variables(c.body)}
    everything = list(model.component_data_objects(pyo.Var, active=True))
    strangers = [v.name for k, v in used.items() if not v.fixed and k not in {id(v) for v in everything}]
    if strangers:
        raise ProblemError(f"{strangers[0]} is not an active variable of this model")
    unpaired = [v for v in everything if id(v) in used and id(v) not in pairs and not v.fixed]
    if len(unpaired) != len(equations):
        names = ", ".join(v.name for v in unpaired)
        raise ProblemError(
            f"{len(equations)} equations for {len(unpaired)} variables without a complementarity ({names})"
        )
    for variable, equation in zip(unpaired, equations, strict=True):
        if _bounds(variable) != (-np.inf, np.inf):
            raise ProblemError(
                f"{variable.name} has bounds but no complementarity, which would say what holds at them: "
                f"make it free, or write complements(inequality(l, {variable.name}, u), e)"
            )
        pairs[id(variable)] = (variable, equation.body - equation.upper, -np.inf, np.inf)
    order = [v for v in everything if id(v) in pairs]
    rows = [pairs[id(v)] for v in order]
    place = {id(v): j for j, v in enumerate(order)}
    slopes = []
    for i, (_, function, _, _) in enumerate(rows):
        found = list(visitor.identify_variables(function, include_fixed=False))
        by = (
            calculus.differentiate(function, wrt_list=found, mode=calculus.Modes.reverse_symbolic)
            if found
            else []
        )
        slopes += [(i, place[id(v)], slope) for v, slope in zip(found, by, strict=True)]

    def put(values: Iterable[float | None]) -> None:
        for variable, value in zip(order, values, strict=True):
            if not variable.fixed:
                variable.set_value(None if value is None else float(value), skip_validation=True)

    def values_at(z: Vector, expressions: list[Any]) -> Vector:
        """Values of expressions at z; those of the model's variables stay as they are."""
        before = [v.value for v in order]
        put(z)
        found = np.array([_value(pyo, expression) for expression in expressions])
        put(before)
        return found

    functions, derivatives = [row[1] for row in rows], [slope for _, _, slope in slopes]
    index = [i for i, _, _ in slopes], [j for _, j, _ in slopes]

    def jacobian(z: Vector) -> Any:
        from scipy.sparse import csr_array

        return csr_array((values_at(z, derivatives), index), shape=(len(rows),) * 2)

    start = [0.0 if v.value is None else float(v.value) for v in order]
    low, high = [row[2] for row in rows], [row[3] for row in rows]
    names = [v.name for v in order]
    problem = MCP(lambda z: values_at(z, functions), low, high, jacobian, start=start, names=names)
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


def _refuse_programs(pyo: Any, model: Any) -> None:
    """An objective or an inequality without a variable would be dropped: they are no part of an MCP."""
    for objective in model.component_data_objects(pyo.Objective, active=True):
        if not objective.expr.is_fixed() if hasattr(objective.expr, "is_fixed") else False:
            raise ProblemError(f"{objective.name} is an objective, which an MCP has none of: deactivate it")
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        if not constraint.equality:
            raise ProblemError(
                f"{constraint.name} is an inequality without a variable: write it as a complementarity"
            )


def _pair(pyo: Any, component: Any) -> tuple[Any, Any, float, float]:
    """Variable, function and the variable's bounds of one complementarity."""
    sides = [_side(pyo, component, argument) for argument in component._args]
    for (variable, low, high), (other, other_low, other_high) in (sides, sides[::-1]):
        if not variable.is_variable_type():
            continue
        if np.isfinite(other_low) and np.isfinite(other_high):
            if other_low != other_high:
                raise ProblemError(f"{component.name}: the side that is not a variable has two bounds")
            if np.isfinite([low, high]).any():
                raise ProblemError(f"{component.name}: an equation is paired with a variable without bounds")
            low, high = -np.inf, np.inf
        least, most = _bounds(variable)
        # bounds of the declaration that the complementarity repeats, or leaves to it
        if not np.isfinite([low, high]).any() and other_low != other_high:
            low, high = least, most
        if least > low or most < high:
            raise ProblemError(
                f"{component.name}: {variable.name} is declared within [{least:g}, {most:g}], and the "
                f"complementarity says [{low:g}, {high:g}]: name both bounds, inequality(l, v, u)"
            )
        if np.isfinite([low, high]).all() and np.isfinite([other_low, other_high]).any():
            raise ProblemError(
                f"{component.name}: {variable.name} has two bounds, the other side must then be an "
                "expression without a relation: it is positive at the lower, negative at the upper bound"
            )
        return variable, _function(other, other_low, other_high, np.isfinite(low)), low, high
    raise ProblemError(f"{component.name}: one side has to be a single variable with its bounds")


def _function(expression: Any, low: float, high: float, from_below: bool) -> Any:
    """What is ≥ 0 at a lower bound of the variable, ≤ 0 at an upper one."""
    if np.isfinite(low):
        return expression - low if from_below or low == high else low - expression
    if np.isfinite(high):
        return high - expression if from_below else expression - high
    return expression


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
