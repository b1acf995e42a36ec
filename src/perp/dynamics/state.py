"""Where a scene is and how it moves."""

from __future__ import annotations

import numpy as np

from perp.scenes.frames import to_matrices


class State:
    """Positions and velocities at one time: one array, parts of which are seen by name.

    In maximal coordinates `position`, `quaternion` and `velocity` are views of `qpos` and `qvel`; in reduced
    ones they follow from them.

    Attributes:
        time: [s].
        packed: All of it, as `packing.pack_state` fills it.
        sizes: Coordinates, velocities, activations, joint rows and bodies; no bodies in maximal coordinates.
    """

    __slots__ = ("packed", "sizes", "time")

    def __init__(self, time: float, packed: np.ndarray, sizes: tuple[int, int, int, int, int]) -> None:
        self.time, self.packed, self.sizes = time, packed, sizes

    @property
    def qpos(self) -> np.ndarray:
        """Coordinates; those of mujoco in reduced ones."""
        return self.packed[: self.sizes[0]]

    @property
    def qvel(self) -> np.ndarray:
        """Velocities; those of mujoco in reduced coordinates."""
        nq, nv = self.sizes[:2]
        return self.packed[nq : nq + nv]

    @property
    def act(self) -> np.ndarray:
        """Activations of motors."""
        nq, nv, na = self.sizes[:3]
        return self.packed[nq + nv : nq + nv + na]

    @property
    def coordinate(self) -> np.ndarray:
        """Unwrapped value of every joint row between bodies, shape (joint rows,): angles know their turns."""
        begin = sum(self.sizes[:3])
        return self.packed[begin : begin + self.sizes[3]]

    @property
    def position(self) -> np.ndarray:
        """Centres of mass, shape (bodies, 3) [m]."""
        n, begin = self.sizes[4], sum(self.sizes[:4])
        return self.packed[begin : begin + 3 * n].reshape(n, 3) if n else self.qpos.reshape(-1, 7)[:, :3]

    @property
    def quaternion(self) -> np.ndarray:
        """Principal frames (w, x, y, z), shape (bodies, 4)."""
        n, begin = self.sizes[4], sum(self.sizes[:4])
        if not n:
            return self.qpos.reshape(-1, 7)[:, 3:]
        return self.packed[begin + 3 * n : begin + 7 * n].reshape(n, 4)

    @property
    def velocity(self) -> np.ndarray:
        """Linear and angular velocity in the world frame, shape (bodies, 6) [m/s, rad/s]."""
        n, begin = self.sizes[4], sum(self.sizes[:4])
        return self.packed[begin + 7 * n :].reshape(n, 6) if n else self.qvel.reshape(-1, 6)

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrices of the principal frames, shape (bodies, 3, 3)."""
        return to_matrices(self.quaternion)
