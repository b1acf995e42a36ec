"""Sliding rods and wedges with no, one or several solutions: all cases enumerated in rational arithmetic.

What an enumeration proves impossible must not be called solved; what it finds the default must find too.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from second_opinion import law_violation

import perp

Matrix = list[list[Fraction]]


def solve_exactly(A: Matrix, b: list[Fraction]) -> list[Fraction] | None:
    """The solution of A x = b, None where A is singular."""
    rows = [[*row, value] for row, value in zip(A, b, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                rows[i] = [entry - rows[i][k] * other for entry, other in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def planar_solutions(W: Matrix, q: list[Fraction], mu: list[Fraction]) -> tuple[int, bool]:
    """How many of the combinations open, stick, slip left, slip right have a solution; whether all are known.

    A combination whose equations are singular may hide solutions: then not all are known.
    """
    found, known, n = 0, True, len(q)
    for modes in product(("open", "stick", 1, -1), repeat=len(mu)):
        A: Matrix = []
        b: list[Fraction] = []
        for c, mode in enumerate(modes):
            for i in (2 * c, 2 * c + 1):
                unit = [Fraction(int(j == i)) for j in range(n)]
                if mode == "open":
                    A.append(unit)
                    b.append(Fraction(0))
                elif mode == "stick" or i == 2 * c:
                    A.append(W[i])
                    b.append(-q[i])
                else:
                    unit[2 * c] = -mode * mu[c]
                    A.append(unit)
                    b.append(Fraction(0))
        z = solve_exactly(A, b)
        if z is None:
            known = False
            continue
        u = [dot(row, z) + value for row, value in zip(W, q, strict=True)]
        found += all(
            (u[2 * c] >= 0)
            if mode == "open"
            else z[2 * c] >= 0
            and (abs(z[2 * c + 1]) <= mu[c] * z[2 * c] if mode == "stick" else mode * u[2 * c + 1] <= 0)
            for c, mode in enumerate(modes)
        )
    return found, known


def rational(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Random multiples of 1/8, exact in doubles."""
    return rng.integers(-16, 17, shape) / 8.0


def check(problem: perp.ContactProblem, found: int, known: bool) -> None:
    """The default finds a solution where there is one, and claims none where there is not."""
    solution = perp.solve(problem, throw=False)
    assert np.isfinite(solution.z).all()
    if found:
        assert solution.solved, problem
    if solution.solved:
        assert law_violation(problem, solution.z) <= 3e-8
        assert found or not known


@pytest.mark.parametrize(("contacts", "count"), [(1, 120), (2, 50)])
def test_planar_contacts_with_any_matrix_as_of_sliding_rods(contacts, count):
    # Génot and Brogliato 1999: linearised at a sliding contact, W is not positive definite
    rng = np.random.default_rng(7)
    tally = {"none": 0, "one": 0, "several": 0}
    for _ in range(count):
        W = rational(rng, 2 * contacts, 2 * contacts) + 0.5 * np.eye(2 * contacts)
        q, mu = rational(rng, 2 * contacts), np.abs(rational(rng, contacts)) + 0.125
        exact = [[Fraction(x) for x in row] for row in W.tolist()]
        found, known = planar_solutions(
            exact, [Fraction(x) for x in q.tolist()], [Fraction(x) for x in mu.tolist()]
        )
        check(perp.ContactProblem.coulomb(W, q, mu, dimension=2), found, known)
        tally["none" if not found else "one" if found == 1 else "several"] += 1
    assert min(tally.values()) >= 5, tally


def test_painleve_rods_whose_sliding_contacts_push_themselves_in():
    # a rod of mass 1 with r² = 1/3 sliding on up to three points: W_ij = n_iᵀ M⁻¹ (n_j − μ t_j), 2ⁿ cases;
    # with a negative diagonal there are two solutions where the contact opens and none where it closes
    rng = np.random.default_rng(3)
    tally = {"none": 0, "one": 0, "several": 0}
    for _ in range(100):
        n = int(rng.integers(1, 4))
        arm = rational(rng, n, 2)
        normal = np.column_stack([np.zeros(n), np.ones(n), arm[:, 0]])
        tangent = np.column_stack([np.ones(n), np.zeros(n), -arm[:, 1]])
        inverse = np.array([1.0, 1.0, 3.0])
        W = (normal * inverse) @ (normal - 2.0 * tangent).T
        q = rational(rng, n)
        found, known = 0, True
        for closed in product((False, True), repeat=n):
            rows = [i for i in range(n) if closed[i]]
            exact = [[Fraction(W[i, j]) for j in rows] for i in rows]
            part = solve_exactly(exact, [-Fraction(q[i]) for i in rows])
            if part is None:
                known = False
                continue
            z = [Fraction(0)] * n
            for i, value in zip(rows, part, strict=True):
                z[i] = value
            u = [dot([Fraction(x) for x in W[i]], z) + Fraction(q[i]) for i in range(n)]
            found += min(z) >= 0 and min(u) >= 0
        check(perp.ContactProblem(W, q, [perp.Nonnegative()] * n), found, known)
        tally["none" if not found else "one" if found == 1 else "several"] += 1
    assert min(tally.values()) >= 10, tally


def least_violation(W: np.ndarray, q: np.ndarray, mu: np.ndarray) -> float:
    """By how much the best combination of cases misses a solution, from one linear program each."""
    best, n = np.inf, q.size
    for modes in product(("open", "stick", 1, -1), repeat=mu.size):
        # all conditions as A λ + b ≥ −t
        A, b = [], []

        def demand(row: np.ndarray, value: float, *, equal: bool = False) -> None:
            A.append(row)  # noqa: B023
            b.append(value)  # noqa: B023
            if equal:
                A.append(-row)  # noqa: B023
                b.append(-value)  # noqa: B023

        for c, mode in enumerate(modes):
            N, T = np.eye(n)[2 * c], np.eye(n)[2 * c + 1]
            demand(W[2 * c], q[2 * c], equal=mode != "open")
            if mode == "open":
                demand(N, 0.0, equal=True)
                demand(T, 0.0, equal=True)
                continue
            demand(mu[c] * N - T, 0.0, equal=mode == 1)
            demand(mu[c] * N + T, 0.0, equal=mode == -1)
            sign = 1.0 if mode == "stick" else -float(mode)
            demand(sign * W[2 * c + 1], sign * q[2 * c + 1], equal=mode == "stick")
        rows = -np.column_stack([np.array(A), np.ones(len(A))])
        program = linprog([0.0] * n + [1.0], A_ub=rows, b_ub=b, bounds=[(None, None)] * n + [(0.0, None)])
        if program.status == 0:
            best = min(best, float(program.fun))
    return best


def test_wedged_bodies_between_up_to_three_walls():
    # a planar body (three degrees of freedom) touched by two or three walls from any side: impulses are not
    # unique where it jams; walls that close in from both sides leave no solution where friction is too weak
    rng = np.random.default_rng(11)
    solvable = impossible = 0
    for trial in range(60):
        n = int(rng.integers(2, 4)) if trial % 3 else 2
        angle = rng.uniform(0, 2 * np.pi, n)
        if trial % 2:
            angle[1] = angle[0] + np.pi
        arm = rng.uniform(-1, 1, (n, 2)) * (trial % 4 != 1)
        normal = np.column_stack([np.cos(angle), np.sin(angle)])
        tangent = np.column_stack([-np.sin(angle), np.cos(angle)])
        directions = np.stack([normal, tangent], axis=1).reshape(-1, 2)
        arms = np.repeat(arm, 2, axis=0)
        J = np.column_stack([directions, arms[:, 0] * directions[:, 1] - arms[:, 1] * directions[:, 0]])
        bias = np.zeros(2 * n)
        if trial % 3 == 0:
            bias[::2] = -rng.uniform(0, 1, n)
        W, q, mu = J @ J.T, J @ rng.normal(size=3) + bias, rng.uniform(0.0, 1.5, n)
        problem = perp.ContactProblem.coulomb(W, q, mu, dimension=2)
        solution = perp.solve(problem, throw=False)
        violation = least_violation(W, q, mu)
        if violation <= 1e-10:
            solvable += 1
            assert solution.solved, (trial, solution.residual)
        elif violation > 1e-5:
            impossible += 1
            assert not solution.solved, (trial, violation)
        if solution.solved:
            assert law_violation(problem, solution.z) <= 3e-8
    assert solvable >= 30
    assert impossible >= 3
