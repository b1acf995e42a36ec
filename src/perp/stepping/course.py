"""The course of a step, from its start to its end without the interpreter.

    begin    smooth part, rows and contacts at q⁻, impulses of the last step as a start
    solve    the problem by `kernels.tree_newton`; where another solver is asked for, `advance` returns for it
    hold     rows at q⁺ = q⁻ ⊕ h v, Coriolis forces, restitution: solve again until they are those of the step
    arrive   velocities and contacts at q⁺; contacts that only appear there become rows: hold again
    finish   energies, verdict; the contacts at q⁺ are those of the next step

Islands that no motion satisfies are tried without undoing overlap, and where joints are cut with velocities
first and positions after (`two stages`). All loops have a budget, and so has the step as a whole: past it the
best answer is taken, and the verdict says how far it is off.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.kernels.arrays import copy_into, fill
from perp.kernels.tree_newton import solve_trees
from perp.stepping import pauses
from perp.stepping import verdict as end
from perp.stepping.arms import average_arms
from perp.stepping.calming import hold_velocities, is_wild, let_go
from perp.stepping.feeding import gains, is_fed
from perp.stepping.fourth_order import is_free, move_freely, passes_something
from perp.stepping.sleeping import disturb, fall_asleep
from perp.stepping.smooth import drift
from perp.stepping.start import quieten_forces, quieten_rows
from perp.stepping.step import (
    READY,
    ROOM,
    again,
    arrive,
    assemble,
    collect,
    drift_again,
    far_sighted,
    guessed,
    lively,
    load,
    look,
    look_around,
    measure_at_end,
    measure_at_start,
    row_turn,
    second_stage,
    settle,
    start_over,
    turn_over,
    work_of_joints,
)
from perp.stepping.world import CONTACTS, JOINTS

# What a step returns: it is done, the world needs more room, a solver is asked for.
DONE, NEEDS_ROOM, NEEDS_SOLVER = 0, 1, 2
# Where a step is, in `course`: what comes next, what the solve is for, and how often it was done.
STAGE, PURPOSE, ROUNDS, DRIFTS, BOUNCES, LOOKS, SETTLED, WORSE, FOUND, RETRIED, EXACT = range(11)
# Whether a free step has passed something, and warnings of contacts without memory before the step.
PASSED, WARNED = 11, 12
BEGIN, COLLECT, SOLVE, SOLVED, ARRIVE = range(5)
FIRST, NO_RECOVERY, VELOCITIES, POSITIONS, LOOKING, CALM = range(6)

# Newton steps of all solves of a step, after which none is begun.
_MOST_STEPS = 1500
# Solves of a step for Coriolis forces at most: they converge like h |ω|.
_MOST_DRIFTS = 6
# Change of δ over the step's speed at which a step that was given up does not move as its velocities say, of
# trees and of single bodies: a tumbling rover at 0.01 had 3 % of its angular momentum wrong. Single bodies
# keep theirs, and an impact at the start lets them overlap: with 0.009 a third of the steps of hurled ones
# does.
_UNSTEADY = 0.009, 0.05
# Solves for the scale of restitution, and for contacts that only appear at the end of the step.
_MOST_BOUNCES, _MOST_LOOKS = 10, 16
# Looks after which arms of impulses stay as they are: where joints press on contacts their work does not end,
# and a hand took 16 looks in a fifth of its steps.
_MOST_ARMS = 3
# Work of joints that is worth forces of the end, as a share of the kinetic energy. A well resolved swing has
# none, and one whose links turn by a third of a radian a step a tenth.
_FED = 0.05
# Shapes that could not be separated are asked to again with so many Newton steps: where there is still no
# answer hundreds would be spent on that (pr2: 7 ms a time).
_TRY_AGAIN = 20
# Residual of a solve in its units, a tenth of the step's tolerance, that will do where no more is to be had.
_GOOD_ENOUGH = 5.0
# Solves that may put positions right after velocities: they converge linearly.
_PROJECTIONS = 40
# Rounds in a row that bring rows no nearer to holding at the end, after which the best one is taken.
_MOST_WORSE, _NEARER = 3, 0.9
# What a solve may leave of the residual that it began with, as long as rows change from round to round, at
# most; less where they turn less (`row_turn`), so that scenes at rest are solved once. With 1e-3, 1e-2, 5e-2
# and 0.2 eighteen moving robots take 157, 154, 145 and 145 µs (geometric mean), for as many solves.
_ROUGH = 5e-2
# Loose bodies that turn less in a step may lean on each other, and are thrown by what a rough solve leaves:
# the arch at 0.1 ms falls. Newton steps a step of falling dominoes with 1e-2: 19 in place of 34, of cubes 7
# in place of 11; with 1e-3 dominoes take 16, and the longest step twice as long.
_LEANING = 1e-2
# Proximal weight of a solve over what its rows are off at the start, relative to the speed of the step. With
# 0.02, 0.002 and none: Newton steps a step of cassie 7.3, 6.2, 5.2, of icub 17, 19, 21; four runs of 15
# tumbling cubes –, 0.29, 0.38 ms a step, of falling dominoes –, 1.43, 1.20.
_WEIGHT = 0.002
# Change of velocities, in units of what a solve may leave, with which its start may be the answer.
_STEADY = 1e-2
# Rows that are off by less, in units of what a solve may leave, hold after one more round along the rows of
# the end, which squares errors: that round is solved to the end. With START_ROWS and rough solves throughout
# 21 moving robots take 3.6 solves and 5.3 Newton steps (geometric mean), with both 2.8 and 5.1.
_LAST_ROUND = 5e5
# Rows of trees that are off by less hold after one more round along the rows of the start.
_NEARLY = 100.0
# Rounds that leave more than this of what the last one left are slow.
_SLOW = 0.01
# Kinetic energy of a step that was not solved, or does not hold at its end, over that of the free motion:
# beyond what undoing overlap adds.
_FEEDS = 1.05


@part
def advance(w):
    """From the stage that a step is at to its end, or to where something is asked for."""
    x = w.course
    while True:
        if x[STAGE] == BEGIN:
            x[WARNED], x[PASSED] = w.start.full[0] + w.end.full[0], 0
            if not x[SETTLED]:
                settle(w)
            turn_over(w)
            x[SETTLED], x[STAGE], x[FOUND] = 0, COLLECT, w.start.count[0]
        elif x[STAGE] == COLLECT:
            if begin_rows(w) == ROOM:
                return NEEDS_ROOM
            _solve_for(w, FIRST)
            x[LOOKS] = 0
        elif x[STAGE] == SOLVE:
            x[STAGE] = SOLVED
            if w.foreign and w.problem.count[0]:
                return NEEDS_SOLVER
            _solve(w)
        elif x[STAGE] == SOLVED:
            if _solve_again(w):
                x[STAGE] = SOLVE
            else:
                _held(w)
        elif not _look_further(w):
            if w.sleep > 0.0:
                fall_asleep(w)
            end.finish(w)
            if w.start.full[0] + w.end.full[0] != x[WARNED]:
                w.info[end.CAUSE] = end.FULL
            x[SETTLED] = 1
            return DONE
        elif w.info[end.WANTED] > 0:
            return NEEDS_ROOM


@part
def begin(w, packed):
    """The problem of a step from a packed state; NEEDS_ROOM where it does not fit."""
    same = load(w, packed)
    x = w.course
    if x[STAGE] != COLLECT:
        if not (same and x[SETTLED]):
            settle(w)
        turn_over(w)
    x[SETTLED], x[STAGE], x[PASSED] = 0, COLLECT, 0
    if begin_rows(w) == ROOM:
        return NEEDS_ROOM
    x[STAGE] = BEGIN
    return DONE


@part
def begin_rows(w):
    """Rows and contacts of the start, with biases for the way that the impulses of the last step have."""
    w.joints_at_end, w.contacts_at_end, w.corrected = w.level[0], w.level[1], 1
    if collect(w) == ROOM:
        return ROOM
    if w.sleep > 0.0:
        disturb(w)
    if w.fourth and not w.course[PASSED] and is_free(w) and move_freely(w):
        w.count[JOINTS] = w.parts = 0
    assemble(w)
    w.stiff = 0
    pauses.begin_pauses(w)
    copy_into(w.problem.velocity, w.v)
    guessed(w)
    return READY


@part
def _spent(w):
    """Whether the Newton steps of the step are used up (other solvers have limits of their own)."""
    return not w.foreign and w.info[end.NEWTON] >= _MOST_STEPS


@part
def _solve_for(w, purpose):
    """The next solve is for another purpose: its loops begin anew."""
    x = w.course
    x[STAGE], x[PURPOSE] = SOLVE, purpose
    x[ROUNDS] = x[DRIFTS] = x[BOUNCES] = x[WORSE] = x[RETRIED] = x[EXACT] = 0
    w.nearest = np.inf


@part
def _solve(w):
    turn = row_turn(w)
    leaning = w.scene.cut and w.count[CONTACTS] and turn < _LEANING
    share = 0.0 if w.course[EXACT] or leaning else min(_ROUGH, turn)
    goals = share, _GOOD_ENOUGH, _STEADY, _WEIGHT * w.tolerance
    once_more = w.course[PURPOSE] == FIRST and pauses.tries_again(w)
    limit = min(w.newton_steps, _TRY_AGAIN) if once_more else w.newton_steps
    solve_trees(w.problem, w.workspace, limit, goals, w.solve_info, w.solve_worst)
    if w.solve_worst[0] <= _GOOD_ENOUGH:
        w.solve_info[1] = 0
    pauses.mark_stuck(w, _GOOD_ENOUGH)


@part
def _solve_again(w):
    """Whether the solved problem is not yet that of the step; it is now."""
    x, info = w.course, w.info
    off = look(w)
    if x[PURPOSE] == CALM or _spent(w):
        return False
    if info[end.UNSOLVED]:
        if x[RETRIED] or w.foreign or not far_sighted(w):
            return False
        x[RETRIED] = 1
        _from_the_nearest(w)
        return True
    limit = _PROJECTIONS if x[PURPOSE] == POSITIONS else w.rounds
    rough = w.solve_worst[0] > _GOOD_ENOUGH and not w.foreign
    if rough and (off <= 1.0 or x[ROUNDS] + 2 >= limit):
        x[EXACT] = 1
    if not w.scene.cut and max(off, w.solve_worst[0]) < _LAST_ROUND:
        x[EXACT] = 1
    if off > 1.0 and (off > _SLOW * w.nearest or (not w.scene.cut and off > _NEARLY)):
        measure_at_end(w)
    if off > 1.0 and x[ROUNDS] < limit and not _diverges(w, off):
        x[ROUNDS] += 1
        info[end.ROUNDS] = x[ROUNDS]
        # Coriolis forces of trees go along: both fixed points are reached in the rounds that the slower one
        # needs. Single bodies at long steps may turn too far between rounds for that.
        if not w.scene.cut and x[DRIFTS] < _MOST_DRIFTS and drift_again(w):
            x[DRIFTS] += 1
        return True
    if rough:
        x[EXACT] = 1  # also where rounds diverge: nothing else would end them
        if not w.scene.cut and x[DRIFTS] < _MOST_DRIFTS and drift_again(w):
            x[DRIFTS] += 1
        return True
    if x[DRIFTS] < _most_drifts(w) + x[BOUNCES] and drift_again(w):
        x[DRIFTS] += 1  # another restitution has other Coriolis forces
    elif x[BOUNCES] < _MOST_BOUNCES and lively(w, x[BOUNCES]):
        x[BOUNCES] += 1
    else:
        return False
    w.nearest, x[WORSE] = np.inf, 0  # another problem, whose rounds are its own
    return True


@part
def _from_the_nearest(w):
    """A problem without an answer once more from the best answer before it, with contacts as at the start."""
    p = w.problem
    rows = p.count[1]
    if w.nearest < np.inf:
        copy_into(p.velocity, w.near_velocity)
        copy_into(p.impulse, w.near_impulse[:rows])
    else:
        copy_into(p.velocity, w.kick)
        p.impulse[:rows] = 0.0
    measure_at_start(w)
    again(w)


@part
def _diverges(w, off):
    """Whether rounds bring rows no nearer to holding at the end; the nearest answer is then taken again."""
    x, p = w.course, w.problem
    rows = p.count[1]
    if off < _NEARER * w.nearest:
        w.nearest, x[WORSE] = off, 0
        copy_into(w.near_velocity, p.velocity)
        copy_into(w.near_impulse, p.impulse[:rows])
        return False
    x[WORSE] += 1
    if x[WORSE] < _MOST_WORSE:
        return False
    copy_into(p.velocity, w.near_velocity)
    copy_into(p.impulse, w.near_impulse[:rows])
    again(w)
    return True


@part
def _held(w):
    """What comes after solves for a purpose."""
    x = w.course
    unsolved = w.info[end.UNSOLVED] != 0
    purpose = x[PURPOSE]
    goes_on = not _spent(w)
    if goes_on and purpose == FIRST and unsolved and not w.foreign:
        short = pauses.tries_again(w)
        if pauses.pause_stuck(w) or short:
            start_over(w)
            _solve_for(w, NO_RECOVERY)
            return
    if purpose == NO_RECOVERY:
        pauses.lengthen_pauses(w)
    if goes_on and purpose <= NO_RECOVERY and w.two_stages and (unsolved or work_of_joints(w) > _FED):
        # Velocities that are only projected lose energy whatever the step; positions are put right after them
        # (Cline and Pai, Post-stabilization for rigid body simulation with contact, 2003).
        hold_velocities(w)
        _solve_for(w, VELOCITIES)
        return
    if purpose == VELOCITIES:
        w.joints_at_end, w.contacts_at_end, w.corrected = w.level[0], w.level[1], 1
        w.stiff = 1
        second_stage(w)
        again(w)
        _solve_for(w, POSITIONS)
        return
    open_ended = unsolved or x[ROUNDS] >= w.rounds or x[WORSE] >= _MOST_WORSE
    if purpose != CALM and ((open_ended and is_fed(w, _FEEDS)) or is_wild(w)):
        _calm(w)
        return
    if purpose == CALM:
        let_go(w)
    if purpose != LOOKING:
        pauses.count_down(w)
    x[STAGE] = ARRIVE


@part
def _calm(w):
    """The next solve is that of an impact at the start: it takes energy, whatever comes after.

    It is at velocity level without restitution, and asks for the velocities before the scene moves with them.
    """
    w.bounce[: w.count[CONTACTS]] = 0.0
    fill(w.delta, 0.0)
    copy_into(w.problem.free_velocity, w.kick)
    hold_velocities(w)
    _solve_for(w, CALM)
    w.course[EXACT] = 1


@part
def _is_unsteady(w):
    """Whether a step was given up while δ still changed: its motion is not that of its velocities.

    A body that turns by another angle than its momentum asks for gains or loses energy, whatever pushes it.
    """
    x, v = w.course, w.problem.velocity
    if x[DRIFTS] < _most_drifts(w) and not w.info[end.UNSOLVED]:
        return False
    delta, gained, parts = w.delta.copy(), w.gained.copy(), w.parts
    for j in range(v.size):
        w.guess[j] = v[j] - delta[j]
    change = drift(w, w.guess, 1e-8)
    in_parts, w.parts = w.parts > 1 and not w.scene.cut, parts
    copy_into(w.delta, delta)
    copy_into(w.gained, gained)
    if in_parts:
        arrive(w)  # the end of the step was room for that
    return change > _UNSTEADY[1 if w.scene.cut else 0] * w.speed / max(1.0, w.scene.size)


@part
def _contacts_feed(w):
    """Whether contacts give energy; whether anything does goes into the figures."""
    feeds, rises = gains(w, _FEEDS - 1.0)
    w.figure[end.GAINED] = 1.0 if rises else 0.0
    return feeds


@part
def _most_drifts(w):
    """Solves for Coriolis forces: of single bodies they converge at once, or not at all."""
    return _MOST_DRIFTS // 2 if w.scene.cut else _MOST_DRIFTS


@part
def _look_further(w):
    """Arrive; whether contacts of the end or arms of impulses ask for another solve, or for room."""
    x = w.course
    arrive(w)
    w.info[end.WANTED] = 0
    if w.parts == 0 and passes_something(w):
        # the step begins again, as one on which rows act
        x[PASSED], x[STAGE] = 1, COLLECT
        return True
    if x[PURPOSE] == CALM or (not w.count[CONTACTS] and not w.count[JOINTS]):
        return False
    if _spent(w):
        x[LOOKS] = _MOST_LOOKS
    found = look_around(w, x[LOOKS]) if x[LOOKS] < _MOST_LOOKS else 0
    if found == 0:
        if x[LOOKS] >= _MOST_ARMS or not (w.level[1] and average_arms(w)):
            if w.stiff or not (_is_unsteady(w) or _contacts_feed(w)):
                return False
            _calm(w)
            return True
        again(w)
    x[LOOKS] += 1
    if found < 0:
        # the step begins again with the contacts of its start
        w.start.count[0] = x[FOUND]
        w.info[end.WANTED] = 1
        x[STAGE] = COLLECT
        return True
    _solve_for(w, LOOKING)
    return True


@part
def put_right(w, packed):
    """A step without velocities, forces, drives and friction: a projection onto joints, limits and gaps."""
    x = w.course
    load(w, packed)
    settle(w)
    turn_over(w)
    x[SETTLED] = 0
    w.joints_at_end = w.contacts_at_end = w.corrected = 1
    if collect(w) == ROOM:
        return NEEDS_ROOM
    quieten_forces(w)
    assemble(w)
    quieten_rows(w)
    w.stiff = 0
    guessed(w)
    _solve_for(w, LOOKING)
    x[DRIFTS] = _MOST_STEPS  # what is only put right has no inertia
    _solve(w)
    while _solve_again(w):
        _solve(w)
    arrive(w)
    end.finish(w)
    x[STAGE] = BEGIN
    return DONE


# Half of the code of a step, for `perp.stepping.ahead`.
SECOND_HALF = (_solve, end.finish, fall_asleep, _look_further, _held, _solve_again)
