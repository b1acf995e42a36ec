"""Contact problems from the arrays that the field's files hold, in their two forms.

Local (reduced):  u = W r + q.
Global:           M v = H r + G l + f,  u = Hᵀ v + w,  0 = Gᵀ v + b.

Both may have bilateral constraints; their rows come after those of the contacts, as `Free` sets.
"""

from typing import Any

import numpy as np

from perp.files.matrices import mirrored
from perp.problems.contact import ContactProblem
from perp.problems.errors import ProblemError
from perp.problems.sets import FREE, Sets
from perp.problems.validation import is_sparse


def contact_sets(mu: np.ndarray, mu_r: np.ndarray | None, dimension: int, *, free: int = 0) -> Sets:
    """One set per friction coefficient, then `free` bilateral rows.

    A contact has `dimension` rows: 2 or 3, or 5 with coefficients of rolling friction [m].
    """
    if mu_r is None:
        if dimension not in (2, 3):
            raise ProblemError(f"dimension = {dimension}: 2 or 3 is needed without rolling friction")
        sets = Sets.coulomb(mu, dimension=dimension)
    else:
        if dimension != 5:
            raise ProblemError(f"dimension = {dimension}: 5 is needed with rolling friction (mu_r)")
        sets = Sets.rolling(mu, mu_r)
    if not free:
        return sets
    return Sets.from_arrays(
        np.concatenate([sets.kind, np.full(free, FREE)]),
        np.concatenate([sets.parameters, np.zeros((free, 6))]),
        np.concatenate([sets.dimension, np.ones(free, dtype=np.int64)]),
    )


def check_shape(name: str, shape: tuple[int, ...], expected: tuple[int, int]) -> None:
    """Refuses a matrix whose claimed shape does not fit the vectors, before memory is taken for it."""
    if shape != expected:
        raise ProblemError(f"{name} has shape {shape}: the vectors need {expected}")


def local_problem(W: Any, q: np.ndarray, sets: Sets) -> ContactProblem:
    """The problem in reduced form; W is dense or sparse and is kept without a copy."""
    return ContactProblem(W, q, sets, copy=False)


def global_problem(mass: Any, jacobian: Any, f: np.ndarray, w: np.ndarray, sets: Sets) -> ContactProblem:
    """The problem in dynamics form; `jacobian` is Hᵀ. Nothing is copied.

    A sparse mass of which the file has one triangle only (as LMGC90 writes it) is completed.
    """
    if is_sparse(mass):
        mass = mirrored(mass)
    return ContactProblem.from_dynamics(mass, jacobian, f, w, sets, copy=False)
