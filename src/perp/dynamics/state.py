"""Where a scene is and how it moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.scenes.frames import to_matrices


@dataclass(slots=True)
class State:
    """Positions and velocities at one time.

    In maximal coordinates `position`, `quaternion` and `velocity` are views of `qpos` and `qvel`; in reduced
    ones
    they follow from them.

    Attributes:
        time: [s].
        position: Centres of mass, shape (bodies, 3) [m].
        quaternion: Principal frames (w, x, y, z), shape (bodies, 4).
        velocity: Linear and angular velocity in the world frame, shape (bodies, 6) [m/s, rad/s].
        coordinate: Unwrapped value of every joint row between bodies, shape (joint rows,): angles know their
            turns.
        qpos, qvel, act: Coordinates, velocities and activations; those of mujoco in reduced coordinates.
        packed: All of it in one array, of which the others are views.
    """

    time: float
    position: np.ndarray
    quaternion: np.ndarray
    velocity: np.ndarray
    coordinate: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    act: np.ndarray
    packed: np.ndarray

    @classmethod
    def unpacked(cls, time: float, x: np.ndarray, sizes: tuple[int, int, int, int, int]) -> State:
        """From one array, as `packing.pack_state` fills it.

        Args:
            time: [s].
            x: The array.
            sizes: Coordinates, velocities, activations, joint rows and bodies; no bodies in maximal
                coordinates.
        """
        nq, nv, na, nt, n = sizes
        b, c = nq + nv, nq + nv + na
        d = c + nt
        q, v = x[:nq], x[nq:b]
        if n:
            e, f = d + 3 * n, d + 7 * n
            poses = x[d:e].reshape(n, 3), x[e:f].reshape(n, 4), x[f:].reshape(n, 6)
        else:
            lines = q.reshape(-1, 7)
            poses = lines[:, :3], lines[:, 3:], v.reshape(-1, 6)
        return cls(time, *poses, x[c:d], q, v, x[b:c], x)

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrices of the principal frames, shape (bodies, 3, 3)."""
        return to_matrices(self.quaternion)
