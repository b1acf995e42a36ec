"""The data of a problem in decimals, for `second_opinion`: matrix, velocities, islands."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from perp.problems import BoxedLCP, ContactProblem
from perp.problems.lcp import LCP
from perp.problems.sets import Rolling

ZERO, ONE = Decimal(0), Decimal(1)
SparseRow = dict[int, Decimal]


class DynamicsForm(NamedTuple):
    """The dynamics form: J, M⁻¹ Jᵀ and M⁻¹ p by columns, bias, compliance, freedoms of each row's bodies."""

    jacobian: list[SparseRow]
    columns: list[list[Decimal]]
    bias: list[Decimal]
    compliance: list[Decimal]
    touched: list[set[int]]

    def terms(self, z: list[Decimal]) -> list[Decimal]:
        """What is summed to get the velocity of each row, with the impulses z and without."""
        free = self.columns[-1]
        moved = [
            sum((column[k] * x for column, x in zip(self.columns, z, strict=False)), v)
            for k, v in enumerate(free)
        ]
        return [
            sum((abs(a) * (abs(free[k]) + abs(moved[k])) for k, a in row.items()), abs(b) + abs(c * x))
            for row, b, c, x in zip(self.jacobian, self.bias, self.compliance, z, strict=True)
        ]


class DecimalRows(NamedTuple):
    """A matrix by its nonzeros, free velocity, lengths of rolling rows, and bodies if it comes from some."""

    matrix: list[SparseRow]
    q: list[Decimal]
    unit: list[Decimal]
    bodies: DynamicsForm | None

    def velocity(self, z: list[Decimal]) -> list[Decimal]:
        """The velocity of the answer z."""
        return [q + _product(row, z) for q, row in zip(self.q, self.matrix, strict=True)]


def read(problem: LCP | BoxedLCP | ContactProblem) -> DecimalRows:
    """The data of a problem."""
    if isinstance(problem, ContactProblem) and problem.dynamics is not None:
        matrix, q, bodies = _from_bodies(problem.dynamics)
    else:
        bodies = None
        matrix = _rows(problem.W if isinstance(problem, ContactProblem) else problem.M)
        q = _vector(problem.q)
    unit = [ONE] * len(q)
    if isinstance(problem, ContactProblem):
        for c, member in enumerate(problem.sets):
            first, last = int(problem.sets.start[c]), int(problem.sets.start[c + 1])
            if last - first > 3:
                unit[first + 3 : last] = [_gyration(matrix, first, last, member)] * (last - first - 3)
    return DecimalRows(matrix, q, unit, bodies)


def islands(
    matrix: list[SparseRow], groups: list[list[int]], coupled: Iterable[tuple[int, int]]
) -> Iterable[list[int]]:
    """Groups of rows that nothing couples to the others, one list of them after the other."""
    owner = {i: g for g, group in enumerate(groups) for i in group}
    neighbours: list[set[int]] = [set() for _ in groups]
    pairs = [(owner[i], owner[j]) for i, row in enumerate(matrix) for j, value in row.items() if value != 0]
    for a, b in [*pairs, *coupled]:
        neighbours[a].add(b)
        neighbours[b].add(a)
    seen: set[int] = set()
    for g in range(len(groups)):
        if g in seen:
            continue
        island, waiting = [], [g]
        seen.add(g)
        while waiting:
            at = waiting.pop()
            island.append(at)
            fresh = neighbours[at] - seen
            seen |= fresh
            waiting.extend(fresh)
        yield island


def _gyration(matrix: list[SparseRow], first: int, last: int, member: Any) -> Decimal:
    """The length that W gives a contact with rows that turn: √(W_TT / W_RR)."""
    diagonal = [matrix[i].get(i, ZERO) for i in range(first, last)]
    linear, angular = sum(diagonal[:3], ZERO) / 3, sum(diagonal[3:], ZERO) / len(diagonal[3:])
    if linear > 0 and angular > 0:
        return (linear / angular).sqrt()
    length = member.mu_r if isinstance(member, Rolling) else max(member.mu[2:])
    return Decimal(length) if 0 < length < float("inf") else ONE


def _vector(x: Any) -> list[Decimal]:
    return [Decimal(float(value)) for value in x]


def _rows(matrix: Any) -> list[SparseRow]:
    if hasattr(matrix, "tocsr"):
        entries = matrix.tocoo()
        rows: list[SparseRow] = [{} for _ in range(matrix.shape[0])]
        for i, j, value in zip(entries.row, entries.col, entries.data, strict=True):
            if value != 0:
                rows[int(i)][int(j)] = Decimal(float(value))
        return rows
    return [{j: Decimal(float(v)) for j, v in enumerate(row) if v != 0} for row in matrix]


def _product(row: SparseRow, x: list[Decimal]) -> Decimal:
    return sum((value * x[j] for j, value in row.items() if x[j] != 0), ZERO)


def _from_bodies(form: Any) -> tuple[list[SparseRow], list[Decimal], DynamicsForm]:
    """W = J M⁻¹ Jᵀ + Σ and q = J M⁻¹ p + b by elimination."""
    J, p = _rows(form.jacobian), _vector(form.momentum)
    mass = _mass(form.mass)
    n, m = len(p), len(J)
    right = [[J[i].get(k, ZERO) for i in range(m)] + [p[k]] for k in range(n)]
    solved = _eliminate(mass, right)
    bias, compliance = (_vector(np.broadcast_to(x, (m,))) for x in (form.bias, form.compliance))
    columns = [[solved[k][c] for k in range(n)] for c in range(m + 1)]
    matrix: list[SparseRow] = [{} for _ in range(m)]
    for i in range(m):
        for j in range(m):
            value = _product(J[i], columns[j]) + (compliance[i] if i == j else ZERO)
            if value != 0:
                matrix[i][j] = value
    q = [_product(J[i], columns[m]) + bias[i] for i in range(m)]
    return matrix, q, DynamicsForm(J, columns, bias, compliance, _touched(J, form.mass, mass))


def _touched(J: list[SparseRow], given: Any, mass: list[list[Decimal]]) -> list[set[int]]:
    """The freedoms that a row moves, with those of the same body: its block, or what the mass couples."""
    size = given.shape[1] if getattr(given, "ndim", 2) == 3 else 0
    body = [
        {j for j in range(len(mass)) if (j // size == k // size if size else mass[k][j] != 0)}
        for k in range(len(mass))
    ]
    return [set().union(*(body[k] for k in row)) for row in J]


def _mass(mass: Any) -> list[list[Decimal]]:
    if getattr(mass, "ndim", 2) == 3:
        count, k, _ = mass.shape
        full = np.zeros((count * k, count * k))
        for b in range(count):
            full[b * k : b * k + k, b * k : b * k + k] = mass[b]
        mass = full
    dense = mass.toarray() if hasattr(mass, "toarray") else mass
    return [_vector(row) for row in dense]


def _eliminate(A: list[list[Decimal]], right: list[list[Decimal]]) -> list[list[Decimal]]:
    """A⁻¹ right with row pivots; zeros are skipped, so that separate bodies stay separate."""
    n = len(A)
    rows = [A[i] + right[i] for i in range(n)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [x - factor * y if y != 0 else x for x, y in zip(rows[i], rows[k], strict=True)]
    return [[value / rows[i][i] for value in rows[i][n:]] for i in range(n)]
