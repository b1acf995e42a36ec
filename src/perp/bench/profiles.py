"""Figures over a whole set: performance profiles and shifted geometric means.

A performance profile of a solver is ρ(τ), the share of all problems that it solves within τ times the time of
the fastest solver on that problem. Problems that nobody solves count in the denominator.

Reference: Dolan and Moré, Benchmarking optimization software with performance profiles (2002).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

# Seconds added before the geometric mean, so that microseconds do not decide: about one step of a simulator.
SHIFT = 1e-3

Times = Mapping[str, Mapping[str, float]]
"""Seconds by solver and problem; a problem that a solver did not solve is absent."""


@dataclass(frozen=True)
class Profile:
    """A step function: ρ(τ) = share[k] for ratio[k] ≤ τ < ratio[k + 1]."""

    ratio: np.ndarray  # ratios to the fastest solver, ascending, shape (steps,)
    share: np.ndarray  # of all problems solved within that ratio, shape (steps,)

    def at(self, tau: float) -> float:
        """ρ(τ)."""
        k = int(np.searchsorted(self.ratio, tau, side="right"))
        return float(self.share[k - 1]) if k else 0.0


def performance_profiles(times: Times, problem_count: int) -> dict[str, Profile]:
    """The performance profile of every solver on so many problems, from the times of those that it solved."""
    fastest: dict[str, float] = {}
    for solved in times.values():
        for problem, seconds in solved.items():
            fastest[problem] = min(seconds, fastest.get(problem, math.inf))
    profiles = {}
    for solver, solved in times.items():
        ratios = np.sort([_ratio(seconds, fastest[problem]) for problem, seconds in solved.items()])
        steps, counts = np.unique(ratios, return_counts=True)
        profiles[solver] = Profile(steps, np.cumsum(counts) / max(problem_count, 1))
    return profiles


def _ratio(seconds: float, fastest: float) -> float:
    return 1.0 if seconds == fastest else seconds / fastest


def shifted_geometric_mean(values: Iterable[float], shift: float = SHIFT) -> float:
    """exp(mean(log(v + shift))) − shift; NaN for no values."""
    listed: Sequence[float] = list(values)
    if not listed:
        return math.nan
    return math.exp(math.fsum(math.log(v + shift) for v in listed) / len(listed)) - shift
