"""One time step, compiled: begin, solve, go on until it holds, finish.

begin     smooth part, rows and contacts at q⁻, impulses of the last step as a start
solve     −(u + Γ(u)) ∈ N_K(λ) with u = L v + b + Σ λ, v = v̂ + M̃⁻¹ Jᵀ λ: `kernels.tree_newton`
go on     q⁺ = q⁻ ⊕ h v; rows at position level are taken at q⁺ until they hold; then Coriolis forces,
          normals that turned, contacts that only appear at q⁺, restitution
finish    velocities, energies, verdict; the contacts at q⁺ are those of the next step
"""

from __future__ import annotations

import numpy as np

from perp.collision.finding import find_contacts
from perp.compilation.kernel import kernel, part
from perp.dynamics.libmujoco import mj_integratePos
from perp.dynamics.motion import move
from perp.dynamics.motions import body_velocities
from perp.dynamics.place import complete, find_motions, go_to, is_at
from perp.dynamics.rows import DRIVE
from perp.kernels.arrays import copy_into, fill
from perp.kernels.tree_rows import add, times
from perp.problems.sets import FREE
from perp.stepping.contact_rows import add_contacts, contact_biases, gaps_at_end, needed
from perp.stepping.joint_rows import collect_rows, is_curved, joint_biases, rows_at_end, see_start
from perp.stepping.kept_contacts import keep_touching
from perp.stepping.recalled import recall
from perp.stepping.redundancy import leave_out_dependent
from perp.stepping.restitution import too_lively
from perp.stepping.second_look import add_late, turn_normals
from perp.stepping.smooth import (
    apply_forces,
    collect_forces,
    drift,
    is_exact,
    kinetic_energy,
    mass_solve,
    velocities_after,
)
from perp.stepping.units import scales, set_units
from perp.stepping.verdict import (
    DEPENDENT,
    GAINED,
    NEWTON,
    ROUNDS,
    SOLVES,
    UNKNOWN,
    UNSOLVED,
    start_rotors,
)
from perp.stepping.world import (
    ALONG,
    CONTACTS,
    END_ROWS,
    JOINTS,
    LATE,
    PLACED,
    START_ROWS,
    START_ROWS_ONLY,
)

# Outcomes of `collect`.
READY, ROOM = 0, 1
# Velocities may be off by so much of the step's speed before Coriolis forces are worth another solve.
_DRIFT, _EXACT_DRIFT = 1e-6, 1e-12
# The same of the guess, which a solve changes by more than that.
_ROUGH_DRIFT = 1e-5
# Kinetic energy that impulses of the last step would give this one, over that without them, from which they
# are no start: contacts take energy, and a drive from rest makes four times as much.
_IMPLAUSIBLE = 1e4
# Looks at the end of a step that are for normals that turn before rows are added beside them.
_TURNS = 8


@part
def advance_coordinates(w, v):
    """q⁺ = q⁻ ⊕ h v."""
    s, q = w.scene, w.q_end
    if not s.cut:
        copy_into(q, w.q)
        mj_integratePos(s.model, q.ctypes.data, v.ctypes.data, w.h)
        return
    move(w.q, v, w.h, q)


@part
def go_to_end(w, v, motions):
    """The end of the step where it moves with v; poses and motions that are there already stay."""
    advance_coordinates(w, v)
    if w.info[PLACED] and not w.scene.cut and is_at(w.end, w.q_end):
        if motions and w.info[PLACED] == 1:
            find_motions(w.scene, w.end)
    else:
        go_to(w.scene, w.end, w.q_end, motions)
        w.info[PLACED] = 0
    w.info[PLACED] = max(w.info[PLACED], 2 if motions else 1)


@part
def settle(w):
    """`end` complete at the world's state, with the contacts in reach."""
    go_to(w.scene, w.end, w.q, True)
    complete(w.scene, w.end)
    body_velocities(w.scene, w.end, w.v, w.twist, w.body_velocity)
    find_contacts(w.scene, w.end, w.body_velocity, w.h)


@part
def collect(w):
    """Forces and joint rows at the start.

    ROOM where the step does not fit, and then `info` says what it needs.
    """
    p, w.parts = w.problem, 1
    start_rotors(w, w.start)
    see_start(w)
    collect_forces(w)
    collect_rows(w)
    need = needed(w)
    if need[0] > p.kind.size or need[1] > p.bias.size or need[2] > p.column.size:
        w.info[0], w.info[1], w.info[2] = need
        return ROOM
    return READY


@part
def assemble(w):
    """Contacts and the way that the step will take as the impulses of the last one have it, into `guess`."""
    p = w.problem
    w.count[CONTACTS] = w.count[LATE] = 0
    w.count[ALONG] = START_ROWS
    w.info[:], w.figure[:] = 0, 0.0
    w.workspace.prepared[0] = -1
    apply_forces(w)
    fill(w.delta, 0.0)
    add_contacts(w, 0)
    recall(w)
    count_rows(w)
    w.info[DEPENDENT] = leave_out_dependent(w) if w.scene.loops else 0
    copy_into(p.free_velocity, w.kick)
    predict(w)
    scales(w)
    copy_into(p.left, p.value[: p.row_begin[w.count[JOINTS]]])  # of contacts it is there


@part
def turn_over(w):
    """The end of the last step becomes the start of this one."""
    w.start, w.end = w.end, w.start
    keep_touching(w)


@part
def count_rows(w):
    """Constraints and rows of the problem."""
    p = w.problem
    p.count[0] = w.count[JOINTS] + w.count[CONTACTS]
    p.count[1] = p.start[p.count[0]] if p.count[0] else 0


@part
def predict(w):
    """v̄ of the last step's impulses into `guess`, its δ, and the free velocity with it."""
    p, v = w.problem, w.guess
    if w.parts == 0:
        copy_into(v, p.velocity)
        copy_into(p.free_velocity, v)
        for j in range(v.size):
            w.delta[j] = v[j] - w.kick[j]
        return
    fill(v, 0.0)
    some = False
    for i in range(p.count[1]):
        if p.impulse[i] != 0.0:
            some = True
            add(p.column, p.value, p.row_begin[i], p.row_begin[i + 1], p.impulse[i], v)
    if some:
        mass_solve(w, v)
    for j in range(v.size):
        v[j] += w.kick[j]
    still = 1e-12 * w.scene.mass.sum() * (w.scene.size / w.h) ** 2
    if some and not kinetic_energy(w, v) <= _IMPLAUSIBLE * (kinetic_energy(w, w.kick) + still):
        # the other impulses of the last step, which these were in balance with, are not recalled
        p.impulse[: p.count[1]] = 0.0
        copy_into(v, w.kick)
    drift(w, v, _ROUGH_DRIFT if p.count[0] and not is_exact(w) else 1e-14)
    for j in range(v.size):
        v[j] += w.delta[j]
        p.free_velocity[j] = w.kick[j] + w.delta[j]


@part
def linearise(w, v, left):
    """Biases of all rows for a step that moves with v.

    With `left` rows at position level are those of its end.
    """
    if w.stiff:
        w.workspace.prepared[0] = -1  # impulses act along the rows of the end too
    if far_sighted(w):
        go_to_end(w, v, left)
        if w.joints_at_end:
            rows_at_end(w, v, left)
        if w.contacts_at_end:
            gaps_at_end(w, v, left and (w.stiff or w.count[ALONG] == END_ROWS))
    joint_biases(w)
    contact_biases(w)


@part
def _turned(w):
    """Whether joints are measured along their rows at the end of the step: at once where they are cut.

    Not in loops, where rows of the end may depend, and beside contacts only where rounds are slow, as those
    of contacts: redundant contacts of a quadruped contradict each other where joints measure another motion
    than they act on.
    """
    if w.count[CONTACTS] and not w.stiff:
        return 1 if w.count[ALONG] == END_ROWS else 0
    return 1 if w.info[ROUNDS] or (w.scene.cut and not w.scene.loops) else 0


@part
def guessed(w):
    """Biases for the way that the impulses of the last step would have; rows of cut joints where it ends."""
    linearise(w, w.guess, _turned(w))


@part
def again(w):
    """Biases anew at the velocities of the last solve, after something else has changed."""
    linearise(w, w.problem.velocity, _turned(w))


@part
def measure_at_end(w):
    """Contacts are measured along their rows at the end of the step from here on, which converges faster.

    As long as they are measured along what their impulses act along the problem is symmetric, and contacts
    that are redundant agree. Rows of the end may contradict each other: such problems have no answer, or one
    with huge impulses.
    """
    if w.count[ALONG] != START_ROWS:
        return
    w.count[ALONG] = END_ROWS
    linearise(w, w.problem.velocity, 1)


@part
def measure_at_start(w):
    """Contacts are measured along the rows that their impulses act along for the rest of the step."""
    p = w.problem
    w.count[ALONG] = START_ROWS_ONLY
    copy_into(p.left, p.value[: p.row_begin[p.count[1]]])


@part
def far_sighted(w):
    """Whether any row depends on the positions at the end in a way that is not linear."""
    if w.contacts_at_end and w.count[CONTACTS]:
        return True
    if not w.joints_at_end:
        return False
    some = False
    for k in range(w.count[JOINTS]):
        some = some or is_curved(w, k)
    return some


@part
def look(w):
    """Rows at the end of a solved step, and how far they are from what the solve took them for, in units."""
    p, v, worst = w.problem, w.problem.velocity, 0.0
    w.info[SOLVES] += 1
    w.info[NEWTON] += w.solve_info[2]
    w.info[UNSOLVED] = w.solve_info[1]
    if not far_sighted(w):
        return 0.0
    if w.info[SOLVES] == 1 and not w.solve_info[1] and not w.solve_info[3] and not w.foreign:
        # the impulses of the last step are the answer: rows were taken where they lead
        if w.scene.cut:
            go_to_end(w, v, False)
        return 0.0
    # a first correction is cheap: most steps need no more than to see that they hold
    linearise(w, v, _turned(w))
    column, left, begin = p.column, p.left, p.row_begin
    for c in range(p.count[0]):
        i = p.start[c]
        if c < w.count[JOINTS]:
            if not is_curved(w, c):
                continue
        elif w.left_out[c - w.count[JOINTS]]:
            continue
        true = p.bias[i] + p.compliance[i] * p.impulse[i] + times(column, left, begin[i], begin[i + 1], v)
        if p.impulse[i] != 0.0 or true < -p.unit[i] or p.kind[c] == FREE:
            off = abs(true - p.row_velocity[i]) / p.unit[i]
            if not off <= worst:
                worst = off
        p.row_velocity[i] = true
    return worst


@part
def drift_again(w):
    """Whether Coriolis forces of the solved step are others than those that it was solved with.

    They are now.
    """
    p, v = w.problem, w.problem.velocity
    if not p.count[0]:
        return False
    for j in range(v.size):
        w.guess[j] = v[j] - w.delta[j]
    share, within = (_EXACT_DRIFT, 1e-14) if is_exact(w) else (_DRIFT, _DRIFT)
    if drift(w, w.guess, within) <= share * w.speed / max(1.0, w.scene.size):
        return False
    for j in range(v.size):
        p.free_velocity[j] = w.kick[j] + w.delta[j]
    return True


@part
def arrive(w):
    """The place and the velocities at the end, with the contacts there."""
    if not far_sighted(w) or not w.scene.cut:
        go_to_end(w, w.problem.velocity, True)
    complete(w.scene, w.end)
    velocities_after(w)
    w.figure[GAINED] = UNKNOWN
    if w.stiff:
        # positions were put right: the velocities are those before that, and bodies go on turning as they did
        copy_into(w.v_end, w.kick)
    body_velocities(w.scene, w.end, w.v_end, w.twist, w.body_velocity)
    find_contacts(w.scene, w.end, w.body_velocity, w.h)


@part
def lively(w, solves):
    """Whether restitution was lowered; biases are then those of the lower one."""
    if not too_lively(w, solves):
        return False
    again(w)
    return True


@part
def look_around(w, looks):
    """Whether contacts of the end change the step: 1 for turned normals, 2 for new rows, −1 without room.

    Normals have some looks to come to rest before rows are added beside them.
    """
    if not w.contacts_at_end:
        return 0
    turned = turn_normals(w) > 0.0
    added = 0 if turned and looks < _TURNS else add_late(w)
    if turned and added == 0:
        again(w)
        return 1
    if added > 0:
        count_rows(w)
        set_units(w)
        again(w)
        return 2
    return added


@part
def work_of_joints(w):
    """Work of all rows but what drives gave, as a share of the kinetic energy: joints do none."""
    p, total, kinetic = w.problem, 0.0, kinetic_energy(w, w.problem.velocity)
    for c in range(p.count[0]):
        for i in range(p.start[c], p.start[c + 1]):
            if p.impulse[i] == 0.0:
                continue
            mean = rate = 0.0
            for e in range(p.row_begin[i], p.row_begin[i + 1]):
                j = p.column[e]
                mean += 0.5 * p.value[e] * (p.velocity[j] + p.free_velocity[j])
                rate += p.value[e] * p.velocity[j]
            total += p.impulse[i] * mean
            if c < w.count[JOINTS] and w.law[c] == DRIVE:
                total -= max(p.impulse[i] * rate, 0.0)
    return total / kinetic if kinetic > 0.0 else 0.0


@part
def start_over(w):
    """The problem as it was assembled, from no impulses."""
    p = w.problem
    entries = p.row_begin[p.count[1]]
    p.impulse[: p.count[1]] = 0.0
    w.info[ROUNDS] = 0
    copy_into(p.left, p.value[:entries])
    linearise(w, w.kick, 0)


@part
def second_stage(w):
    """Velocities of the first solve are those of the end; the next solve only puts positions right."""
    p = w.problem
    copy_into(w.kick, p.velocity)
    copy_into(p.free_velocity, p.velocity)
    p.impulse[: p.count[1]] = 0.0
    w.info[ROUNDS] = 1


@part
def row_turn(w):
    """How far rows turn in the step, about: what a solve changes they change by so much of it."""
    fastest = 0.0
    for speed in w.problem.velocity:
        fastest = max(fastest, abs(speed))
    return w.h * fastest


@kernel
def bodies_at(w):
    """Positions, quaternions and velocities of the bodies at the world's state; the next step begins anew."""
    n = w.scene.mass.size
    go_to(w.scene, w.end, w.q, True)
    velocity = np.empty((n, 6))
    body_velocities(w.scene, w.end, w.v, w.twist, velocity)
    return w.end.x.copy(), w.end.quat.copy(), velocity


@kernel
def load(w, packed):
    """The state of a packed array into the world; whether it is where the last step ended."""
    same, at = True, 0
    for mine, end in ((w.q, w.q_end), (w.v, w.v_end), (w.act, w.act_end), (w.turns, w.turns_end)):
        for k in range(mine.size):
            mine[k] = packed[at + k]
            same = same and mine[k] == end[k]
        at += mine.size
    return same
