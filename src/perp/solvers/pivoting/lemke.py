"""Lemke's complementary pivoting for the LCP.

An artificial variable z₀ with covering vector e makes w = M z + q + e z₀ feasible; each pivot brings in
the complement of the variable that left, until z₀ leaves (a solution) or nothing blocks (a ray). The
lexicographic ratio test rules out cycling. A pivot costs O(n²) on a dense tableau of n (2n + 2) numbers.

Reference: Cottle, Pang and Stone, The Linear Complementarity Problem, algorithm 4.4.5 and section 4.9.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.problems import LCP, Status
from perp.problems.validation import is_sparse
from perp.solvers.attempt import Attempt, Control
from perp.solvers.registry import register

# Entries of the entering column below this fraction of its largest one are round-off, not pivots.
PIVOT_TOLERANCE = 1e-11
# Enough for every class that Lemke processes in practice; exponential families end here, truthfully.
PIVOTS_PER_ROW = 50
_DONE, _RAY, _LIMIT = 0, 1, 2


@njit(cache=True)
def _leaving_row(tableau, basis, entering):
    """Row of the lexicographic ratio test, or −1; z₀ leaves whenever it is among the least ratios."""
    n = tableau.shape[0]
    rhs = 2 * n + 1
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(tableau[i, entering]))
    best = -1
    for i in range(n):
        pivot = tableau[i, entering]
        if pivot <= PIVOT_TOLERANCE * largest:
            continue
        if best < 0:
            best = i
            continue
        other = tableau[best, entering]
        difference = tableau[i, rhs] / pivot - tableau[best, rhs] / other
        if difference == 0.0:
            if basis[best] == 2 * n:
                continue
            if basis[i] == 2 * n:
                best = i
                continue
            for j in range(n):
                difference = tableau[i, j] / pivot - tableau[best, j] / other
                if difference != 0.0:
                    break
        if difference < 0.0:
            best = i
    return best


@njit(cache=True)
def _pivot(tableau, row, column):
    n, width = tableau.shape
    scale = 1.0 / tableau[row, column]
    for j in range(width):
        tableau[row, j] *= scale
    for i in range(n):
        if i != row:
            factor = tableau[i, column]
            if factor != 0.0:
                for j in range(width):
                    tableau[i, j] -= factor * tableau[row, j]


@njit(cache=True)
def _lemke(tableau, basis, limit):
    """Pivots until done; returns (outcome, pivots, entering column of a ray)."""
    n = tableau.shape[0]
    rhs = 2 * n + 1
    row = 0
    for i in range(1, n):
        # the lexicographically least row of [q, I]: among equal q_i the last, as its unit vector is least
        if tableau[i, rhs] <= tableau[row, rhs]:
            row = i
    if tableau[row, rhs] >= 0.0:
        return _DONE, 0, -1
    entering = 2 * n
    pivots = 0
    while pivots < limit:
        _pivot(tableau, row, entering)
        pivots += 1
        leaving = basis[row]
        basis[row] = entering
        if leaving == 2 * n:
            return _DONE, pivots, -1
        entering = leaving + n if leaving < n else leaving - n
        row = _leaving_row(tableau, basis, entering)
        if row < 0:
            return _RAY, pivots, entering
    return _LIMIT, pivots, -1


@register("lemke", takes=LCP, summary="complementary pivoting; any matrix, a ray where it fails")
def lemke(problem: LCP, control: Control, options: object) -> Attempt:
    """Solve an LCP by Lemke's method."""
    n = problem.size
    M = problem.M.toarray() if is_sparse(problem.M) else problem.M
    tableau = np.hstack([np.eye(n), -M, -np.ones((n, 1)), problem.q[:, None]])
    basis = np.arange(n)
    outcome, pivots, entering = _lemke(tableau, basis, control.limit(PIVOTS_PER_ROW * max(n, 4)))
    z = np.zeros(n)
    in_basis = (basis >= n) & (basis < 2 * n)
    z[basis[in_basis] - n] = np.maximum(tableau[in_basis, -1], 0.0)
    active = np.flatnonzero(z > 0)
    info = {"active_set": active, "pivots": pivots}
    if outcome == _DONE:
        return Attempt(_refined(problem, M, z, active, control), pivots, info=info)
    if outcome == _LIMIT:
        return Attempt(z, pivots, Status.ITERATION_LIMIT, info)
    direction = np.zeros(2 * n + 1)
    direction[entering] = 1.0
    direction[basis] = -tableau[:, entering]
    info["ray"] = {"z": direction[n : 2 * n], "w": direction[:n], "z0": direction[2 * n]}
    info["certificate"] = np.maximum(direction[n : 2 * n], 0.0)
    return Attempt(z, pivots, Status.INFEASIBLE, info)


def _refined(problem: LCP, M: np.ndarray, z: np.ndarray, active: np.ndarray, control: Control) -> np.ndarray:
    """The active rows solved afresh, kept when that is better: removes accumulated round-off."""
    try:
        better = np.zeros_like(z)
        better[active] = np.maximum(np.linalg.solve(M[np.ix_(active, active)], -problem.q[active]), 0.0)
    except np.linalg.LinAlgError:
        return z
    return better if control.measure(better) <= control.measure(z) else z
