"""Models of GAMS as MCPs: expanded by GAMS itself, solved here, levels and marginals back; PATH as the oracle."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.formulations.gams_scalar import read_scalar_model

SCALAR = """* MCP written by hand
Variables
    x1,x2,
    x3;
Positive Variables
    x1;
Equations e1,e2,e3;
e1.. 2*sqr(x1) - x2**3/(1 + exp(-x1)) =G= -1.5e-1;
e2.. sqrt(x1) + power(x2,2)
     - max(x3, 2) - (-x2) =N= 4;
e3.. sin(x3) + x3*log(x1 + 1) =E= 1;
x2.lo = -1; x2.up = 3;
x1.l = 0.5; x3.l = 2;
Model m / e1.x1,e2.x2,e3 /;
Solve m using MCP;
"""


def test_formulas_bounds_and_pairs_of_a_scalar_model():
    model = read_scalar_model(SCALAR)
    assert model.variables == ["x1", "x2", "x3"]
    assert model.pairs == {"e1": "x1", "e2": "x2"}
    assert (model.lower, model.upper) == ({"x1": 0.0, "x2": -1.0}, {"x2": 3.0})
    assert model.level == {"x1": 0.5, "x3": 2.0}
    from perp.formulations.expressions import compiled

    f, jacobian = compiled([formula for _, formula in model.equations.values()], 3)
    x = np.array([0.7, 1.3, 2.4])
    expected = [
        2 * 0.49 - 1.3**3 / (1 + np.exp(-0.7)) + 0.15,
        np.sqrt(0.7) + 1.69 - 2.4 + 1.3 - 4,
        np.sin(2.4) + 2.4 * np.log(1.7) - 1,
    ]
    assert f(x) == pytest.approx(expected, rel=1e-15)
    steps = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    assert np.allclose(jacobian(x), np.array(steps).T, atol=1e-8)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Variables x1; Equations e1; e1.. gamma(x1) =E= 1; Model m / e1.x1 /;",
            "function gamma is not known",
        ),
        ("Variables x1; Equations e1; e1.. y + x1 =E= 1; Model m / e1.x1 /;", "'y' is not a variable"),
        ("Variables x1; Equations e1; e1.. (x1 =E= 1; Model m / e1.x1 /;", "bracket is not closed"),
        ("Variables x1; Binary Variables x1; Equations e1; e1.. x1 =E= 1;", "not a part of an MCP"),
        ("Variables x1; Equations e1; e1.. x1 + 1; Model m / e1.x1 /;", "is needed once"),
    ],
)
def test_what_is_not_read_is_named(text, words):
    with pytest.raises(perp.ProblemError, match=words):
        read_scalar_model(text)


@pytest.fixture(scope="module")
def gp():
    return pytest.importorskip("gamspy", reason="pip install gamspy")


def market(gp):
    """The transport model of GAMS' library as an MCP (Dantzig 1963; Rutherford's transmcp), with a fixed way."""
    container = gp.Container()
    plants = gp.Set(container, "i", records=["seattle", "san-diego"])
    cities = gp.Set(container, "j", records=["new york", "chicago", "topeka"])
    freight = gp.Parameter(
        container, "c", [plants, cities], records=0.09 * np.array([[2.5, 1.7, 1.8], [2.5, 1.8, 1.4]])
    )
    a = gp.Parameter(container, "a", [plants], records=np.array([350.0, 600.0]))
    b = gp.Parameter(container, "b", [cities], records=np.array([325.0, 300.0, 275.0]))
    w = gp.Variable(container, "w", domain=[plants], type="positive")
    p = gp.Variable(container, "p", domain=[cities], type="positive")
    x = gp.Variable(container, "x", domain=[plants, cities], type="positive")
    profit = gp.Equation(container, "profit", domain=[plants, cities])
    supply = gp.Equation(container, "supply", domain=[plants])
    demand = gp.Equation(container, "demand", domain=[cities])
    profit[plants, cities] = w[plants] + freight[plants, cities] >= p[cities]
    supply[plants] = a[plants] >= gp.Sum(cities, x[plants, cities])
    demand[cities] = gp.Sum(plants, x[plants, cities]) >= b[cities] * p[cities] ** (-0.5)
    p.l[cities] = 1
    p.lo[cities] = 0.001
    x.fx["seattle", "topeka"] = 0.0
    model = gp.Model(container, "transmcp", problem="MCP", matches={profit: x, supply: w, demand: p})
    return model, p, x


def test_a_gamspy_model_is_solved_and_filled_in_as_path_does(gp):
    model, p, x = market(gp)
    problem, write = perp.from_gams(model)
    assert problem.names is not None
    assert "p('new york')" in problem.names
    problem.check_jacobian()
    solution = perp.solve(problem)
    write(solution)
    ours = p.records.set_index("j")["level"].to_numpy(float), x.records["level"].to_numpy(float)
    assert p.records["lower"].to_numpy(float) == pytest.approx(0.001)
    assert x.records.set_index(["i", "j"]).loc[("seattle", "topeka"), "upper"] == 0.0
    p.l[p.domain[0]] = 1
    model.solve(solver="path")
    assert ours[0] == pytest.approx(p.records.set_index("j")["level"].to_numpy(float), rel=1e-5)
    assert ours[1].sum() == pytest.approx(x.records["level"].to_numpy(float).sum(), rel=1e-5)


def test_a_file_of_gams_and_assignments_back(gp, tmp_path):
    file = tmp_path / "duopoly.gms"
    file.write_text(
        """set i / a, 'b c' /; parameter cost(i) / a 1, 'b c' 2 /;
positive variable q(i); equation firm(i);
firm(i).. cost(i) - 12 + sum(i.local, q(i)) + q(i) =g= 0;
model game / firm.q /; q.l(i) = 1; solve game using mcp;
""".replace("sum(i.local, q(i))", "q('a') + q('b c')"),
        encoding="ascii",
    )
    problem, write = perp.from_gams(file)
    assert write(perp.solve(problem)).splitlines() == ["q.l('a') = 4.0;", "q.l('b c') = 3.0;"]
    assert [path.name for path in tmp_path.iterdir()] == ["duopoly.gms"]


def test_what_gams_complains_about_is_passed_on(gp, tmp_path):
    file = tmp_path / "wrong.gms"
    file.write_text("variable x; equation e; e.. x =e= y; model m / e.x /; solve m using mcp;")
    with pytest.raises(perp.ProblemError, match=r"wrong\.gms: GAMS made no MCP"):
        perp.from_gams(file)
    with pytest.raises(perp.ProblemError, match="no file"):
        perp.from_gams(tmp_path / "nowhere.gms")
    with pytest.raises(perp.ProblemError, match="model is int"):
        perp.from_gams(3)


def test_relations_that_contradict_the_bounds(gp, tmp_path):
    file = tmp_path / "contrary.gms"
    file.write_text("positive variable x; equation e; e.. x =l= 1; model m / e.x /; solve m using mcp;")
    with pytest.raises(perp.ProblemError, match=r"=L= is paired with x in \[0, inf\]|GAMS made no MCP"):
        perp.from_gams(file)
