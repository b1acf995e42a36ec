"""The mixed complementarity problem: a nonlinear function and a box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from perp.problems.errors import ProblemError
from perp.problems.mcp_derivatives import Differences, check_derivative
from perp.problems.saving import Savable
from perp.problems.validation import (
    Matrix,
    Vector,
    matrix,
    ordered_bounds,
    per_row,
    same_array,
    square_matrix,
    vector,
)


class MCP(Savable):
    """Find z in [lower, upper] with f_i(z) ≥ 0 at lower_i, f_i(z) ≤ 0 at upper_i, f_i(z) = 0 in between.

    Args:
        f: Function of z, shape (n,) -> (n,).
        lower, upper: Bounds, shape (n,), or one number for all; −inf and inf mean "no bound".
        jacobian: Function of z, shape (n,) -> (n, n), dense or sparse. None takes differences of f,
            "complex-step" derivatives without cancellation of an f that is analytic and takes complex z.
        start: Where solvers begin when they are given nothing better; the box's point nearest 0 by default.
        names: What messages call the unknowns and their rows, n strings.
        pattern: Where the Jacobian may be nonzero, an (n, n) array or sparse matrix, or "detect": differences
            then take one evaluation per group of columns that share no row. None means dense.

    Raises:
        ProblemError: The sizes do not fit, bounds are crossed, f or its Jacobian have another shape.

    What f raises is not caught: it reaches the caller of `perp.solve` as it is.
    """

    __slots__ = ("_latest", "M", "f", "hi", "jacobian", "judged", "lo", "names", "q", "start")  # noqa: RUF023

    f: Callable[[Vector], Any]
    jacobian: Callable[[Vector], Any]
    lo: Vector
    hi: Vector
    start: Vector | None
    names: tuple[str, ...] | None
    M: Matrix | None
    q: Vector | None
    judged: tuple[bytes, tuple[Vector, Vector, Vector]] | None

    def __init__(
        self,
        f: Any,
        lower: Any,
        upper: Any,
        jacobian: Any = None,
        *,
        start: Any = None,
        names: Sequence[str] | None = None,
        pattern: Any = None,
    ) -> None:
        if not callable(f):
            raise ProblemError(f"f is {type(f).__name__}: a function of z is needed")
        size = _size(lower, upper, start, names)
        self.f = f
        self.lo = per_row("lower", lower, size, finite=False)
        self.hi = per_row("upper", upper, size, finite=False)
        ordered_bounds(self.lo, self.hi, ("lower", "upper"))
        self.start = None if start is None else vector("start", start, size)
        self.names = _names(names, size)
        self.M = self.q = self._latest = self.judged = None
        self.evaluate(self.first_point)
        if jacobian is None or jacobian in ("complex-step", "differences"):
            function = f if jacobian == "complex-step" else self.evaluate
            differences = Differences(function, self.lo, self.hi, self.first_point)
            self.jacobian = differences.jacobian(self.first_point, pattern, jacobian == "complex-step")
        elif callable(jacobian):
            self.jacobian = jacobian
        else:
            raise ProblemError(
                f"jacobian is {jacobian if isinstance(jacobian, str) else type(jacobian).__name__}: "
                "a function of z, None or 'complex-step' is needed"
            )

    @classmethod
    def affine(
        cls,
        M: Any,
        q: Any,
        lower: Any,
        upper: Any,
        *,
        start: Any = None,
        names: Any = None,
        copy: bool = True,
    ) -> MCP:
        """The affine f(z) = M z + q: the one kind of MCP that is plain data and can be saved to a file."""
        M = square_matrix("M", M, copy=copy)
        q = vector("q", q, M.shape[0], copy=copy)
        lower = per_row("lower", lower, q.size, finite=False)
        problem = cls(lambda z: M @ z + q, lower, upper, lambda _: M, start=start, names=names)
        problem.M, problem.q = M, q
        return problem

    @property
    def size(self) -> int:
        """Number of unknowns n."""
        return self.lo.size

    @property
    def first_point(self) -> Vector:
        """`start` moved into the box, or the box's point nearest 0."""
        return self.nearest_zero if self.start is None else np.clip(self.start, self.lo, self.hi)

    @property
    def nearest_zero(self) -> Vector:
        """The box's point nearest 0."""
        return np.clip(np.zeros(self.size), self.lo, self.hi)

    def name(self, i: int) -> str:
        """What to call unknown and row i in a message."""
        return f"z[{i}]" if self.names is None else self.names[i]

    def evaluate(self, z: Vector) -> Vector:
        """f(z), checked for shape (values may be non-finite away from a solution)."""
        value = np.asarray(self.f(z))
        if value.dtype.kind not in "biuf":
            raise ProblemError(f"f(z) has entries of type {value.dtype}: real numbers are needed")
        if value.shape != (self.lo.size,):
            raise ProblemError(f"f(z) has shape {value.shape}: ({self.lo.size},) is needed")
        return np.ascontiguousarray(value, dtype=np.float64)

    def derivative(self, z: Vector) -> Matrix:
        """The Jacobian at z, dense or CSR, shape (n, n); values may be non-finite away from a solution."""
        key = z.tobytes()  # solver and residual ask for the same one in turn
        if self._latest is None or self._latest[0] != key:
            n = self.size
            J = matrix("jacobian(z)", self.jacobian(z), rows=n, columns=n, finite=False, copy=False)
            self._latest = (key, J)
        return self._latest[1]

    def check_jacobian(self, z: Any = None, *, tolerance: float = 1e-4) -> None:
        """Compare the Jacobian with differences of f at z (the start by default).

        Raises:
            ProblemError: It is wrong; the message names the worst entry, row and variable, and both values.
        """
        at = self.first_point if z is None else vector("z", z, self.size)
        wrong = check_derivative(self.evaluate, self.derivative(at), at, self.lo, self.hi, tolerance)
        if wrong is not None:
            i, j, given, found, count = wrong
            raise ProblemError(
                f"jacobian(z)[{i}, {j}] is {given:.6g}, but differences of f give {found:.6g} "
                f"(row {self.name(i)}, variable {self.name(j)}); {count} entries differ"
            )

    def where_not_finite(self, z: Vector, f: Vector) -> str:
        """Which rows of f(z) are NaN or infinite, and the variables that they depend on, as words."""
        rows = np.flatnonzero(~np.isfinite(f))
        i = int(rows[0])
        more = f" (and {rows.size - 1} more rows)" if rows.size > 1 else ""
        J = self.derivative(z)
        used = np.flatnonzero(np.asarray(J[[i]].toarray() if hasattr(J, "tocsr") else J[[i]]).ravel() != 0)
        at = ", ".join(
            f"{self.name(int(j))} = {z[j]:.6g}" for j in (used if used.size else np.arange(z.size))[:5]
        )
        return f"f is {f[i]} in row {i} ({self.name(i)}){more} at {at}"

    def equals(self, other: object) -> bool:
        """Whether `other` is the same problem: the same functions, or the same matrices when affine."""
        if type(other) is not MCP or not (same_array(self.lo, other.lo) and same_array(self.hi, other.hi)):
            return False
        if self.M is not None:
            return same_array(self.M, other.M) and same_array(self.q, other.q)
        return self.f is other.f and self.jacobian is other.jacobian

    def __repr__(self) -> str:
        return f"MCP(n={self.size})"


def _size(lower: Any, upper: Any, start: Any, names: Any) -> int:
    """The number of unknowns, from whatever is not a single number."""
    for x in (start, lower, upper, names):
        if x is not None and np.ndim(x) > 0:
            return len(x)
    raise ProblemError(
        "lower and upper are single numbers: give start, so that the number of unknowns is known"
    )


def _names(names: Any, size: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if len(names) != size:
        raise ProblemError(f"names has {len(names)} entries: it needs {size}")
    return tuple(str(name) for name in names)
