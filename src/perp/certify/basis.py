"""The linear system behind an answer: which rows are free, which rest at a bound, which follow another row.

With the sides known, every z is an affine function of the free ones: z = E y + c, where a row at a moving
bound follows its limiting row. The answer is then the solution of (M E)_free y = −(q + M c)_free, and all
that is left to prove are signs.
"""

from dataclasses import dataclass

import numpy as np

from perp.problems import LCP, BoxedLCP, ProblemError, Solution
from perp.problems.validation import is_sparse

# A row whose z is within this fraction of the largest one of its bound may rest there.
NEAR = 1e-9


@dataclass(frozen=True)
class Sides:
    """Where each row rests."""

    free: np.ndarray  # whether w is zero by construction and z is determined by the others, shape (n,)
    upper: np.ndarray  # whether a row that is not free rests at its upper bound, shape (n,)


def bounds(problem: LCP | BoxedLCP) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower bounds, upper bounds (factors where they move) and limiting rows (−1 for none)."""
    n = problem.size
    index = problem.limiting_row if isinstance(problem, BoxedLCP) else np.full(n, -1, dtype=np.int64)
    if (index < -1).any():
        raise ProblemError("bounds that follow the magnitude of a row of either sign cannot be certified")
    return problem.lo, problem.hi, index


def dense_matrix(problem: LCP | BoxedLCP) -> np.ndarray:
    """M as a dense array."""
    return problem.M.toarray() if is_sparse(problem.M) else problem.M


def candidate_sides(problem: LCP | BoxedLCP, solution: Solution) -> list[Sides]:
    """Guesses of the sides: the solver's own, and two read off the answer."""
    z, w = solution.z, solution.w
    lo, hi, _ = bounds(problem)
    low, high = problem.bounds(z) if isinstance(problem, BoxedLCP) else (lo, hi)
    margin = NEAR * max(1e-300, float(np.abs(z).max(initial=0.0)))
    pinned = low == high
    pushed_up = (w > 0) & np.isfinite(low)
    upper = np.where(np.isfinite(high), ~np.isfinite(low) | (z - low > high - z), False)
    inside = (z > low + margin) & (z < high - margin)
    guesses = []
    if "active_set" in solution.info:
        free = np.zeros(z.size, dtype=bool)
        free[np.asarray(solution.info["active_set"], dtype=np.int64)] = True
        guesses.append(Sides(free & ~pinned, upper))
    guesses.append(Sides(inside & ~pinned, upper))
    scale = max(1e-300, float(np.abs(problem.q).max(initial=0.0)))
    still = np.abs(w) <= NEAR * scale
    guesses.append(Sides((inside | (still & ~pushed_up)) & ~pinned, upper))
    unbounded = np.isinf(lo) & np.isinf(hi)
    return [Sides(guess.free | unbounded, guess.upper) for guess in guesses]
