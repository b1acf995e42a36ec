"""Other starts for contact problems on which the first stages stall.

In order: the central path of the relaxation, which ends in the middle of the solutions of bodies at rest; a
sequence of such paths, each with the shift Γ of the last answer; the central path of the exact problem, with
Γ turned on early or late, and with huge friction coefficients taken as moderate ones, since a contact that
sticks with less friction sticks; Lemke's answer for friction pyramids of eight sides; and points at random,
the same ones every time. From each, plain Newton steps are taken in several variants, then proximal ones. All
of it is compiled and costs milliseconds for tens of contacts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perp.problems import ContactProblem
from perp.problems.residual import judge
from perp.problems.validation import Vector
from perp.solvers.attempt import Control
from perp.solvers.contact.shift_iteration import shift_iterates

if TYPE_CHECKING:
    from perp.solvers.contact.stages import Stages

PATH_STEPS = 80
# The τ at which half of Γ is on: early, late, at once. Each finds solutions that the others miss.
PATHS = (1e-3, 1e-2, np.inf)
# What a friction coefficient is taken as where it is larger.
MODERATE = 10.0
# Up to this many rows points at random are worth their price, and up to this many pyramids are: Lemke's
# pivots on an LCP of three times the size, at most so many for each of its rows.
SMALL, FEW = 400, 200
FACETS, PIVOTS = 8, 2
RANDOM_STARTS = 12
NEWTON_STEPS = 40
# Growth of shifts that lag behind, Newton steps every so many shifts, and how the last ones are refined.
GROWTHS, NEWTON_EVERY = (1.0, 2.0), 5
SHIFT_SCALES, SHIFT_WEIGHTS = (1.0, 10.0, 0.1, 1e-3, 1e-6), (1e-12,)


class Variant(NamedTuple):
    """One way to take plain Newton steps: proximal weight, sweeps after a step, factor on the scales."""

    weight: float
    sweeps: int
    scale: float


# Sweeps repair wrong guesses of open, stick and slip where they converge, and destroy right ones elsewhere.
VARIANTS = (
    Variant(1e-10, 0, 1.0),
    Variant(1e-10, 2, 1.0),
    Variant(1e-6, 0, 10.0),
    Variant(1e-3, 5, 1.0),
    Variant(1e-6, 10, 0.1),
)


def search(stages: Stages) -> bool:
    """Newton steps from one start after the other until the problem is solved. Returns whether to stop."""
    for number, start in enumerate(starts(stages)):
        stages.starts += 1
        if _newton_from(stages, start, VARIANTS) or stages.approach(start):
            return True
        if stages.exhausted():
            return False
        if number == 0 and not stages.problem.relaxed and stages.problem.size <= SMALL and _shift(stages):
            return True
    return False


def _newton_from(stages: Stages, start: Vector, variants: tuple[Variant, ...]) -> bool:
    """Plain Newton steps from one start in several variants. Returns whether to stop."""
    from perp.solvers.contact.plain_newton import plain_newton

    if stages.offer(start):
        return True
    for variant in variants:
        if stages.exhausted():
            return False
        x = start.copy()
        _, taken = plain_newton(
            stages.blocks, stages.order, variant.scale * stages.rho, variant.weight, variant.sweeps, x,
            stages.tol, NEWTON_STEPS, np.inf, 0,
        )  # fmt: skip
        stages.steps += taken
        if stages.offer(x):
            return True
    return False


def _shift(stages: Stages) -> bool:
    """The fixed point of De Saxcé's shift, with Newton steps now and then. Returns whether to stop."""
    for growth in GROWTHS:
        stages.starts += 1
        least, nearest = np.inf, stages.best
        for k, x in enumerate(shift_iterates(stages, growth), 1):
            value = stages.control.measure(stages.blocks.scale * x)
            if stages.offer(x) or (k % NEWTON_EVERY == 0 and _newton_from(stages, x, VARIANTS[:1])):
                return True
            if value < least:
                least, nearest = value, x
            if stages.exhausted():
                return False
        if _newton_from(stages, nearest, VARIANTS) or stages.refine(SHIFT_SCALES, SHIFT_WEIGHTS):
            return True
    return False


def starts(stages: Stages) -> Iterator[Vector]:
    """Impulses in canonical form to begin from, cheap and likely ones first."""
    from perp.solvers.contact.canonical import blocks_of
    from perp.solvers.contact.central_path import follow_path

    problem, blocks = stages.problem, stages.blocks

    def path(of, kappa: float, cap: float) -> Vector:
        x = np.zeros(problem.size)
        _, taken = follow_path(of, stages.order, x, stages.tol, kappa, cap, PATH_STEPS)
        stages.steps += taken
        return x

    if problem.relaxed:
        yield path(blocks, np.inf, np.inf)
    else:
        yield path(blocks_of(problem.as_relaxed()), np.inf, np.inf)
        huge = max(float(blocks.mu.max()), float(blocks.mu_r.max())) > MODERATE
        for cap in (np.inf, MODERATE) if huge else (np.inf,):
            for kappa in PATHS:
                yield path(blocks, kappa, cap)
    if problem.size > SMALL:
        return
    if not problem.relaxed and problem.size <= FEW:
        yield _pyramid(problem, stages.control) / blocks.scale
    rng = np.random.default_rng(0)
    unit = np.linalg.norm(blocks.q) / np.repeat(blocks.d, problem.sets.dimension)
    for _ in range(RANDOM_STARTS):
        yield 10.0 ** rng.uniform(-2.0, 1.0) * unit * rng.standard_normal(problem.size)


def _pyramid(problem: ContactProblem, control: Control) -> Vector:
    """Lemke's answer with friction pyramids, or where it stopped; zero where that is not a number."""
    from perp.formulations.contact_as_pyramid import contact_as_pyramid
    from perp.solvers import registry

    turned = contact_as_pyramid(problem, FACETS)
    lcp = turned.problem
    inner = Control(
        lambda z: judge(lcp, z)[0],  # type: ignore[arg-type]
        tol=control.tol,
        max_iterations=PIVOTS * lcp.size,
        time_limit=control.remaining(),
    )
    info = registry.find("lemke")
    impulse = turned.back(info.run(lcp, inner, info.options()).z)
    return impulse if np.isfinite(impulse).all() else np.zeros(problem.size)
