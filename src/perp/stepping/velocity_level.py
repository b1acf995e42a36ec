"""Velocity level: Moreau's time stepping with Baumgarte's correction, one contact problem a step.

    J u⁺ + Υ c(q⁻)/h + Σ λ ∈ −N(λ),   normal rows J_n u⁺ + gap⁻/h, or J_n (u⁺ + e u⁻) where a contact bounces

An open gap counts in full, overlap and joint errors with the share Υ. One solve a step, with drift that Υ
only bounds: see position_level for the level without drift.

Reference: Moreau, Unilateral contact and dry friction in finite freedom dynamics (1988).
"""

from __future__ import annotations

import numpy as np

from perp.problems import ContactProblem
from perp.stepping.contact_solve import solve_contacts
from perp.stepping.outcome import Outcome
from perp.stepping.system import StepSystem


def velocity_problem(system: StepSystem) -> ContactProblem:
    """The contact problem of a step at velocity level, in dynamics form: for any solver and formulation."""
    return system.dynamics_problem(system.bias(None))


def solve_velocity_level(system: StepSystem, start: np.ndarray) -> Outcome:
    """Solve a step at velocity level from the impulses `start`, shape (rows,)."""
    bias = system.bias(None)
    solution = solve_contacts(system, system.problem(bias), start)
    return Outcome(
        impulse=solution.z,
        velocity=system.body_velocity(solution.z),
        iterations=1,
        solver_iterations=solution.iterations,
        bias=bias,
        message="" if solution.solved else f"contact solver: {solution.status.name}",
    )
