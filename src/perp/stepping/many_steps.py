"""Steps of a chunk of worlds, one world after the other, in one compiled call without the interpreter lock.

The thread's world takes the part of each: state, memory, controls and values of its own go in, steps are
taken by `course.advance` as ever, and state and memory come out. A step depends on nothing else, so that the
bits are the same for any chunk, thread and neighbour.
"""

from __future__ import annotations

import numpy as np

from perp.collision.finding import more
from perp.compilation.kernel import part
from perp.dynamics.motions import body_velocities
from perp.kernels.arrays import copy_into, fill
from perp.stepping import verdict as end
from perp.stepping import worlds as place
from perp.stepping.course import BEGIN, DONE, SETTLED, STAGE, advance
from perp.stepping.memory import forget, load_memory, memory_size, store_memory
from perp.stepping.packing import WIDTH, line_of, pack_report, pack_state
from perp.stepping.world import CONTACTS
from perp.stepping.worlds import write_number

# Besides what `course` asks for: wider lines of memory, which belong to all threads.
NEEDS_MEMORY = 3


@part
def step_worlds(w):
    """Go on with the chunk of `w.worlds`: DONE, or what is asked for before it goes on."""
    b, at = w.worlds, w.worlds.at
    while at[place.WORLD] < at[place.LAST]:
        i = at[place.WORLD]
        if not at[place.LOADED]:
            at[place.STEP] = 0
            if b.failed[i]:
                _mark_frozen(b, i)
                at[place.STEP] = at[place.STEPS]
            else:
                _load_world(w, i)
            at[place.LOADED] = 1
        while at[place.STEP] < at[place.STEPS]:
            if not at[place.BEGUN]:
                _begin_step(w, i, at[place.STEP])
            code = advance(w)
            if code != DONE:
                return code
            at[place.BEGUN] = 0
            if not _end_step(w, i, at[place.STEP]):
                at[place.STEP] = at[place.STEPS]
            else:
                at[place.STEP] += 1
        if not b.failed[i]:
            if memory_size(w) > b.memory.shape[1]:
                return NEEDS_MEMORY
            store_memory(w, b.memory[i])
            copy_into(b.state[i], pack_state(w))
        at[place.LOADED] = 0
        at[place.WORLD] += 1
    return DONE


@part
def _mark_frozen(b, i):
    for k in range(b.status.shape[1]):
        b.status[i, k], b.residual[i, k] = b.failed[i], np.inf
    for k in range(b.states.shape[1]):
        copy_into(b.states[i, k], b.state[i, : b.states.shape[2]])


@part
def _load_world(w, i):
    """This thread's world becomes the i-th."""
    b, line = w.worlds, w.worlds.state[i]
    n = 0
    for mine in (w.q, w.v, w.act, w.turns):
        copy_into(mine, line[n : n + mine.size])
        n += mine.size
    for k in range(b.source.size):
        write_number(b.target[k], b.value[i, b.source[k]])  # pyright: ignore[reportCallIssue]
    load_memory(w, b.memory[i])
    for row in range(w.wrench.shape[0]):
        copy_into(w.wrench[row], b.wrench[i, row])
    w.course[SETTLED] = 0
    for k in range(b.status.shape[1]):
        b.status[i, k], b.residual[i, k] = 0, 0.0


@part
def _begin_step(w, i, k):
    """Controls, and the state at the end of the last step as that of the start."""
    b = w.worlds
    given = b.controls[i, k] if b.controls.size else b.control[i]
    changed = _give_control(w, given)
    if changed and w.sleep > 0.0:
        fill(w.still_time, 0.0)
    if k > 0:
        copy_into(w.q, w.q_end)
        copy_into(w.v, w.v_end)
        copy_into(w.act, w.act_end)
        copy_into(w.turns, w.turns_end)
    w.course[STAGE] = BEGIN
    b.at[place.BEGUN] = 1


@part
def _give_control(w, given):
    """Control values to the motors; whether any is another one."""
    changed = False
    for m in range(given.size):
        changed = changed or w.control[m] != given[m]
        w.control[m] = given[m]
    return changed


@part
def _end_step(w, i, k):
    """What there is to say about a step; whether the world can go on."""
    b = w.worlds
    status, column = w.info[end.CAUSE], k if b.status.shape[1] > 1 else 0
    residual = w.figure[end.RESIDUAL] if status < end.FAILED else np.inf
    b.status[i, column] = max(b.status[i, column], status)
    if not residual <= b.residual[i, column]:
        b.residual[i, column] = residual
    if status >= end.FAILED:
        _freeze(w, i, k, status)
        return False
    b.time[i] += w.h
    if b.states.size:
        at = 0
        for field in (w.q_end, w.v_end, w.act_end):
            copy_into(b.states[i, k, at : at + field.size], field)
            at += field.size
    if b.at[place.LOGGING]:
        _log_contacts(w, i, k)
    return True


@part
def _freeze(w, i, k, status):
    """The world stays where it was before the step, remembers nothing, and takes no further step."""
    b, s, line = w.worlds, w.scene, w.worlds.state[i]
    b.failed[i] = status
    at = 0
    for mine in (w.q, w.v, w.act, w.turns):
        copy_into(line[at : at + mine.size], mine)
        at += mine.size
    if not s.cut:
        body_velocities(s, w.start, w.v, w.twist, w.body_velocity)
        n = s.mass.size
        for body in range(n):
            copy_into(line[at + 3 * body : at + 3 * body + 3], w.start.x[body])
            copy_into(line[at + 3 * n + 4 * body : at + 3 * n + 4 * body + 4], w.start.quat[body])
            copy_into(line[at + 7 * n + 6 * body : at + 7 * n + 6 * body + 6], w.body_velocity[body])
    forget(w)
    fill(w.still_time, 0.0)
    store_memory(w, b.memory[i])
    for j in range(k, b.status.shape[1]):
        b.status[i, j], b.residual[i, j] = status, np.inf
    for j in range(k, b.states.shape[1]):
        copy_into(b.states[i, j], line[: b.states.shape[2]])


@part
def _log_contacts(w, i, k):
    b, n = w.worlds, w.count[CONTACTS]
    first = b.contact_count[0]
    columns = 2 + WIDTH
    if first + n > b.contact.shape[0]:
        room = 2 * (first + n)
        b.contact = more(b.contact, room * columns).reshape(room, columns)
    report = pack_report(w)
    for c in range(n):
        line = b.contact[first + c]
        line[0], line[1] = i, k
        copy_into(line[2:], line_of(report, c))
    b.contact_count[0] = first + n
