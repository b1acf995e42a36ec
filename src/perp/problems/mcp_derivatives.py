"""Jacobians of functions that come without one: differences or complex steps, a group of columns at a time.

Columns that share no row can be found from one evaluation: they are coloured greedily (Curtis, Powell and
Reid 1974; Coleman and Moré 1983). Differences stay within the box, because functions of prices and quantities
are often not defined outside of it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from perp.compilation.deadline import check_time
from perp.problems.errors import ProblemError
from perp.problems.validation import Vector, is_sparse, matrix

# Relative steps: √ε for one-sided differences; complex ones cannot cancel.
STEP, COMPLEX_STEP = 2.0**-26, 1e-40
# A variable near 0 is moved as if it were this fraction of its typical size.
SMALL = 1e-2
# Unknowns up to which a Jacobian without a pattern is dense; one with more than this share of its
# entries is dense as well: sparse storage would take more memory, and groups of columns save nothing.
LARGEST_DENSE, DENSE_SHARE = 200, 0.2
# Columns after which one that is clearly dense counts as dense.
COLUMN_SAMPLE = 64


class Differences:
    """Derivatives of f, which takes complex z for complex steps, in a box; the start tells how large z is."""

    def __init__(
        self, f: Callable[[Vector], Any], lo: Vector, hi: Vector, start: Vector | None = None
    ) -> None:
        self.f, self.lo, self.hi = f, lo, hi
        self.unit = typical_size(lo, hi, np.zeros(lo.size) if start is None else start)

    def jacobian(self, z: Vector, pattern: Any, complex_step: bool) -> Callable[[Vector], Any]:
        """The Jacobian as a function of z; z is where a pattern is detected if asked for."""
        if pattern is None and z.size > LARGEST_DENSE:
            pattern = "detect"
        if complex_step:
            self._check_complex(z)
        if isinstance(pattern, str) and pattern != "detect":
            raise ProblemError(f"pattern is {pattern!r}: a matrix or 'detect' is needed")
        if pattern is None:
            return lambda z: self._every_column(z, complex_step)
        if not isinstance(pattern, str):
            return self._by_groups(pattern, z.size, complex_step)
        # found when it is first asked for, within the time limit of whoever asks
        found: list[Callable[[Vector], Any]] = []

        def detected(at: Vector) -> Any:
            if not found:
                where = self.detect(z)
                found.append(
                    (lambda z: self._every_column(z, complex_step))
                    if where is None
                    else self._by_groups(where, z.size, complex_step)
                )
            return found[0](at)

        return detected

    def _by_groups(self, pattern: Any, n: int, complex_step: bool) -> Callable[[Vector], Any]:
        """The Jacobian with a known pattern, as a function of z."""
        rows, columns = _nonzero(pattern, n)
        groups = colour(rows, columns, n)

        def sparse(z: Vector) -> Any:
            from scipy.sparse import csr_array

            changes, h = self._changes(z, groups, complex_step), self._steps(z, complex_step)
            # a row depends on at most one variable of a group: it knows which step was its own
            values = changes[groups[columns], rows] / h[columns]
            return csr_array((values, (rows, columns)), shape=(n, n))

        return sparse

    def detect(self, z: Vector) -> Any:
        """Where the Jacobian may be nonzero: rows that a NaN of one variable reaches, or a difference.

        None if it is dense. One or two evaluations per variable, once. A function that branches on its
        variables may hide entries: give the pattern of such a one.
        """
        from scipy.sparse import csc_array

        n, entries, steps = z.size, 0, self._steps(z)
        rows: list[np.ndarray] = [np.zeros(0, int)] * n
        f = np.asarray(self.f(z))
        with np.errstate(all="ignore"):
            # in any order, so that the first ones are a fair sample
            for done, j in enumerate(np.random.default_rng(0).permutation(n), 1):
                check_time("it was found out which rows depend on which variables")
                marked = z.copy()
                marked[j] = np.nan
                reached = np.isnan(np.asarray(self.f(marked)))
                if not reached.any() or reached.all():  # NaN was dropped, or was spread by a sum over all
                    moved = z.copy()
                    moved[j] += steps[j]
                    reached = np.asarray(self.f(moved)) != f
                rows[j] = np.flatnonzero(reached)
                entries += rows[j].size
                sampled = done == COLUMN_SAMPLE and entries > 2.0 * DENSE_SHARE * done * n
                if n > LARGEST_DENSE and (sampled or entries > DENSE_SHARE * n * n):
                    return None
        starts = np.concatenate([[0], np.cumsum([r.size for r in rows])])
        indices = np.concatenate(rows) if rows else np.zeros(0, int)
        return csc_array((np.ones(indices.size), indices, starts), shape=(n, n))

    def _steps(self, z: Vector, complex_step: bool = False) -> Vector:
        """Signed steps that stay in the box where it is wide enough, shape (n,)."""
        if complex_step:
            return np.full(z.size, COMPLEX_STEP)
        h = STEP * np.maximum(np.abs(z), SMALL * self.unit)
        h = np.where(z + h > self.hi, -h, h)
        wide = np.where(self.hi - z > z - self.lo, self.hi - z, self.lo - z)
        h = np.where((z + h < self.lo) & (wide != 0.0), wide, h)
        return (z + h) - z  # exactly representable

    def _every_column(self, z: Vector, complex_step: bool) -> np.ndarray:
        found = self._changes(z, np.arange(z.size), complex_step)
        found /= self._steps(z, complex_step)[:, None]
        return found.T

    def _changes(self, z: Vector, groups: np.ndarray, complex_step: bool) -> np.ndarray:
        """What f changes by when the variables of each group take their steps, shape (groups, n)."""
        h = self._steps(z, complex_step)
        found = np.empty((int(groups.max(initial=-1)) + 1, z.size))
        base = None if complex_step else np.asarray(self.f(z))
        with np.errstate(all="ignore"):
            for k in range(found.shape[0]):
                check_time("the Jacobian was taken by differences")
                moved = np.where(groups == k, h, 0.0)
                if base is None:
                    found[k] = np.imag(np.asarray(self.f(z + 1j * moved)))
                else:
                    found[k] = np.asarray(self.f(z + moved)) - base
        return found

    def _check_complex(self, z: Vector) -> None:
        try:
            value = np.asarray(self.f(z.astype(complex)))
        except (TypeError, ValueError) as error:
            raise ProblemError(
                f"f does not take complex numbers, which complex steps need: {error}"
            ) from None
        if value.dtype.kind != "c":
            raise ProblemError(
                "f of complex z is real: complex steps need a function that keeps imaginary parts"
            )


def typical_size(lo: Vector, hi: Vector, start: Vector) -> Vector:
    """How large each variable is: its start, else its width or nearest bound, else 1, shape (n,)."""
    width = np.where(np.isfinite(hi - lo) & (hi > lo), hi - lo, np.inf)
    bound = np.minimum(np.where(lo != 0, np.abs(lo), np.inf), np.where(hi != 0, np.abs(hi), np.inf))
    known = np.minimum(width, bound)
    return np.where(start != 0, np.abs(start), np.where(np.isfinite(known), known, 1.0))


def colour(rows: np.ndarray, columns: np.ndarray, n: int) -> np.ndarray:
    """A group for each column so that no two of a group share a row, shape (n,)."""
    from scipy.sparse import csc_array

    pattern: Any = csc_array((np.ones(rows.size), (rows, columns)), shape=(n, n))
    by_row: Any = pattern.tocsr()
    groups, taken = np.full(n, -1), np.zeros(n + 1, dtype=bool)
    for j in np.argsort(-np.diff(pattern.indptr), kind="stable"):
        own = pattern.indices[pattern.indptr[j] : pattern.indptr[j + 1]]
        # the last place stands for columns without a group: index −1
        near = [groups[by_row.indices[by_row.indptr[i] : by_row.indptr[i + 1]]] for i in own]
        for used in near:
            taken[used] = True
        taken[-1] = False
        groups[j] = int(np.argmin(taken))
        for used in near:
            taken[used] = False
    return groups


def check_derivative(
    f: Callable[[Vector], Vector], J: Any, z: Vector, lo: Vector, hi: Vector, tolerance: float
) -> tuple[int, int, float, float, int] | None:
    """The worst entry of a Jacobian that differences of f contradict: row, column, both values, how many.

    Entries are compared relative to the largest of their row and their own difference quotients of two steps:
    where those two do not agree f has a kink, and nothing is said.
    """
    n = z.size
    dense = np.asarray(J.toarray() if is_sparse(J) else J)
    steps = Differences(f, lo, hi, z)._steps(z)
    base = f(z)
    worst, found = 0.0, None
    count = 0
    with np.errstate(all="ignore"):
        for j in range(n):
            quotients = []
            for factor in (64.0, 8.0):
                moved = z.copy()
                moved[j] = (
                    np.clip(z[j] + factor * steps[j], lo[j], hi[j]) if lo[j] < hi[j] else z[j] + steps[j]
                )
                quotients.append((f(moved) - base) / (moved[j] - z[j]))
            coarse, fine = quotients
            size = np.maximum(np.abs(dense).max(axis=1, initial=0.0), np.abs(fine))
            size = np.maximum(size, 1e-7 * np.abs(base) / np.abs(steps[j]))
            smooth = np.abs(coarse - fine) <= 0.1 * tolerance * size
            error = np.where(
                smooth & (size > 0), np.abs(dense[:, j] - fine) / np.where(size > 0, size, 1.0), 0.0
            )
            count += int(np.count_nonzero(error > tolerance))
            i = int(np.argmax(error))
            if error[i] > max(worst, tolerance):
                worst, found = float(error[i]), (i, j, float(dense[i, j]), float(fine[i]))
    return None if found is None else (*found, count)


def _nonzero(pattern: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the entries of a pattern."""
    from scipy.sparse import coo_array

    entries: Any = coo_array(matrix("pattern", pattern, rows=n, columns=n))
    return entries.row, entries.col
