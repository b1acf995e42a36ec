"""Compiled memory of a world from step to step, as one line of numbers.

Impulses as forces, rates of rotors, pauses, who sleeps: from a state and a memory a step has the same bits
wherever it is taken.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.kernels.arrays import copy_into
from perp.stepping.world import ROTORS

# Numbers a remembered contact takes: two shapes, a point in each of their bodies, a force and a torque.
PER_CONTACT = 14


@part
def memory_size(w):
    """Numbers of the memory of a world."""
    fixed = w.old_joint.size + w.rotor_rate.size + w.rotor_v.size + w.count.size
    asleep = w.still_time.size + w.sleep_island.size + w.sleep_wrench.size + w.control.size
    return 1 + fixed + asleep + PER_CONTACT * w.old_count[0]


@part
def _exchange(array, line, at, keep):
    """Numbers into the line from `at` on, or out of it; returns where the next ones are."""
    for k in range(array.size):
        if keep:
            line[at + k] = array[k]
        else:
            array[k] = line[at + k]
    return at + array.size


@part
def _exchange_all(w, line, keep):
    n, at = w.old_count[0], 1
    at = _exchange(w.old_joint, line, at, keep)
    at = _exchange(w.rotor_rate, line, at, keep)
    at = _exchange(w.rotor_v, line, at, keep)
    at = _exchange(w.count, line, at, keep)
    at = _exchange(w.still_time, line, at, keep)
    at = _exchange(w.sleep_wrench.ravel(), line, at, keep)
    at = _exchange(w.sleep_island, line, at, keep)
    at = _exchange(w.control, line, at, keep)
    at = _exchange(w.old_geom.ravel()[: 2 * n], line, at, keep)
    at = _exchange(w.old_local.ravel()[: 6 * n], line, at, keep)
    _exchange(w.old_force.ravel()[: 6 * n], line, at, keep)


@part
def store_memory(w, line):
    """What is remembered, into a line with room for it."""
    line[0] = w.old_count[0]
    _exchange_all(w, line, True)


@part
def load_memory(w, line):
    """Remember a line, with the controls of the last step."""
    n = int(line[0])
    if n > w.old_local.shape[0]:
        w.old_geom = np.zeros((2 * n, 2), np.int64)
        w.old_local, w.old_force = np.zeros((2 * n, 2, 3)), np.zeros((2 * n, 2, 3))
    w.old_count[0] = n
    _exchange_all(w, line, False)


@kernel
def forget(w):
    """No impulses of earlier steps."""
    w.old_count[0] = 0
    w.old_joint[:] = 0.0
    w.count[ROTORS:] = 0


@kernel
def memory(w):
    """What is remembered, as a line of its own."""
    line = np.empty(memory_size(w))
    store_memory(w, line)
    return line


@kernel
def set_memory(w, line):
    """Remember a line, with the controls that there are; nothing where it is not one of this scene."""
    if line.size == 0 or not 0.0 <= line[0] <= line.size:
        return
    w.old_count[0] = int(line[0])
    fits, control = memory_size(w) <= line.size, w.control.copy()
    w.old_count[0] = 0
    if fits:
        load_memory(w, line)
        copy_into(w.control, control)
