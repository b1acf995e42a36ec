"""Compiled memory of a world from step to step: impulses as forces, rates of rotors, pauses."""

from __future__ import annotations

from perp.compilation.kernel import kernel
from perp.stepping.world import ROTORS


@kernel
def forget(w):
    """No impulses of earlier steps."""
    w.old_count[0] = 0
    w.old_joint[:] = 0.0
    w.count[ROTORS:] = 0


@kernel
def memory(w):
    """What is remembered from step to step, as copies."""
    n = w.old_count[0]
    return (
        w.old_joint.copy(), w.old_geom[:n].copy(), w.old_local[:n].copy(), w.old_force[:n].copy(),
        w.rotor_rate.copy(), w.rotor_v.copy(), w.count.copy(),
    )  # fmt: skip


@kernel
def set_memory(w, joint, geom, local, force, rotor, rotor_v, count):
    """Remember what `memory` returned."""
    w.old_joint[:], w.rotor_rate[:], w.rotor_v[:], w.count[:] = joint, rotor, rotor_v, count
    w.old_geom, w.old_local, w.old_force = geom.copy(), local.copy(), force.copy()
    w.old_count[0] = geom.shape[0]
