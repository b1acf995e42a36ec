"""What Python asks of a world: one entry into compiled code, so that it is compiled once."""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.structs import struct_at
from perp.stepping.course import BEGIN, DONE, SETTLED, STAGE, advance, begin, put_right
from perp.stepping.many_steps import step_worlds
from perp.stepping.packing import pack_report, pack_state
from perp.stepping.step import load
from perp.stepping.world import WorldType

STEP, GO_ON, PROBLEM, PUT_RIGHT, MANY = range(5)


@kernel(nogil=True)
def run(address, packed, task):
    """Do a task from a packed state: all that Python asks of a world comes in here, compiled once.

    Args:
        address: Of the world, which costs a call half a microsecond less than the struct.
        packed: Its state; what is left of a step (GO_ON) does not need it.
        task: STEP, GO_ON after `advance` has asked for something, PROBLEM for the problem of the step
            alone, PUT_RIGHT, a step without velocities, forces, drives and friction, or MANY for the
            chunk of `w.worlds`, from where it is.

    Returns:
        DONE or what is asked for, the state at the end, and the report (of a step).
    """
    w = struct_at(WorldType, address)
    if task == MANY:
        return step_worlds(w), np.empty(0), np.empty(0)
    if task == PROBLEM:
        code = begin(w, packed)
    elif task == PUT_RIGHT:
        code = put_right(w, packed)
    else:
        if task == STEP:
            same = load(w, packed)
            w.course[SETTLED] = 1 if same and w.course[SETTLED] else 0
            w.course[STAGE] = BEGIN
        code = advance(w)
        if code == DONE:
            return code, pack_state(w), pack_report(w)
    if code == DONE and task == PUT_RIGHT:
        return code, pack_state(w), np.empty(0)
    return code, np.empty(0), np.empty(0)
