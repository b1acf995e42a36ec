"""The boxed linear complementarity problem, with bounds that may follow another row (friction index)."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from perp.problems.column_scale import column_scale
from perp.problems.errors import ProblemError
from perp.problems.saving import Savable
from perp.problems.validation import (
    Matrix,
    Vector,
    freeze,
    ordered_bounds,
    per_row,
    same_array,
    square_matrix,
    vector,
)


@dataclass(frozen=True, eq=False, repr=False)
class BoxedLCP(Savable):
    """Find z in [lo, hi] with w = M z + q, w_i ≥ 0 at lo_i, w_i ≤ 0 at hi_i, w_i = 0 in between.

    A row i with friction_index[i] = j ≥ 0 has bounds that follow row j: lo_i z_j ≤ z_i ≤ hi_i z_j. With lo =
    −μ, hi = μ that is friction bounded by its normal impulse. What a z_j < 0 means is `negative_limit`.

    Args:
        M: Square matrix, dense or sparse, shape (n, n).
        q: Vector, shape (n,).
        lo, hi: Bounds, shape (n,) or one number for all rows; −inf and inf mean "no bound".
        friction_index: Integers, shape (n,); −1 for rows with bounds of their own.
        negative_limit: What a limiting row below zero allows. "zero" (default): nothing, as a contact that
            pulls has no friction. "magnitude": as much as its positive counterpart, |hi · z_j| as in ODE and
            DART, for friction in a joint whose force has either sign. The same wherever lo_j ≥ 0.
        copy: As in `LCP`.
    """

    M: Matrix
    q: Vector
    lo: Vector
    hi: Vector
    _: KW_ONLY
    friction_index: np.ndarray | None = None
    negative_limit: Literal["zero", "magnitude"] = "zero"
    copy: InitVar[bool] = True

    if TYPE_CHECKING:  # anything that NumPy can read is accepted; the attributes are arrays

        def __init__(
            self, M: Any, q: Any, lo: Any, hi: Any, *, friction_index: Any = None,
            negative_limit: Literal["zero", "magnitude"] = "zero", copy: bool = True,
        ) -> None: ...  # fmt: skip

    def __post_init__(self, copy: bool) -> None:
        assign = object.__setattr__
        assign(self, "M", square_matrix("M", self.M, copy=copy))
        n = self.M.shape[0]
        assign(self, "q", vector("q", self.q, n, copy=copy))
        assign(self, "lo", per_row("lo", self.lo, n, finite=False, copy=copy))
        assign(self, "hi", per_row("hi", self.hi, n, finite=False, copy=copy))
        ordered_bounds(self.lo, self.hi)
        assign(self, "friction_index", _friction_index(self.friction_index, self.lo, self.hi))
        if self.negative_limit not in ("zero", "magnitude"):
            raise ProblemError(f"negative_limit = {self.negative_limit!r}: 'zero' or 'magnitude' is needed")

    @classmethod
    def from_ax_b(
        cls, A: Any, b: Any, lo: Any, hi: Any, *, friction_index: Any = None,
        negative_limit: Literal["zero", "magnitude"] = "zero", copy: bool = True,
    ) -> BoxedLCP:  # fmt: skip
        """From the convention A x = b + w of DART and ODE: the same problem with q = −b.

        Their bounds of a row that follows one below zero are had with `negative_limit="magnitude"`.
        """
        q = -vector("b", b)
        return cls(A, q, lo, hi, friction_index=friction_index, negative_limit=negative_limit, copy=copy)

    @property
    def size(self) -> int:
        """Number of unknowns n."""
        return self.q.size

    @cached_property
    def column_scale(self) -> Vector:
        """The largest change of any w that a unit of z_i causes, shape (n,)."""
        return column_scale(self.M)

    @cached_property
    def data_size(self) -> Vector:
        """What is at work at each row, shape (n,): see `perp.problems.data_size`."""
        from perp.problems.data_size import boxed_sizes

        return boxed_sizes(self.M, self.q, self.lo, self.hi, self.limiting_row, self.column_scale)

    @cached_property
    def mobility(self) -> Vector:
        """What makes a w of a z, shape (n,): `column_scale`, or more where bounds are near."""
        from perp.problems.data_size import boxed_mobility

        return boxed_mobility(self.lo, self.hi, self.limiting_row, self.column_scale, self.data_size)

    @cached_property
    def limiting_row(self) -> np.ndarray:
        """`friction_index` as an array even when there is none (all −1), shape (n,).

        A row whose bounds follow the magnitude of a row j that may be negative has −2 − j.
        """
        if self.friction_index is not None:
            index = self.friction_index
            if self.negative_limit == "zero":
                return index
            either_sign = (index >= 0) & (self.lo[index] < 0)
            return freeze(np.where(either_sign, -2 - index, index))
        return freeze(np.full(self.size, -1, dtype=np.int64))

    def bounds(self, z: Vector) -> tuple[Vector, Vector]:
        """The bounds in force at z: lo and hi, scaled by their limiting row where there is one."""
        index = self.limiting_row if self.friction_index is None else self.friction_index
        limited = index >= 0
        limit = np.abs(z) if self.negative_limit == "magnitude" else np.maximum(z, 0.0)
        factor = np.where(limited, limit[index], 1.0) if z.size else np.ones(0)
        lo, hi = self.lo.copy(), self.hi.copy()
        lo[limited] *= factor[limited]
        hi[limited] *= factor[limited]
        return lo, hi

    def evaluate(self, z: Vector) -> Vector:
        """The slack w = M z + q."""
        return self.M @ z + self.q

    def equals(self, other: object) -> bool:
        """Whether `other` is the same problem, bit for bit."""
        return (
            type(other) is BoxedLCP
            and self.negative_limit == other.negative_limit
            and all(
                same_array(getattr(self, name), getattr(other, name))
                for name in ("M", "q", "lo", "hi", "friction_index")
            )
        )

    def __repr__(self) -> str:
        limited = 0 if self.friction_index is None else int((self.friction_index >= 0).sum())
        return f"BoxedLCP(n={self.size}" + (f", {limited} rows limited by another)" if limited else ")")


def _friction_index(index: Any, lo: Vector, hi: Vector) -> np.ndarray | None:
    """Checks a friction index: whole numbers, in range, no row limited by itself or by a limited row."""
    if index is None:
        return None
    raw = np.asarray(index)
    n = lo.size
    if raw.shape != (n,):
        raise ProblemError(f"friction_index has shape {raw.shape}: ({n},) is needed")
    if raw.dtype.kind not in "iu" and not (raw.dtype.kind == "f" and np.all(raw == np.floor(raw))):
        raise ProblemError(f"friction_index has entries of type {raw.dtype}: whole numbers are needed")
    array = np.array(raw, dtype=np.int64)
    for i in np.flatnonzero(array != -1):
        j = array[i]
        if not 0 <= j < n:
            raise ProblemError(f"friction_index[{i}] = {j} is out of range: −1 or 0 … {n - 1}")
        if j == i:
            raise ProblemError(f"friction_index[{i}] = {j} points to itself")
        if array[j] != -1:
            raise ProblemError(
                f"friction_index[{i}] = {j} points to a row that is itself limited by {array[j]}"
            )
        if not (np.isfinite(lo[i]) and np.isfinite(hi[i])):
            raise ProblemError(
                f"lo[{i}] = {lo[i]}, hi[{i}] = {hi[i]}: a row limited by another needs finite bounds"
            )
    return freeze(array)
