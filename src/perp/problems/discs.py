"""The discs of a friction set: rows that slip together, with coefficients of the normal impulse as limits."""

import numpy as np

from perp.problems.sets import ELLIPTIC, ROLLING, Sets


def discs(sets: Sets, c: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows of each disc of constraint c, and the coefficient of each of them."""
    rows, p = np.arange(sets.start[c] + 1, sets.start[c + 1]), sets.parameters[c]
    if sets.kind[c] == ROLLING:
        return [(rows[:2], np.full(2, p[0])), (rows[2:], np.full(2, p[1]))]
    return [(rows, p[: rows.size].copy() if sets.kind[c] == ELLIPTIC else np.full(rows.size, p[0]))]
