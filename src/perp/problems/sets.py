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
# The column of the parameters that holds the cohesion of a friction set.
COHESION = 5
KIND_NAMES = ("Free", "Nonnegative", "Box", "Coulomb", "Elliptic", "Rolling")


class ConstraintSet:
    """One small convex set K of impulses. Rows are ordered normal, tangents, rolling.

    Every set has a projection, De Saxcé's shift Γ, and the residual of −(u + Γ(u)) ∈ N_K(λ).
    """

    kind: ClassVar[int]
    dimension: int = 1

    @property
    def parameters(self) -> np.ndarray:
        """The set's row of `Sets.parameters`, shape (6,)."""
        return np.zeros(6)

    def project(self, x: Any) -> Vector:
        """The point of K nearest to x, shape (dimension,)."""
        from perp.problems.set_kernels import project

        x = vector("x", x, self.dimension, finite=False)
        out = np.empty(self.dimension)
        project(self.kind, self.parameters, x, 0, self.dimension, out)
        return out

    def shift(self, velocity: Any) -> float:
        """Γ(u) [m/s], added to the normal row."""
        from perp.problems.set_kernels import shift

        u = vector("velocity", velocity, self.dimension, finite=False)
        return shift(self.kind, self.parameters, u, 0, self.dimension)

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
    def parameters(self) -> np.ndarray:
        return _row(self.lo, self.hi)


@dataclass(frozen=True)
class Coulomb(ConstraintSet):
    """‖λ_T‖ ≤ μ λ_N: contact with exact friction, 3 rows (2 in the plane); μ = ∞ never slips.

    With a cohesion c [N·s] the cone has its apex at λ_N = −c, as for every set with friction: a contact that
    holds up to c against being pulled off.
    """

    mu: float
    dimension: int = 3
    cohesion: float = 0.0
    kind: ClassVar[int] = COULOMB

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _not_negative("Coulomb.mu", self.mu))
        object.__setattr__(self, "cohesion", _not_negative("Coulomb.cohesion", self.cohesion, finite=True))
        if self.dimension not in (2, 3):
            raise ProblemError(f"Coulomb.dimension = {self.dimension}: 2 or 3 is needed")

    @property
    def parameters(self) -> np.ndarray:
        return _row(self.mu, cohesion=self.cohesion)


@dataclass(frozen=True, init=False)
class Elliptic(ConstraintSet):
    """‖(λ₁/μ₁, …, λ_k/μ_k)‖ ≤ λ_N with k = 1 … 5 tangents: friction that differs along them.

    A tangent with μ_i = 0 is without friction. Rows after the second tangent turn about the normal and roll
    about the tangents: their μ_i are lengths [m], and MuJoCo's `condim` 1, 3, 4 and 6 are this set with none,
    two, three and five coefficients.
    """

    mu: tuple[float, ...]
    cohesion: float
    kind: ClassVar[int] = ELLIPTIC

    def __init__(self, *mu: float, cohesion: float = 0.0) -> None:
        if not 1 <= len(mu) <= 5:
            raise ProblemError(f"Elliptic has {len(mu)} coefficients: it needs 1 to 5")
        values = tuple(_not_negative(f"Elliptic.mu[{i}]", value) for i, value in enumerate(mu))
        object.__setattr__(self, "mu", values)
        object.__setattr__(self, "cohesion", _not_negative("Elliptic.cohesion", cohesion, finite=True))

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return 1 + len(self.mu)

    @property
    def parameters(self) -> np.ndarray:
        return _row(*self.mu, cohesion=self.cohesion)


@dataclass(frozen=True)
class Rolling(ConstraintSet):
    """‖λ_T‖ ≤ μ λ_N and ‖λ_R‖ ≤ μ_r λ_N: sliding and rolling resistance, 5 rows; μ_r is a length [m]."""

    mu: float
    mu_r: float
    cohesion: float = 0.0
    dimension: ClassVar[int] = 5  # type: ignore[misc]
    kind: ClassVar[int] = ROLLING

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _not_negative("Rolling.mu", self.mu))
        object.__setattr__(self, "mu_r", _not_negative("Rolling.mu_r", self.mu_r))
        object.__setattr__(self, "cohesion", _not_negative("Rolling.cohesion", self.cohesion, finite=True))

    @property
    def parameters(self) -> np.ndarray:
        return _row(self.mu, self.mu_r, cohesion=self.cohesion)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Sets:
    """The product of one set per constraint, in flat arrays.

    Attributes:
        kind: Which set, shape (count,): FREE = 0, NONNEGATIVE, BOX, COULOMB, ELLIPTIC, ROLLING = 5.
        start: Row offsets, shape (count + 1,): constraint c has rows start[c] … start[c + 1] − 1.
        parameters: Shape (count, 6): Box lo and hi, Coulomb μ, Elliptic μ₁ … μ₅, Rolling μ and μ_r from
            column 0 on; the cohesion of friction sets in column 5.
    """

    kind: np.ndarray
    start: np.ndarray
    parameters: np.ndarray

    def __init__(self, sets: Iterable[ConstraintSet]) -> None:
        members = list(sets)
        for c, member in enumerate(members):
            if not isinstance(member, ConstraintSet):
                raise ProblemError(f"sets[{c}] is {type(member).__name__}: Free, Nonnegative, Box, Coulomb, "
                                   "Elliptic or Rolling is needed")  # fmt: skip
        self._assign(
            np.array([member.kind for member in members], dtype=np.int64),
            np.array([member.dimension for member in members], dtype=np.int64),
            np.array([member.parameters for member in members], dtype=np.float64).reshape(-1, 6),
        )

    def _assign(self, kind: np.ndarray, dimension: np.ndarray, parameters: np.ndarray) -> None:
        start = np.zeros(kind.size + 1, dtype=np.int64)
        np.cumsum(dimension, out=start[1:])
        for name, array in (("kind", kind), ("start", start), ("parameters", parameters)):
            object.__setattr__(self, name, freeze(array))

    @classmethod
    def from_arrays(cls, kind: Any, parameters: Any, dimension: Any) -> Sets:
        """From flat arrays of kinds, parameters and numbers of rows.

        Args:
            kind: As the attribute, shape (count,).
            parameters: As the attribute, shape (count, 6); fewer columns stand for the first ones.
            dimension: Rows of each constraint, shape (count,).
        """
        raw_kind, raw_dimension = vector("kind", kind), vector("dimension", dimension)
        kinds, dimensions = raw_kind.astype(np.int64), raw_dimension.astype(np.int64)
        table = np.zeros((kinds.size, 6))
        given = np.asarray(parameters, dtype=np.float64)
        if given.ndim != 2 or given.shape[0] != kinds.size or given.shape[1] > 6:
            raise ProblemError(f"parameters has shape {given.shape}: ({kinds.size}, 6) is needed")
        table[:, : given.shape[1]] = given
        if dimensions.size != kinds.size:
            raise ProblemError(f"dimension has {dimensions.size} entries: it needs {kinds.size}")
        bad = (kinds != raw_kind) | (kinds < FREE) | (kinds > ROLLING)
        if bad.any():
            c = int(np.argmax(bad))
            raise ProblemError(f"kind[{c}] = {raw_kind[c]:g} is not one of 0 … 5")
        least, most = np.array([1, 1, 1, 2, 2, 5])[kinds], np.array([1, 1, 1, 3, 6, 5])[kinds]
        bad = (dimensions < least) | (dimensions > most) | (dimensions != raw_dimension)
        if bad.any():
            c = int(np.argmax(bad))
            raise ProblemError(f"dimension[{c}] = {raw_dimension[c]:g} does not fit {KIND_NAMES[kinds[c]]}")
        _check_parameters(kinds, table)
        sets = cls.__new__(cls)
        sets._assign(kinds, dimensions, table)
        return sets

    @classmethod
    def coulomb(cls, mu: Any, *, dimension: int = 3) -> Sets:
        """One Coulomb set per entry of mu."""
        mu = _coefficients("mu", vector("mu", mu, finite=False))
        return cls.from_arrays(np.full(mu.size, COULOMB), mu[:, None], np.full(mu.size, dimension))

    @classmethod
    def rolling(cls, mu: Any, mu_r: Any) -> Sets:
        """One Rolling set per entry of mu and mu_r."""
        mu = _coefficients("mu", vector("mu", mu, finite=False))
        mu_r = _coefficients("mu_r", vector("mu_r", mu_r, mu.size, finite=False))
        return cls.from_arrays(np.full(mu.size, ROLLING), np.stack([mu, mu_r], 1), np.full(mu.size, 5))

    @cached_property
    def a(self) -> Vector:
        """The first column of the parameters: Box lo, the first coefficient, shape (count,)."""
        return freeze(self.parameters[:, 0].copy())

    @cached_property
    def b(self) -> Vector:
        """The second column of the parameters: Box hi, μ₂, μ_r, shape (count,)."""
        return freeze(self.parameters[:, 1].copy())

    @cached_property
    def cohesion(self) -> Vector:
        """Cohesion of each constraint [N·s], shape (count,); zero for sets without friction."""
        return freeze(np.where(self.kind >= COULOMB, self.parameters[:, 5], 0.0))

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
        project_all(self.kind, self.start, self.parameters, x, out)
        return out

    def subset(self, constraints: np.ndarray) -> Sets:
        """The product of some of the constraints, in the order given."""
        sets = Sets.__new__(Sets)
        sets._assign(self.kind[constraints], self.dimension[constraints], self.parameters[constraints])
        return sets

    def without_cohesion(self) -> Sets:
        """The same sets with the apexes of all cones at zero."""
        sets, parameters = Sets.__new__(Sets), self.parameters.copy()
        parameters[:, 5] = 0.0
        sets._assign(self.kind, self.dimension, parameters)
        return sets

    def with_friction_below(self, limit: float) -> Sets:
        """The same sets with every friction coefficient limited to `limit`."""
        sets, parameters = Sets.__new__(Sets), self.parameters.copy()
        cones = self.kind >= COULOMB
        parameters[cones, :5] = np.minimum(parameters[cones, :5], limit)
        sets._assign(self.kind, self.dimension, parameters)
        return sets

    def equals(self, other: Sets) -> bool:
        """Whether `other` is the same product, bit for bit."""
        names = ("kind", "start", "parameters")
        return all(same_array(getattr(self, name), getattr(other, name)) for name in names)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, c: int) -> ConstraintSet:
        kind, dimension = int(self.kind[c]), int(self.dimension[c])
        p = [float(value) for value in self.parameters[c]]
        if kind == FREE:
            return Free()
        if kind == NONNEGATIVE:
            return Nonnegative()
        if kind == BOX:
            return Box(p[0], p[1])
        if kind == COULOMB:
            return Coulomb(p[0], dimension, p[5])
        return Elliptic(*p[: dimension - 1], cohesion=p[5]) if kind == ELLIPTIC else Rolling(p[0], p[1], p[5])

    def __iter__(self) -> Iterator[ConstraintSet]:
        return (self[c] for c in range(self.count))

    def __repr__(self) -> str:
        return "Sets(" + ", ".join(f"{count} {name}" for name, count in self.kinds().items()) + ")"


def _row(*values: float, cohesion: float = 0.0) -> np.ndarray:
    row = np.zeros(6)
    row[: len(values)] = values
    row[5] = cohesion
    return row


def _number(name: str, value: Any, *, finite: bool = True) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ProblemError(f"{name} is {value!r}: a number is needed") from None
    if math.isnan(number) or (finite and math.isinf(number)):
        raise ProblemError(f"{name} is {number}: a {'finite ' if finite else ''}number is needed")
    return number


def _not_negative(name: str, value: Any, *, finite: bool = False) -> float:
    number = _number(name, value, finite=finite)
    if number < 0:
        raise ProblemError(f"{name} = {number} is negative")
    return number


def _coefficients(name: str, values: Vector) -> Vector:
    bad = ~(values >= 0)
    if bad.any():
        i = int(np.argmax(bad))
        if values[i] < 0:
            raise ProblemError(f"{name}[{i}] = {values[i]} is negative")
        raise ProblemError(f"{name}[{i}] is {values[i]}: a number is needed")
    return values


def _check_parameters(kind: np.ndarray, parameters: np.ndarray) -> None:
    """The same conditions as the single sets, over whole arrays."""
    cone = kind >= COULOMB
    bad = cone[:, None] & ~(parameters >= 0)
    bad[:, 5] |= cone & ~np.isfinite(parameters[:, 5])
    if bad.any():
        c, k = np.argwhere(bad)[0]
        wanted = "a cohesion is finite and" if k == 5 else "a friction coefficient is"
        raise ProblemError(f"parameters[{c}, {k}] = {parameters[c, k]}: {wanted} not negative")
    a, b = parameters[:, 0], parameters[:, 1]
    bad = (kind == BOX) & ~((a <= b) & (a < np.inf) & (b > -np.inf))
    if bad.any():
        c = int(np.argmax(bad))
        raise ProblemError(f"Box at constraint {c}: lo = {a[c]}, hi = {b[c]}: lo ≤ hi is needed")
