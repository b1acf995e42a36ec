"""Random contact problems over all mixtures of sets, from rigid bodies with random contacts.

Every problem has a solution: velocities at rest satisfy all constraints, since the bias is zero. The mixtures
are meant to be nasty: more contacts than degrees of freedom, duplicated contacts, opposing contacts that jam,
contacts without approach, friction coefficients from 0 to 2 and a few of 1e-6 and 1e6, mass ratios up to 1e6,
units of any size.
"""

import numpy as np

import perp

KINDS = ("free", "nonnegative", "box", "coulomb", "planar", "elliptic", "rolling")


def _frame(rng: np.random.Generator) -> np.ndarray:
    """A random orthonormal frame, normal first."""
    basis, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return basis.T


def _coefficient(rng: np.random.Generator) -> float:
    draw = rng.random()
    if draw < 0.04:
        return 0.0
    if draw < 0.06:
        return 1e-6
    if draw < 0.08:
        return 1e6
    return float(rng.uniform(0.0, 2.0))


def _set(rng: np.random.Generator, kind: str, size: float) -> perp.ConstraintSet:
    if kind == "free":
        return perp.Free()
    if kind == "nonnegative":
        return perp.Nonnegative()
    if kind == "box":
        low, high = np.sort(rng.normal(scale=size, size=2))
        return perp.Box(-np.inf if rng.random() < 0.1 else low, np.inf if rng.random() < 0.1 else high)
    if kind == "coulomb":
        return perp.Coulomb(_coefficient(rng))
    if kind == "planar":
        return perp.Coulomb(_coefficient(rng), dimension=2)
    if kind == "elliptic":
        return perp.Elliptic(_coefficient(rng), _coefficient(rng))
    return perp.Rolling(_coefficient(rng), 0.1 * _coefficient(rng))


def _rows(kind: str, frame: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """Velocity at the constraint per velocity (linear, angular) of one body."""
    linear = np.hstack([frame, np.cross(arm, frame)])
    if kind in ("free", "nonnegative", "box"):
        return linear[:1]
    if kind == "planar":
        return linear[:2]
    if kind == "rolling":
        return np.vstack([linear, np.hstack([np.zeros((2, 3)), frame[1:]])])
    return linear


def random_problem(seed: int) -> perp.ContactProblem:
    """The random contact problem with this number: 1 to 60 constraints."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 61)) if rng.random() < 0.7 else int(rng.integers(1, 9))
    bodies = int(rng.integers(1, max(2, count // int(rng.integers(1, 5)) + 1) + 1))
    spread = rng.choice([0.0, 1.0, 3.0, 6.0], p=[0.3, 0.3, 0.25, 0.15])
    mass = 10.0 ** rng.uniform(-spread / 2, spread / 2, bodies)
    inertia = mass[:, None] * rng.uniform(0.05, 0.4, (bodies, 3))
    inverse = 1.0 / np.hstack([np.repeat(mass[:, None], 3, axis=1), inertia]).ravel()
    allowed = KINDS if rng.random() < 0.6 else tuple(rng.choice(KINDS, size=1))
    weight = np.array([0.06, 0.12, 0.08, 0.4, 0.08, 0.13, 0.13])
    weight = weight if len(allowed) > 1 else np.ones(1)
    speed = rng.normal(size=6 * bodies)
    if rng.random() < 0.3:
        speed = np.tile([0.0, 0.0, -1.0, 0.0, 0.0, 0.0], bodies)
    sets, rows = [], []
    gravity_like = rng.random() < 0.4
    while len(sets) < count:
        kind = str(rng.choice(allowed, p=weight / weight.sum()))
        one = int(rng.integers(bodies))
        other = int(rng.integers(bodies)) if rng.random() < 0.6 else one
        frame, arm = _frame(rng), rng.uniform(-1, 1, 3)
        if gravity_like and rng.random() < 0.7:
            frame = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        copies = 1 + (rng.random() < 0.1) + (rng.random() < 0.05)
        opposing = rng.random() < 0.08
        for copy in range(copies):
            block = np.zeros((_rows(kind, frame, arm).shape[0], 6 * bodies))
            turned = -frame if opposing and copy else frame
            block[:, 6 * one : 6 * one + 6] = _rows(kind, turned, arm)
            if other != one:
                block[:, 6 * other : 6 * other + 6] = -_rows(kind, turned, arm + rng.uniform(-1, 1, 3))
            rows.append(block)
            sets.append(_set(rng, kind, float(mass[one])))
    jacobian = np.vstack(rows)
    if rng.random() < 0.08:
        # nothing approaches: all velocities vanish or open the contacts
        speed = np.linalg.lstsq(jacobian, np.abs(jacobian @ speed), rcond=None)[0]
    unit = 10.0 ** rng.integers(-4, 5) if rng.random() < 0.3 else 1.0
    W = unit * (jacobian * inverse) @ jacobian.T
    compliance = 10.0 ** rng.uniform(-8, -2) if rng.random() < 0.1 else 0.0
    W[np.diag_indices_from(W)] += compliance * W.diagonal().mean()
    return perp.ContactProblem(W, jacobian @ speed, perp.Sets(sets))
