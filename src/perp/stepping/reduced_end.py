"""Compiled end of a step in generalised coordinates: bodies in the world, energy and momentum."""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.dynamics.motion import mechanics
from perp.dynamics.tree_kernels import body_velocities, compose


@njit(cache=True)
def end_of_tree(
    parent, dof_begin, dof_count, root, slot, cdof, centre, com, frames, quat, principal, v, armature, mass,
    inertia, gravity, position, quaternion, velocity, numbers,
):  # fmt: skip
    """Bodies at the positions of mujoco's data, and `mechanics` of them; rotors count as kinetic energy.

    Args:
        parent: See `body_velocities`, as the next four.
        dof_begin: First degree of freedom.
        dof_count: How many.
        root: Root body.
        slot: Line of each body.
        cdof: mujoco's data, as the next five.
        centre: Centres of the trees.
        com: Centres of mass.
        frames: Principal frames.
        quat: Orientations of the bodies' frames.
        principal: Principal frames in those.
        v: Velocity.
        armature: Of the degrees of freedom.
        mass: Of the movable bodies, as the next.
        inertia: Principal moments.
        gravity: Shape (3,).
        position: Out, shape (n, 3).
        quaternion: Out, shape (n, 4).
        velocity: Out, shape (n, 6).
        numbers: Out, shape (8,).
    """
    n = position.shape[0]
    velocity[:] = 0.0
    body_velocities(
        parent, dof_begin, dof_count, root, slot, cdof, centre, com, v, np.empty((slot.size, 6)), velocity
    )
    R = np.empty((n, 3, 3))
    for b in range(slot.size):
        i = slot[b]
        if i >= 0:
            compose(quat[b : b + 1], principal[b : b + 1], quaternion[i : i + 1])
            for r in range(3):
                position[i, r] = com[b, r]
                for k in range(3):
                    R[i, r, k] = frames[b, 3 * r + k]
    numbers[:] = mechanics(mass, inertia, R, position, velocity, gravity)
    for j in range(v.size):
        numbers[0] += 0.5 * armature[j] * v[j] * v[j]
