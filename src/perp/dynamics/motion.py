"""Compiled rigid-body motion: rotations, the free step with its gyroscopic term, and the kinematic map.

The free rotation of a step solves, in the body frame, Π⁺ = exp(−h ω̂) Π with ω = I⁻¹ (Π + Π⁺)/2: a symmetric,
second-order scheme on the sphere of constant |Π|. The orientation is turned by exp(h ω), so the angular
momentum in the world frame does not change at all; the spin of the next step is read off the momentum, ω =
I(q)⁻¹ L.

Letters: x, quat, R pose of a body; u = (v, ω) its velocity; L angular momentum; h the step.
Reference: Lewis and Simo, Conserving algorithms for the dynamics of Hamiltonian systems on Lie groups (1994).
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import kernel

# The fixed point contracts by about h |ω| a sweep; a body that turns further than this in one step is beyond
# it.
_SWEEPS = 60


@kernel(error_model="numpy")
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


@kernel(error_model="numpy")
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


@kernel(error_model="numpy")
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


@kernel(error_model="numpy")
def free_motion(mass, inertia, R, u, wrench, h, spin, predicted):
    """Velocities of the step without constraints.

    Args:
        mass: Shape (n,).
        inertia: Principal moments, shape (n, 3).
        R: Rotation matrices at the start of the step.
        u: Velocities at the start, shape (n, 6).
        wrench: Force and torque on the centre of mass in the world frame, shape (n, 6).
        h: Step [s].
        spin: Out: angular momentum in the world frame after the torques, shape (n, 3).
        predicted: Out: the velocity ũ that moves the pose over the step, shape (n, 6).
    """
    for i in range(mass.size):
        for k in range(3):
            predicted[i, k] = u[i, k] + h * wrench[i, k] / mass[i]
        Ri, moments = R[i], inertia[i]
        body = np.zeros(3)
        for k in range(3):
            rate = Ri[0, k] * u[i, 3] + Ri[1, k] * u[i, 4] + Ri[2, k] * u[i, 5]
            torque = Ri[0, k] * wrench[i, 3] + Ri[1, k] * wrench[i, 4] + Ri[2, k] * wrench[i, 5]
            body[k] = moments[k] * rate + h * torque
        for k in range(3):
            spin[i, k] = Ri[k, 0] * body[0] + Ri[k, 1] * body[1] + Ri[k, 2] * body[2]
        a, b, c = body[0] / moments[0], body[1] / moments[1], body[2] / moments[2]
        if not (moments[0] == moments[1] == moments[2]):
            for _ in range(_SWEEPS):
                p, q, r = turn(-h * a, -h * b, -h * c, body[0], body[1], body[2])
                a_new = 0.5 * (body[0] + p) / moments[0]
                b_new = 0.5 * (body[1] + q) / moments[1]
                c_new = 0.5 * (body[2] + r) / moments[2]
                change = abs(a_new - a) + abs(b_new - b) + abs(c_new - c)
                a, b, c = a_new, b_new, c_new
                if change <= 1e-16 * (abs(a) + abs(b) + abs(c)):
                    break
        for k in range(3):
            predicted[i, 3 + k] = Ri[k, 0] * a + Ri[k, 1] * b + Ri[k, 2] * c


@kernel(error_model="numpy")
def move(x, quat, u, h, new_x, new_quat):
    """The kinematic map over a step: x⁺ = x + h v, θ⁺ = exp(h ω / 2) ⊗ θ, renormalised against round-off."""
    for i in range(x.shape[0]):
        for k in range(3):
            new_x[i, k] = x[i, k] + h * u[i, k]
        a, b, c = 0.5 * h * u[i, 3], 0.5 * h * u[i, 4], 0.5 * h * u[i, 5]
        half = math.sqrt(a * a + b * b + c * c)
        s = 1.0 - half * half / 6.0 if half < 1e-4 else math.sin(half) / half
        pw, px, py, pz = math.cos(half), s * a, s * b, s * c
        qw, qx, qy, qz = quat[i, 0], quat[i, 1], quat[i, 2], quat[i, 3]
        w = pw * qw - px * qx - py * qy - pz * qz
        x1 = pw * qx + px * qw + py * qz - pz * qy
        x2 = pw * qy - px * qz + py * qw + pz * qx
        x3 = pw * qz + px * qy - py * qx + pz * qw
        scale = 1.0 / math.sqrt(w * w + x1 * x1 + x2 * x2 + x3 * x3)
        new_quat[i, 0], new_quat[i, 1] = scale * w, scale * x1
        new_quat[i, 2], new_quat[i, 3] = scale * x2, scale * x3
