"""What is at work at each constraint, for `second_opinion`: a velocity, and the impulse that causes it.

The least of what is at work on the island, known from the data, and of what the constraint's own rows
are summed from at an answer: rows of one island may have units of their own, and one that misses all of its
terms, and of what its neighbours' data cause at it, is wrong however small they are beside other rows' data.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple

from second_opinion.data import ONE, ZERO, DecimalRows, islands

# Doubles have no more digits than this beside neighbours whose own terms are large: a row whose terms are
# smaller may be the round-off of what it was computed from. With a tolerance of 1e-8 it allows 1e-15.
ROUND_OFF = Decimal("1e-8")
# Rows of an island that differ by less than a tenth share what is at work there.
SHARED = Decimal(10)
# Entries below this share of what masses allow are no round-off.
COUPLED = Decimal("1e-20")
# What is smaller is no longer told from nothing at all.
LEAST = Decimal("1e-290")


class Scale(NamedTuple):
    """What is at work at a constraint: a velocity, and the impulse that causes it."""

    velocity: Decimal
    impulse: Decimal


class Work:
    """What is at work at groups of rows; `demand` is the impulse that each must carry in any case."""

    def __init__(
        self, rows: DecimalRows, groups: list[list[int]], demand: list[Decimal], coupled: Iterable[Any]
    ) -> None:
        self._rows, self._groups = rows, groups
        # entries in units of the groups
        self._entries = [
            [(j, abs(rows.unit[i] * value * rows.unit[j])) for j, value in row.items()]
            for i, row in enumerate(rows.matrix)
        ]
        self._mobility = self._strengths([ONE] * len(rows.q))
        own = [
            max([abs(rows.q[i] * rows.unit[i]) for i in group] + [self._mobility[g] * demand[g]])
            for g, group in enumerate(groups)
        ]
        self._island = [ZERO] * len(groups)
        for island in islands(rows.matrix, groups, coupled):
            size = max(own[g] for g in island)
            for g in island:
                self._island[g] = size
        least = min((size for size in self._island if size > 0), default=ONE)
        self._island = [size or least for size in self._island]

        self._beside = self._caused(own) if rows.bodies is None else [ZERO] * len(groups)

    def _caused(self, own: list[Decimal]) -> list[Decimal]:
        """What the data of neighbours would cause at each group, along any chain of them."""
        owner = {i: g for g, group in enumerate(self._groups) for i in group}
        itself = [
            max(self._rows.matrix[i].get(i, ZERO) * self._rows.unit[i] ** 2 for i in group)
            for group in self._groups
        ]
        reach = list(own)
        for _ in range(len(reach)):
            for i, row in enumerate(self._entries):
                for j, value in row:
                    a, b = owner[i], owner[j]
                    if a != b and itself[b] > 0:
                        reach[a] = min(self._island[a], max(reach[a], reach[b] * value / itself[b]))
        return reach

    def _strengths(self, sizes: list[Decimal]) -> list[Decimal]:
        """The most that a unit impulse of each group does to any row, in that row's size."""
        strength = [ZERO] * len(sizes)
        for i, row in enumerate(self._entries):
            for j, value in row:
                strength[j] = max(strength[j], value / sizes[i])
        strongest = max(strength, default=ZERO) or ONE
        return [max(strength[i] for i in group) or strongest for group in self._groups]

    def scales(self, z: list[Decimal]) -> list[Scale]:
        """What is at work at the answer z."""
        terms = self._terms(z)
        at_work = [
            SHARED * max(*(terms[i] for i in group), self._beside[g]) for g, group in enumerate(self._groups)
        ]
        sizes = [
            min(most, size) if size > LEAST else most
            for size, most in zip(at_work, self._island, strict=True)
        ]
        if sizes == self._island:
            return [Scale(s, s / m) for s, m in zip(sizes, self._mobility, strict=True)]
        if self._rows.bodies is not None:
            return [self._of_bodies(g, size) for g, size in enumerate(sizes)]
        of_row = [ONE] * len(terms)
        for group, size in zip(self._groups, sizes, strict=True):
            for i in group:
                of_row[i] = size
        return [Scale(s, 1 / m) for s, m in zip(sizes, self._strengths(of_row), strict=True)]

    def _of_bodies(self, g: int, size: Decimal) -> Scale:
        """With masses nothing does more elsewhere than its own mobility and that of the other allow."""
        own = max(dict(self._entries[i]).get(i, ZERO) for i in self._groups[g])
        impulse = self._island[g] / self._mobility[g]
        return Scale(size, min(impulse, size / own) if own > 0 else impulse)

    def _terms(self, z: list[Decimal]) -> list[Decimal]:
        rows = self._rows
        pushes = [abs(x) / unit for x, unit in zip(z, rows.unit, strict=True)]
        diagonal = [rows.matrix[i].get(i, ZERO) * rows.unit[i] ** 2 for i in range(len(z))]
        out = []
        if rows.bodies is not None:
            touched = rows.bodies.touched
            for i, total in enumerate(rows.bodies.terms(z)):
                beside = [j for j in range(len(z)) if touched[i] & touched[j]]
                most = max(((diagonal[i] * diagonal[j]).sqrt() * pushes[j] for j in beside), default=ZERO)
                out.append(max(total * rows.unit[i], ROUND_OFF * most))
            return out
        for i, row in enumerate(self._entries):
            total = sum((value * pushes[j] for j, value in row), abs(rows.q[i]) * rows.unit[i])
            for j, value in row:
                strongest = (diagonal[i] * diagonal[j]).sqrt() if min(diagonal[i], diagonal[j]) > 0 else ZERO
                if value > COUPLED * strongest:
                    total = max(total, ROUND_OFF * strongest * pushes[j])
            out.append(total)
        return out
