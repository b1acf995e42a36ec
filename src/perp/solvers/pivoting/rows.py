"""Where each row of a boxed problem stands, shared by the pivoting solvers that keep active sets.

A row is FREE when its w is zero and z is determined by the others; otherwise z rests at a bound, or, while it
has not been looked at, anywhere within its bounds (UNSEEN).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from perp.problems import LCP, BoxedLCP
from perp.problems.validation import Matrix, Vector, freeze, is_sparse
from perp.solvers.attempt import Control
from perp.solvers.symmetry import is_symmetric

UNSEEN, FREE, AT_LO, AT_HI = 0, 1, 2, 3
# How a kernel ended: with every sign right, at its pivot limit, on a ray, with a block that is singular to
# working precision, or because the control said so.
DONE, LIMIT, RAY, SINGULAR, STOPPED = 0, 1, 2, 3, 4


@dataclass(frozen=True)
class PivotOptions:
    """Options of the pivoting solvers.

    Attributes:
        check_every: Measure the residual every so many pivots and stop as soon as it is within `tol`. The
            default 0 measures only the final answer: pivoting is exact there, and rarely close before.
    """

    check_every: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.check_every, (int, np.integer)) or self.check_every < 0:
            raise ValueError(f"check_every = {self.check_every!r}: a whole number of at least 0 is needed")


def pivot(
    advance: Callable[[int], tuple[int, int]],
    iterate: Callable[[], Vector],
    control: Control,
    *,
    limit: int,
    every: int,
) -> tuple[int, int]:
    """Run a kernel to its end, in one call or, when somebody looks on, with a look every so many pivots.

    Args:
        advance: Makes at most the given number of pivots; returns (outcome, pivots made).
        iterate: The present z, shape (n,).
        control: Asked between calls.
        limit: Pivots at most.
        every: Pivots between looks; 0 for none.

    Returns:
        (outcome, pivots); `LIMIT` only when the limit is used up.
    """
    done = 0
    while True:
        left = max(0, limit - done)
        outcome, pivots = advance(min(left, every) if every else left)
        done += pivots
        if outcome != LIMIT or done >= limit:
            return outcome, done
        if control.check(done, iterate()):
            return STOPPED, done


def dense(matrix: Matrix) -> np.ndarray:
    """The matrix as a read-only dense array."""
    return freeze(matrix.toarray()) if is_sparse(matrix) else matrix


@lru_cache(maxsize=64)
def standard_bounds(size: int) -> tuple[Vector, Vector]:
    """The bounds of an LCP: zero and infinity."""
    return freeze(np.zeros(size)), freeze(np.full(size, np.inf))


def bounds_of(problem: LCP | BoxedLCP) -> tuple[Vector, Vector]:
    """Lower and upper bounds, read-only, shape (n,) each."""
    return (problem.lo, problem.hi) if isinstance(problem, BoxedLCP) else standard_bounds(problem.size)


def has_moving_bounds(problem: LCP | BoxedLCP) -> bool:
    """Whether some bounds follow another row."""
    index = problem.friction_index if isinstance(problem, BoxedLCP) else None
    return index is not None and bool((index >= 0).any())


def moving_bounds(problem: LCP | BoxedLCP) -> str | None:
    """Why a solver for fixed bounds does not take this problem, or None."""
    return "its bounds follow other rows (friction_index)" if has_moving_bounds(problem) else None


def needs_symmetry(problem: LCP | BoxedLCP) -> str | None:
    """Why a solver for symmetric matrices does not take this problem, or None."""
    return None if is_symmetric(problem.M) else "M is not symmetric"


def dense_memory(copies: float) -> Callable[[LCP | BoxedLCP], float]:
    """Bytes of so many dense n × n arrays, and of M itself where it is sparse."""

    def memory(problem: LCP | BoxedLCP) -> float:
        return 8.0 * problem.size**2 * (copies + is_sparse(problem.M))

    return memory


def sides_of(start: Vector, lo: Vector, hi: Vector) -> np.ndarray:
    """The rows' sides that a start suggests: FREE strictly between the bounds."""
    sides = np.full(start.size, FREE, dtype=np.int64)
    sides[start <= lo] = AT_LO
    sides[start >= hi] = AT_HI
    return sides


def describe(sides: np.ndarray, pivots: int, *, bounded: bool = True) -> dict[str, Any]:
    """What every active-set solver tells the user.

    `active_set` lists the rows whose w is zero by construction, `at_upper` those that rest at their upper
    bound where there are any.
    """
    info: dict[str, Any] = {"active_set": np.flatnonzero(sides == FREE), "pivots": pivots}
    if bounded:
        info["at_upper"] = np.flatnonzero(sides == AT_HI)
    return info
