"""The convex sets in which impulses live, one per constraint, and their product."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from perp.problems.errors import ProblemError
from perp.problems.validation import Vector, freeze, same_array, vector

FREE, NONNEGATIVE, BOX, COULOMB, ELLIPTIC, ROLLING = range(6)
KIND_NAMES = ("Free", "Nonnegative", "Box", "Coulomb", "Elliptic", "Rolling")


class ConstraintSet:
    """One small convex set K of impulses. Rows are ordered normal, tangents, rolling.

    Every set has a projection, De Saxcé's shift Γ, and the residual of −(u + Γ(u)) ∈ N_K(λ).
    """

    kind: ClassVar[int]
    dimension: int = 1

    @property
    def parameters(self) -> tuple[float, float]:
        return (0.0, 0.0)

    def project(self, x: Any) -> Vector:
        """The point of K nearest to x, shape (dimension,)."""
        from perp.problems.set_kernels import project

        x = vector("x", x, self.dimension, finite=False)
        out = np.empty(self.dimension)
        project(self.kind, *self.parameters, x, 0, self.dimension, out)
        return out

    def shift(self, velocity: Any) -> float:
        """Γ(u) [m/s], added to the normal row."""
        from perp.problems.set_kernels import shift

        u = vector("velocity", velocity, self.dimension, finite=False)
        return shift(self.kind, *self.parameters, u, 0, self.dimension)

    def residual(self, impulse: Any, velocity: Any, *, relaxed: bool = False) -> float:
        """‖λ − P_K(λ − u − Γ(u))‖: zero exactly when −(u + Γ(u)) is in the normal cone of K at λ."""
        impulse = vector("impulse", impulse, self.dimension, finite=False)
        x = impulse - vector("velocity", velocity, self.dimension, finite=False)
        if not relaxed:
            x[0] -= self.shift(velocity)
        return float(np.linalg.norm(impulse - self.project(x)))


@dataclass(frozen=True)
class Free(ConstraintSet):
    """λ in ℝ: a joint or another bilateral constraint; u = 0."""

    kind: ClassVar[int] = FREE


@dataclass(frozen=True)
class Nonnegative(ConstraintSet):
    """λ ≥ 0: frictionless contact or a joint limit."""

    kind: ClassVar[int] = NONNEGATIVE


@dataclass(frozen=True)
class Box(ConstraintSet):
    """lo ≤ λ ≤ hi: a motor, dry friction in a joint, boxed contact friction. Infinite bounds mean none."""

    lo: float
    hi: float
    kind: ClassVar[int] = BOX

    def __post_init__(self) -> None:
        lo, hi = _number("Box.lo", self.lo, finite=False), _number("Box.hi", self.hi, finite=False)
        if lo > hi or lo == math.inf or hi == -math.inf:
            raise ProblemError(f"Box lo = {lo}, hi = {hi}: lo ≤ hi with a number in between is needed")
        object.__setattr__(self, "lo", lo)
        object.__setattr__(self, "hi", hi)

    @property
    def parameters(self) -> tuple[float, float]:
        return (self.lo, self.hi)


@dataclass(frozen=True)
class Coulomb(ConstraintSet):
    """‖λ_T‖ ≤ μ λ_N: contact with exact friction, 3 rows (2 in the plane); μ = ∞ never slips."""

    mu: float
    dimension: int = 3
    kind: ClassVar[int] = COULOMB

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _coefficient("Coulomb.mu", self.mu))
        if self.dimension not in (2, 3):
            raise ProblemError(f"Coulomb.dimension = {self.dimension}: 2 or 3 is needed")

    @property
    def parameters(self) -> tuple[float, float]:
        return (self.mu, 0.0)


@dataclass(frozen=True)
class Elliptic(ConstraintSet):
    """‖(λ₁/μ₁, λ₂/μ₂)‖ ≤ λ_N: friction that differs along the two tangents."""

    mu1: float
    mu2: float
    dimension: ClassVar[int] = 3  # type: ignore[misc]
    kind: ClassVar[int] = ELLIPTIC

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu1", _coefficient("Elliptic.mu1", self.mu1))
        object.__setattr__(self, "mu2", _coefficient("Elliptic.mu2", self.mu2))

    @property
    def parameters(self) -> tuple[float, float]:
        return (self.mu1, self.mu2)


@dataclass(frozen=True)
class Rolling(ConstraintSet):
    """‖λ_T‖ ≤ μ λ_N and ‖λ_R‖ ≤ μ_r λ_N: sliding and rolling resistance, 5 rows; μ_r is a length [m]."""

    mu: float
    mu_r: float
    dimension: ClassVar[int] = 5  # type: ignore[misc]
    kind: ClassVar[int] = ROLLING

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _coefficient("Rolling.mu", self.mu))
        object.__setattr__(self, "mu_r", _coefficient("Rolling.mu_r", self.mu_r))

    @property
    def parameters(self) -> tuple[float, float]:
        return (self.mu, self.mu_r)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Sets:
    """The product of one set per constraint, in flat arrays.

    Attributes:
        kind: Which set, shape (count,): FREE = 0, NONNEGATIVE, BOX, COULOMB, ELLIPTIC, ROLLING = 5.
        start: Row offsets, shape (count + 1,): constraint c has rows start[c] … start[c + 1] − 1.
        a, b: Parameters, shape (count,): Box lo and hi, Coulomb μ, Elliptic μ₁ and μ₂, Rolling μ and μ_r.
    """

    kind: np.ndarray
    start: np.ndarray
    a: Vector
    b: Vector

    def __init__(self, sets: Iterable[ConstraintSet]) -> None:
        members = list(sets)
        for c, member in enumerate(members):
            if not isinstance(member, ConstraintSet):
                raise ProblemError(f"sets[{c}] is {type(member).__name__}: Free, Nonnegative, Box, Coulomb, "
                                   "Elliptic or Rolling is needed")  # fmt: skip
        parameters = np.array([member.parameters for member in members], dtype=np.float64).reshape(-1, 2)
        self._assign(
            np.array([member.kind for member in members], dtype=np.int64),
            np.array([member.dimension for member in members], dtype=np.int64),
            np.ascontiguousarray(parameters[:, 0]),
            np.ascontiguousarray(parameters[:, 1]),
        )

    def _assign(self, kind: np.ndarray, dimension: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        start = np.zeros(kind.size + 1, dtype=np.int64)
        np.cumsum(dimension, out=start[1:])
        for name, array in (("kind", kind), ("start", start), ("a", a), ("b", b)):
            object.__setattr__(self, name, freeze(array))

    @classmethod
    def from_arrays(cls, kind: Any, a: Any, b: Any, dimension: Any) -> Sets:
        """From flat arrays of kinds, parameters and numbers of rows, each of shape (count,)."""
        raw_kind, raw_dimension = vector("kind", kind), vector("dimension", dimension)
        first, second = (
            vector("a", a, raw_kind.size, finite=False),
            vector("b", b, raw_kind.size, finite=False),
        )
        kinds, dimensions = raw_kind.astype(np.int64), raw_dimension.astype(np.int64)
        if dimensions.size != kinds.size:
            raise ProblemError(f"dimension has {dimensions.size} entries: {kinds.size} are needed")
        bad = (kinds != raw_kind) | (kinds < FREE) | (kinds > ROLLING)
        if bad.any():
            c = int(np.argmax(bad))
            raise ProblemError(f"kind[{c}] = {raw_kind[c]:g} is not one of 0 … 5")
        expected = np.array([1, 1, 1, 3, 3, 5])[kinds]
        bad = (dimensions != expected) & ~((kinds == COULOMB) & (dimensions == 2)) | (
            dimensions != raw_dimension
        )
        if bad.any():
            c = int(np.argmax(bad))
            raise ProblemError(f"dimension[{c}] = {raw_dimension[c]:g} does not fit {KIND_NAMES[kinds[c]]}")
        _check_parameters(kinds, first, second)
        sets = cls.__new__(cls)
        sets._assign(kinds, dimensions, first.copy(), second.copy())
        return sets

    @classmethod
    def coulomb(cls, mu: Any, *, dimension: int = 3) -> Sets:
        """One Coulomb set per entry of mu."""
        mu = vector("mu", mu, finite=False)
        return cls.from_arrays(
            np.full(mu.size, COULOMB), _coefficients("mu", mu), np.zeros(mu.size), np.full(mu.size, dimension)
        )

    @classmethod
    def rolling(cls, mu: Any, mu_r: Any) -> Sets:
        """One Rolling set per entry of mu and mu_r."""
        mu = vector("mu", mu, finite=False)
        mu_r = vector("mu_r", mu_r, mu.size, finite=False)
        return cls.from_arrays(
            np.full(mu.size, ROLLING),
            _coefficients("mu", mu),
            _coefficients("mu_r", mu_r),
            np.full(mu.size, 5),
        )

    @property
    def count(self) -> int:
        """Number of constraints."""
        return self.kind.size

    @cached_property
    def rows(self) -> int:
        """Number of rows over all constraints."""
        return int(self.start[-1])

    @cached_property
    def dimension(self) -> np.ndarray:
        """Rows of each constraint, shape (count,)."""
        return freeze(np.diff(self.start))

    @cached_property
    def normal_rows(self) -> np.ndarray:
        """First row of each constraint, shape (count,)."""
        return freeze(self.start[:-1].copy())

    def kinds(self) -> dict[str, int]:
        """How many constraints of each kind there are, by name."""
        counts = np.bincount(self.kind, minlength=6)
        return {name: int(count) for name, count in zip(KIND_NAMES, counts, strict=True) if count}

    def project(self, x: Any) -> Vector:
        """The point of the product nearest to x, shape (rows,)."""
        from perp.problems.set_kernels import project_all

        x = vector("x", x, self.rows, finite=False)
        out = np.empty(self.rows)
        project_all(self.kind, self.start, self.a, self.b, x, out)
        return out

    def subset(self, constraints: np.ndarray) -> Sets:
        """The product of some of the constraints, in the order given."""
        sets = Sets.__new__(Sets)
        sets._assign(
            self.kind[constraints], self.dimension[constraints], self.a[constraints], self.b[constraints]
        )
        return sets

    def with_friction_below(self, limit: float) -> Sets:
        """The same sets with every friction coefficient limited to `limit`."""
        cone = self.kind >= COULOMB
        sets = Sets.__new__(Sets)
        a, b = (np.where(cone, np.minimum(values, limit), values) for values in (self.a, self.b))
        sets._assign(self.kind, self.dimension, a, b)
        return sets

    def equals(self, other: Sets) -> bool:
        """Whether `other` is the same product, bit for bit."""
        return all(
            same_array(getattr(self, name), getattr(other, name)) for name in ("kind", "start", "a", "b")
        )

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, c: int) -> ConstraintSet:
        kind, a, b = int(self.kind[c]), float(self.a[c]), float(self.b[c])
        if kind == FREE:
            return Free()
        if kind == NONNEGATIVE:
            return Nonnegative()
        if kind == BOX:
            return Box(a, b)
        if kind == COULOMB:
            return Coulomb(a, int(self.dimension[c]))
        return Elliptic(a, b) if kind == ELLIPTIC else Rolling(a, b)

    def __iter__(self) -> Iterator[ConstraintSet]:
        return (self[c] for c in range(self.count))

    def __repr__(self) -> str:
        return "Sets(" + ", ".join(f"{count} {name}" for name, count in self.kinds().items()) + ")"


def _number(name: str, value: Any, *, finite: bool = True) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ProblemError(f"{name} is {value!r}: a number is needed") from None
    if math.isnan(number) or (finite and math.isinf(number)):
        raise ProblemError(f"{name} is {number}: a {'finite ' if finite else ''}number is needed")
    return number


def _coefficient(name: str, value: Any) -> float:
    number = _number(name, value, finite=False)
    if number < 0:
        raise ProblemError(f"{name} = {number} is negative")
    return number


def _coefficients(name: str, values: Vector) -> Vector:
    bad = ~(values >= 0)
    if bad.any():
        i = int(np.argmax(bad))
        raise ProblemError(f"{name}[{i}] = {values[i]} is {'negative' if values[i] < 0 else 'no number'}")
    return values


def _check_parameters(kind: np.ndarray, a: Vector, b: Vector) -> None:
    """The same conditions as the single sets, over whole arrays."""
    cone = kind >= COULOMB
    for name, values in (("a", a), ("b", b)):
        bad = cone & ~(values >= 0)
        if bad.any():
            c = int(np.argmax(bad))
            raise ProblemError(f"{name}[{c}] = {values[c]}: a friction coefficient is not negative")
    box = kind == BOX
    bad = box & ~((a <= b) & (a < np.inf) & (b > -np.inf))
    if bad.any():
        c = int(np.argmax(bad))
        raise ProblemError(f"Box at constraint {c}: lo = {a[c]}, hi = {b[c]}: lo ≤ hi is needed")
