"""One time step: velocity level and position level, both producing problems for `solvers/`."""

from perp.stepping.record import StepFailed, StepInaccurate, StepRecord
from perp.stepping.reduced_stepper import ReducedStepper
from perp.stepping.stepper import Level, Route, Stepper, StepSettings

__all__ = [
    "Level",
    "ReducedStepper",
    "Route",
    "StepFailed",
    "StepInaccurate",
    "StepRecord",
    "StepSettings",
    "Stepper",
]
