"""Derivatives of the next step of every world of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perp.derivatives.errors import DerivativeError
from perp.derivatives.step import StepDifferentiator
from perp.simulation.batches.worker import Worker

if TYPE_CHECKING:
    from perp.simulation.batches.batch import Batch


@dataclass(frozen=True)
class BatchDerivatives:
    """Derivatives of a step of many worlds, as of `StepDerivative` with a leading axis of worlds."""

    A: np.ndarray  # by the state, shape (worlds, 2 nv + na, 2 nv + na)
    B: np.ndarray  # by the controls, shape (worlds, 2 nv + na, motors)
    parameters: dict[str, np.ndarray]  # by each asked parameter, shape (worlds, 2 nv + na, size)
    exists: np.ndarray  # whether a world's step has a derivative; NaN stands where it has none
    degenerate: np.ndarray  # whether a constraint of it is at a switch of modes


def batch_derivatives(batch: Batch, parameters: Sequence[str]) -> BatchDerivatives:
    """Of the next step of every world; nothing of the batch changes."""
    arrays, own = batch._arrays, batch._own
    worker = Worker(batch._start.stepper, batch.step_size)
    stepper, n = worker.stepper, batch.worlds
    found = StepDifferentiator(stepper)
    exists, degenerate = np.zeros(n, bool), np.zeros(n, bool)
    steps: list[tuple[np.ndarray, ...] | None] = [None] * n
    for i in range(n):
        own.write(stepper, i)
        for k, value in enumerate(arrays.control[i].tolist()):
            stepper.set_motor(k, value)
        stepper.set_memory(arrays.memory[i])
        state = stepper.unpacked(float(arrays.time[i]), arrays.state[i].copy())
        try:
            step = found.next(state, batch.step_size, arrays.wrench[i], parameters)
            steps[i] = step.A, step.B, *step.parameters.values()
        except DerivativeError:
            continue
        exists[i], degenerate[i] = True, step.degenerate.any()
    like = next((step for step in steps if step is not None), None)
    if like is None:
        raise DerivativeError("no world has a step with a derivative")
    nothing = tuple(np.full_like(part, np.nan) for part in like)
    A, B, *columns = (np.array(part) for part in zip(*(step or nothing for step in steps), strict=True))
    return BatchDerivatives(A, B, dict(zip(parameters, columns, strict=True)), exists, degenerate)
