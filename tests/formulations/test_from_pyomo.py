"""Pyomo models as MCPs, and answers back in the model."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.formulations.from_pyomo import from_pyomo

pyo = pytest.importorskip("pyomo.environ", reason="pip install pyomo")
mpec = pytest.importorskip("pyomo.mpec")


def test_cournot_s_duopoly():
    model = pyo.ConcreteModel()
    model.q = pyo.Var([1, 2], bounds=(0, None), initialize=1.0)
    total = model.q[1] + model.q[2]
    model.first = mpec.Complementarity(
        expr=mpec.complements(model.q[1] >= 0, 1 - 12 + total + model.q[1] >= 0)
    )
    model.second = mpec.Complementarity(
        expr=mpec.complements(2 - 12 + total + model.q[2] >= 0, model.q[2] >= 0)
    )
    problem, write = from_pyomo(model)
    problem.check_jacobian()
    write(perp.solve(problem))
    assert [pyo.value(model.q[i]) for i in (1, 2)] == pytest.approx([4, 3])
    assert problem.names == ("q[1]", "q[2]")


def test_equations_functions_and_bounds_on_both_sides():
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(initialize=1.0), pyo.Var(bounds=(0, 2), initialize=1.0)
    model.balance = pyo.Constraint(expr=pyo.exp(model.x) + model.y == 4)
    model.market = mpec.Complementarity(
        expr=mpec.complements(pyo.inequality(0, model.y, 2), model.y - 5 + model.x)
    )
    problem, write = from_pyomo(model)
    problem.check_jacobian()
    write(perp.solve(problem))
    assert pyo.value(model.y) == pytest.approx(2)
    assert pyo.value(model.x) == pytest.approx(np.log(2))


def test_what_cannot_be_paired_is_named():
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(initialize=1.0), pyo.Var(initialize=1.0)
    model.only = mpec.Complementarity(expr=mpec.complements(model.x + model.y >= 0, model.x * model.y >= 1))
    with pytest.raises(perp.ProblemError, match="only: one side has to be a single variable"):
        from_pyomo(model)
    other = pyo.ConcreteModel()
    other.x, other.y = pyo.Var(bounds=(0, None), initialize=1.0), pyo.Var(initialize=1.0)
    other.c = mpec.Complementarity(expr=mpec.complements(other.x >= 0, other.x + other.y >= 1))
    with pytest.raises(perp.ProblemError, match=r"0 equations for 1 variables .*\(y\)"):
        from_pyomo(other)
