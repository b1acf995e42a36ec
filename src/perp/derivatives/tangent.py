"""States of a simulation as points of a manifold: moved along tangent vectors, and the vector between two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perp.scenes.engine import engine
from perp.scenes.frames import conjugate, multiply

if TYPE_CHECKING:
    from perp.stepping import Stepper


def size(stepper: Stepper) -> int:
    """Length 2 nv + na of a tangent vector."""
    _, nv, na, _, _ = stepper.sizes
    return 2 * nv + na


def moved(stepper: Stepper, packed: np.ndarray, change: np.ndarray) -> np.ndarray:
    """A packed state moved along a tangent vector: coordinates, velocities, activations."""
    nq, nv, na, _, _ = stepper.sizes
    out = packed.copy()
    if stepper.reduced:
        q = packed[:nq].copy()
        engine().mj_integratePos(stepper.mujoco_model, q, np.ascontiguousarray(change[:nv]), 1.0)
        out[:nq] = q
    else:
        lines, steps = out[:nq].reshape(-1, 7), change[:nv].reshape(-1, 6)
        for line, step in zip(lines, steps, strict=True):
            line[:3] += step[:3]
            angle = float(np.linalg.norm(step[3:]))
            if angle > 0.0:
                turn = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) / angle * step[3:]])
                line[3:] = multiply(turn, line[3:])
    out[nq : nq + nv + na] += change[nv:]
    return out


def between(stepper: Stepper, to: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The tangent vector at `start` that leads to `to`."""
    nq, nv, na, _, _ = stepper.sizes
    out = np.zeros(2 * nv + na)
    if stepper.reduced:
        way = np.zeros(nv)
        engine().mj_differentiatePos(stepper.mujoco_model, way, 1.0, start[:nq].copy(), to[:nq].copy())
        out[:nv] = way
    else:
        for i, (a, b) in enumerate(zip(to[:nq].reshape(-1, 7), start[:nq].reshape(-1, 7), strict=True)):
            out[6 * i : 6 * i + 3] = a[:3] - b[:3]
            turn = multiply(a[3:], conjugate(b[3:]))
            turn = turn if turn[0] >= 0 else -turn
            half = float(np.linalg.norm(turn[1:]))
            scale = 2.0 * np.arctan2(half, turn[0]) / half if half > 1e-12 else 2.0
            out[6 * i + 3 : 6 * i + 6] = scale * turn[1:]
    out[nv:] = to[nq : nq + nv + na] - start[nq : nq + nv + na]
    return out
