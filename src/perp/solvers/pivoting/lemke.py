"""Lemke's complementary pivoting for the LCP, with any matrix.

An artificial variable z₀ with covering vector d makes w = M z + q + d z₀ feasible; each pivot brings in the
complement of the variable that left, until z₀ leaves (a solution) or nothing blocks (a ray). Only the inverse
of the block of basic z columns and nonbasic w rows is kept, so that a pivot with k basic columns costs n k +
3 k² multiplications and few writes; ties are broken lexicographically, at a cost only where there are ties.
It needs 2 n² + O(n) numbers, 3 n² with a nonsymmetric matrix. Large sparse matrices stay sparse, see
`sparse_lemke`; where a ray proves nothing other covering vectors are tried, and the LCPs of bimatrix games
take the path of `lemke_howson`.

Reference: Cottle, Pang and Stone, The Linear Complementarity Problem, algorithm 4.4.5 and section 4.9.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from perp.problems import LCP, ProblemError, Status
from perp.problems.infeasibility import proves_infeasible
from perp.problems.validation import Vector, freeze, is_sparse, vector
from perp.solvers.attempt import Attempt, Control
from perp.solvers.pivoting.complementary_path import ENTERING, HEADER, SIZE, WRONG, lemke_pivots, workspace
from perp.solvers.pivoting.inverse import PAD
from perp.solvers.pivoting.lemke_howson import first_player, follow_labels
from perp.solvers.pivoting.principal import repair
from perp.solvers.pivoting.rows import (
    DONE,
    RAY,
    SINGULAR,
    STOPPED,
    PivotOptions,
    dense,
    pivot,
)
from perp.solvers.pivoting.sparse_lemke import sparse_lemke
from perp.solvers.pivoting.sparse_principal import SMALLEST
from perp.solvers.registry import register
from perp.solvers.symmetry import is_symmetric

# Enough for every class that Lemke processes in practice; exponential families end here, truthfully.
PIVOTS_PER_ROW = 50
# Small problems may take more, as many pivots as cost this many multiplications: about a tenth of a second.
SMALL_WORK = 10**8
# Times that a finished basis with a wrong sign is taken as the start of another run.
RESTARTS = 3
# Covering vectors 1 + frac(pattern · i) that are tried where a ray says nothing: two golden ratios apart.
PATTERNS = (0.5 * (5.0**0.5 - 1.0), 2.0**0.5 - 1.0)


@dataclass(frozen=True)
class LemkeOptions(PivotOptions):
    """Options of Lemke's method.

    Attributes:
        covering: The covering vector d > 0, shape (n,). The default of ones suits problems whose rows have
            one scale; another vector takes another path, which may find another solution.
    """

    covering: Any = None


class _Path:
    """The kernel with its workspace, for one problem."""

    def __init__(self, problem: LCP, control: Control, options: LemkeOptions) -> None:
        n = self.n = problem.size
        M = dense(problem.M)
        self.symmetric = is_symmetric(M)
        self.transposed = M if self.symmetric else freeze(np.ascontiguousarray(M.T))
        self.q = problem.q
        self.covering = _covering(options.covering, n)
        self.integers = np.empty(HEADER + 4 * n + 4, dtype=np.int64)
        self.work = np.empty(workspace(n))
        self.stride = (n + PAD) // PAD * PAD
        self.control = control
        self.limit = control.limit(max(PIVOTS_PER_ROW * max(n, 4), SMALL_WORK // max(4 * n * n, 256)))
        self.every = options.check_every or (n if control.watched else 0)
        self.pivots = 0

    def run(self, basis: np.ndarray) -> int:
        """Follow a path from the basis with these z; returns the outcome."""
        n, size = self.n, basis.size
        self.work[:n] = self.covering
        self.integers[HEADER : HEADER + size] = basis
        self.integers[HEADER + n + 1 : HEADER + n + 1 + size] = basis
        begin = size

        def advance(count: int) -> tuple[int, int]:
            nonlocal begin
            outcome = lemke_pivots(self.transposed, self.q, self.integers, self.work, begin, count)
            begin = -1
            return outcome

        left = self.limit - self.pivots
        outcome, pivots = pivot(advance, self.iterate, self.control, limit=left, every=self.every)
        self.pivots += pivots
        return outcome

    @property
    def basis(self) -> np.ndarray:
        """The basic z, without z₀."""
        columns = self.integers[HEADER : HEADER + self.integers[SIZE]]
        return np.sort(columns[columns < self.n])

    def iterate(self) -> Vector:
        """The present z, shape (n,)."""
        columns = self.integers[HEADER : HEADER + self.integers[SIZE]]
        z = np.zeros(self.n + 1)
        z[columns] = np.maximum(self.work[self.stride : self.stride + columns.size], 0.0)
        return z[: self.n]

    def ray(self) -> dict[str, Any]:
        """The direction in which nothing blocks: rates of z, w and z₀."""
        n, size = self.n, self.integers[SIZE]
        entering = self.integers[ENTERING]
        columns = self.integers[HEADER : HEADER + size]
        z = np.zeros(n + 1)
        z[columns] = self.work[2 * self.stride : 2 * self.stride + size]
        w = self.work[4 * self.stride : 4 * self.stride + n].copy()
        w[self.integers[HEADER + n + 1 : HEADER + n + 1 + size]] = 0.0
        if entering >= n:
            z[entering - n] = 1.0
        else:
            w[entering] = 1.0
        return {"z": z[:n], "w": w, "z0": float(z[n])}


def _covering(covering: Any, n: int) -> Vector:
    if covering is None:
        return np.ones(n)
    d = vector("covering", covering, n)
    if not (d > 0).all():
        i = int(np.argmin(d > 0))
        raise ProblemError(f"covering[{i}] = {d[i]}: every entry must be positive")
    return d.copy()


def _run(path: _Path, basis: np.ndarray) -> int:
    """Follow a path, and another from where it ends as long as signs there are wrong; returns the outcome."""
    outcome = path.run(basis)
    for _ in range(RESTARTS):
        if outcome != DONE or not path.integers[WRONG]:
            break
        outcome = path.run(path.basis)
    return outcome


def _other_coverings(problem: LCP, control: Control, options: LemkeOptions, attempt: Attempt) -> Attempt:
    """Paths of other covering vectors where a ray has proved nothing; the first answer if none ends well."""
    pivots = attempt.iterations
    for number, pattern in enumerate(PATTERNS, start=2):
        # without pattern: with entries in step the rows of equal contacts tie on every pivot
        covering = 1.0 + np.mod(pattern * np.arange(1, problem.size + 1), 1.0)
        path = _Path(problem, control, replace(options, covering=covering))
        path.limit = max(0, control.limit(path.limit + pivots) - pivots)
        outcome = _run(path, np.empty(0, dtype=np.int64))
        pivots += path.pivots
        z = path.iterate()
        if outcome == DONE and not path.integers[WRONG] and control.measure(z) <= control.tol:
            info = {"active_set": path.basis, "pivots": pivots, "coverings": number}
            return Attempt(z, pivots, info=info)
        if outcome == STOPPED or control.out_of_time():
            break
    attempt.iterations = attempt.info["pivots"] = pivots
    return attempt


@register(
    "lemke",
    takes=LCP,
    summary="complementary pivoting; any matrix, a ray as certificate where it fails",
    options=LemkeOptions,
)
def lemke(problem: LCP, control: Control, options: LemkeOptions) -> Attempt:
    """Solve an LCP by Lemke's method."""
    if is_sparse(problem.M) and problem.size >= SMALLEST:
        given = None if options.covering is None else _covering(options.covering, problem.size)
        return sparse_lemke(problem, control, given)
    rows = first_player(problem) if options.covering is None and control.start is None else 0
    if rows:
        attempt = follow_labels(problem, control, rows)
        attempt.info["path"] = "lemke-howson"
        return attempt
    path = _Path(problem, control, options)
    none = np.empty(0, dtype=np.int64)
    warm = none if control.start is None else np.flatnonzero(control.start > 0)
    outcome = _run(path, warm)
    if warm.size and (outcome in (RAY, SINGULAR) or (outcome == DONE and path.integers[WRONG])):
        outcome = _run(path, none)
    info: dict[str, Any] = {"active_set": path.basis, "pivots": path.pivots}
    attempt = Attempt(path.iterate(), path.pivots, info=info)
    if outcome == SINGULAR or (outcome == DONE and path.integers[WRONG]):
        attempt.reason = Status.STALLED
        return repair(problem, control, attempt)
    if outcome == RAY:
        ray = path.ray()
        info.update(ray=ray, certificate=np.maximum(ray["z"], 0.0))
        attempt.reason = Status.INFEASIBLE
        # of a semidefinite matrix the ray is a proof, unless round-off has led astray
        if path.symmetric and not proves_infeasible(problem, info["certificate"]):
            other = repair(problem, control, attempt)
            return attempt if other.reason is Status.ITERATION_LIMIT else other
        if options.covering is None and not proves_infeasible(problem, info["certificate"]):
            return _other_coverings(problem, control, options, attempt)
    elif outcome != DONE:
        attempt.reason = control.reason if outcome == STOPPED else Status.ITERATION_LIMIT
    return attempt
