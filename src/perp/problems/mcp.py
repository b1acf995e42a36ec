"""The mixed complementarity problem: a nonlinear function and a box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems.column_scale import column_scale
from perp.problems.errors import ProblemError
from perp.problems.saving import Savable
from perp.problems.validation import (
    Matrix,
    Vector,
    freeze,
    matrix,
    ordered_bounds,
    per_row,
    same_array,
    square_matrix,
    vector,
)

# Derivatives below this fraction of f itself are nothing but round-off.
ROUND_OFF = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class MCP(Savable):
    """Find z in [lo, hi] with f_i(z) ≥ 0 at lo_i, f_i(z) ≤ 0 at hi_i, f_i(z) = 0 in between.

    Args:
        f: Function of z, shape (n,) -> (n,).
        jacobian: Function of z, shape (n,) -> (n, n), dense or sparse.
        lo, hi: Bounds, shape (n,); −inf and inf mean "no bound".
        start: Where solvers begin when they are given nothing better; the box's point nearest 0 by default.
    """

    f: Callable[[Vector], Any]
    jacobian: Callable[[Vector], Any]
    lo: Vector
    hi: Vector
    _: KW_ONLY
    start: Vector | None = None
    M: Matrix | None = field(default=None, init=False)
    q: Vector | None = field(default=None, init=False)
    _latest: tuple[bytes, Matrix] | None = field(default=None, init=False)  # solver and residual ask in turn
    copy: InitVar[bool] = True

    if TYPE_CHECKING:  # anything that NumPy can read is accepted; the attributes are arrays

        def __init__(
            self, f: Any, jacobian: Any, lo: Any, hi: Any, *, start: Any = None, copy: bool = True
        ) -> None: ...

    def __post_init__(self, copy: bool) -> None:
        assign = object.__setattr__
        if not callable(self.f):
            raise ProblemError(f"f is {type(self.f).__name__}: a function of z is needed")
        if not callable(self.jacobian):
            raise ProblemError(f"jacobian is {type(self.jacobian).__name__}: a function of z is needed")
        assign(self, "lo", vector("lo", self.lo, finite=False, copy=copy))
        assign(self, "hi", per_row("hi", self.hi, self.lo.size, finite=False, copy=copy))
        ordered_bounds(self.lo, self.hi)
        if self.start is not None:
            assign(self, "start", vector("start", self.start, self.size, copy=copy))
        self.evaluate(self.first_point)

    @classmethod
    def affine(cls, M: Any, q: Any, lo: Any, hi: Any, *, start: Any = None, copy: bool = True) -> MCP:
        """The affine f(z) = M z + q: the one kind of MCP that is plain data and can be saved to a file."""
        M = square_matrix("M", M, copy=copy)
        q = vector("q", q, M.shape[0], copy=copy)
        lo = per_row("lo", lo, q.size, finite=False, copy=copy)
        problem = cls(lambda z: M @ z + q, lambda _: M, lo, hi, start=start, copy=copy)
        object.__setattr__(problem, "M", M)
        object.__setattr__(problem, "q", q)
        return problem

    @property
    def size(self) -> int:
        """Number of unknowns n."""
        return self.lo.size

    @property
    def first_point(self) -> Vector:
        """`start` moved into the box, or the box's point nearest 0."""
        start = np.zeros(self.size) if self.start is None else self.start
        return np.clip(start, self.lo, self.hi)

    @property
    def nearest_zero(self) -> Vector:
        """The box's point nearest 0."""
        return np.clip(np.zeros(self.size), self.lo, self.hi)

    def evaluate(self, z: Vector) -> Vector:
        """f(z), checked for shape (values may be non-finite away from a solution)."""
        value = np.asarray(self.f(z), dtype=np.float64)
        if value.shape != (self.size,):
            raise ProblemError(f"f(z) has shape {value.shape}: ({self.size},) is needed")
        return value

    def derivative(self, z: Vector) -> Matrix:
        """The Jacobian at z, dense or CSR, shape (n, n); values may be non-finite away from a solution."""
        key = z.tobytes()
        if self._latest is None or self._latest[0] != key:
            n = self.size
            J = matrix("jacobian(z)", self.jacobian(z), rows=n, columns=n, finite=False, copy=False)
            object.__setattr__(self, "_latest", (key, J))
        return self._latest[1]  # type: ignore[index]

    def column_scale_at(self, z: Vector) -> Vector:
        """The largest change of any f per unit of z_i at z, shape (n,).

        Where f is stationary its derivative is round-off, which would call any distance from a bound small:
        such columns count as 1, and so do those that are not finite.
        """
        scale = column_scale(self.derivative(z))
        scale = np.where(np.isfinite(scale), scale, 1.0)
        noise = ROUND_OFF * float(np.abs(self.evaluate(self.first_point)).max(initial=0.0))
        return freeze(np.where(scale > noise, scale, max(1.0, float(scale.max(initial=0.0)))))

    def equals(self, other: object) -> bool:
        """Whether `other` is the same problem: the same functions, or the same matrices when affine."""
        if type(other) is not MCP or not (same_array(self.lo, other.lo) and same_array(self.hi, other.hi)):
            return False
        if self.M is not None:
            return same_array(self.M, other.M) and same_array(self.q, other.q)
        return self.f is other.f and self.jacobian is other.jacobian

    def __repr__(self) -> str:
        return f"MCP(n={self.size})"
