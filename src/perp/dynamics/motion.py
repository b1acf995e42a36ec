"""Compiled rigid-body motion: rotations and the kinematic map."""

from __future__ import annotations

import math

from perp.compilation.kernel import part


@part
def rotation_matrices(quat, R):
    """Rotation matrices of unit quaternions (w, x, y, z)."""
    for i in range(quat.shape[0]):
        w, x, y, z = quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3]
        R[i, 0, 0] = 1.0 - 2.0 * (y * y + z * z)
        R[i, 0, 1] = 2.0 * (x * y - w * z)
        R[i, 0, 2] = 2.0 * (x * z + w * y)
        R[i, 1, 0] = 2.0 * (x * y + w * z)
        R[i, 1, 1] = 1.0 - 2.0 * (x * x + z * z)
        R[i, 1, 2] = 2.0 * (y * z - w * x)
        R[i, 2, 0] = 2.0 * (x * z - w * y)
        R[i, 2, 1] = 2.0 * (y * z + w * x)
        R[i, 2, 2] = 1.0 - 2.0 * (x * x + y * y)


@part
def turn_coefficients(wx, wy, wz):
    """(1 − cos α)/α² and (α − sin α)/α³ of a turn w by the angle α = |w|.

    The Jacobian of the rotation e^[w]× is 1 + first [w]× + second [w]×² from the left, and with −first from
    the right. Small angles take the series: the differences would lose half of their digits.
    """
    square = wx * wx + wy * wy + wz * wz
    if square < 1e-3:
        first = 0.5 - square * (1.0 / 24.0 - square * (1.0 / 720.0 - square / 40320.0))
        second = 1.0 / 6.0 - square * (1.0 / 120.0 - square * (1.0 / 5040.0 - square / 362880.0))
        return first, second
    angle = math.sqrt(square)
    return (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (square * angle)


@part
def turn(wx, wy, wz, px, py, pz):
    """The vector p turned by the rotation vector w (Rodrigues)."""
    angle = math.sqrt(wx * wx + wy * wy + wz * wz)
    if angle < 1e-8:
        s, c = 1.0, 0.5
    else:
        s, c = math.sin(angle) / angle, (1.0 - math.cos(angle)) / (angle * angle)
    tx, ty, tz = wy * pz - wz * py, wz * px - wx * pz, wx * py - wy * px
    return (
        px + s * tx + c * (wy * tz - wz * ty),
        py + s * ty + c * (wz * tx - wx * tz),
        pz + s * tz + c * (wx * ty - wy * tx),
    )


@part
def move(q, u, h, out):
    """The kinematic map over a step: x⁺ = x + h v, θ⁺ = exp(h ω / 2) ⊗ θ, renormalised against round-off.

    Args:
        q: Position and quaternion of each body, shape (7 n,).
        u: Velocities (v, ω), shape (6 n,).
        h: Step [s].
        out: Poses after it.
    """
    for i in range(q.size // 7):
        at, of = 7 * i, 6 * i
        for k in range(3):
            out[at + k] = q[at + k] + h * u[of + k]
        a, b, c = 0.5 * h * u[of + 3], 0.5 * h * u[of + 4], 0.5 * h * u[of + 5]
        half = math.sqrt(a * a + b * b + c * c)
        s = 1.0 - half * half / 6.0 if half < 1e-4 else math.sin(half) / half
        pw, px, py, pz = math.cos(half), s * a, s * b, s * c
        qw, qx, qy, qz = q[at + 3], q[at + 4], q[at + 5], q[at + 6]
        w = pw * qw - px * qx - py * qy - pz * qz
        x = pw * qx + px * qw + py * qz - pz * qy
        y = pw * qy - px * qz + py * qw + pz * qx
        z = pw * qz + px * qy - py * qx + pz * qw
        scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
        out[at + 3], out[at + 4], out[at + 5], out[at + 6] = scale * w, scale * x, scale * y, scale * z
