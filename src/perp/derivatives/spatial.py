"""Compiled algebra of motions and forces in space, six numbers each, about the origin of the world.

A motion is (ω, v) with v the velocity of what passes the origin; a force is (moment about the origin, force).
"""

import numpy as np

from perp.compilation.kernel import part


@part
def cross_motion(a, b, out):
    """out = a × b for motions: how b changes when it is carried along with a."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    out[3] = a[1] * b[5] - a[2] * b[4] + a[4] * b[2] - a[5] * b[1]
    out[4] = a[2] * b[3] - a[0] * b[5] + a[5] * b[0] - a[3] * b[2]
    out[5] = a[0] * b[4] - a[1] * b[3] + a[3] * b[1] - a[4] * b[0]


@part
def cross_force(a, f, out):
    """out = a ×* f: how a force changes when it is carried along with a."""
    out[0] = a[1] * f[2] - a[2] * f[1] + a[4] * f[5] - a[5] * f[4]
    out[1] = a[2] * f[0] - a[0] * f[2] + a[5] * f[3] - a[3] * f[5]
    out[2] = a[0] * f[1] - a[1] * f[0] + a[3] * f[4] - a[4] * f[3]
    out[3] = a[1] * f[5] - a[2] * f[4]
    out[4] = a[2] * f[3] - a[0] * f[5]
    out[5] = a[0] * f[4] - a[1] * f[3]


@part
def dot(a, b):
    """Power of a force on a motion."""
    return (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]) + (a[4] * b[4] + a[5] * b[5])


@part(fastmath={"contract", "reassoc"})
def apply(matrix, x, out):
    """out = matrix x, both of size six."""
    for i in range(6):
        total = 0.0
        for k in range(6):
            total += matrix[i, k] * x[k]
        out[i] = total


@part
def inertia_about_origin(mass, moments, R, c, out):
    """Spatial inertia of a body: principal moments about its centre c along the columns of R."""
    for i in range(6):
        for j in range(6):
            out[i, j] = 0.0
    square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2]
    for i in range(3):
        for j in range(3):
            total = -mass * c[i] * c[j]
            for k in range(3):
                total += R[3 * i + k] * R[3 * j + k] * moments[k]
            out[i, j] = total
        out[i, i] += mass * square
        out[3 + i, 3 + i] = mass
    x, y, z = mass * c[0], mass * c[1], mass * c[2]
    out[0, 4], out[0, 5], out[1, 3] = -z, y, z
    out[1, 5], out[2, 3], out[2, 4] = -x, -y, x
    for i in range(3):
        for j in range(3):
            out[3 + j, i] = out[i, 3 + j]


@part
def motions_about_origin(cdof, reference, line, out):
    """Motions of all freedoms, given at reference points, about the origin."""
    for j in range(cdof.shape[0]):
        c, m = reference[line[j]], cdof[j]
        out[j, 0], out[j, 1], out[j, 2] = m[0], m[1], m[2]
        out[j, 3] = m[3] - (m[1] * c[2] - m[2] * c[1])
        out[j, 4] = m[4] - (m[2] * c[0] - m[0] * c[2])
        out[j, 5] = m[5] - (m[0] * c[1] - m[1] * c[0])


@part
def turn_matrices(w, exponential, left):
    """exp(ŵ) and the left Jacobian J with d exp(ŵ) = (J dw)^ exp(ŵ), for a rotation vector w."""
    angle = np.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    if angle < 1e-4:
        s, c = 1.0 - angle * angle / 6.0, 0.5 - angle * angle / 24.0
        d = 1.0 / 6.0 - angle * angle / 120.0
    else:
        s, c = np.sin(angle) / angle, (1.0 - np.cos(angle)) / (angle * angle)
        d = (angle - np.sin(angle)) / (angle * angle * angle)
    square = angle * angle
    for i in range(3):
        for j in range(3):
            outer = w[i] * w[j] - (square if i == j else 0.0)
            exponential[i, j] = c * outer + (1.0 if i == j else 0.0)
            left[i, j] = d * outer + (1.0 if i == j else 0.0)
    for i, j, k, sign in ((0, 1, 2, -1.0), (0, 2, 1, 1.0), (1, 2, 0, -1.0)):
        exponential[i, j] += sign * s * w[k]
        exponential[j, i] -= sign * s * w[k]
        left[i, j] += sign * c * w[k]
        left[j, i] -= sign * c * w[k]
