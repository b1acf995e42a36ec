"""Exact friction by Newton's method in the velocities of trees, under a proximal weight that adapts.

The law of a constraint as equations F(λ, u) = 0 has dF = B Δλ + C Δu (`friction_laws`). With a proximal
compliance σ d around a centre λ⁰ the impulses follow from the velocities whatever the rank of J,

    Δλ = −f − K L Δv,   K = A⁻¹ C,  f = A⁻¹ F,  A = B + C (Σ + σ d),      (M + Jᵀ K L) Δv = −Jᵀ f

so that redundant contacts and closed loops cost nothing. An island (trees coupled by constraints) keeps its
centre while Newton steps lower its residual; the centre moves on when the proximal problem is solved well
enough, and the weight falls; where steps wander it grows. Where a solved problem leaves the residual as it
was impulses go on along that ray, to where a contact opens or slips (`tree_rays`). From the impulses of the
last time step the active set is as a rule right: one or two steps. Cost of a step: a pass over J and the
elimination by trees.

Reference: Alart and Curnier (1991) for the equations; Acary, Brémond and Huber (2018), section 6, for the
proximal term.
"""

from __future__ import annotations

import math

import numpy as np

from perp.compilation.kernel import kernel, part
from perp.kernels.arrays import copy_into, fill
from perp.kernels.borrowed import onward
from perp.kernels.friction_laws import (
    MOST_ROWS,
    OPEN,
    RELAXED,
    STICKING,
    bounds,
    linearise,
    row_group,
    violation,
)
from perp.kernels.tree_blocks import find_block
from perp.kernels.tree_convex import convex_path, is_convex
from perp.kernels.tree_elimination import newton_step, plan_of
from perp.kernels.tree_islands import prepare
from perp.kernels.tree_path import follow_path
from perp.kernels.tree_problem import problem_view
from perp.kernels.tree_rays import follow_ray
from perp.kernels.tree_state import (
    clear_row,
    copy_rows,
    evaluate,
    goes_on,
    hold_row,
    impulse_step,
    keep_equations,
    weigh_rows,
)
from perp.kernels.tree_sweeps import begin_sweeps, can_sweep, sweep_island
from perp.kernels.tree_workspace import workspace_view
from perp.problems.set_kernels import COULOMB

# Proximal weights in units of a constraint's mobility: first with a warm start and without, the least and the
# heaviest. Where freedoms are impulses the least is the second: no digits are lost to stiff rows there.
# Where a weight per unit of the residual is given, the first one is in proportion, between _WARM and _FAR.
_WARM, _COLD, _LEAST, _HEAVIEST, _FAR = 1e-8, 1e-6, (1e-9, 1e-12), 1.0, 0.3
# A proximal problem is solved when its merit has fallen to this share.
_INNER = 0.1
# Newton steps that a proximal problem may take, and those after which each lowers its merit (3: 9 % more).
_PATIENCE, _DETOUR = 8, 5
# A proximal problem that leaves more than this of the merit is on a ray; where that leaves it too the weight
# of a large island is heavy. Newton steps of dumped problems of a drum of 500 spheres: 1228 -> 591.
_PLATEAU = 0.25
# Growth of the merit with which a ray of an island of one tree is not one: slip next to sticking bends it.
# Newton steps of dumped problems of tiago 27,800 -> 22,100; of several trees (dominoes) 13,200 -> 16,300.
_LOST = 1e4
# Share of a proximal problem in the merit beyond which the weight is not what matters, and stays. Newton
# steps of a moving quadruped 7.9 -> 7.6, of a hand that turns a block 13.8 -> 10.6.
_WEIGHED = 0.5
# Weights within this factor are the same; problems in a row that are solved without an effect.
_NEAR, _IDLE = 3.0, 8
# Growth of the weight after wandering, and the least weight then.
_GROWTH, _HEAVY = 30.0, 1e-2
# What is left of the weight after a proximal problem: less after those solved in one step, more after a
# failure.
_SHRINK, _LEAST_SHRINK, _MOST_SHRINK = 0.1, 0.01, 0.5

# Sweeps of large islands: pairs at most where a first Newton step leads away, Newton steps until there are
# more, and the weight after them. They begin where the worst row is above _BEGIN, are judged every _LOOK
# pairs, and end at _NEAR_BY. Dumped problems of `benchmarks/stepping.py drum`: first solves of 80 steps take
# 8 s in place of 33, the longest 0.5 s in place of 2.7 (0.3 to 1.0 s with neighbouring values). Not varied
# one by one: 40 pairs and _AGAIN 15 took 11 s; _AGAIN 12, _BEGIN 1e7 and _NEAR_BY 3e5 9.4.
_PAIRS, _AGAIN, _SWEPT = 150, 30, 1e-3
_BEGIN, _LOOK, _NEAR_BY = 1e6, 25, 1e5

# On convex islands: Newton steps in a row, what they have to leave of the residual to go on, and the worst
# row in units of what is allowed where the central path ends: with 1e4 some capsules wander after it.
_PLAIN, _PAYS, _NEARER = 4, 0.1, 1e3
# Newton steps before the central path is tried, of one tree and of several: loose bodies follow one ray after
# the other (dumped problems of falling dominoes take 800 ms in place of 1900 with 20, those of a robot on
# casters 430 in place of 560 with 100). Its iterations, and steps after it.
FIRST, AT_ONCE, _ITERATIONS, _AFTER = (30, 100), (0, 0), 40, 30
# Newton steps at most for which no path is followed.
_FEW = 20
# Goals of a solve to what is allowed.
EXACT = (0.0, 1.0, np.inf, 0.0)


@part
def judge_starts(p, w, first, end, g):
    """Worst residual and merit of some islands at their start, into `outcome`; velocities of first steps."""
    x, u = p.impulse, p.row_velocity
    for k in range(first, end):
        worst = merit = 0.0
        for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
            c = w.island_constraint[a]
            i = p.start[c]
            size = p.start[c + 1] - i
            for r in range(i, i + size):
                w.pulled[r] = u[r]
            push, unit = onward(x, i), onward(p.unit, i)
            value, square = violation(
                p.kind[c], p.parameter[c], size, w.mobility[c], push, onward(u, i), unit, g
            )
            if not value <= worst:
                worst = value
            merit += square
        w.outcome[k, 0], w.outcome[k, 1] = worst, merit


@part
def judge(p, w, k, sigma, g):
    """Worst residual and merit of island k, and the same of its proximal problem."""
    _pull(p, w, k, sigma)
    worst = merit = inner_worst = inner = 0.0
    x, u = p.impulse, p.row_velocity
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i, mobility = p.start[c], w.mobility[c]
        size = p.start[c + 1] - i
        kind, parameter, unit, push = p.kind[c], p.parameter[c], onward(p.unit, i), onward(x, i)
        value, square = violation(kind, parameter, size, mobility, push, onward(u, i), unit, g)
        if not value <= worst:
            worst = value
        merit += square
        value, square = violation(kind, parameter, size, mobility, push, onward(w.pulled, i), unit, g)
        if not value <= inner_worst:
            inner_worst = value
        inner += square
    return worst, merit, inner_worst, inner


@part
def _pull(p, w, k, sigma):
    """The velocities of the proximal problem of island k."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i, mobility = p.start[c], w.mobility[c]
        for r in range(p.start[c + 1] - i):
            weight = sigma * mobility[row_group(r)]
            w.pulled[i + r] = p.row_velocity[i + r] + weight * (p.impulse[i + r] - w.centre[i + r])


@part
def condense(p, w, k, sigma, room, recalled):
    """The equations of the constraints of island k; False where a constraint's equations are singular.

    With `recalled` they are those of the problem that the impulses are the answer of: what was held is held.
    """
    g, F, A = room[0], room[1], room[2 : 2 + MOST_ROWS]
    B, C = room[8:14, :MOST_ROWS], room[14:20, :MOST_ROWS]
    x, u = p.impulse, w.pulled
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        i, mobility, kind = p.start[c], w.mobility[c], p.kind[c]
        d = mobility[0]
        size = p.start[c + 1] - i
        if kind < COULOMB:
            low, high = bounds(kind, p.parameter[c])
            y = d * x[i] - u[i]
            held = recalled and low < x[i] < high
            if not held and (y <= d * low or y >= d * high):
                w.K[c, 0, 0] = 0.0
                w.f[i] = x[i] - (low if y <= d * low else high)
                clear_row(p, w, c, 0)
            else:
                hold_row(p, w, c, 0, p.compliance[i] + sigma * d, u[i])
            continue
        if kind < RELAXED and not (recalled and x[i] + p.parameter[c, 5] > 0.0):
            find_block(p, w, c, u[i:], g)
        own = w.block[c], recalled
        state = linearise(kind, p.parameter[c], size, mobility, x[i:], u[i:], own, room)
        if state == OPEN:
            w.K[c, 0, 0] = 0.0
            for r in range(size):
                w.f[i + r] = x[i + r]
                clear_row(p, w, c, r)
            w.f[i] += p.parameter[c, 5]
            continue
        if state == STICKING:
            for r in range(size):
                hold_row(p, w, c, r, p.compliance[i + r] + sigma * mobility[row_group(r)], u[i + r])
            continue
        for r in range(size):
            for s in range(size):
                weight = p.compliance[i + s] + sigma * mobility[row_group(s)]
                A[r, s] = B[r, s] + C[r, s] * weight
                A[r, size + s] = C[r, s]
            A[r, 2 * size] = F[r]
        if not keep_equations(p, w, c, A, size):
            return False
        weigh_rows(p, w, c)
    return True


@part
def advance_impulses(p, w, k):
    """λ − f − K L Δv on island k."""
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        c = w.island_constraint[a]
        for i in range(p.start[c], p.start[c + 1]):
            p.impulse[i] += impulse_step(p, w, c, i)


@part
def _newton(p, w, k, plan, limit, goal, weight, pairs):
    """Newton steps on island k from its impulses until its worst row is at most `goal`.

    The first proximal weight is `weight` times the worst row. Where it is given impulses are those of a
    problem next to this one, and the first step keeps what they hold and let slip. One that leads away is
    replaced by `pairs` of sweeps, and so are steps that wander for long. Returns whether the goal was
    reached, how many steps, and the worst row.
    """
    room, g, warm = w.room, w.room[0], False
    worst, merit = w.outcome[k, 0], w.outcome[k, 1]
    copy_rows(p, w, k, p.impulse, w.centre)
    for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
        warm = warm or p.impulse[p.start[w.island_constraint[a]]] != 0.0
    recalled = warm and weight > 0.0
    sigma, shrink = min(max(weight * worst, _WARM), _FAR) if warm else _COLD, _SHRINK
    # the last weight that was borne, and one that was not
    borne, failed = np.inf, 0.0
    copy_rows(p, w, k, p.impulse, w.best)
    best_merit, best_worst, reference, wander, last = merit, worst, merit, 0, np.inf
    idle = step = swept = 0
    for step in range(1, limit + 1):
        if not condense(p, w, k, sigma, room, recalled and step == 1):
            break
        newton_step(p, w, plan)
        advance_impulses(p, w, k)
        evaluate(p, w, k, k + 1)
        worst, merit, inner_worst, inner = judge(p, w, k, sigma, g)
        if worst <= goal:
            return True, step, worst
        if merit < best_merit:
            best_merit, best_worst = merit, worst
            copy_rows(p, w, k, p.impulse, w.best)
        if inner <= _INNER * reference or inner_worst <= 0.5:
            # solved again and again without an effect: no motion satisfies these rows
            idle = idle + 1 if merit > 0.9 * reference else 0
            if idle >= _IDLE:
                break
            shrink = max(0.3 * shrink, _LEAST_SHRINK) if wander == 0 else shrink
            borne, most = sigma, _LOST * merit if plan.tree.size == 1 else np.inf
            falls = inner <= _WEIGHED * merit
            if merit > _PLATEAU * reference and _go_along_ray(p, w, k, sigma, most):
                worst, merit, _, _ = judge(p, w, k, sigma, g)
                falls = pairs > 0 and wander == 0 and merit > _PLATEAU * reference
            if falls:
                # a weight that was too light is approached half way, and forgotten when it is near
                sigma = max(shrink * sigma, math.sqrt(borne * failed), _LEAST[p.count[2]])
                failed = failed if borne > _NEAR * failed else 0.0
            wander, reference, last = 0, merit, np.inf
            copy_rows(p, w, k, p.impulse, w.centre)
        else:
            wander += 1
            away = reference if pairs and not swept else last if wander >= _DETOUR else np.inf
            stalls = not inner <= away
            last = inner
            if stalls or wander >= _PATIENCE or not math.isfinite(inner):
                wander, last, failed = 0, np.inf, sigma
                if sigma >= _HEAVIEST:
                    break
                if borne > _NEAR * failed and borne < np.inf:
                    sigma = math.sqrt(borne * failed)
                else:
                    sigma = min(max(_GROWTH * sigma, _HEAVY), _HEAVIEST)
                    shrink = min(3.0 * shrink, _MOST_SHRINK)
                copy_rows(p, w, k, w.centre, p.impulse)
                evaluate(p, w, k, k + 1)
                if pairs and (swept == 0 or step - swept >= _AGAIN):
                    copy_rows(p, w, k, w.best, p.impulse)
                    evaluate(p, w, k, k + 1)
                    if best_worst > _BEGIN or swept:
                        begin_sweeps(p, w, k)
                        for _ in range(pairs // _LOOK):
                            sweep_island(p, w, k, _LOOK)
                            if judge(p, w, k, sigma, g)[0] <= max(goal, _NEAR_BY):
                                break
                    swept, sigma, borne, failed, shrink = step, _SWEPT, np.inf, 0.0, _SHRINK
                    worst, merit, _, _ = judge(p, w, k, sigma, g)
                    if worst <= goal:
                        return True, step, worst
                    copy_rows(p, w, k, p.impulse, w.centre)
                    reference = merit
                    if merit < best_merit:
                        best_merit, best_worst = merit, worst
                        copy_rows(p, w, k, p.impulse, w.best)
        _pull(p, w, k, sigma)
    copy_rows(p, w, k, w.best, p.impulse)
    evaluate(p, w, k, k + 1)
    return False, step, best_worst


@part
def _go_along_ray(p, w, k, sigma, most):
    """Whether impulses of island k went on along their ray to where the merit is at most `most`."""
    copy_rows(p, w, k, p.impulse, w.step)
    if not follow_ray(p, w, k, w.room[0]):
        return False
    evaluate(p, w, k, k + 1)
    if judge(p, w, k, sigma, w.room[0])[1] <= most:
        return True
    copy_rows(p, w, k, w.step, p.impulse)
    evaluate(p, w, k, k + 1)
    return False


@part
def _solve_convex(p, w, k, plan, limit, goal, room):
    """Newton steps while they pay, which end soonest, and along the central path where they do not."""
    steps, worst, before = 0, w.outcome[k, 0], np.inf
    while worst <= _PAYS * before and steps < limit:
        before = worst
        solved, more, worst = _newton(p, w, k, plan, min(limit - steps, _PLAIN), goal, 0.0, 0)
        steps += more
        if solved or steps >= limit:
            return solved, steps, worst
        judge_starts(p, w, k, k + 1, room[0])
    copy_rows(p, w, k, p.impulse, w.kept)
    if worst > _NEARER * goal:
        most = min(limit - steps, _ITERATIONS)
        steps += convex_path(p, w, k, plan, most, _NEARER * goal, room)
        judge_starts(p, w, k, k + 1, room[0])
    solved, more, value = _newton(p, w, k, plan, min(limit - steps, _AFTER), goal, 0.0, 0)
    if not value <= worst:
        copy_rows(p, w, k, w.kept, p.impulse)
        evaluate(p, w, k, k + 1)
    return solved, steps + more, min(value, worst)


@part
def _solve_island(p, w, k, first, limit, goals, room):
    """`first` Newton steps, and where they wander along the central path; see `_newton` for what it returns.

    The goals are the worst row that is looked for, one with which no path is worth its while, and the first
    proximal weight. A path that leads nowhere is taken again with more care, and from that of the convex
    relaxation. From there on contacts have the blocks of those that are closed.
    """
    plan, (goal, enough, weight) = plan_of(p, w, k), goals
    w.closed[0], first = 0, first[1 if plan.tree.size > 1 else 0]
    if is_convex(p, w, k):
        solved, steps, worst = _solve_convex(p, w, k, plan, limit, goal, room)
    else:
        pairs = _PAIRS if can_sweep(p, w, k) else 0
        solved, steps, worst = _newton(p, w, k, plan, min(limit, first), goal, weight, pairs)
    if solved or limit <= _FEW or worst <= enough:
        return solved, steps, worst
    copy_rows(p, w, k, p.impulse, w.kept)
    w.closed[0] = 1
    for attempt in range(3):
        taken = follow_path(p, w, k, plan, attempt, _ITERATIONS, room)
        if taken == 0:
            break
        evaluate(p, w, k, k + 1)
        judge_starts(p, w, k, k + 1, room[0])
        solved, more, value = _newton(p, w, k, plan, min(limit, _AFTER), goal, 0.0, 0)
        steps += taken + more
        if solved:
            return True, steps, value
        if value < worst:
            worst = value
            copy_rows(p, w, k, p.impulse, w.kept)
    # patience: large islands near the limit of what they can bear take more steps, from nothing or from there
    for attempt in range(2):
        for a in range(w.island_constraint_start[k], w.island_constraint_start[k + 1]):
            c = w.island_constraint[a]
            for i in range(p.start[c], p.start[c + 1]):
                p.impulse[i] = w.kept[i] if attempt else 0.0
        evaluate(p, w, k, k + 1)
        judge_starts(p, w, k, k + 1, room[0])
        solved, more, value = _newton(p, w, k, plan, max(limit - first, _AFTER), goal, 0.0, 0)
        steps += more
        if solved:
            return True, steps, value
        if value < worst:
            worst = value
            copy_rows(p, w, k, p.impulse, w.kept)
    copy_rows(p, w, k, w.kept, p.impulse)
    evaluate(p, w, k, k + 1)
    return False, steps, worst


@kernel(nogil=True)
def solve_trees(problem, workspace, limit, goals, info, worst):
    """Solve a problem in place from the impulses given; arguments as for `solve_islands`."""
    solve_islands(problem, workspace, FIRST, limit, goals, info, worst)


@kernel(nogil=True, shared=True)
def solve_islands(problem, workspace, first, limit, goals, info, worst):
    """Solve a problem in place from the impulses given, island by island.

    Args:
        problem: `TreeProblem.struct`.
        workspace: Of `tree_workspace`.
        first: Newton steps before a central path, of an island of one tree and of several; `FIRST`, or
            `AT_ONCE` for none.
        limit: Newton steps an island may take; without central paths where they are few.
        goals: Share of its residual at the start that an island may keep; the residual in units of what is
            allowed with which no path is worth its while; change against the velocities given, in the same
            units, with which a start is the answer; the first proximal weight over the residual, 0 for the
            usual one. `EXACT` where they do not matter.
        info: Out: islands, unsolved islands, Newton steps of the longest island, all Newton steps.
            `outcome` of the workspace has what each unsolved island leaves, in units of what is allowed.
        worst: Out, shape (1,): the worst residual in units of what is allowed.
    """
    fill(info, 0)
    worst[0] = 0.0
    p, w = problem_view(problem), workspace_view(workspace)
    islands = prepare(p, w)
    if islands < 0:
        info[1], worst[0] = 1, np.inf
        return
    room, info[0] = w.room, islands
    for t in range(p.tree_start.size - 1):
        if w.touch_start[t] == w.touch_start[t + 1]:
            for j in range(p.tree_start[t], p.tree_start[t + 1]):
                p.velocity[j] = p.free_velocity[j]
    copy_into(w.change, p.velocity)
    evaluate(p, w, 0, islands)
    judge_starts(p, w, 0, islands, room[0])
    for k in range(islands):
        if w.outcome[k, 0] <= 1.0 and goes_on(p, w, k, goals[2]):
            worst[0] = max(worst[0], w.outcome[k, 0])
            continue
        goal = max(1.0, goals[0] * w.outcome[k, 0])
        solved, steps, value = _solve_island(p, w, k, first, limit, (goal, goals[1], goals[3]), room)
        w.outcome[k, 0] = 0.0 if solved else value
        info[1] += not solved
        info[2] = max(info[2], steps)
        info[3] += steps
        if not value <= worst[0]:
            worst[0] = value
