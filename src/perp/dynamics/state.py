"""Where the bodies are and how they move: one array per quantity, over the movable bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.dynamics.motion import rotation_matrices
from perp.scenes import Model


@dataclass(slots=True)
class State:
    """Positions and velocities at one time.

    Attributes:
        time: [s].
        position: Centres of mass, shape (bodies, 3) [m].
        quaternion: Principal frames (w, x, y, z), shape (bodies, 4).
        velocity: Linear and angular velocity in the world frame, shape (bodies, 6) [m/s, rad/s].
        coordinate: Unwrapped value of every joint row, shape (joint rows,): angles know their turns.
    """

    time: float
    position: np.ndarray
    quaternion: np.ndarray
    velocity: np.ndarray
    coordinate: np.ndarray

    @classmethod
    def of(cls, model: Model, coordinate: np.ndarray) -> State:
        """The state at the start of a model."""
        return cls(
            0.0, model.position.copy(), model.quaternion.copy(), model.velocity.copy(), coordinate.copy()
        )

    def copy(self) -> State:
        """An independent copy."""
        return State(
            self.time,
            self.position.copy(),
            self.quaternion.copy(),
            self.velocity.copy(),
            self.coordinate.copy(),
        )

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrices of the principal frames, shape (bodies, 3, 3)."""
        R = np.empty((self.position.shape[0], 3, 3))
        rotation_matrices(self.quaternion, R)
        return R
