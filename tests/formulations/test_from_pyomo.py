"""Pyomo models as MCPs, and answers back in the model."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp import from_pyomo

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


def one(relation):
    """A model with one variable x and f = x − 3, paired as `relation` says."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(initialize=0.5)
    model.pair = mpec.Complementarity(expr=relation(model.x, model.x - 3))
    return model


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        (lambda x, e: mpec.complements(x >= 0, e >= 0), 3),
        (lambda x, e: mpec.complements(x >= 0, -e <= 0), 3),
        (lambda x, e: mpec.complements(x >= 5, e >= 0), 5),
        (lambda x, e: mpec.complements(x <= 1, e <= 0), 1),
        (lambda x, e: mpec.complements(x <= 1, -e >= 0), 1),
        (lambda x, e: mpec.complements(pyo.inequality(0, x, 2), e), 2),
        (lambda x, e: mpec.complements(x, e == 4), 7),
        (lambda x, e: mpec.complements(x, 2 * e == e), 3),
        (lambda x, e: mpec.complements(x >= 0, x >= 3), 3),
    ],
)
def test_every_way_to_write_a_pair(relation, expected):
    model = one(relation)
    problem, write = from_pyomo(model)
    assert model.x.value == 0.5  # evaluating leaves the model as it is
    write(perp.solve(problem))
    assert model.x.value == pytest.approx(expected)


def test_what_an_mcp_cannot_say_is_refused():
    for relation, words in [
        (lambda x, e: mpec.complements(pyo.inequality(0, x, 2), e >= 0), "without a relation"),
        (lambda x, e: mpec.complements(x >= 0, e == 4), "without bounds"),
        (lambda x, e: mpec.complements(x >= 0, pyo.inequality(0, e, 2)), "has two bounds"),
    ]:
        with pytest.raises(perp.ProblemError, match=words):
            from_pyomo(one(relation))
    model = one(lambda x, e: mpec.complements(x >= 0, e >= 0))
    model.limit = pyo.Constraint(expr=model.x <= 2)
    with pytest.raises(perp.ProblemError, match="limit is an inequality without a variable"):
        from_pyomo(model)
    model.limit.deactivate()
    model.cost = pyo.Objective(expr=model.x)
    with pytest.raises(perp.ProblemError, match="cost is an objective"):
        from_pyomo(model)
    model.cost.deactivate()
    model.none = pyo.Objective(expr=0)
    assert from_pyomo(model)[0].size == 1
    model.x.setub(2)
    with pytest.raises(perp.ProblemError, match=r"declared within \[-inf, 2\]"):
        from_pyomo(model)


def test_a_bounded_variable_of_an_equation_is_refused():
    """At its bound the equation would not hold, and yet be called solved."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1), initialize=0.5)
    model.e = pyo.Constraint(expr=model.x == 4)
    with pytest.raises(perp.ProblemError, match="x has bounds but no complementarity"):
        from_pyomo(model)


def test_fixed_variables_keep_their_value():
    model = pyo.ConcreteModel()
    model.q = pyo.Var([1, 2], bounds=(0, None), initialize=1.0)
    model.firm = mpec.Complementarity(
        [1, 2], rule=lambda m, i: mpec.complements(m.q[i] >= 0, i - 12 + m.q[1] + m.q[2] + m.q[i] >= 0)
    )
    model.q[2].fix(1.0)
    problem, write = from_pyomo(model)
    write(perp.solve(problem))
    assert [pyo.value(model.q[i]) for i in (1, 2)] == pytest.approx([5, 1])


def test_solver_factory_fills_the_model():
    import perp.pyomo  # noqa: F401  registers the solver

    model = one(lambda x, e: mpec.complements(x >= 0, e >= 0))
    solver = pyo.SolverFactory("perp")
    assert solver.available()
    results = solver.solve(model, options={"memory": 1, "tol": 1e-9})
    assert pyo.check_optimal_termination(results)
    assert model.x.value == pytest.approx(3)
    assert "mcp-newton" in str(results.solver.name)


def test_solver_factory_says_that_there_is_no_solution(capsys):
    import perp.pyomo  # noqa: F401

    model = pyo.ConcreteModel()
    model.odd = pyo.Var(initialize=0.5)
    model.e = pyo.Constraint(expr=model.odd**2 == -1)
    results = pyo.SolverFactory("perp").solve(model, tee=True)
    assert results.solver.termination_condition == pyo.TerminationCondition.noSolution
    assert "odd" in str(results.solver.message)
    assert model.odd.value == 0.5
    assert "residual" in capsys.readouterr().out
