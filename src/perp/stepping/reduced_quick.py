"""A whole step in generalised coordinates in one compiled call, from the contacts found to the record.

Rows, last step's impulses, Newton's method in the velocities, residuals by block, forces to remember: the
same functions as in the longer way of `ReducedStepper`, without objects in between. Which way a step takes
does not change its answer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.collision.matching import into_bodies, match
from perp.dynamics.rows import LIMIT
from perp.dynamics.tree_kernels import gap_change, row_products
from perp.stepping.contact_rows import sliding
from perp.stepping.reduced_assembly import assemble, chain_rows, tree_residuals
from perp.stepping.reduced_newton import end_points, solve_tree
from perp.stepping.reduced_rows import joint_bias
from perp.stepping.scales import step_scales
from perp.stepping.warm_start import into_frames, into_world

SPEED, LENGTH, JOINT, CONTACT, FRICTION, MOMENTUM, PENETRATION, TURNED = range(8)
"""Places in `numbers`: the scales, the residuals by block, the overlap, the largest turn by impulses."""
OVERLAPS = 2
"""Place in `info` after those of `solve_tree`: whether anything overlaps at the start."""


@njit(cache=True)
def tree_step(
    identity, law, dof, sign, source, dense, value, given, gain, low, high, geom, body, point, frame, count,
    friction, gap, roundness, restitution, accuracy, parent, last_dof, dof_root, tree_begin, tree_count,
    tree_column, factor, M, extra, predicted, body_predicted, position, rotation, qpos, qvel, cdof, centre, x,
    R, quat, turning, links, width, old_force, old_geom, old_local, old_world, h, at_end, correction,
    recovery, limit_recovery, rest_speed, size, share, tolerance, gained, within, no_slip, weight, limit,
    whole, real, impulse, v, first, slip, sticking, force, local, world, info, numbers,
):  # fmt: skip
    """Take a step.

    Args:
        identity: Joint rows, as the next ten; see `RowSet`.
        law: HOLD is not among them.
        dof: Degree of freedom.
        sign: Factor.
        source: Which dense row.
        dense: Dense rows.
        value: At the start.
        given: F₀.
        gain: K.
        low: Least force.
        high: Largest force.
        geom: Contacts, as the next nine; see `Contacts`.
        body: Bodies.
        point: Where.
        frame: Normal and tangents.
        count: Rows.
        friction: Coefficients.
        gap: Distance.
        roundness: Radii.
        restitution: Bounce.
        accuracy: Of the gap.
        parent: The tree, as the next five; see `Tree`.
        last_dof: Of each body.
        dof_root: Root body.
        tree_begin: Layout of M.
        tree_count: Entries.
        tree_column: Columns.
        factor: The free step, as the next seven; see `free_tree`.
        M: Inertia.
        extra: Added to its diagonal.
        predicted: ṽ.
        body_predicted: The same of the bodies.
        position: Centres of mass.
        rotation: Principal frames.
        qpos: Coordinates at the start.
        qvel: Velocities at the start.
        cdof: mujoco's data at the start, as the next four.
        centre: Centres of the trees.
        x: Origins of the bodies.
        R: Their frames.
        quat: The same as quaternions.
        turning: Which degrees of freedom are angles.
        links: For kinematics.
        width: Entries of a contact row at most.
        old_force: What the last step left, as the next three; see `Memory.last`.
        old_geom: Shapes.
        old_local: Points.
        old_world: Forces.
        h: Step [s].
        at_end: See `solve_tree`, as the next two.
        correction: Baumgarte's Υ.
        recovery: Speed cap.
        limit_recovery: The same of limits.
        rest_speed: Below it nothing bounces.
        size: Of the bodies, as the next three for `step_scales`.
        share: What contact problems may leave.
        tolerance: Of the step.
        gained: Speed of a fall of one step.
        within: Shares of the tolerance to reach for positions and velocities.
        no_slip: Slower contacts stick, as a share of the step's speed.
        weight: See `solve_tree`.
        limit: Newton steps.
        whole: For the rows; see `chain_rows`.
        real: For the rows.
        impulse: Out: λ.
        v: Out: velocities.
        first: Out: first row of each contact after the joint rows.
        slip: Out: sliding speeds.
        sticking: Out: see `StepRecord`.
        force: Out, zero before: forces of joint rows by identity.
        local: Out: contact points in body frames.
        world: Out: forces in the world.
        info: Out: Newton steps, failed, overlaps.
        numbers: Out: see the names above.
    """
    m, contacts, n, nv = law.size, count.size, impulse.size, predicted.size
    rows = chain_rows(m, contacts, n, nv, width, whole, real)
    assemble(
        law, dof, sign, source, dense, gain, low, high, body, point, frame, count, friction, gap, roundness,
        h, parent, last_dof, dof_root, tree_begin, tree_count, tree_column, factor, predicted, qvel, cdof,
        centre, links.movable, x, R, rows,
    )  # fmt: skip
    speed, length = step_scales(
        position, body_predicted, rows.free_velocity, size, gained, 0.0, h, share, tolerance
    )
    into_bodies(body, point, position, rotation, local)
    partner = np.empty(contacts, np.int64)
    match(geom, local, old_geom, old_local, partner)
    impulse[:] = 0.0
    for i in range(m):
        impulse[i] = h * old_force[identity[i]]
    into_frames(rows.first, count, frame, partner, old_world, h, impulse)
    bias, law_bias = np.empty(n), np.empty(m)
    joint_bias(law, value, value, given, gain, correction, limit_recovery, h, law_bias)
    solve_tree(
        links, rows, tree_begin, tree_count, tree_column, M, extra, factor, predicted, law_bias, frame, gap,
        accuracy, restitution, body, qpos, x, quat, h, at_end, correction, recovery, rest_speed,
        within[0] * tolerance * length, within[1] * tolerance * speed, weight, limit, impulse, v, bias, info,
    )  # fmt: skip
    blocks = tree_residuals(rows, tree_begin, tree_count, tree_column, factor, predicted, impulse, v, bias)
    numbers[SPEED], numbers[LENGTH] = speed, length
    numbers[JOINT], numbers[CONTACT] = h * blocks[0], h * blocks[1]
    numbers[FRICTION], numbers[MOMENTUM] = blocks[2], blocks[3]
    moving = np.empty(n)
    row_products(rows.begin, rows.column, rows.value, v, moving)
    sliding(rows.first, count, moving, impulse, no_slip * speed, slip, sticking)
    numbers[PENETRATION] = 0.0
    if contacts:
        points, change = np.empty((contacts, 2, 3)), np.empty(contacts)
        end_points(
            links, body, qpos, v, h, x.copy(), quat.copy(), np.empty(qpos.size), np.empty((nv, 6)),
            rows.local, points,
        )  # fmt: skip
        gap_change(frame, rows.carried, points, change)
        for c in range(contacts):
            first[c] = rows.first[c] - m
            numbers[PENETRATION] = max(numbers[PENETRATION], -gap[c] - change[c])
    turned = moved = 0.0
    for j in range(nv):
        moved = max(moved, max(abs(predicted[j]), abs(qvel[j])))
        if turning[j]:
            turned = max(turned, abs(v[j] - predicted[j]))
    numbers[TURNED] = h * (turned - moved)
    overlaps = False
    for c in range(contacts):
        overlaps = overlaps or gap[c] < 0.0
    for i in range(m):
        overlaps = overlaps or (law[i] == LIMIT and value[i] < 0.0)
        force[identity[i]] = impulse[i] / h
    info[OVERLAPS] = overlaps
    into_world(rows.first, count, frame, impulse / h, world)
