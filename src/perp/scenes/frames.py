"""Quaternions (w, x, y, z) for building models; the compiled ones of a step are in dynamics/rotation.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from perp.scenes.model import Model

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def multiply(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """p ⊗ q: first q, then p; of single quaternions or over leading axes, shape (…, 4)."""
    w = p[..., :1] * q[..., :1] - (p[..., 1:] * q[..., 1:]).sum(axis=-1, keepdims=True)
    v = p[..., :1] * q[..., 1:] + q[..., :1] * p[..., 1:] + np.cross(p[..., 1:], q[..., 1:])
    return np.concatenate([w, v], axis=-1)


def conjugate(q: np.ndarray) -> np.ndarray:
    """The inverse rotation."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def rotate(q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The vector x turned by q; of single vectors or over leading axes, shape (…, 3)."""
    t = 2.0 * np.cross(q[..., 1:], x)
    return x + q[..., :1] * t + np.cross(q[..., 1:], t)


def from_matrix(R: np.ndarray) -> np.ndarray:
    """The quaternion of a rotation matrix, by the largest of its four components."""
    squares = np.array(
        [1 + R[0, 0] + R[1, 1] + R[2, 2], 1 + R[0, 0] - R[1, 1] - R[2, 2],
         1 - R[0, 0] + R[1, 1] - R[2, 2], 1 - R[0, 0] - R[1, 1] + R[2, 2]]
    )  # fmt: skip
    products = np.array(
        [
            [squares[0], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], squares[1], R[1, 0] + R[0, 1], R[0, 2] + R[2, 0]],
            [R[0, 2] - R[2, 0], R[1, 0] + R[0, 1], squares[2], R[2, 1] + R[1, 2]],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[2, 1] + R[1, 2], squares[3]],
        ]
    )
    q = products[int(np.argmax(squares))]
    q = q / np.linalg.norm(q)
    return q if q[0] >= 0 else -q


def frame_along(axis: Any, second_axis: Any = None) -> np.ndarray:
    """A frame whose z is `axis` and whose x is `second_axis`, or any perpendicular direction."""
    z = np.asarray(axis, dtype=np.float64)
    z = z / np.linalg.norm(z)
    guess = np.eye(3)[int(np.argmin(np.abs(z)))] if second_axis is None else np.asarray(second_axis, float)
    x = guess - (guess @ z) * z
    x = x / np.linalg.norm(x)
    return from_matrix(np.column_stack([x, np.cross(z, x), z]))


def into_body(model: Model, body: int, point: np.ndarray) -> np.ndarray:
    """A point of the world in a body's principal frame, at the model's starting pose."""
    if body < 0:
        return point.copy()
    return rotate(conjugate(model.quaternion[body]), point - model.position[body])


def relative_frame(model: Model, body: int, frame: np.ndarray) -> np.ndarray:
    """An orientation of the world in a body's principal frame, at the model's starting pose."""
    return frame.copy() if body < 0 else multiply(conjugate(model.quaternion[body]), frame)


def to_matrices(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions, shapes (n, 4) and (n, 3, 3)."""
    w, x, y, z = np.asarray(quaternion, dtype=np.float64).reshape(-1, 4).T
    matrices = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    return np.ascontiguousarray(np.moveaxis(matrices, -1, 0))
