"""The contact problem: u = W λ + q, −(u + Γ(u)) ∈ N_K(λ), K a product of small convex sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, InitVar, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems.column_scale import column_scale, column_scale_of_rows
from perp.problems.dynamics import Dynamics
from perp.problems.errors import ProblemError
from perp.problems.saving import Savable
from perp.problems.sets import ELLIPTIC, ROLLING, ConstraintSet, Sets
from perp.problems.validation import Matrix, Vector, freeze, is_sparse, same_array, square_matrix, vector


@dataclass(frozen=True, eq=False, repr=False)
class ContactProblem(Savable):
    """Find impulses λ in K with velocities u = W λ + q and −(u + Γ(u)) in the normal cone of K at λ.

    Args:
        W: Delassus matrix [velocity per impulse], dense or sparse, shape (rows, rows).
        q: Free velocity, shape (rows,) [m/s]; per constraint normal row first, then tangents.
        sets: One set per constraint, in the order of the rows.
        relaxed: Leave out Γ: the convex relaxation (CCP), exact only where nothing slides.
        copy: As in `LCP`.
    """

    W: Matrix
    q: Vector
    sets: Sets
    _: KW_ONLY
    relaxed: bool = False
    dynamics: Dynamics | None = field(default=None, init=False)
    copy: InitVar[bool] = True

    if TYPE_CHECKING:  # anything that NumPy can read is accepted; the attributes are arrays

        def __init__(
            self, W: Any, q: Any, sets: Any, *, relaxed: bool = False, copy: bool = True
        ) -> None: ...

    def __post_init__(self, copy: bool) -> None:
        assign = object.__setattr__
        assign(self, "sets", _as_sets(self.sets))
        assign(self, "W", square_matrix("W", self.W, copy=copy))
        assign(self, "q", vector("q", self.q, self.W.shape[0], copy=copy))
        _check_rows(self.sets, self.q.size)
        assign(self, "relaxed", bool(self.relaxed))

    @classmethod
    def coulomb(
        cls, W: Any, q: Any, mu: Any, *, dimension: int = 3, relaxed: bool = False, copy: bool = True
    ) -> ContactProblem:
        """Coulomb contacts only: one friction coefficient per contact, or one number for all."""
        if dimension not in (2, 3):
            raise ProblemError(f"dimension = {dimension}: 2 or 3 is needed")
        if np.ndim(mu) == 0:
            mu = np.full(np.size(q) // dimension, mu)
        return cls(W, q, Sets.coulomb(mu, dimension=dimension), relaxed=relaxed, copy=copy)

    @classmethod
    def from_dynamics(
        cls,
        mass: Any,
        jacobian: Any,
        momentum: Any,
        bias: Any = 0.0,
        sets: Iterable[ConstraintSet] | Sets = (),
        *,
        compliance: Any = 0.0,
        relaxed: bool = False,
        copy: bool = True,
    ) -> ContactProblem:
        """From bodies: v = M⁻¹ (p + Jᵀ λ), u = J v + bias + compliance λ; W and q are formed on first use.

        Args:
            mass: Dense (n, n), sparse (n, n) or one block per body (bodies, k, k).
            jacobian: J, shape (rows, n).
            momentum: p = M v⁻ + h f, shape (n,) [N·s].
            bias: Shape (rows,) [m/s]: gaps over the step, prescribed velocities.
            sets: One set per constraint, in the order of the rows.
            compliance: Diagonal of Σ, shape (rows,) or one number.
            relaxed: As in the constructor.
            copy: As in `LCP`.
        """
        bias = 0.0 if bias is None else bias
        compliance = 0.0 if compliance is None else compliance
        problem = cls.__new__(cls)
        assign = object.__setattr__
        assign(problem, "sets", _as_sets(sets))
        dynamics = Dynamics(mass, jacobian, momentum, bias=bias, compliance=compliance, copy=copy)
        assign(problem, "dynamics", dynamics)
        assign(problem, "relaxed", bool(relaxed))
        _check_rows(problem.sets, dynamics.bias.size)
        return problem

    @classmethod
    def from_forces(
        cls,
        mass: Any,
        jacobian: Any,
        force: Any,
        bias: Any = 0.0,
        sets: Iterable[ConstraintSet] | Sets = (),
        *,
        relaxed: bool = False,
        copy: bool = True,
    ) -> ContactProblem:
        """The force–acceleration form: M a = f + Jᵀ λ, λ in newtons, for closed contacts at rest.

        What `from_dynamics` says of impulses and velocities holds of forces and accelerations: a normal
        force is zero or the gap's acceleration is, and friction opposes the acceleration of a contact that
        begins to slide. A contact that slides already has its direction from its velocity: use
        `from_dynamics` there.

        Args:
            mass: As in `from_dynamics`.
            jacobian: J, shape (rows, n).
            force: f, shape (n,) [N, N·m]: weight, applied and gyroscopic forces.
            bias: J̇ v, shape (rows,) [m/s²].
            sets: One set per constraint, in the order of the rows.
            relaxed: As in the constructor.
            copy: As in `LCP`.
        """
        return cls.from_dynamics(mass, jacobian, force, bias, sets, relaxed=relaxed, copy=copy)

    def __getattr__(self, name: str) -> Any:
        # Reached only for names that are not set: W and q of a problem in dynamics form, formed on first use.
        dynamics = self.__dict__.get("dynamics")
        if dynamics is None or name not in ("W", "q"):
            raise AttributeError(f"ContactProblem has no attribute {name!r}")
        value = dynamics.delassus if name == "W" else dynamics.free_velocity
        self.__dict__[name] = value
        return value

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.sets.rows

    @property
    def contact_count(self) -> int:
        """Number of constraints of any kind."""
        return self.sets.count

    @cached_property
    def rolling_length(self) -> Vector:
        """A length per constraint that makes velocities of rates [rad/s]; 1 for those with up to three rows.

        It is the radius of gyration that W itself implies, √(W_TT / W_RR), so that it follows the units.
        """
        length, sets = np.ones(self.contact_count), self.sets
        turning = np.flatnonzero(sets.dimension > 3)
        if turning.size:
            begin, diagonal = sets.start[turning], self.W.diagonal()
            linear = (diagonal[begin] + diagonal[begin + 1] + diagonal[begin + 2]) / 3
            angular = np.array(
                [diagonal[i + 3 : i + n].mean() for i, n in zip(begin, sets.dimension[turning], strict=True)]
            )
            # the coefficients of these rows are lengths themselves
            lengths = np.where(
                sets.kind[turning] == ROLLING, sets.b[turning], sets.parameters[turning, 2:5].max(1)
            )
            fallback = np.where((lengths > 0) & np.isfinite(lengths), lengths, 1.0)
            usable = (linear > 0) & (angular > 0)
            ratio = np.divide(linear, angular, out=np.ones_like(linear), where=usable)
            length[turning] = np.where(usable, np.sqrt(ratio), fallback)
        return freeze(length)

    @cached_property
    def row_scale(self) -> Vector:
        """`rolling_length` on rows that turn, 1 elsewhere, shape (rows,): u times it is a velocity [m/s]."""
        sets = self.sets
        place = np.arange(self.size) - np.repeat(sets.start[:-1], sets.dimension)
        return freeze(np.where(place >= 3, np.repeat(self.rolling_length, sets.dimension), 1.0))

    @cached_property
    def unit_parameters(self) -> np.ndarray:
        """The parameters of the sets for impulses per `row_scale`: lengths among them become numbers."""
        parameters, kind = np.array(self.sets.parameters), self.sets.kind
        parameters[kind == ROLLING, 1] /= self.rolling_length[kind == ROLLING]
        parameters[kind == ELLIPTIC, 2:5] /= self.rolling_length[kind == ELLIPTIC, None]
        return freeze(parameters)

    @cached_property
    def column_scale(self) -> Vector:
        """The largest velocity that a unit impulse of each constraint causes anywhere, shape (count,)."""
        if not self.contact_count:
            return freeze(np.zeros(0))
        s = self.row_scale
        if self.dynamics is not None and "W" not in self.__dict__ and (s == 1.0).all():
            blocks = self.dynamics.delassus_rows()
            if blocks is not None:
                return freeze(np.maximum.reduceat(column_scale_of_rows(blocks, s.size), self.sets.start[:-1]))
        W = self.W
        if (s != 1.0).any():
            if is_sparse(W):
                from scipy.sparse import diags_array

                W = (diags_array(s) @ W @ diags_array(s)).tocsr()
            else:
                W = s[:, None] * W * s
        return freeze(np.maximum.reduceat(column_scale(W), self.sets.start[:-1]))

    @cached_property
    def data_size(self) -> Vector:
        """What is at work at each constraint [m/s], shape (count,): see `perp.problems.data_size`."""
        from perp.problems.data_size import join_rows, join_through_bodies, own_sizes, spread

        sets, count = self.sets, self.contact_count
        owner = np.repeat(np.arange(count), sets.dimension)
        if self.dynamics is not None:
            parent = join_through_bodies(self.dynamics.jacobian, self.dynamics.mass_rows, owner, count)
        else:
            parent = join_rows(self.W, owner, count)
        size = own_sizes(
            self.q, sets.start, sets.kind, sets.parameters, self.column_scale, self.rolling_length
        )
        spread(parent, size)
        return freeze(size)

    @cached_property
    def mobility(self) -> Vector:
        """What makes a velocity of an impulse, shape (count,): `column_scale`, or more in a narrow box."""
        from perp.problems.data_size import set_mobilities

        mobility = np.array(self.column_scale)
        set_mobilities(self.sets.kind, self.sets.parameters, self.data_size, mobility)
        return freeze(mobility)

    @cached_property
    def own_mobility(self) -> Vector:
        """The largest velocity that a unit impulse of each constraint causes at itself, shape (count,)."""
        diagonal = self.W.diagonal() if self.dynamics is None else self.dynamics.own_mobility
        return freeze(np.maximum.reduceat(diagonal * self.row_scale**2, self.sets.start[:-1]))

    def evaluate(self, impulse: Vector) -> Vector:
        """Velocities u at the constraints, from the data as given (W and q, or mass and Jacobian)."""
        if self.dynamics is not None:
            return self.dynamics.velocity(impulse)
        return self.W @ impulse + self.q

    def as_relaxed(self) -> ContactProblem:
        """The convex relaxation of this problem: the same data without Γ."""
        return self._replace(relaxed=True)

    def as_exact(self) -> ContactProblem:
        """The exact problem: the same data with Γ."""
        return self._replace(relaxed=False)

    @cached_property
    def apex(self) -> Vector:
        """Impulses at the apexes of all cones: minus the cohesion on normal rows, shape (rows,) [N·s]."""
        apex = np.zeros(self.size)
        apex[self.sets.normal_rows] = -self.sets.cohesion
        return freeze(apex)

    def without_cohesion(self) -> ContactProblem:
        """The same problem in λ − apex, whose cones have their apexes at zero."""
        sets, shape = self.sets.without_cohesion(), {"relaxed": self.relaxed, "copy": False}
        if self.dynamics is None:
            return ContactProblem(self.W, self.q + self.W @ self.apex, sets, **shape)
        dynamics = self.dynamics
        return ContactProblem.from_dynamics(
            dynamics.mass, dynamics.jacobian, dynamics.momentum + dynamics.jacobian.T @ self.apex,
            dynamics.bias + dynamics.compliance * self.apex, sets, compliance=dynamics.compliance, **shape,
        )  # fmt: skip

    def _replace(self, *, relaxed: bool) -> ContactProblem:
        if relaxed == self.relaxed:
            return self
        problem = ContactProblem.__new__(ContactProblem)
        problem.__dict__.update(self.__dict__)
        problem.__dict__["relaxed"] = relaxed
        return problem

    def with_friction_below(self, limit: float) -> ContactProblem:
        """The same data with every friction coefficient limited to `limit`."""
        problem = ContactProblem.__new__(ContactProblem)
        # what is kept with this problem for a solver knows its coefficients
        known = {name: value for name, value in self.__dict__.items() if name[0] != "_"}
        problem.__dict__.update({name: value for name, value in known.items() if name != "unit_parameters"})
        problem.__dict__["sets"] = self.sets.with_friction_below(limit)
        return problem

    def equals(self, other: object) -> bool:
        """Whether `other` is the same problem in the same form, bit for bit."""
        if type(other) is not ContactProblem or self.relaxed != other.relaxed:
            return False
        if not self.sets.equals(other.sets) or (self.dynamics is None) != (other.dynamics is None):
            return False
        if self.dynamics is not None and other.dynamics is not None:
            return self.dynamics.equals(other.dynamics)
        return same_array(self.W, other.W) and same_array(self.q, other.q)

    def __repr__(self) -> str:
        form = "" if self.dynamics is None else ", dynamics form"
        return f"ContactProblem({self.sets!r}, rows={self.size}{form}{', relaxed' if self.relaxed else ''})"


def _as_sets(sets: Any) -> Sets:
    return sets if isinstance(sets, Sets) else Sets(sets)


def _check_rows(sets: Sets, rows: int) -> None:
    if sets.rows != rows:
        raise ProblemError(f"sets have {sets.rows} rows in {sets.count} constraints: {rows} rows are needed")
