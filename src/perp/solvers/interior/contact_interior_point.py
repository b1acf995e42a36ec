"""Interior point for contact problems: the cone program of the relaxation, and its fixed point for Coulomb.

The impulses of the relaxation minimise ½ λᵀ W λ + qᵀ λ over the friction cones: one cone program, solved by
`cone-interior`. Exact friction adds the shift μ ‖u_T‖ of the last answer to the normal velocities and solves
again, with Anderson acceleration, until it stands still. Dense, O(rows³) an iteration, 10 to 30 iterations
for each program; W must be symmetric and positive semidefinite, of any rank.

Reference: Acary, Cadoux, Lemaréchal and Malick, A formulation of the linear discrete Coulomb friction problem
via convex optimization, ZAMM 91 (2011); Acary, Armand, Nguyen and Shpakovych (2022).
"""

from __future__ import annotations

import numpy as np

from perp.formulations.dual import dual, dual_fixed_point
from perp.formulations.scaled_contact import refuses_asymmetric
from perp.problems import ContactProblem
from perp.solvers import registry
from perp.solvers.attempt import Attempt, Control


@registry.register(
    "interior-point",
    takes=ContactProblem,
    refuses=refuses_asymmetric,
    summary="interior point on the relaxation, with a fixed point on the sliding speeds for exact friction",
)
def interior_point(problem: ContactProblem, control: Control, options: object) -> Attempt:
    """Solve a contact problem by cone programs."""
    if problem.size == 0:
        return Attempt(np.zeros(0), 0)
    from perp.solvers.solve import run_formulation

    turned = dual(problem) if problem.relaxed else dual_fixed_point(problem)
    info = registry.find("cone-interior")
    attempt, turned = run_formulation(info, turned, control.through(turned.back, None), info.options())
    attempt.z = turned.back(attempt.z)
    return attempt
