"""The set `lcp-large`: sparse LCPs of free boundaries with 10⁴ to 10⁵ unknowns."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import perp
from perp.bench.sets.base import NamedProblem


def large_lcps() -> Iterator[NamedProblem]:
    """Obstacles, a journal bearing and an American put at three sizes; z is what lies above the obstacle."""
    for size in (10_000, 40_000, 100_000):
        side = round(size**0.5)
        yield NamedProblem(f"obstacle-{side}x{side}", obstacle(side))
        yield NamedProblem(f"torsion-{side}x{side}", torsion(side))
        yield NamedProblem(f"bearing-{side}x{side}", bearing(side))
        yield NamedProblem(f"american-put-{size}", american_put(size))


def laplacian(m: int) -> Any:
    """The five-point −Δ times h² on m × m inner points, CSR."""
    from scipy.sparse import csr_array, eye_array, kron

    T = _tridiagonal(-np.ones(m - 1), 2 * np.ones(m), -np.ones(m - 1))
    return csr_array(kron(T, eye_array(m)) + kron(eye_array(m), T))


def obstacle(m: int) -> perp.LCP:
    """A membrane over bumps, load −1: z = u − ψ ≥ 0 ⊥ A u + h² (Moré and Toraldo 1991)."""
    A, h = laplacian(m), 1 / (m + 1)
    x = np.linspace(h, 1 - h, m)
    bumps = np.sin(9 * x)[:, None] * np.sin(9 * x)[None, :]
    psi = np.where(bumps > 0, bumps, 0.0).ravel() ** 3 - 0.1
    return perp.LCP(A, A @ psi + h * h, copy=False)


def torsion(m: int) -> perp.LCP:
    """Elastic–plastic torsion, c = 20: z = distance to the boundary − u ≥ 0."""
    A, h = laplacian(m), 1 / (m + 1)
    i = np.arange(1, m + 1)
    near = np.minimum(i, m + 1 - i) * h
    distance = np.minimum(near[:, None], near[None, :]).ravel()
    return perp.LCP(A, 20.0 * h * h - A @ distance, copy=False)


def bearing(m: int, eccentricity: float = 0.8) -> perp.LCP:
    """Reynolds's equation of a finite bearing with cavitation (Cryer 1971), pressure ≥ 0."""
    from scipy.sparse import csr_array, eye_array, kron

    step = 2 * np.pi / (m + 1)
    film = (1 + eccentricity * np.cos((np.arange(m + 1) + 0.5) * step)) ** 3
    around = _tridiagonal(-film[1:-1], film[:-1] + film[1:], -film[1:-1])
    across = _tridiagonal(-np.ones(m - 1), 2 * np.ones(m), -np.ones(m - 1))
    middle = (1 + eccentricity * np.cos(np.arange(1, m + 1) * step)) ** 3
    A = csr_array(
        kron(around, eye_array(m)) + kron(_tridiagonal(np.zeros(m - 1), middle, np.zeros(m - 1)), across)
    )
    force = -(step**2) * eccentricity * np.sin(np.arange(1, m + 1) * step)
    return perp.LCP(A, np.repeat(force, m), copy=False)


def american_put(n: int, volatility: float = 0.3, rate: float = 0.06) -> perp.LCP:
    """One implicit quarter of an American put in log-price; z is the value above the payoff."""
    from scipy.sparse import csr_array

    step = 4.0 / (n + 1)
    x = -2.0 + step * np.arange(1, n + 1)
    diffusion, drift = 0.5 * volatility**2 / step**2, (rate - 0.5 * volatility**2) / (2 * step)
    time = 0.25
    A = _tridiagonal(
        np.full(n - 1, -time * (diffusion - drift)),
        np.full(n, 1 + time * (2 * diffusion + rate)),
        np.full(n - 1, -time * (diffusion + drift)),
    )
    payoff = np.maximum(0.0, 1 - np.exp(x))
    q = A @ payoff - payoff
    q[0] -= time * (diffusion - drift) * (1 - np.exp(-2.0))
    return perp.LCP(csr_array(A), q, copy=False)


def _tridiagonal(below: np.ndarray, on: np.ndarray, above: np.ndarray) -> Any:
    from scipy.sparse import diags_array

    offsets: Any = [-1, 0, 1]
    return diags_array([below, on, above], offsets=offsets)
