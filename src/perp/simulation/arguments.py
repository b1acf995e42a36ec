"""Checks of what users hand to a simulation: every error names the argument and what would be right."""

import dataclasses
import math
from collections.abc import Mapping
from enum import StrEnum
from inspect import signature
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from perp.problems import ProblemError
from perp.problems.validation import check_finite, to_float
from perp.scenes import SceneError
from perp.scenes.model import find
from perp.stepping import Level, StepSettings
from perp.stepping.settings import Integrator, Softness

E = TypeVar("E", bound=StrEnum)


class Coordinates(StrEnum):
    """What a state is made of."""

    MAXIMAL = "maximal"
    REDUCED = "reduced"


def whole(name: str, x: Any) -> int:
    """A whole number of at least 1, from Python or NumPy."""
    if isinstance(x, int | float | np.integer) and x is not True and 1 <= x < math.inf and int(x) == x:
        return int(x)
    raise ProblemError(f"{name} = {x!r}: a whole number of at least 1 is needed")


def number(name: str, x: Any, least: float = -math.inf) -> float:
    """A finite real number from `least` on."""
    value = _real(x)
    if not math.isfinite(value):
        raise ProblemError(f"{name} = {x!r}: a finite number is needed")
    if value < least:
        raise ProblemError(f"{name} = {x!r}: a number of at least {least:g} is needed")
    return value


def positive(name: str, x: Any, unit: str = "") -> float:
    """A finite number above zero."""
    value = _real(x)
    if not 0.0 < value < math.inf:
        raise ProblemError(f"{name} = {x!r}: a positive number{f' of {unit}' if unit else ''} is needed")
    return value


def step_count(seconds: Any, step: float) -> int:
    """How many steps make up some simulated time."""
    value = _real(seconds)
    if not 0.0 <= value < math.inf:
        raise ProblemError(f"seconds = {seconds!r}: a finite number of at least 0 is needed")
    return round(value / step)


def _real(x: Any) -> float:
    """A real number as a float; NaN for anything else."""
    return float(x) if isinstance(x, Real) and not isinstance(x, bool) else math.nan


def choice(name: str, x: Any, kind: type[E]) -> E:
    """A member of an enumeration, by itself or by its value."""
    try:
        return kind(x)
    except ValueError:
        valid = ", ".join(repr(member.value) for member in kind)
        raise ProblemError(f"{name} = {x!r}: one of {valid} is needed") from None


def read_only(array: np.ndarray) -> np.ndarray:
    """A copy for the user to read: writing into it would be lost, so that numpy refuses it."""
    array.flags.writeable = False
    return array


def motor_index(name: str, names: tuple[str, ...]) -> int:
    """Which motor is called so; where there are none, what would make some."""
    if not names:
        raise SceneError(
            f"there is no motor named {name!r}, nor any other: motors='force' or 'velocity' adds them"
        )
    return find(name, names, "motor")


def triple(name: str, x: Any) -> np.ndarray:
    """Three finite numbers."""
    array = to_float(name, x)
    if array.shape != (3,):
        raise ProblemError(f"{name} has shape {array.shape}: three numbers are needed")
    check_finite(name, array)
    return array


def unit_quaternion(name: str, x: Any) -> np.ndarray:
    """Four numbers (w, x, y, z), normalised."""
    array = to_float(name, x)
    if array.shape != (4,):
        raise ProblemError(f"{name} has shape {array.shape}: four numbers (w, x, y, z) are needed")
    check_finite(name, array)
    length = float(np.linalg.norm(array))
    if length < 1e-150:
        raise ProblemError(f"{name} = {array.tolist()}: a quaternion of length zero is not a rotation")
    return array / length


def _in_range(name: str, setting: Any, most: float, needed: str) -> None:
    """One number from 0 on, or a mapping from kinds and joints to such numbers."""
    values = setting.items() if isinstance(setting, Mapping) else [("", setting)]
    for key, x in values:
        value = _real(x)
        if x is not None and not (0.0 <= value <= most and value < math.inf):
            raise ProblemError(f"{name}{f'[{key!r}]' if key else ''} = {x!r}: {needed} is needed")


def step_settings(
    settings: Any, level: Any, solver: Any, formulation: Any, options: dict[str, Any]
) -> StepSettings:
    """The stepper's settings from the arguments of `Simulation`."""
    from perp.solvers.registry import find as find_solver
    from perp.solvers.registry import read_options, require_available

    base = StepSettings() if settings is None else settings
    if not isinstance(base, StepSettings):
        raise ProblemError(f"settings is of type {type(base).__name__}: a StepSettings is needed")
    names = [field.name for field in dataclasses.fields(StepSettings)]
    for name in options:
        if name not in names:
            from perp.simulation.simulation import Simulation

            known = [*signature(Simulation).parameters][1:-1]
            known += [name for name in names if name not in known]
            raise ProblemError(f"Simulation has no option {name!r}; there are: {', '.join(known)}")
    named = {"level": level, "solver": solver, "formulation": formulation}
    given = {name: x for name, x in named.items() if x is not None}
    out = dataclasses.replace(base, **options, **given)
    if isinstance(out.level, Mapping):
        for name in out.level:
            if name not in ("joints", "contacts"):
                raise ProblemError(f"level has {name!r}: only 'joints' and 'contacts' have one")
        levels = {name: choice(f"level[{name!r}]", x, Level) for name, x in out.level.items()}
        out = dataclasses.replace(out, level=levels)
    else:
        out = dataclasses.replace(out, level=choice("level", out.level, Level))
    if out.solver is not None:
        info = find_solver(out.solver)
        require_available(info)
        read_options(info, out.solver_options)
    elif out.formulation is not None or out.solver_options is not None:
        name = "formulation" if out.formulation is not None else "solver_options"
        raise ProblemError(f"{name} needs a solver: the stepper's own Newton kernel has none")
    out = dataclasses.replace(out, softness=choice("softness", out.softness, Softness))
    if out.integrator is not None:
        out = dataclasses.replace(out, integrator=choice("integrator", out.integrator, Integrator))
    _in_range("correction", out.correction, 1.0, "a share of the error from 0 to 1")
    _in_range("compliance", out.compliance, math.inf, "a finite displacement per force from 0 on")
    positive("tolerance", out.tolerance)
    if out.sleep:
        positive("sleep", out.sleep, "seconds")
    return out
