"""The whole step by Newton's method in the velocities of the bodies, under a proximal weight that adapts.

Unknowns (u, λ) with M (u − ũ) = Jᵀ λ kept exactly and joints and gaps at the new positions. Newton steps of
`body_system` are taken from the last step's impulses; an independent group of bodies (an island) keeps its
centre while they lower its residual, else it goes back and the proximal weight grows; it shrinks again at the
pace that the island bears, and past the heaviest weight `body_convex` takes over. Islands are judged apart,
so that a hard one does not hold up the others. One compiled call.

Reference: Alart and Curnier (1991) for the equations; Acary, Brémond and Huber (2018), section 6, for the
proximal term.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from perp.problems.law_kernels import violation
from perp.stepping.body_convex import convex_stage
from perp.stepping.body_system import LARGEST, accumulate, condense, elimination_order, solve_blocks
from perp.stepping.contact_equations import parameters_of
from perp.stepping.evaluation import end_jacobian, evaluate

_LEAST_WEIGHT, _HEAVY, _HEAVIEST_WEIGHT = 1e-7, 1e-2, 1.0
_INNER = 0.1
# Newton steps that an inner problem may take before its weight grows, from then on by this factor.
_PATIENCE = 6
_GROWTH = 30.0
# What is left of the weight after an inner problem: less after those solved in so many steps, more after a
# failure.
_SHRINK, _LEAST_SHRINK, _MOST_SHRINK = 0.1, 0.03, 0.5
_EASY = 2
# After so many Newton steps the digits in hand are given up: contacts that depend on each other all but
# exactly need impulses that change a lot for the last of them. With the shares of `body_route`, 0.9 of the
# tolerance is what still counts.
_FAIR, _SLACK = 15, (1.8, 9.0)


@njit(cache=True)
def find_islands(rows, body_count):
    """Island of each body and of each constraint; bodies without constraints have their own."""
    root = np.arange(body_count)
    for c in range(rows.kind.size):
        a, b = rows.bodies[rows.start[c], 0], rows.bodies[rows.start[c], 1]
        if a < 0 or b < 0:
            continue
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        if a != b:
            root[max(a, b)] = min(a, b)
    of_body, count = np.full(body_count, -1), 0
    for b in range(body_count):
        # a root is the least member of its island and comes first
        a = b
        while root[a] != a:
            a = root[a]
        if of_body[a] < 0:
            of_body[a] = count
            count += 1
        of_body[b] = of_body[a]
    of_constraint = np.zeros(rows.kind.size, np.int64)
    for c in range(rows.kind.size):
        a, b = rows.bodies[rows.start[c], 0], rows.bodies[rows.start[c], 1]
        of_constraint[c] = of_body[a if a >= 0 else b]
    return count, of_body, of_constraint


@njit(cache=True)
def _judge(rows, h, length, speed, island, active, impulse, y, work, gap, merit, largest):
    """Merit (sum of squares) and largest residual of each active island, in units of what is allowed."""
    parameters = parameters_of(rows.a, rows.b)
    violation(rows.kind, rows.start, parameters, rows.scale, rows.length, False, impulse, y, work, gap)
    m = rows.start.size - 1 - rows.first.size
    for k in range(active.size):
        if active[k]:
            merit[k] = largest[k] = 0.0
    for c in range(rows.kind.size):
        k = island[c]
        if not active[k]:
            continue
        i = rows.start[c]
        for r in range(rows.start[c + 1] - i):
            value = abs(gap[i + r])
            value = h * value / length if c < m or r == 0 else value / speed
            merit[k] += value * value
            if not value <= largest[k]:
                largest[k] = value
    for k in range(active.size):
        if not math.isfinite(merit[k]):
            merit[k] = math.inf


@njit(cache=True)
def solve_step(frame, rows, mass, length, speed, first_sigma, limit, impulse, u, bias, y, info):
    """Solve a step, in place, from the impulses given.

    Args:
        frame: Positions.
        rows: Constraints.
        mass: M, shape (n, 36).
        length: Allowed error of positions [m].
        speed: Allowed error of velocities [m/s].
        first_sigma: First proximal weight.
        limit: Newton steps.
        impulse: λ, shape (rows,); in and out.
        u: Velocities, out.
        bias: At the answer, out.
        y: Row velocities, out.
        info: Out: Newton steps, sweeps, islands, islands unsolved.
    """
    n, count = u.shape[0], rows.kind.size
    evaluate(frame, rows, impulse, u, bias, y)
    islands, of_body, island = find_islands(rows, n)
    active = np.ones(islands, np.bool_)
    merit, largest = np.zeros(islands), np.zeros(islands)
    size = impulse.size
    work, gap = np.empty(size), np.empty(size)
    _judge(rows, frame.h, length, speed, island, active, impulse, y, work, gap, merit, largest)
    open_count = 0
    for k in range(islands):
        active[k] = not largest[k] <= 1.0
        open_count += active[k]
    info[:] = 0
    info[2] = islands
    if open_count == 0:
        return
    factors = elimination_order(rows, n)
    order, upper, upper_index, lower, lower_index = factors
    touching, member = members(rows, n)
    K, f = np.empty((count, LARGEST, LARGEST)), np.empty(size)
    pair, left = np.empty((count, 72)), np.empty((size, 12))
    du, busy = np.zeros((n, 6)), np.zeros(n, np.bool_)
    sigma = np.full(islands, first_sigma)
    trial, trial_u, trial_bias, trial_y = impulse.copy(), u.copy(), bias.copy(), y.copy()
    trial_merit, trial_largest = merit.copy(), largest.copy()
    best, best_merit = impulse.copy(), merit.copy()
    held, moves = np.empty(size), np.zeros(islands, np.bool_)
    inner_merit, inner_largest = merit.copy(), largest.copy()
    base, reference, weight = impulse.copy(), merit.copy(), np.full(islands, 1e-2)
    repair = np.zeros(islands, np.bool_)
    wander, shrink = np.zeros(islands, np.int64), np.full(islands, _SHRINK)
    failed = np.zeros(islands, np.bool_)
    for step in range(limit):
        if step == _FAIR:
            length *= _SLACK[0]
            speed *= _SLACK[1]
            # the most that a merit in the new units can be less
            reference /= _SLACK[1] ** 2
            best_merit /= _SLACK[1] ** 2
        info[0] += 1
        end_jacobian(frame, rows, u, left)
        for b in range(n):
            busy[b] = active[of_body[b]]
        diagonal, right = mass.copy(), np.zeros((n, 6))
        _pulled(rows, island, sigma, impulse, base, y, held)
        if not condense(rows, sigma, island, active, impulse, held, K, f):
            break
        accumulate(rows, left, island, active, K, f, pair, diagonal, right)
        solve_blocks(
            order, upper, upper_index, lower, lower_index, touching, member, rows, pair, diagonal, right,
            busy, du,
        )  # fmt: skip
        _new_impulses(rows, left, island, active, K, f, du, impulse, trial)
        evaluate(frame, rows, trial, trial_u, trial_bias, trial_y)
        _judge(
            rows, frame.h, length, speed, island, active, trial, trial_y, work, gap, trial_merit,
            trial_largest,
        )  # fmt: skip
        _pulled(rows, island, sigma, trial, base, trial_y, held)
        _judge(
            rows, frame.h, length, speed, island, active, trial, held, work, gap, inner_merit, inner_largest
        )
        to_repair = 0
        for k in range(islands):
            repair[k] = moves[k] = False
            if not active[k] or trial_largest[k] <= 1.0:
                continue
            if inner_merit[k] <= _INNER * reference[k] or inner_largest[k] <= 0.5:
                if wander[k] <= _EASY:
                    shrink[k] = max(0.5 * shrink[k], _LEAST_SHRINK)
                wander[k] = 0
                moves[k] = True
                reference[k] = trial_merit[k]
                sigma[k] = max(shrink[k] * sigma[k], _LEAST_WEIGHT)
                continue
            wander[k] += 1
            if wander[k] >= _PATIENCE or inner_merit[k] == np.inf:
                wander[k] = 0
                repair[k] = True
                to_repair += 1
        for c in range(count):
            if moves[island[c]]:
                for i in range(rows.start[c], rows.start[c + 1]):
                    base[i] = trial[i]
        if to_repair:
            some = False
            for c in range(count):
                if repair[island[c]]:
                    for i in range(rows.start[c], rows.start[c + 1]):
                        trial[i] = base[i]
            evaluate(frame, rows, trial, trial_u, trial_bias, trial_y)
            for k in range(islands):
                if repair[k]:
                    moves[k] = sigma[k] >= _HEAVIEST_WEIGHT
                    some = some or moves[k]
                    least = _LEAST_WEIGHT if failed[k] else _HEAVY
                    failed[k] = True
                    shrink[k] = min(3.0 * shrink[k], _MOST_SHRINK)
                    heavier = min(max(_GROWTH * sigma[k], least), _HEAVIEST_WEIGHT)
                    sigma[k] = _HEAVY if moves[k] else heavier
            if some:
                info[1] += convex_stage(
                    rows, mass, frame.predicted, factors, touching, member, of_body, island, moves, weight,
                    trial_bias, trial_y, 1e-3 * speed, 20, trial, trial_u,
                )  # fmt: skip
                evaluate(frame, rows, trial, trial_u, trial_bias, trial_y)
            _judge(
                rows, frame.h, length, speed, island, repair, trial, trial_y, work, gap, trial_merit,
                trial_largest,
            )  # fmt: skip
            for c in range(count):
                if repair[island[c]]:
                    for i in range(rows.start[c], rows.start[c + 1]):
                        base[i] = trial[i]
            for k in range(islands):
                if repair[k]:
                    reference[k] = trial_merit[k]
        impulse[:] = trial
        u[:] = trial_u
        bias[:] = trial_bias
        y[:] = trial_y
        merit[:] = trial_merit
        left_over = 0
        for k in range(islands):
            if active[k]:
                active[k] = not trial_largest[k] <= 1.0
                left_over += active[k]
        for c in range(count):
            k = island[c]
            if merit[k] < best_merit[k]:
                for i in range(rows.start[c], rows.start[c + 1]):
                    best[i] = impulse[i]
        for k in range(islands):
            best_merit[k] = min(best_merit[k], merit[k])
        if left_over == 0:
            break
    info[3] = 0
    for k in range(islands):
        info[3] += active[k]
    if info[3]:
        impulse[:] = best
        evaluate(frame, rows, impulse, u, bias, y)


@njit(cache=True)
def _pulled(rows, island, sigma, impulse, centre, y, out):
    """Row velocities with the proximal term: y + σ d (λ − centre)."""
    for c in range(rows.kind.size):
        weight = sigma[island[c]] * rows.scale[c]
        for i in range(rows.start[c], rows.start[c + 1]):
            share = weight
            if i - rows.start[c] >= 3:
                share /= rows.length[c] * rows.length[c]
            out[i] = y[i] + share * (impulse[i] - centre[i])


@njit(cache=True)
def members(rows, n):
    """Constraints between two movable bodies, by body."""
    touching = np.zeros(n + 1, np.int64)
    for c in range(rows.kind.size):
        a, b = rows.bodies[rows.start[c], 0], rows.bodies[rows.start[c], 1]
        if a >= 0 and b >= 0:
            touching[a + 1] += 1
            touching[b + 1] += 1
    touching = np.cumsum(touching)
    member, fill = np.empty(touching[n], np.int64), touching[:n].copy()
    for c in range(rows.kind.size):
        a, b = rows.bodies[rows.start[c], 0], rows.bodies[rows.start[c], 1]
        if a >= 0 and b >= 0:
            member[fill[a]] = c
            member[fill[b]] = c
            fill[a] += 1
            fill[b] += 1
    return touching, member


@njit(cache=True)
def _new_impulses(rows, left, island, active, K, f, du, impulse, out):
    """λ + Δλ with Δλ = −A⁻¹ F − K L Δu on the active islands."""
    moved = np.empty(LARGEST)
    for c in range(rows.kind.size):
        i = rows.start[c]
        size = rows.start[c + 1] - i
        if not active[island[c]]:
            for r in range(size):
                out[i + r] = impulse[i + r]
            continue
        for r in range(size):
            total = 0.0
            for side in range(2):
                b = rows.bodies[i, side]
                if b >= 0:
                    for k in range(6):
                        total += left[i + r, 6 * side + k] * du[b, k]
            moved[r] = total
        for r in range(size):
            total = f[i + r]
            for s in range(size):
                total += K[c, r, s] * moved[s]
            out[i + r] = impulse[i + r] - total
