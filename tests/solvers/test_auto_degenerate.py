"""Redundant contacts of the simulator and mixtures on which Newton cycles: the default must find an answer."""

from __future__ import annotations

import pytest

import perp
from perp.bench.sets.random_contacts import random_problem
from perp.scenes import library
from perp.stepping import contact_solve

SCENES = {
    "card house": (library.card_house(), {}),
    "arch": (library.arch(9, 0.11), {"route": "sequence"}),
    "stack of growing masses": (library.stack(6, ratio=4.0), {"route": "sequence"}),
    "wall": (library.wall(2, 5), {"level": "velocity"}),
}


@pytest.mark.parametrize("name", SCENES)
def test_contact_problems_of_structures_at_rest_are_solved_to_1e_10(name, monkeypatch):
    scene, options = SCENES[name]
    problems = []

    def keep(problem, *arguments, **keywords):
        problems.append(problem)
        return perp.solve(problem, *arguments, **keywords)

    monkeypatch.setattr(contact_solve, "solve", keep)
    simulation = perp.Simulation(scene, step=0.01, **options)
    for _ in range(6):
        simulation.step()
    assert problems
    for problem in problems[:10]:
        assert perp.solve(problem, tol=1e-10).residual <= 1e-10


@pytest.mark.parametrize("seed", [172, 549, 656, 686, 765, 1141, 1294, 1333])
def test_mixtures_on_which_newton_from_sweeps_cycles(seed):
    problem = random_problem(seed)
    solution = perp.solve(problem)
    assert perp.residual(problem, solution.z) <= 1e-8
    assert solution.info["starts"] > 1
