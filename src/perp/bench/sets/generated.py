"""Sets made from the generated families: LCPs, boxed LCPs, friction index, random contacts."""

from collections.abc import Iterator

from perp.bench.sets import families
from perp.bench.sets.base import NamedProblem
from perp.bench.sets.random_contacts import random_problem

SIZES = (8, 32, 128, 256)


def generated_lcps() -> Iterator[NamedProblem]:
    """Positive definite, nonsymmetric, rank-deficient and contact-like LCPs of growing size."""
    for n in SIZES:
        for seed in range(2):
            yield NamedProblem(f"spd-{n}-{seed}", families.spd(n, seed))
            yield NamedProblem(f"p-matrix-{n}-{seed}", families.p_matrix(n, seed)[0])
            yield NamedProblem(f"redundant-{n}-{seed}", families.redundant(n, seed))
            yield NamedProblem(f"normals-{n}-{seed}", families.normals(families.contacts(n, seed)))


def motors() -> Iterator[NamedProblem]:
    """Motors with torque limits: positive definite with a box."""
    for n in SIZES:
        for seed in range(3):
            yield NamedProblem(f"motors-{n}-{seed}", families.motors(n, seed))


def contacts() -> Iterator[NamedProblem]:
    """Rank-deficient contacts whose friction is bounded by μ times the normal impulse, row by row."""
    for count in (4, 16, 64):
        for seed in range(5):
            yield NamedProblem(f"contacts-{count}-{seed}", families.contacts(count, seed))


def mixtures() -> Iterator[NamedProblem]:
    """Mixtures of all sets, meant to be nasty: jams, duplicates, μ from 0 to 1e6, mass ratios up to 1e6."""
    for seed in range(40):
        yield NamedProblem(f"mixture-{seed}", random_problem(seed))
