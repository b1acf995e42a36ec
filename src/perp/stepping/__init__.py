"""One time step: smooth part, rows, solve, end of the step, record."""

from perp.stepping.record import StepFailed, StepInaccurate, StepRecord
from perp.stepping.settings import Level, StepSettings
from perp.stepping.stepper import Stepper

__all__ = ["Level", "StepFailed", "StepInaccurate", "StepRecord", "StepSettings", "Stepper"]
