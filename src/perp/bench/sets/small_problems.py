"""Small random problems of every type and form: for warm-up, and for the search for false claims."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import perp
from perp.bench.sets.random_contacts import random_problem
from perp.problems import Problem

LARGEST = 8


class SmallProblem(NamedTuple):
    """A problem with its type and form in words, and where to start, None for nowhere."""

    form: str
    problem: Problem
    start: Any = None


def delassus(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Symmetric and positive semidefinite, of any rank."""
    J = rng.normal(size=(rows, int(rng.integers(1, rows + 3))))
    if rng.random() < 0.3:
        J = np.round(J)
    W = J @ J.T
    return W + np.eye(rows) * (rng.random() < 0.5)


def random_rows(seed: int) -> Iterator[SmallProblem]:
    """LCPs and boxed LCPs with any matrix, narrow and wide bounds, friction indices and starts."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng([seed, 6])
    n = int(rng.integers(1, 7))
    M = delassus(rng, n) if rng.random() < 0.6 else rng.normal(size=(n, n))
    M = M * 10.0 ** rng.uniform(-12, 12) if rng.random() < 0.5 else M
    q = rng.normal(size=n) * 10.0 ** (rng.uniform(-12, 12) if rng.random() < 0.5 else 0.0)
    unit = np.abs(q).max() / (np.abs(M).max() or 1.0)
    start = rng.normal(size=n) * unit * 10.0 ** rng.uniform(-12, 2)
    yield SmallProblem("lcp", perp.LCP(M, q))
    yield SmallProblem("lcp sparse", perp.LCP(csr_array(M), q), np.abs(start))
    bounds = np.sort(rng.normal(size=(2, n)) * unit * 10.0 ** rng.uniform(-10, 4, n), axis=0)
    lo = np.where(rng.random(n) < 0.3, -np.inf, np.where(rng.random(n) < 0.3, 0.0, bounds[0]))
    hi = np.where(rng.random(n) < 0.3, np.inf, np.maximum(bounds[1], lo))
    yield SmallProblem("boxed", perp.BoxedLCP(M, q, lo, hi))
    yield SmallProblem("boxed started", perp.BoxedLCP(M, q, lo, hi), start)
    # what is pushed hardly moves within its bounds: a start inside them must not come back as the answer
    near = np.sort(rng.normal(size=(2, n)) * unit * 10.0 ** rng.uniform(-14, -6), axis=0)
    yield SmallProblem(
        "boxed heavy", perp.BoxedLCP(M, q, *near), near[0] + rng.random(n) * (near[1] - near[0])
    )
    least = 5e-324 * rng.integers(0, 1000, n)
    yield SmallProblem("boxed denormal", perp.BoxedLCP(M, q, -least, least + 5e-324 * rng.integers(0, 2, n)))
    index = np.where(np.arange(n) % 3 == 0, -1, np.arange(n) // 3 * 3)
    limit = np.where(index < 0, np.inf, 10.0 ** rng.uniform(-6, 9, n))
    lowest = np.where(index < 0, 0.0, -limit)
    yield SmallProblem("boxed friction", perp.BoxedLCP(M, q, lowest, limit, friction_index=index))


def random_mixtures(seed: int) -> Iterator[SmallProblem]:
    """The problems of `random_contacts` with up to eight constraints, in every type and form."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng([seed, 7])
    base = random_problem(seed)
    while base.contact_count > LARGEST:
        base = random_problem(int(rng.integers(2**40)))
    W, q, sets = np.array(base.W), np.array(base.q), base.sets
    W, q = W * 10.0 ** rng.choice([-8, 0, 8]), q * 10.0 ** rng.choice([-8, 0, 8])
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    yield SmallProblem("contact", perp.ContactProblem(W, q, sets))
    yield SmallProblem("contact sparse", perp.ContactProblem(csr_array(W), q, sets))
    bodies = perp.ContactProblem.from_dynamics(np.eye(q.size), root, np.zeros(q.size), q, sets)
    yield SmallProblem("contact dynamics", bodies)
    yield SmallProblem("contact relaxed", perp.ContactProblem(W, q, sets, relaxed=True))
    yield SmallProblem("lcp", perp.LCP(W, q))
