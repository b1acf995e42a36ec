"""Piles: contact problems of any size that look like one step of a simulation.

`poured`: balls of slightly different radii are let go one after another above a random place in a box and
slide down over those that lie there, without inertia, until they rest; `fall` says how slowly. `pyramid`:
equal balls in square layers. `lattice`: a cube of balls. `cubes`: a square pyramid of cubes. Their number
decides width and height alike, so that a pile with a hundred times the contacts is 4.6 times as high: what
the floor does must travel that far.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

import perp

GRAVITY, STEP, DENSITY = 9.81, 5e-3, 2000.0
RADIUS, SPREAD = 0.02, 0.15
# Pairs closer than this part of a radius are contacts; their gap is closed within the step at most.
NEAR = 0.02
_DESCENTS = 4000


@njit(cache=True)
def _settle(radius, width, places, fall):
    """Centres of balls that are let go at `places` one after another in a box of this width.

    They go down by the part `fall` of a radius at a time.
    """
    count = radius.size
    cell = 2.0 * radius.max()
    side = int(width / cell) + 1
    levels = 6 * side
    head = np.full((side, side, levels), -1, np.int64)
    follow = np.full(count, -1, np.int64)
    centre = np.zeros((count, 3))
    top = 0.0
    for k in range(count):
        r = radius[k]
        p = np.array([places[k, 0], places[k, 1], top + 2.0 * cell])
        still = 0
        for _ in range(_DESCENTS):
            before = p.copy()
            p[2] -= fall * r
            for _ in range(4):
                for axis in range(2):
                    p[axis] = min(max(p[axis], r), width - r)
                p[2] = max(p[2], r)
                i0, j0, l0 = int(p[0] / cell), int(p[1] / cell), int(p[2] / cell)
                for i in range(max(i0 - 1, 0), min(i0 + 2, side)):
                    for j in range(max(j0 - 1, 0), min(j0 + 2, side)):
                        for level in range(max(l0 - 1, 0), min(l0 + 2, levels)):
                            o = head[i, j, level]
                            while o >= 0:
                                apart = p - centre[o]
                                distance = math.sqrt((apart * apart).sum())
                                reach = r + radius[o]
                                if distance < reach:
                                    p += apart * ((reach - distance) / distance)
                                o = follow[o]
            if before[2] - p[2] < 1e-3 * fall * r:
                still += 1
                if still > 20:
                    break
            else:
                still = 0
        centre[k] = p
        top = max(top, p[2])
        i0, j0, l0 = int(p[0] / cell), int(p[1] / cell), int(p[2] / cell)
        follow[k] = head[i0, j0, l0]
        head[i0, j0, l0] = k
    return centre


def poured(
    contacts: int, *, mu: float = 0.5, noise: float = 0.2, fall: float = 0.05, seed: int = 0
) -> perp.ContactProblem:
    """Balls poured into a box, with about `contacts` contacts: about as few as can carry the load.

    Args:
        contacts: How many contacts to aim at.
        mu: Friction coefficient.
        noise: Random velocities of the balls, relative to what gravity adds in the step.
        fall: The part of a radius by which a ball goes down at a time: the smaller, the denser the pile.
        seed: Decides radii, places and velocities.
    """
    rng = np.random.default_rng(seed)
    count = max(8, round(contacts / 3.0))
    radius = RADIUS * rng.uniform(1.0 - SPREAD, 1.0 + SPREAD, count)
    width = max(4.0, 1.9 * count ** (1 / 3)) * RADIUS
    centre = _settle(radius, width, rng.uniform(RADIUS, width - RADIUS, (count, 2)), fall)
    return _problem(centre, radius, width, mu, noise, rng)


def pyramid(contacts: int, *, mu: float = 0.5, noise: float = 0.2, seed: int = 0) -> perp.ContactProblem:
    """Equal balls stacked as a square pyramid on a floor: many ways to carry the load.

    Args:
        contacts: How many contacts to aim at.
        mu: Friction coefficient.
        noise: Random velocities of the balls, relative to what gravity adds in the step.
        seed: Decides the velocities.
    """
    layers = max(2, round((contacts / 2.0) ** (1 / 3)))
    centre = []
    for layer in range(layers):
        side = layers - layer
        i, j = np.indices((side, side)).reshape(2, -1)
        height = np.full(side * side, 1.0 + layer * math.sqrt(2.0))
        centre.append(RADIUS * np.stack([2 * i - side + 1.0, 2 * j - side + 1.0, height], axis=1))
    balls = np.concatenate(centre)
    return _problem(balls, np.full(len(balls), RADIUS), np.inf, mu, noise, np.random.default_rng(seed))


def lattice(contacts: int, *, mu: float = 0.5, noise: float = 0.2, seed: int = 0) -> perp.ContactProblem:
    """Equal balls in columns that touch each other: a cube of balls.

    Args:
        contacts: How many contacts to aim at.
        mu: Friction coefficient.
        noise: Random velocities of the balls, relative to what gravity adds in the step.
        seed: Decides the velocities.
    """
    side = max(2, round((contacts / 3.0) ** (1 / 3)))
    centre = RADIUS * (2.0 * np.indices((side, side, side)).reshape(3, -1).T + 1.0)
    radius = np.full(len(centre), RADIUS)
    return _problem(centre, radius, np.inf, mu, noise, np.random.default_rng(seed))


def cubes(contacts: int, *, mu: float = 0.5, noise: float = 0.2, seed: int = 0) -> perp.ContactProblem:
    """Cubes stacked as a square pyramid, each on four below, with a contact at each corner of each overlap.

    Args:
        contacts: How many contacts to aim at.
        mu: Friction coefficient.
        noise: Random velocities of the cubes, relative to what gravity adds in the step.
        seed: Decides the velocities.
    """
    layers = max(2, round((3.0 * contacts / 16.0) ** (1 / 3) + 0.3))
    offset = np.concatenate([[0], np.cumsum((layers - np.arange(layers)) ** 2)])
    centre, one, other, point = [], [], [], []
    for layer in range(layers):
        side = layers - layer
        i, j = np.indices((side, side)).reshape(2, -1)
        height = np.full(side * side, 1.0 + 2 * layer)
        middle = RADIUS * np.stack([2 * i - side + 1.0, 2 * j - side + 1.0, height], axis=1)
        centre.append(middle)
        mine = offset[layer] + np.arange(side * side)
        quarters = [(None, 0, 0)] if layer == 0 else [(q, q // 2, q % 2) for q in range(4)]
        for quarter, di, dj in quarters:
            below = np.full(mine.size, -1)
            reach = np.array([-1.0, 1.0]), np.array([-1.0, 1.0])
            if quarter is not None:
                below = offset[layer - 1] + (i + di) * (side + 1) + j + dj
                reach = np.array([di - 1.0, di]), np.array([dj - 1.0, dj])
            for x in reach[0]:
                for y in reach[1]:
                    one.append(mine)
                    other.append(below)
                    point.append(middle + RADIUS * np.array([x, y, -1.0]))
    bodies, at = np.concatenate(centre), np.concatenate(point)
    first, second = np.concatenate(one), np.concatenate(other)
    weight = np.full(len(bodies), DENSITY * 8 * RADIUS**3)
    up = np.tile([0.0, 0.0, 1.0], (first.size, 1))
    arms = [at - bodies[first], at - bodies[second]]
    rng = np.random.default_rng(seed)
    return _step(
        first, second, up, arms, np.zeros(first.size), weight, weight * (2 * RADIUS) ** 2 / 6, mu, noise, rng
    )


def _contacts(
    centre: np.ndarray, radius: np.ndarray, width: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pairs that (nearly) touch: bodies, bodies or −1 for floor and walls, normals to the first, gaps."""
    from scipy.spatial import KDTree

    pairs = KDTree(centre).query_pairs((2.0 + NEAR) * radius.max(), output_type="ndarray")
    apart = centre[pairs[:, 1]] - centre[pairs[:, 0]]
    distance = np.linalg.norm(apart, axis=1)
    gap = distance - radius[pairs].sum(axis=1)
    kept = gap < NEAR * RADIUS
    one, other = [pairs[kept, 1]], [pairs[kept, 0]]
    normal, gaps = [apart[kept] / distance[kept, None]], [gap[kept]]
    for axis, side in ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0), (2, 1.0)):
        if axis < 2 and not math.isfinite(width):
            continue
        inside = (centre[:, axis] if side > 0 else width - centre[:, axis]) - radius
        touching = np.flatnonzero(inside < NEAR * RADIUS)
        one.append(touching)
        other.append(np.full(touching.size, -1))
        normal.append(np.tile(side * np.eye(3)[axis], (touching.size, 1)))
        gaps.append(inside[touching])
    order = np.argsort(np.concatenate(one), kind="stable")
    return tuple(np.concatenate(part)[order] for part in (one, other, normal, gaps))  # type: ignore[return-value]


def _problem(
    centre: np.ndarray, radius: np.ndarray, width: float, mu: float, noise: float, rng: np.random.Generator
) -> perp.ContactProblem:
    """One step of these balls in dynamics form."""
    one, other, n, gap = _contacts(centre, radius, width)
    arms = [-sign * radius[body, None] * n for body, sign in ((one, 1.0), (other, -1.0))]
    weight = DENSITY * 4 / 3 * math.pi * radius**3
    return _step(one, other, n, arms, gap, weight, 0.4 * weight * radius**2, mu, noise, rng)


def _step(
    one: np.ndarray, other: np.ndarray, n: np.ndarray, arms: list[np.ndarray], gap: np.ndarray,
    weight: np.ndarray, inertia: np.ndarray, mu: float, noise: float, rng: np.random.Generator,
) -> perp.ContactProblem:  # fmt: skip
    """One step in dynamics form, from contacts (bodies, normals, arms, gaps) and bodies (mass, inertia)."""
    from scipy.sparse import coo_array

    count = weight.size
    t = np.cross(n, np.where(abs(n[:, :1]) < 0.7, np.eye(3)[0], np.eye(3)[1]))
    t /= np.linalg.norm(t, axis=1)[:, None]
    frame = np.stack([n, t, np.cross(n, t)], axis=1)
    rows, columns, values = [], [], []
    for body, arm, sign in ((one, arms[0], 1.0), (other, arms[1], -1.0)):
        real = np.flatnonzero(body >= 0)
        block = sign * np.concatenate([frame[real], np.cross(arm[real][:, None, :], frame[real])], axis=2)
        i = 3 * real[:, None, None] + np.arange(3)[:, None]
        j = 6 * body[real][:, None, None] + np.arange(6)
        rows.append(np.broadcast_to(i, block.shape).ravel())
        columns.append(np.broadcast_to(j, block.shape).ravel())
        values.append(block.ravel())
    jacobian = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(3 * one.size, 6 * count),
    ).tocsr()
    mass = np.zeros((count, 6, 6))
    mass[:, range(3), range(3)] = weight[:, None]
    mass[:, range(3, 6), range(3, 6)] = inertia[:, None]
    speed = noise * GRAVITY * STEP
    spin = speed / RADIUS
    velocity = np.hstack([speed * rng.normal(size=(count, 3)), spin * rng.normal(size=(count, 3))])
    velocity[:, 2] -= GRAVITY * STEP
    bias = np.zeros(3 * one.size)
    bias[::3] = np.maximum(gap, 0.0) / STEP
    return perp.ContactProblem.from_dynamics(
        mass, jacobian, (mass @ velocity[..., None]).ravel(), bias, perp.Sets.coulomb(np.full(one.size, mu))
    )
