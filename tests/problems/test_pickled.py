"""Problems that come from another process have the same arrays, and meet the same compiled code."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import perp
from perp.compilation.stopwatch import STOPWATCH
from perp.models.catalogue import build

PROBLEMS = {
    "dense LCP": perp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]),
    "sparse LCP": perp.LCP(scipy.sparse.csr_array(np.eye(3)), -np.ones(3)),
    "boxed": perp.BoxedLCP(np.eye(2), [-1.0, 2.0], 0.0, 0.5),
    "contact": perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.2, 0.0], 0.5),
    "dynamics": build("box-on-slope", angle=25.0, mu=0.3).problem,
}


def arrays(part: Any, name: str = "problem") -> dict[str, np.ndarray]:
    """All arrays of an object and of what it holds, by where they are; what solvers keep with it is left out."""
    found = {}
    for key, value in vars(part).items():
        if isinstance(value, np.ndarray):
            found[f"{name}.{key}"] = value
        elif hasattr(value, "__dict__") and not key.startswith("_") and value is not part:
            found |= arrays(value, f"{name}.{key}")
    return found


@pytest.mark.parametrize("name", PROBLEMS)
def test_arrays_of_a_pickled_problem_are_read_only_as_before(name: str) -> None:
    problem = PROBLEMS[name]
    there = pickle.loads(pickle.dumps(problem))
    before, after = (
        {key: array for key, array in arrays(each).items() if "._" not in key} for each in (problem, there)
    )
    assert before.keys() == after.keys()
    assert after
    for key, array in after.items():
        assert np.array_equal(array, before[key])
        assert not array.flags.writeable, key


@pytest.mark.parametrize("name", PROBLEMS)
def test_nothing_is_compiled_again_for_a_pickled_problem(name: str) -> None:
    problem = PROBLEMS[name]
    solution = perp.solve(problem)
    perp.residuals(problem, solution.z)
    compiled = len(STOPWATCH.names)
    there = pickle.loads(pickle.dumps(problem))
    assert np.array_equal(perp.solve(there).z, solution.z)
    perp.residuals(there, solution.z)
    assert STOPWATCH.names[compiled:] == []
