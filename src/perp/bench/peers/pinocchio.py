"""Pinocchio: projected Gauss–Seidel and ADMM on the Delassus matrix, exact Coulomb friction.

Its contacts have the normal last, and it takes a dense matrix here: friction in space only.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from perp.bench.peers.adapter import PeerReply, PeerRequest, Tolerance, dense, peer
from perp.bench.timing import timed
from perp.problems import ContactProblem
from perp.problems.sets import COULOMB
from perp.solvers.external.adapter import load
from perp.solvers.registry import Package

ITERATIONS = 20_000
TOLERANCE: Tolerance = {
    "absolute_feasibility_tol": lambda tol: 0.1 * tol,
    "absolute_complementarity_tol": lambda tol: 0.1 * tol,
    "relative_feasibility_tol": lambda tol: 0.1 * tol,
    "relative_complementarity_tol": lambda tol: 0.1 * tol,
    "max_iterations": lambda _: ITERATIONS,
}


def _usable() -> str | None:
    if hasattr(load("pinocchio"), "ADMMConstraintSolver"):
        return None
    return "this release of Pinocchio has no constraint solvers; add one with: pip install 'pin>=4.1'"


PINOCCHIO = Package("pinocchio", "pip install 'pin>=4.1'", check=_usable)


def _refuses(problem: ContactProblem) -> str | None:
    sets = problem.sets
    if (sets.kind == COULOMB).all() and (np.diff(sets.start) == 3).all():
        return None
    return "it takes Coulomb friction in space and nothing else"


def _refuses_relaxed(problem: ContactProblem) -> str | None:
    # its sweep projects on the disc of the current normal impulse, which has no relaxed form
    return "it solves the exact problem only" if problem.relaxed else _refuses(problem)


def _register(name: str, family: str, summary: str, refuses: Callable[[ContactProblem], str | None]) -> None:
    @peer(name, takes=ContactProblem, needs=PINOCCHIO, summary=summary, tolerance=TOLERANCE, refuses=refuses)
    def solve(request: PeerRequest) -> PeerReply:
        pin = load("pinocchio")

        problem: ContactProblem = request.problem
        last = np.arange(problem.size).reshape(-1, 3)[:, [1, 2, 0]].ravel()  # normal last
        delassus = pin.DelassusOperatorDense(np.asfortranarray(dense(problem.W)[np.ix_(last, last)]))
        models, datas = _contacts(pin, problem)
        settings = getattr(pin, f"{family}SolverSettings")()
        for option, value in request.options.items():
            setattr(settings, option, value)
        settings.solve_ncp = not problem.relaxed
        solver = getattr(pin, f"{family}ConstraintSolver")(problem.size)
        result = getattr(pin, f"{family}SolverResult")()
        q = np.array(problem.q[last])
        time, claimed = timed(lambda: solver.solve(delassus, q, models, datas, settings, result))
        z = np.empty(problem.size)
        z[last] = result.retrieveConstraintImpulses()
        return PeerReply(z, bool(claimed), time, int(result.iterations))


def _contacts(pin: Any, problem: ContactProblem) -> tuple[Any, Any]:
    """One point contact a contact, on any body: the solvers ask them for friction and size only."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for mu in problem.sets.a:
        contact = pin.PointContactConstraintModel(model, 1)
        contact.setFriction(float(mu))
        general = pin.ConstraintModel(contact)
        models.append(general)
        datas.append(general.createData())
    return models, datas


_register("pinocchio-admm", "ADMM", "ADMM of Pinocchio", _refuses)
_register("pinocchio-pgs", "PGS", "projected Gauss–Seidel of Pinocchio", _refuses_relaxed)
