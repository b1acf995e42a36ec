"""Compiled sizes of a step: how fast things move, and how far they may come."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Shapes this share of a body's size apart are contacts even when nothing moves.
_NEARBY = 1e-3
# Bodies may be pushed by others within a step: twice their own travel is searched.
_SAFETY = 2.0


@njit(cache=True)
def _surface_speed(u, b, radius):
    turning = math.sqrt(u[b, 3] * u[b, 3] + u[b, 4] * u[b, 4] + u[b, 5] * u[b, 5])
    return math.sqrt(u[b, 0] * u[b, 0] + u[b, 1] * u[b, 1] + u[b, 2] * u[b, 2]) + radius * turning


@njit(cache=True)
def _reach(bound, before, predicted, h, out):
    for b in range(bound.size):
        speed, later = _surface_speed(before, b, bound[b]), _surface_speed(predicted, b, bound[b])
        if not later <= speed:
            speed = later
        out[b] = _SAFETY * h * speed + _NEARBY * bound[b]


def reach(bound: np.ndarray, before: np.ndarray, predicted: np.ndarray, h: float) -> np.ndarray:
    """How far each body's surface may travel in a step, shape (n,) [m].

    Args:
        bound: Radius of each body about its centre of mass, shape (n,) [m].
        before: Velocities at the start of the step, shape (n, 6).
        predicted: Velocities without constraints, shape (n, 6).
        h: Step [s].
    """
    out = np.empty(bound.size)
    _reach(bound, before, predicted, h, out)
    return out


@njit(cache=True)
def _larger(x, y):
    """The larger one, or NaN."""
    return y if x <= y or y != y else x


@njit(cache=True)
def magnitudes(position, predicted, free):
    """Largest |x|, |v| and |ω| of the bodies, and the norm of the free row velocities; NaN where any is."""
    far = fast = turning = squares = 0.0
    for b in range(position.shape[0]):
        for k in range(3):
            far = _larger(far, abs(position[b, k]))
            fast = _larger(fast, abs(predicted[b, k]))
            turning = _larger(turning, abs(predicted[b, 3 + k]))
    for i in range(free.size):
        squares += free[i] * free[i]
    return far, fast, turning, math.sqrt(squares)
