"""Writes docs/capabilities.md: what takes what, by asking the registry and the scene reader.

Usage: python docs/scripts/capabilities.py [--check]. With --check nothing is written, and the exit code is 1
when the page is not what would be written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from scene_features import FEATURES, verdict

import perp
from perp.formulations.registry import Formulation, all_formulations
from perp.solvers.listing import FAMILIES
from perp.solvers.registry import SolverInfo, SolverMismatch
from perp.solvers.solve import find_route

PAGE = Path(__file__).parents[1] / "capabilities.md"
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
    """Whether a solver takes a problem as it is, through an exact formulation that `solve` finds, or not."""
    if info.objection(problem) is None:
        return DIRECT
    try:
        route = find_route(problem, info)
    except SolverMismatch:
        return NO
    if route is None or info.objection(route.build(problem).problem) is not None:
        return NO
    return THROUGH


# What formulations are asked with: the hardest problem first.
SAMPLES = [
    contact(perp.Coulomb(0.5)),
    contact(perp.Coulomb(0.5, dimension=2)),
    perp.BoxedLCP(M2, Q2, [-np.inf, 0.0], [np.inf, np.inf]),
    perp.LCP(M2, Q2),
    perp.MCP.affine(M2, Q2, -1.0, 1.0),
]


def solvers_taking(formulation: Formulation) -> list[SolverInfo]:
    """The solvers that take what a formulation makes of the first sample that it takes."""
    problem = next(sample for sample in SAMPLES if formulation.objection(sample) is None)
    made = formulation.build(problem).problem
    return [info for info in in_order() if info.name != "auto" and info.objection(made) is None]


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
        takers = ", ".join(f"`{info.name}`" for info in solvers_taking(made) if info.family != "external")
        yield [f"`{name}`", made.source.__name__, made.target.__name__, exact, made.summary, takers]


def vendor_rows() -> Iterable[list[str]]:
    """One row per solver of another package."""
    for info in in_order():
        if info.family == "external" and info.needs is not None:
            takes = ", ".join(kind.__name__ for kind in info.takes)
            yield [f"`{info.name}`", takes, info.summary, f"`{info.needs.install}`"]


def page() -> str:
    """The whole page."""
    features = [[f"`{name}`", *verdict(scene)] for name, scene in FEATURES.items()]
    return f"""# Which solver takes which problem

Written by `docs/scripts/capabilities.py`, which asks the registry with a small problem of each kind; a test
fails when this page and the registry disagree. {DIRECT} takes it as it is, {THROUGH} through an exact
formulation that `perp.solve` finds by itself. For a problem of your own, ask
`perp.solvers(problem)`.

## Solvers and problem types

{matrix(PROBLEMS, lambda info: info.family != "external")}

## Solvers and sets of a contact problem

{matrix(CONTACTS, lambda info: info.family != "external")}

## Formulations

`perp.solve(problem, solver, formulation=name)`. They chain with `+`, and a number goes behind a colon:
`"schur+split"`, `"stewart-trinkle:16"`. An answer through an inexact one is judged in the original problem,
and ends as `RELAXED` or `APPROXIMATE` where it misses that. [What they are](theory/formulations.md).
Solvers of others take cone programs, quadratic programs and equations of motion as well: see the next
table.

{table(["formulation", "from", "to", "exact", "what it does", "our solvers"], formulation_rows())}

## Solvers of others

Listed by `perp solvers` with the command that adds what is missing. They take what a formulation makes.

{table(["solver", "takes", "what it is", "add it with"], vendor_rows())}

## Scenes

Each line was asked with a scene that has this and nothing else, in the coordinates that `perp.Simulation`
then takes by itself. What is left out of a scene of yours is in `sim.report`. [More on scenes](scenes.md).

{table(["in the file", "what becomes of it", "coordinates", "in words"], features)}
"""


def main() -> int:
    """Write the page, or say whether it is current."""
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write("docs/capabilities.md is not current: run python docs/scripts/capabilities.py\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
