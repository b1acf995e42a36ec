"""Anderson acceleration of a fixed point s = g(s), with a stopping test.

The next point mixes the last few so that their residuals g(s) − s cancel in the least-squares sense. It costs
a small least-squares problem; without memory it is the plain iteration s ← g(s).

Reference: Walker and Ni, Anderson acceleration for fixed-point iterations (2011).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from perp.problems.validation import Vector

# Relative change below which further iterations only move round-off.
STILL = 1e-15


@dataclass(frozen=True)
class FixedPoint:
    """The points s and values g(s) of the last iterations."""

    memory: int = 5  # how many earlier points are mixed; 0 is the plain iteration
    limit: int = 200  # iterations at most
    # iterations in a row in which the change may fail to halve: then the noise of an inexact g has been
    # reached, or the map does not contract
    patience: int = 10
    done: int = 0  # iterations made
    points: tuple[Vector, ...] = ()
    values: tuple[Vector, ...] = ()
    best: float = np.inf  # the smallest change |g(s) − s| so far
    since: int = 0  # iterations since it last halved

    def advance(self, point: Vector, value: Vector) -> tuple[Vector, FixedPoint] | None:
        """The next nonnegative point with its state; None at the fixed point or at a limit."""
        size = max(float(np.abs(value).max(initial=0.0)), float(np.abs(point).max(initial=0.0)))
        change = float(np.abs(value - point).max(initial=0.0))
        since = 0 if change < 0.5 * self.best else self.since + 1
        if change <= STILL * size or since >= self.patience or self.done + 1 >= self.limit:
            return None
        points = (*self.points, point)[-(self.memory + 1) :]
        values = (*self.values, value)[-(self.memory + 1) :]
        following = replace(
            self, done=self.done + 1, points=points, values=values, best=min(change, self.best), since=since
        )
        return np.maximum(_mix(points, values), 0.0), following


def _mix(points: tuple[Vector, ...], values: tuple[Vector, ...]) -> Vector:
    if len(points) == 1:
        return values[-1]
    residuals = np.array(values) - np.array(points)
    steps = np.diff(residuals, axis=0)
    weights = np.linalg.lstsq(steps.T, residuals[-1], rcond=1e-10)[0]
    return values[-1] - weights @ np.diff(np.array(values), axis=0)
