"""A test set of the user's own: a class with a name and problems."""

from __future__ import annotations

from collections.abc import Iterator

import perp
from perp.bench.sets import NamedProblem


class TwoByTwo:
    """Two LCPs with known answers."""

    name = "two-by-two"

    def problems(self) -> Iterator[NamedProblem]:
        for number, q in enumerate(([-5.0, -6.0], [1.0, -1.0])):
            yield NamedProblem(f"q{number}", perp.LCP([[2.0, 1.0], [1.0, 2.0]], q))
