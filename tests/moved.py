"""Poses of bodies after a motion, for tests of what depends on them."""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import whole
from perp.dynamics.motion import move


def moved(x: np.ndarray, quat: np.ndarray, u: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and quaternions of bodies that move with velocities u for a time h."""
    q = np.concatenate([x, quat], axis=1).ravel()
    out = np.empty_like(q)
    whole(move)(q, np.ascontiguousarray(u).ravel(), h, out)
    poses = out.reshape(-1, 7)
    return poses[:, :3].copy(), poses[:, 3:].copy()
