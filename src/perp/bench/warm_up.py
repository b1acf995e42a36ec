"""What perp can compile, as a list of small pieces of work that use it as its users do.

Kernels are not named here: whatever the solvers, formulations and scenes call is compiled, and kept, so that
the list stays right when kernels come and go. `perp warm-up` runs it once on a machine, and the script that
builds wheels runs it to find out which kernels a wheel has to carry.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import cache
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import scipy.sparse

import perp
from perp.bench.sets.small_problems import random_mixtures, random_rows
from perp.comparison.cells import Cell
from perp.comparison.verdict import Limits, run_cell, warm_up
from perp.compilation.stopwatch import STOPWATCH
from perp.derivatives.step import compile_equations
from perp.models.catalogue import build
from perp.problems import Problem
from perp.scenes import library
from perp.solvers.listing import pairs
from perp.solvers.registry import all_solvers

# Numbers of random problems: together they lead `auto` through every stage that small problems reach.
SEEDS = (0, 1, 3)
# Iterations of each solver: what it calls is called by then, and nobody wants the answers.
ITERATIONS = 3
# Seconds of a solve at most.
TIME_LIMIT = 0.2
# Steps until bodies have met, slid and come to rest.
STEPS = 12
# Solvers that compile most, and what else does: whoever is left alone at the end has little to do.
LONGEST = ("solver auto", "solver newton", "solver newton-fb", "what stands", "many problems")
# Compiles the step, the largest kernel of all.
FIRST_STEP = "a box in maximal coordinates at position level"
SCENES = {
    "a box": lambda: library.box_on_plane(slope=0.2),
    "a ball": library.sphere_on_plane,
    "a stack": lambda: library.stack(3),
    "a chain": lambda: library.chain(3),
    "a rover": library.rover,
}


class Done(NamedTuple):
    """A piece of work that was done.

    Attributes:
        name: Which.
        compiled: How many functions were compiled for it.
        seconds: How long that took [s].
    """

    name: str
    compiled: int
    seconds: float


@cache
def tasks() -> dict[str, Callable[[], None]]:
    """All pieces of work by name, in the order in which the fewest functions are compiled twice side by side.

    The longest come first: the step, beside it the equations of its derivatives, which need no step to be
    compiled, and what most solves use.
    """
    found: dict[str, Callable[[], None]] = {}
    for name, scene in SCENES.items():
        for coordinates in ("maximal", "reduced"):
            for level in ("position", "velocity"):
                title = f"{name} in {coordinates} coordinates at {level} level"
                found[title] = lambda text=scene, c=coordinates, v=level: _simulate(text(), c, v)
    found["equations of derivatives"] = compile_equations
    found["many worlds"] = _many_worlds
    found["derivatives of steps"] = _derivatives_of_steps
    found["first solves"] = _first_solves
    others: dict[str, Callable[[], None]] = {}
    for info in all_solvers().values():
        if info.family not in ("external", "user"):
            others[f"solver {info.name}"] = lambda name=info.name: _solve_all(name)
    others["what stands"] = _what_stands
    others["many problems"] = _many_problems
    others["a comparison"] = _compare
    others["derivatives of answers"] = _derivatives_of_answers
    found |= {name: others[name] for name in LONGEST}
    return found | others


def _steps(name: str) -> bool:
    """Whether a piece of work simulates."""
    return "coordinates" in name or name in ("many worlds", "derivatives of steps")


def run(name: str) -> Done:
    """Do one piece of work in this process."""
    compiled, seconds = len(STOPWATCH.names), STOPWATCH.seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tasks()[name]()
    return Done(name, len(STOPWATCH.names) - compiled, STOPWATCH.seconds - seconds)


def run_all(names: list[str], workers: int | None = None) -> Iterator[Done]:
    """Do pieces of work in as many processes as there are cores, in whatever order they end.

    Whatever simulates waits until the first step has been compiled.
    """
    count = min(workers or os.cpu_count() or 1, len(names))
    ahead = list(names)
    busy: dict[Future[Done], str] = {}
    with ProcessPoolExecutor(count, mp_context=get_context("forkserver")) as pool:
        while ahead or busy:
            compiling = FIRST_STEP in (*ahead, *busy.values())
            ready = [name for name in ahead if name == FIRST_STEP or not (compiling and _steps(name))]
            for name in ready[: count - len(busy)]:
                ahead.remove(name)
                busy[pool.submit(run, name)] = name
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                del busy[future]
                yield future.result()


def _first_solves() -> None:
    """One problem of each type, from lists and from arrays that cannot be written to."""
    M, q = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-5.0, -6.0])
    M.flags.writeable = q.flags.writeable = False
    W = np.eye(3)
    W.flags.writeable = False
    for problem in (
        perp.LCP(M.tolist(), q.tolist()),
        perp.LCP(M, q),
        perp.LCP(np.eye(20) + np.tri(20) / 20, -np.ones(20)),
        perp.LCP([[-1.0]], [-1.0]),
        perp.BoxedLCP(M, q, 0.0, 1.0),
        perp.ContactProblem.coulomb(W, [-1.0, 0.2, 0.0], 0.5),
        perp.ContactProblem.coulomb(np.eye(2), [-1.0, 0.2], 0.5, dimension=2),
    ):
        solution = perp.solve(problem, throw=False)
        perp.solve(problem, start=solution, throw=False)
        perp.residuals(problem, solution.z)


@cache
def _problems() -> list[Problem]:
    """Random small problems of every type, mechanisms, a game, a string of many rows on a floor."""
    n = 400
    string = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    return [
        *(attempt.problem for seed in SEEDS for attempt in (*random_mixtures(seed), *random_rows(seed))),
        *(build(name).problem for name in ("box-on-slope", "stack", "chain")),
        perp.LCP([[0, 0, 3, 1], [0, 0, 2, 4], [4, 1, 0, 0], [2, 3, 0, 0]], -np.ones(4)),
        perp.LCP(scipy.sparse.csr_array(string), np.where(np.arange(n) % 50 < 5, -0.1, 0.01)),
    ]


def _solve_all(solver: str) -> None:
    for problem in _problems():
        for info, formulation in pairs(problem, external=False):
            if info.name == solver:
                _try(problem, solver, formulation)


def _try(problem: Problem, solver: str, formulation: str | None) -> None:
    limit = None if solver == "auto" else ITERATIONS
    try:
        solution = perp.solve(
            problem, solver, formulation=formulation, throw=False, time_limit=TIME_LIMIT, max_iterations=limit
        )
        if formulation is None:
            perp.solve(problem, solver, start=solution, throw=False, max_iterations=ITERATIONS)
    except perp.PerpError:  # it does not take this one
        return


def _simulate(text: str, coordinates: str, level: str) -> None:
    sim = perp.Simulation(text, step=0.01, coordinates=coordinates, level=level)
    for _ in range(STEPS):
        try:
            sim.step()
        except perp.PerpError:
            return
    sim.run(0.02)


def _many_worlds() -> None:
    for scene in (SCENES["a box"](), SCENES["a rover"]()):
        for coordinates in ("maximal", "reduced"):
            batch = perp.Batch(scene, worlds=2, threads=1, step=0.01, coordinates=coordinates)
            batch.step(STEPS)
            batch.rollout(np.zeros((2, 2, batch.ctrl.shape[1])), contacts=True)
            batch.modify(friction=0.4)
            batch.restore(batch.snapshot())
            batch.reset()


def _what_stands() -> None:
    """The stage of `auto` for towers, which small problems do not reach."""
    perp.solve(build("stack").problem, "proximal-point", options={"sweeps": 0, "begin": "held"}, throw=False)


def _many_problems() -> None:
    for problem in _problems()[:40]:
        perp.solve_many([problem] * 2, throw=False)


def _derivatives_of_answers() -> None:
    for problem in _problems():
        solution = perp.solve(problem, throw=False, time_limit=TIME_LIMIT)
        try:
            perp.derivative(problem, solution).vjp(np.ones(solution.z.size))
        except perp.PerpError:  # it has none, or was not solved
            continue


def _compare() -> None:
    """What the processes of `perp compare` do, here."""
    warm_up()
    problem = build("box-on-slope").problem
    run_cell(Cell("auto", "", "auto", None), problem, 1e-3, Limits(1e-9, 1e-6, 1.0))


def _derivatives_of_steps() -> None:
    parameters = ("friction", "gravity")
    for scene in SCENES.values():
        for coordinates in ("maximal", "reduced"):
            sim = perp.Simulation(scene(), step=0.01, coordinates=coordinates)
            for _ in range(STEPS):
                try:
                    sim.step()
                    sim.derivatives(parameters)
                    sim.derivatives(parameters, last=True)
                except perp.PerpError:
                    break
