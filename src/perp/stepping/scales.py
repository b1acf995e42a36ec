"""Compiled sizes of a step: how fast things move, and how far they may come."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.scenes import Model
from perp.stepping.settings import StepSettings

# Shapes this share of a body's size apart are contacts even when nothing moves.
_NEARBY = 1e-3
# Bodies may be pushed by others within a step: twice their own travel is searched.
_SAFETY = 2.0
# A body that needs longer than this many seconds to move its own size counts as at rest.
_SLOWEST_SPEED = 1e-8
_STEPS_PER_LENGTH = 10.0
_SIZES = 10.0
_ROUND_OFF = 2e-15


@njit(cache=True)
def _surface_speed(u, b, radius):
    turning = math.sqrt(u[b, 3] * u[b, 3] + u[b, 4] * u[b, 4] + u[b, 5] * u[b, 5])
    return math.sqrt(u[b, 0] * u[b, 0] + u[b, 1] * u[b, 1] + u[b, 2] * u[b, 2]) + radius * turning


@njit(cache=True)
def travel(bound, before, predicted, h, out):
    """See `reach`."""
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
    travel(bound, before, predicted, h, out)
    return out


@njit(cache=True)
def relative_travel(bound, u, h):
    """How far a body's surface moves in a step at most, over the body's radius."""
    most = 0.0
    for b in range(bound.size):
        if bound[b] > 0.0:
            most = max(most, h * _surface_speed(u, b, bound[b]) / bound[b])
    return most


@njit(cache=True)
def _larger(x, y):
    """The larger one, or NaN."""
    return y if x <= y or y != y else x


@njit(cache=True)
def step_scales(position, predicted, free, size, gained, driven, h, share, tolerance):
    """See `scales`; `share` is what a contact solver may leave of the free velocity, over the tolerance."""
    far = fast = turning = squares = 0.0
    for b in range(position.shape[0]):
        for k in range(3):
            far = _larger(far, abs(position[b, k]))
            fast = _larger(fast, abs(predicted[b, k]))
            turning = _larger(turning, abs(predicted[b, 3 + k]))
    for i in range(free.size):
        squares += free[i] * free[i]
    pushed = gained if gained > 0.0 else driven
    speed = _larger(_larger(fast, size * turning), _larger(math.sqrt(squares), pushed))
    speed = _larger(_SLOWEST_SPEED * size, speed)
    wanted = _STEPS_PER_LENGTH * h * (gained if gained > 0.0 else speed)
    solvable = min(share * h * speed, _SIZES * size)
    return speed, max(min(size, wanted), solvable, _ROUND_OFF * (size + far) / tolerance)


def scales(
    model: Model,
    settings: StepSettings,
    h: float,
    position: np.ndarray,
    predicted: np.ndarray,
    free: np.ndarray,
    driven: float = 0.0,
) -> tuple[float, float]:
    """What velocities [m/s] and positions [m] of a step are held against.

    Velocities: the free velocity of the rows, or of a fast body. Positions: the bodies' size; less in short
    steps, where a gap is a force. A gap error ε is a force error m ε / h², so ε is kept in proportion to the
    distance travelled in the step, down to what round-off of the coordinates allows.

    Args:
        model: The scene.
        settings: Tolerances.
        h: Step [s].
        position: Centres of mass, shape (n, 3).
        predicted: Velocities of the bodies without constraints, shape (n, 6).
        free: The same of the rows, shape (rows,).
        driven: What motors alone add to the velocities, where there is no gravity [m/s].
    """
    # the contact solver works relative to the free velocity: a fast scene may need more than one size
    share = settings.solvable_share
    gained = h * math.sqrt(float(model.gravity @ model.gravity))
    return step_scales(position, predicted, free, model.size, gained, driven, h, share, settings.tolerance)
