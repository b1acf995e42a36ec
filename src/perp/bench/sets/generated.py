"""Sets made from the generated families: LCPs, boxed LCPs, friction index, random contacts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from perp.bench.sets import families
from perp.bench.sets.base import NamedProblem
from perp.bench.sets.random_contacts import random_problem


@dataclass
class GeneratedLCPs:
    """Positive definite, nonsymmetric, rank-deficient and contact-like LCPs of growing size."""

    name: str = "lcp-generated"
    sizes: tuple[int, ...] = (8, 32, 128, 256)
    seeds: int = 2

    def problems(self) -> Iterator[NamedProblem]:
        """Four families a size and seed."""
        for n in self.sizes:
            for seed in range(self.seeds):
                yield NamedProblem(f"spd-{n}-{seed}", families.spd(n, seed))
                yield NamedProblem(f"p-matrix-{n}-{seed}", families.p_matrix(n, seed)[0])
                yield NamedProblem(f"redundant-{n}-{seed}", families.redundant(n, seed))
                yield NamedProblem(f"normals-{n}-{seed}", families.normals(families.contacts(n, seed)))


@dataclass
class BoxedSet:
    """Motors with torque limits: positive definite with a box."""

    name: str = "boxed"
    sizes: tuple[int, ...] = (8, 32, 128, 256)
    seeds: int = 3

    def problems(self) -> Iterator[NamedProblem]:
        """One a size and seed."""
        for n in self.sizes:
            for seed in range(self.seeds):
                yield NamedProblem(f"motors-{n}-{seed}", families.motors(n, seed))


@dataclass
class FrictionIndexSet:
    """Rank-deficient contacts whose friction is bounded by μ times the normal impulse, row by row."""

    name: str = "friction-index"
    counts: tuple[int, ...] = (4, 16, 64)
    seeds: int = 5

    def problems(self) -> Iterator[NamedProblem]:
        """One a count of contacts and seed."""
        for count in self.counts:
            for seed in range(self.seeds):
                yield NamedProblem(f"contacts-{count}-{seed}", families.contacts(count, seed))


@dataclass
class RandomContacts:
    """Mixtures of all sets, meant to be nasty: jams, duplicates, μ from 0 to 1e6, mass ratios up to 1e6."""

    name: str = "random-contacts"
    count: int = 40

    def problems(self) -> Iterator[NamedProblem]:
        """One a seed."""
        for seed in range(self.count):
            yield NamedProblem(f"mixture-{seed}", random_problem(seed))
