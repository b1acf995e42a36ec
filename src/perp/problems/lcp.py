"""The linear complementarity problem: 0 ≤ z ⊥ w = M z + q ≥ 0."""

from dataclasses import KW_ONLY, InitVar, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems.column_scale import column_scale
from perp.problems.saving import Savable
from perp.problems.validation import Matrix, Vector, freeze, same_array, square_matrix, vector


@dataclass(frozen=True, eq=False, repr=False)
class LCP(Savable):
    """Find z with 0 ≤ z ⊥ w = M z + q ≥ 0.

    Args:
        M: Square matrix, dense or SciPy sparse, shape (n, n). Any matrix; solvers state what they need.
        q: Vector, shape (n,).
        copy: With False, arrays that are already float64 and contiguous are kept without a copy and must not
            be changed by the caller afterwards.

    Attributes:
        M: Read-only float64: a C-contiguous array, or a `csr_array` when a sparse matrix was given.
        q: Read-only float64 vector.

    Examples:
        >>> import perp
        >>> perp.solve(perp.LCP([[2, 1], [1, 2]], [-5, -6]), "lemke").z
        array([1.33333333, 2.33333333])
    """

    M: Matrix
    q: Vector
    _: KW_ONLY
    copy: InitVar[bool] = True

    if TYPE_CHECKING:  # anything that NumPy can read is accepted; the attributes are arrays

        def __init__(self, M: Any, q: Any, *, copy: bool = True) -> None: ...

    def __post_init__(self, copy: bool) -> None:
        object.__setattr__(self, "M", square_matrix("M", self.M, copy=copy))
        object.__setattr__(self, "q", vector("q", self.q, self.M.shape[0], copy=copy))

    @property
    def size(self) -> int:
        """Number of unknowns n."""
        return self.q.size

    @cached_property
    def lo(self) -> Vector:
        """Lower bounds: zero."""
        return freeze(np.zeros(self.size))

    @cached_property
    def hi(self) -> Vector:
        """Upper bounds: none."""
        return freeze(np.full(self.size, np.inf))

    @cached_property
    def column_scale(self) -> Vector:
        """The largest change of any w that a unit of z_i causes, shape (n,)."""
        return column_scale(self.M)

    @cached_property
    def limiting_row(self) -> np.ndarray:
        """No row's bounds follow another: all −1, shape (n,)."""
        return freeze(np.full(self.size, -1, dtype=np.int64))

    @cached_property
    def data_size(self) -> Vector:
        """What is at work at each row, shape (n,): see `perp.problems.data_size`."""
        from perp.problems.data_size import boxed_sizes

        return boxed_sizes(self.M, self.q, self.lo, self.hi, self.limiting_row, self.column_scale)

    @property
    def mobility(self) -> Vector:
        """What makes a w of a z, shape (n,): `column_scale`, without bounds to be near to."""
        return self.column_scale

    def evaluate(self, z: Vector) -> Vector:
        """The slack w = M z + q."""
        return self.M @ z + self.q

    def equals(self, other: object) -> bool:
        """Whether `other` is the same problem, bit for bit."""
        return type(other) is LCP and same_array(self.M, other.M) and same_array(self.q, other.q)

    def __repr__(self) -> str:
        return f"LCP(n={self.size})"
