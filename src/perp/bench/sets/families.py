"""Families of LCPs on which pivoting solvers are compared: tests and benchmarks make them from a seed.

Convention: w = M z + q, lo ≤ z ≤ hi.
"""

import numpy as np

import perp


def spd(n: int, seed: int = 0, *, shift: float = 1e-3) -> perp.LCP:
    """Positive definite, G Gᵀ / n + shift, with about half of the rows active."""
    rng = np.random.default_rng([1, n, seed])
    G = rng.standard_normal((n, n))
    return perp.LCP(G @ G.T / n + shift * np.eye(n), rng.standard_normal(n))


def p_matrix(n: int, seed: int = 0) -> tuple[perp.LCP, np.ndarray]:
    """Positive definite and strongly nonsymmetric, with the solution it was made from."""
    rng = np.random.default_rng([2, n, seed])
    G, S = rng.standard_normal((2, n, n))
    M = G @ G.T / n + 0.05 * np.eye(n) + (S - S.T) * 2 / n**0.5
    active = rng.random(n) < 0.5
    z, w = np.where(active, rng.uniform(0.1, 1.1, n), 0.0), np.where(active, 0.0, rng.uniform(0.1, 1.1, n))
    return perp.LCP(M, w - M @ z), z


def redundant(n: int, seed: int = 0) -> perp.LCP:
    """Semidefinite of rank n / 4 with q in its range: redundant contacts without friction."""
    rng = np.random.default_rng([3, n, seed])
    J = rng.standard_normal((n, max(1, n // 4)))
    return perp.LCP(J @ J.T, J @ rng.standard_normal(J.shape[1]))


def motors(n: int, seed: int = 0) -> perp.BoxedLCP:
    """Positive definite with symmetric bounds, as of motors with a torque limit."""
    problem = spd(n, seed)
    limit = np.random.default_rng([4, n, seed]).uniform(0.05, 1.0, n)
    return perp.BoxedLCP(problem.M, problem.q, -limit, limit)


def contacts(count: int, seed: int = 0, *, mu: float = 0.5, diagonal: float = 1e-9) -> perp.BoxedLCP:
    """Contacts on count / 4 rigid bodies, three rows each, friction rows bounded by μ times their normal.

    At most half of the rows are independent. The bodies fall with random spin; a contact is with the ground
    (40 %) or with another body, on the corners of half-metre boxes.
    """
    rng = np.random.default_rng([5, count, seed])
    bodies = max(1, count // 4)
    mass = rng.uniform(0.5, 2.0, bodies)
    inertia = rng.uniform(0.05, 0.3, (bodies, 3)) * mass[:, None]
    inverse = np.hstack([np.repeat(1 / mass[:, None], 3, axis=1), 1 / inertia]).ravel()
    twist = 0.3 * rng.standard_normal((bodies, 6))
    twist[:, 2] -= 0.6
    J = np.zeros((count, 3, bodies, 6))
    for c in range(count):
        body = c % bodies
        other = int(rng.integers(bodies)) if rng.random() > 0.4 else body
        normal = np.array([0.0, 0.0, 1.0])
        if other != body:
            normal = normal + 0.3 * rng.standard_normal(3)
        frame = _frame(normal)
        for b, side in ((body, 1.0), (other, -1.0)) if other != body else ((body, 1.0),):
            arm = np.append(rng.uniform(-0.5, 0.5, 2), -0.5 * side)
            J[c, :, b, :3] += side * frame
            J[c, :, b, 3:] += side * np.cross(arm, frame)
    J = J.reshape(3 * count, 6 * bodies)
    W = (J * inverse) @ J.T
    rows = np.arange(3 * count)
    friction = rows % 3 > 0
    return perp.BoxedLCP(
        (W + W.T) / 2 + diagonal * np.eye(3 * count),
        J @ twist.ravel(),
        np.where(friction, -mu, 0.0),
        np.where(friction, mu, np.inf),
        friction_index=np.where(friction, rows - rows % 3, -1),
    )


def normals(problem: perp.BoxedLCP) -> perp.LCP:
    """The normal rows of `contacts` alone: contact without friction."""
    return perp.LCP(problem.M[::3, ::3], problem.q[::3])


def murty(n: int) -> perp.LCP:
    """Murty's P-matrix family (1978), on which Lemke with covering vector e takes 2ⁿ − 1 pivots."""
    return perp.LCP(np.eye(n) + 2 * np.tril(np.ones((n, n)), -1), -np.ones(n))


def fathi(n: int) -> perp.LCP:
    """Fathi's symmetric positive definite family (1979), L Lᵀ of Murty's: exponential as well."""
    L = np.eye(n) + 2 * np.tril(np.ones((n, n)), -1)
    return perp.LCP(L @ L.T, -np.ones(n))


def _frame(normal: np.ndarray) -> np.ndarray:
    normal = normal / np.linalg.norm(normal)
    tangent = np.cross(normal, [1.0, 0.0, 0.0])
    tangent /= np.linalg.norm(tangent)
    return np.stack([normal, tangent, np.cross(normal, tangent)])
