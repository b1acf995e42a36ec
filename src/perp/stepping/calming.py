"""Answers that run away, and the impact at the start that a step is replaced by where they do."""

from __future__ import annotations

from perp.compilation.kernel import part
from perp.dynamics.motions import body_velocities
from perp.kernels.arrays import copy_into
from perp.stepping.smooth import drift
from perp.stepping.step import start_over
from perp.stepping.world import CONTACTS, JOINTS

# Speeds over those of the free motion, and ways in sizes of a body, that are taken for a runaway.
_WILD = 10.0


@part
def hold_velocities(w):
    """The problem at velocity level without corrections, from no impulses: it feeds no energy."""
    w.joints_at_end = w.contacts_at_end = 0
    w.corrected = 0
    copy_into(w.gap_linear, w.start.gap[: w.count[CONTACTS]])
    copy_into(w.linear, w.value[: w.count[JOINTS]])
    start_over(w)


@part
def let_go(w):
    """The scene moves with the velocities of an impact at the start: rows are still those of the impact."""
    p = w.problem
    if w.stiff:
        return
    drift(w, p.velocity, 1e-14)
    for j in range(p.velocity.size):
        p.velocity[j] += w.delta[j]
        p.free_velocity[j] += w.delta[j]
    for i in range(p.count[1]):
        for e in range(p.row_begin[i], p.row_begin[i + 1]):
            p.bias[i] -= p.left[e] * w.delta[p.column[e]]


@part
def is_wild(w):
    """Whether an answer moves bodies far faster than the free motion does, and by many times their size."""
    body_velocities(w.scene, w.start, w.problem.velocity, w.twist, w.body_velocity)
    fastest = 0.0
    for b in range(w.body_velocity.shape[0]):
        for k in range(6):
            speed = abs(w.body_velocity[b, k]) * (1.0 if k < 3 else w.scene.size)
            if not speed <= fastest:
                fastest = speed
    return not fastest <= _WILD * (w.speed + w.scene.size / w.h)
