"""Writes docs/capabilities.md: what solves what, by running every pair, and what becomes of a scene.

Usage: python docs/scripts/capabilities.py [--vendors] [--check]. Solvers of others are run with --vendors,
those that are installed; without it, and where they are missing, the page keeps what they did. How solvers
drive simulations is what `benchmarks/drivers.py` has found. With --check nothing is written, and the exit
code is 1 when the page is not what would be written.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from scene_features import FEATURES, verdict

import perp
from perp.formulations.registry import Formulation, all_formulations
from perp.solvers.listing import FAMILIES
from perp.solvers.registry import SolverInfo, SolverMismatch
from perp.solvers.routes import find_route

PAGE = Path(__file__).parents[1] / "capabilities.md"
# Made with python benchmarks/drivers.py --steps 8 --out FILE, solvers of GAMS with --steps 4.
DRIVERS = Path(__file__).parents[1] / "benchmarks" / "drivers.jsonl"
# What a solver may leave, of its own problem where the original one cannot be met; others stop otherwise.
OURS, THEIRS = 1e-8, 1e-5
DIRECT, THROUGH, NO = "●", "○", ""


def symmetric(n: int) -> np.ndarray:
    """A positive definite matrix with nothing special about it."""
    return 2.0 * np.eye(n) + 0.1 * np.ones((n, n))


def contact(constraint: perp.Free, *, relaxed: bool = False) -> perp.ContactProblem:
    """One constraint that is pressed and pushed along, with a mass: some solvers need one."""
    q = np.full(constraint.dimension, 0.3)
    q[0] = -1.0
    mass = symmetric(q.size)
    return perp.ContactProblem.from_dynamics(
        mass, np.eye(q.size), mass @ q, 0.0, [constraint], relaxed=relaxed
    )


M2, Q2 = symmetric(2), np.array([-1.0, 0.5])
SKEWED = np.array([[2.0, 1.0], [0.0, 2.0]])
PROBLEMS = {
    "LCP": perp.LCP(M2, Q2),
    "LCP, M not symmetric": perp.LCP(SKEWED, Q2),
    "boxed": perp.BoxedLCP(M2, Q2, -1.0, 1.0),
    "boxed, friction index": perp.BoxedLCP(M2, Q2, [0.0, -0.5], [np.inf, 0.5], friction_index=[-1, 0]),
    "MCP": perp.MCP(lambda z: z**3 + z - 1, [0.0, -1.0], [np.inf, 1.0], lambda z: np.diag(3 * z**2 + 1)),
}
CONTACTS = {
    "Free": contact(perp.Free()),
    "Nonnegative": contact(perp.Nonnegative()),
    "Box": contact(perp.Box(-1.0, 1.0)),
    "Coulomb, plane": contact(perp.Coulomb(0.5, dimension=2)),
    "Coulomb": contact(perp.Coulomb(0.5)),
    "Elliptic": contact(perp.Elliptic(0.5, 0.2)),
    "Rolling": contact(perp.Rolling(0.5, 0.01)),
    "relaxed Coulomb": contact(perp.Coulomb(0.5), relaxed=True),
}


def mark(info: SolverInfo, problem: perp.LCP) -> str:
    """Whether a solver solves a problem as it is, through an exact formulation that `solve` finds, or not."""
    if not solves(info, problem):
        return NO
    return DIRECT if find_route(problem, info) is None else THROUGH


def solves(info: SolverInfo, problem: perp.LCP, formulation: str | None = None) -> bool:
    """Whether a solver solves a problem, or what a formulation makes of it where that one is inexact."""
    tolerance = THEIRS if info.family == "external" else OURS
    try:
        found = perp.solve(problem, info.name, formulation=formulation, tol=tolerance, throw=False)
    except SolverMismatch:
        return False
    return found.solved or found.info.get("own_residual", np.inf) <= tolerance


# What formulations are asked with: the hardest problem first.
SAMPLES = [
    contact(perp.Coulomb(0.5)),
    contact(perp.Coulomb(0.5, dimension=2)),
    perp.BoxedLCP(M2, Q2, [-np.inf, 0.0], [np.inf, np.inf]),
    perp.LCP(M2, Q2),
    perp.MCP.affine(M2, Q2, -1.0, 1.0),
]


def sample(formulation: Formulation) -> perp.LCP:
    """The first sample that a formulation takes."""
    return next(problem for problem in SAMPLES if formulation.objection(problem) is None)


def solvers_with(formulation: Formulation) -> list[SolverInfo]:
    """Our solvers that solve the sample in a formulation."""
    ours = [info for info in in_order() if info.name != "auto" and info.family != "external"]
    return [info for info in ours if solves(info, sample(formulation), formulation.name)]


def in_order() -> list[SolverInfo]:
    """Every solver that comes with perp, ours first."""
    return [info for info in perp.solvers() if info.family in (*FAMILIES, "external")]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def matrix(problems: dict[str, perp.LCP], wanted: Callable[[SolverInfo], bool]) -> str:
    """Solvers down, problems across; solvers that take none of them are left out."""
    rows = []
    for info in filter(wanted, in_order()):
        marks = [mark(info, problem) for problem in problems.values()]
        if any(marks):
            rows.append([f"`{info.name}`", info.family, *marks])
    return table(["solver", "family", *problems], rows)


def formulation_rows() -> Iterable[list[str]]:
    """One row per formulation: from, to, exactness and who takes the result."""
    for name, made in sorted(all_formulations().items(), key=lambda item: (item[1].source.__name__, item[0])):
        exact = "on some" if callable(made.exact) else ("yes" if made.exact else "no")
        takers = ", ".join(f"`{info.name}`" for info in solvers_with(made))
        yield [f"`{name}`", made.source.__name__, made.target.__name__, exact, made.summary, takers]


def vendor_rows(before: str) -> Iterable[list[str]]:
    """One row per solver of another package, with the formulations in which it solved the sample."""
    for info in in_order():
        if info.family != "external" or info.needs is None:
            continue
        if "--vendors" in sys.argv and info.available:
            forms = [
                f"`{name}`" for name, made in all_formulations().items() if solves(info, sample(made), name)
            ]
            solved = ", ".join(forms)
        else:
            known = re.search(rf"^\| `{info.name}` \|([^|]*)\|", before, re.MULTILINE)
            solved = known[1].strip() if known else ""
        yield [f"`{info.name}`", solved, info.summary, f"`{info.needs.install}`"]


def driver_rows() -> Iterable[list[str]]:
    """One row per solver and formulation: how many of its steps met the tolerance, scene by scene."""
    found: dict[tuple[str, str | None], dict[tuple[str, str], str]] = {}
    for line in DRIVERS.read_text(encoding="utf-8").splitlines():
        solver, formulation, scene, level, outcome = json.loads(line)
        met, steps, slow = outcome.get("met", 0), outcome.get("steps", 0), outcome.get("hung", False)
        words = f"{met} of {steps}{', then slow' * slow}" if steps else "no step in time"
        found.setdefault((solver, formulation), {})[scene, level] = (
            DIRECT if steps and met == steps and not slow else words
        )
    for (solver, formulation), cells in found.items():
        places = [
            (scene, level) for scene in ("box", "stack", "quadruped") for level in ("position", "velocity")
        ]
        yield [
            f"`{solver}`",
            f"`{formulation}`" if formulation else "",
            *(cells.get(place, "") for place in places),
        ]


def page(before: str) -> str:
    """The whole page."""
    features = [[f"`{name}`", *verdict(scene)] for name, scene in FEATURES.items()]
    return f"""# Which solver takes which problem

Written by `docs/scripts/capabilities.py`, which runs every pair on a small problem of each kind; a test
fails when this page and such a run disagree. {DIRECT} solved it directly, {THROUGH} through an exact
formulation that `perp.solve` finds by itself. For your own problem, call
`perp.solvers(problem)`.

## Solvers and problem types

{matrix(PROBLEMS, lambda info: info.family != "external")}

## Solvers and sets of a contact problem

{matrix(CONTACTS, lambda info: info.family != "external")}

## Formulations

`perp.solve(problem, solver, formulation=name)`. They chain with `+`, and a number follows a colon:
`"schur+split"`, `"stewart-trinkle:16"`. The residual is always that of the original problem; an answer of an
inexact formulation that misses the tolerance has the status `RELAXED` or `APPROXIMATE`.
[What they are](theory/formulations.md). The last column lists our solvers that solved a sample in this
formulation; third-party solvers are in the next table.

{table(["formulation", "from", "to", "exact", "description", "our solvers"], formulation_rows())}

## Third-party solvers

`perp solvers` lists them with the command that installs a missing one. They solve problems through a
formulation; the table lists those in which they solved the sample (to 10⁻⁵ in our residual), for the solvers
that were installed.

{table(["solver", "formulations", "description", "installed by"], vendor_rows(before))}

## Solvers in a simulation

`Simulation(..., solver=, formulation=, level=)`: a pushed box, a stack of five cubes, a quadruped that lands,
with a tolerance of 10⁻⁶, by `benchmarks/drivers.py`. {
        DIRECT
    }: every step met it; otherwise the number that did (the
records of the others say so). Eight steps, 24 of the quadruped, which lands after 18; six and 18 with PATH,
two and six with the other solvers of GAMS, with Ipopt, Uno, CasADi's SQP, CPLEX and Gurobi. Empty cells were
not run. Other pairs are refused before the first step, with the reason.

{
        table(
            [
                "solver",
                "formulation",
                "box, position",
                "velocity",
                "stack, position",
                "velocity",
                "quadruped, position",
                "velocity",
            ],
            driver_rows(),
        )
    }

## Scenes

Each row was tested with a scene that has only this feature, in the coordinates that `perp.Simulation`
chooses for it. `sim.report` lists what is left out of your own scene. [More on scenes](scenes.md).

{table(["in the file", "status", "coordinates", "note"], features)}
"""


def main() -> int:
    """Write the page, or say whether it is current."""
    before = PAGE.read_text(encoding="utf-8")
    text = page(before)
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if before == text:
        return 0
    sys.stderr.write("docs/capabilities.md is not current: run python docs/scripts/capabilities.py\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
