"""A whole step in maximal coordinates in two compiled calls: up to the contacts, and from them to the record.

The same functions as in the longer way of `Stepper`, without objects in between. Which way a step takes does
not change its answer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.collision.matching import into_bodies, match
from perp.dynamics.motion import free_bodies, rotation_matrices
from perp.dynamics.row_kernels import ORIENTATION, PERPENDICULAR, evaluate_rows
from perp.dynamics.rows import HOLD
from perp.stepping.assembly import assemble
from perp.stepping.body_newton import solve_step
from perp.stepping.contact_rows import carried_points, gaps, sliding
from perp.stepping.evaluation import Frame, block_residuals, end_of_step
from perp.stepping.late_contacts import contact_work
from perp.stepping.scales import relative_travel, step_scales, travel
from perp.stepping.turning_normals import passing
from perp.stepping.warm_start import into_frames, into_world

SPEED, LENGTH, JOINT, CONTACT, FRICTION, MOMENTUM = range(6)
"""Places in `numbers`: the scales, and the residuals by block."""
PENETRATION, JOINT_ERROR, TURNED, TRAVEL, GAINED = range(6, 11)
"""Overlap and joint error at the end, turn of a joint about an axis that it holds, travel over the size of
the bodies, work of contacts over the kinetic energy."""
PASSING = 4
"""Place in `info` after those of `solve_step`: whether a round surface may turn its normal."""


@njit(cache=True)
def begin_step(
    mass, inertia, x, quat, u, wrench, weight, h, links, geometry, last, bound, R, spin, predicted, inverse,
    blocks, value, jacobian, reach,
):  # fmt: skip
    """The step without constraints, joints at its start, and how far the bodies may come.

    Args:
        mass: Of the bodies, as the next.
        inertia: Principal moments.
        x: Their state, as the next two.
        quat: Orientations.
        u: Velocities.
        wrench: External forces and torques.
        weight: Those of gravity.
        h: Step [s].
        links: Joint rows, as the next two; see `evaluate_rows`.
        geometry: Their geometry.
        last: Their values.
        bound: Radius of each body.
        R: Out: rotation matrices.
        spin: Out: see `free_bodies`, as the next three.
        predicted: ũ.
        inverse: M⁻¹.
        blocks: M.
        value: Out: joint values.
        jacobian: Out: joint rows.
        reach: Out: see `travel`.
    """
    rotation_matrices(quat, R)
    evaluate_rows(links, geometry, x, quat, R, last, value, jacobian)
    free_bodies(mass, inertia, R, u, wrench + weight, h, spin, predicted, inverse, blocks)
    travel(bound, u, predicted, h, reach)


@njit(cache=True)
def finish_step(
    links, geometry, law, parameters, value, jacobian, geom, body, point, frame, gap, count, friction,
    restitution, roundness, accuracy, mass, inertia, gravity, bound, x, quat, before, R, spin, predicted,
    inverse, blocks, old_force, old_geom, old_local, old_world, h, at_end, correction, recovery, rest_speed,
    size, share, tolerance, gained, within, no_slip, weight, limit, impulse, u, bias, new_x, new_quat, new_u,
    coordinate, first, slip, sticking, force, local, world, info, numbers, energies,
):  # fmt: skip
    """Take the step.

    Args:
        links: Joint rows, as the next five; see `JointRows`.
        geometry: Their geometry.
        law: Their laws.
        parameters: Of the laws.
        value: At the start.
        jacobian: At the start.
        geom: Contacts, as the next nine; see `Contacts`.
        body: Bodies.
        point: Where.
        frame: Normal and tangents.
        gap: Distance.
        count: Rows.
        friction: Coefficients.
        restitution: Bounce.
        roundness: Radii.
        accuracy: Of the gap.
        mass: Of the bodies, as the next three.
        inertia: Principal moments.
        gravity: Shape (3,).
        bound: Radii.
        x: The start of the step, as the next seven; see `begin_step`.
        quat: Orientations.
        before: Velocities.
        R: Rotation matrices.
        spin: Angular momentum.
        predicted: ũ.
        inverse: M⁻¹.
        blocks: M.
        old_force: What the last step left, as the next three; see `Memory.last`.
        old_geom: Shapes.
        old_local: Points.
        old_world: Forces.
        h: Step [s].
        at_end: See `Frame`, as the next three.
        correction: Baumgarte's Υ.
        recovery: Speed cap.
        rest_speed: Below it nothing bounces.
        size: Of the bodies, as the next three for `step_scales`.
        share: What contact problems may leave.
        tolerance: Of the step.
        gained: Speed of a fall of one step.
        within: Shares of the tolerance to reach for positions and velocities.
        no_slip: Slower contacts stick, as a share of the step's speed.
        weight: First proximal weight.
        limit: Newton steps.
        impulse: Out: λ.
        u: Out: velocities of the step.
        bias: Out: of the rows.
        new_x: Out: the state after it, as the next three.
        new_quat: Orientations.
        new_u: Velocities.
        coordinate: Joint values.
        first: Out: first row of each contact after the joint rows.
        slip: Out: sliding speeds.
        sticking: Out: see `StepRecord`.
        force: Out: forces of joint rows.
        local: Out: contact points in body frames.
        world: Out: forces in the world.
        info: Out: see `solve_step` and the names above.
        numbers: Out: see the names above.
        energies: Out: see `mechanics`.
    """
    m, contacts, n = law.size, count.size, impulse.size
    carried, at = np.empty((contacts, 2, 3)), np.empty((contacts, 2, 3))
    carried_points(point, frame, gap, roundness, carried)
    for c in range(contacts):
        at[c, 0] = at[c, 1] = point[c]
    rows = assemble(
        m, law, parameters, value, h, links, jacobian, body, at, frame, count, friction, x, inverse, before,
        predicted,
    )  # fmt: skip
    speed, length = step_scales(x, predicted, rows.free_velocity, size, gained, 0.0, h, share, tolerance)
    into_bodies(body, point, x, R, local)
    partner = np.empty(contacts, np.int64)
    match(geom, local, old_geom, old_local, partner)
    impulse[:] = 0.0
    for i in range(m):
        impulse[i] = h * old_force[i]
    into_frames(rows.first, count, frame, partner, old_world, h, impulse)
    blurred = np.maximum(accuracy, tolerance * length)
    step = Frame(
        h, at_end, correction, recovery, rest_speed, x, quat, predicted, links, geometry, law, parameters,
        value, body, carried, frame, gap, restitution, blurred,
    )  # fmt: skip
    y = np.empty(n)
    solve_step(
        step, rows, blocks, within[0] * tolerance * length, within[1] * tolerance * speed, weight, limit,
        impulse, u, bias, y, info[:4],
    )  # fmt: skip
    residuals, moving = block_residuals(rows, predicted, impulse, u, bias)
    numbers[SPEED], numbers[LENGTH] = speed, length
    numbers[JOINT], numbers[CONTACT] = h * residuals[0], h * residuals[1]
    numbers[FRICTION], numbers[MOMENTUM] = residuals[2], residuals[3]
    numbers[TURNED] = numbers[JOINT_ERROR] = numbers[PENETRATION] = numbers[GAINED] = 0.0
    new_u[:] = u
    end_of_step(
        mass, inertia, gravity, rows.bodies, rows.jacobian, impulse, spin, x, quat, h, False, new_x, new_quat,
        new_u, energies,
    )  # fmt: skip
    if m:
        after = np.empty((x.shape[0], 3, 3))
        rotation_matrices(new_quat, after)
        evaluate_rows(links, geometry, new_x, new_quat, after, value, coordinate, np.empty((m, 12)))
    for i in range(m):
        force[i] = impulse[i] / h
        if law[i] == HOLD:
            numbers[JOINT_ERROR] = max(numbers[JOINT_ERROR], abs(coordinate[i]))
            if links[i, 0] == PERPENDICULAR or links[i, 0] == ORIENTATION:
                numbers[TURNED] = max(numbers[TURNED], h * abs(moving[i]))
    sliding(rows.first, count, moving, impulse, no_slip * speed, slip, sticking)
    end = np.empty(contacts)
    gaps(body, carried, frame, gap, x, u, h, end)
    for c in range(contacts):
        first[c] = rows.first[c] - m
        numbers[PENETRATION] = max(numbers[PENETRATION], -end[c])
    into_world(rows.first, count, frame, impulse / h, world)
    numbers[TRAVEL] = relative_travel(bound, u, h)
    info[PASSING] = passing(body, carried, frame, roundness, rows.first, x, u, h, impulse)
    if contacts:
        kinetic = 0.0
        for b in range(x.shape[0]):
            for i in range(6):
                for k in range(6):
                    kinetic += 0.5 * predicted[b, i] * blocks[b, 6 * i + k] * predicted[b, k]
        work = contact_work(rows, count, gap, blurred, restitution, predicted, u, impulse)
        numbers[GAINED] = work / kinetic if kinetic > 0.0 else (0.0 if work <= 0.0 else np.inf)
