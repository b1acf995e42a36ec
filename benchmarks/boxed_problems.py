"""Generated boxed problems for `boxed.py`.

Convention: w = M z + q, lo ≤ z ≤ hi.
"""

from __future__ import annotations

import numpy as np


def positive_definite(n: int, rng: np.random.Generator) -> np.ndarray:
    """G Gᵀ/n + 1e-3 I with a square G: conditions of a few thousand."""
    G = rng.standard_normal((n, n))
    return G @ G.T / n + 1e-3 * np.eye(n)


def standard(n: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """An LCP with about half of its rows active: M, q, lo, hi."""
    rng = np.random.default_rng(1000 + 10 * n + seed)
    M = positive_definite(n, rng)
    return M, -rng.standard_normal(n), np.zeros(n), np.full(n, np.inf)


def motors(n: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Rows with limits of either sign, as motors have them: M, q, lo, hi."""
    rng = np.random.default_rng(2000 + 10 * n + seed)
    M = positive_definite(n, rng)
    q = -rng.standard_normal(n)
    limit = rng.uniform(0.05, 1.0, n)
    return M, q, -limit, limit


def grid_pattern(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs i < j of neighbours in a cube of side³ nodes, up to ten neighbours a node: rows, columns."""
    node = np.arange(side**3, dtype=np.int32)
    x, y, z = node % side, (node // side) % side, node // side**2
    first, second = [], []
    for dx, dy, dz in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1)):
        inside = (x + dx < side) & (y + dy < side) & (z + dz < side)
        first.append(node[inside])
        second.append(node[inside] + np.int32(dx + dy * side + dz * side**2))
    return np.concatenate(first), np.concatenate(second)


def contact_rows(contacts: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Contacts on a quarter as many bodies, rank-deficient: M, q, lo, hi, friction_index."""
    rng = np.random.default_rng(seed)
    bodies = max(1, contacts // 4)
    J = np.zeros((3 * contacts, 6 * bodies))
    for c in range(contacts):
        frame = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        frame[0] *= np.sign(frame[0, 2]) or 1.0  # normals point up
        for body, sign in ((c % bodies, 1.0), (int(rng.integers(bodies)), -1.0)):
            if sign < 0 and (body == c % bodies or rng.random() < 0.4):
                continue  # the other side is the ground
            arm = rng.uniform(-0.5, 0.5, 3)
            J[3 * c : 3 * c + 3, 6 * body : 6 * body + 3] = sign * frame
            J[3 * c : 3 * c + 3, 6 * body + 3 : 6 * body + 6] = sign * np.cross(arm, frame)
    inverse_mass = np.repeat(rng.uniform(0.5, 2.0, bodies), 6)
    inverse_mass[np.arange(6 * bodies) % 6 >= 3] *= 6.0
    velocity = 0.3 * rng.standard_normal(6 * bodies)
    velocity[2::6] -= 0.6
    M = (J * inverse_mass) @ J.T
    lo, hi = np.tile([0.0, -0.5, -0.5], contacts), np.tile([np.inf, 0.5, 0.5], contacts)
    index = np.repeat(3 * np.arange(contacts), 3)
    index[::3] = -1
    return 0.5 * (M + M.T), J @ velocity, lo, hi, index
