"""Which routes through a step are tried, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from perp.stepping.settings import Level, Route, StepSettings
from perp.stepping.system import StepSystem
from perp.stepping.warm_start import Memory

NEWTON, SEQUENCE, BODY = Route.NEWTON.value, Route.SEQUENCE.value, Route.BODY.value
IMPLICIT = "implicit"
# In generalised coordinates and closed loops: the last step's impulses need a Newton step or two, or wander.
_FIRST_NEWTON_STEPS = 12


def routes(system: StepSystem, settings: StepSettings, *, redundant: bool) -> list[tuple[str, int]]:
    """Routes in the order to try, with their limits of outer iterations.

    Args:
        system: The step.
        settings: How to step.
        redundant: Whether joints depend on each other (closed loops).
    """
    full = settings.max_iterations
    if settings.level is Level.VELOCITY:
        # positions of the start make the same system with a constant bias
        general = ("velocity", 1)
        fits = isinstance(system, StepSystem) and settings.solver == "auto" and not redundant
        return [(BODY, full), general] if fits else [general]
    newton, sequence = (NEWTON, full), (SEQUENCE, full)
    # without inequalities the system is smooth, and Newton's method the direct way
    if settings.route is Route.NEWTON or not system.has_inequalities:
        return [newton, sequence]
    if settings.route is Route.SEQUENCE:
        return [sequence, newton]
    if not isinstance(system, StepSystem):
        return [(NEWTON, min(full, _FIRST_NEWTON_STEPS)), sequence, newton]
    body = (BODY, full)
    if settings.route is Route.AUTO and settings.solver != "auto":
        return [sequence, body, newton]
    if redundant:
        # closed loops have other roots a full turn away, which Newton's shortened steps do not reach
        return [(NEWTON, min(full, _FIRST_NEWTON_STEPS)), body, sequence, newton]
    return [body, sequence, newton]


def all_routes(
    system: StepSystem,
    settings: StepSettings,
    memory: Memory,
    ordinary: Callable[[StepSystem], list[tuple[str, int]]],
) -> Iterator[tuple[str, int]]:
    """The ordinary routes; where shapes overlap, those without asking for their separation as well.

    Shapes that overlap in a way that their joints do not let them leave have no other answer, so that after
    such a step the next ones begin there. Forces of the end come last, or first after steps that needed them.
    """
    implicit = settings.level is Level.POSITION and isinstance(system, StepSystem)
    if implicit and memory.stiff:
        yield IMPLICIT, settings.max_iterations
    choices = (True,)
    if system.overlaps and settings.recovery_speed > 0:
        choices = (False, True) if memory.pause else (True, False)
    for asking in choices:
        system.settings = settings if asking else replace(settings, recovery_speed=0.0)
        yield from ordinary(system)
    if implicit and not memory.stiff:
        yield IMPLICIT, settings.max_iterations
