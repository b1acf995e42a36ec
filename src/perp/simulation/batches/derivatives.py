"""Derivatives of the next step of every world of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from perp.derivatives.errors import DerivativeError
from perp.derivatives.step import StepDifferentiator
from perp.simulation.batches.worker import Worker, memory_of_line

if TYPE_CHECKING:
    from perp.simulation.batches.batch import Batch


@dataclass(frozen=True)
class BatchDerivatives:
    """Derivatives of a step of many worlds, as of `StepDerivative` with a leading axis of worlds.

    Attributes:
        A: By the state, shape (worlds, 2 nv + na, 2 nv + na).
        B: By the controls, shape (worlds, 2 nv + na, motors).
        parameters: By each asked parameter, shape (worlds, 2 nv + na, size).
        exists: Whether a world's step has a derivative; NaN stands where it has none.
        degenerate: Whether a constraint of it is at a switch of modes.
    """

    A: np.ndarray
    B: np.ndarray
    parameters: dict[str, np.ndarray]
    exists: np.ndarray
    degenerate: np.ndarray


def batch_derivatives(batch: Batch, parameters: Sequence[str]) -> BatchDerivatives:
    """Of the next step of every world; nothing of the batch changes."""
    arrays, own = batch._arrays, batch._own
    worker = Worker(batch._start.stepper, batch.step_size)
    stepper, n = worker.stepper, batch.worlds
    found = StepDifferentiator(stepper)
    exists, degenerate = np.zeros(n, bool), np.zeros(n, bool)
    lines: list[np.ndarray | None] = []
    asked, widths = None, (0, 0)
    for i in range(n):
        own.write(stepper, i)
        for k, value in enumerate(arrays.control[i].tolist()):
            stepper.set_motor(k, value)
        stepper.set_memory(memory_of_line(stepper, arrays.memory[i]))
        state = stepper.unpacked(float(arrays.time[i]), arrays.state[i].copy())
        try:
            step = found.next(state, batch.step_size, arrays.wrench[i], parameters)
            lines.append(np.hstack([step.A, step.B, *step.parameters.values()]))
        except DerivativeError:
            lines.append(None)
            continue
        exists[i], degenerate[i] = True, step.degenerate.any()
        asked, widths = step.parameters, (step.A.shape[1], step.B.shape[1])
    if asked is None:
        raise DerivativeError("no world has a step with a derivative")
    whole = np.full((n, widths[0], sum(widths) + sum(x.shape[1] for x in asked.values())), np.nan)
    for i, line in enumerate(lines):
        if line is not None:
            whole[i] = line
    named, at = {}, sum(widths)
    for name, x in asked.items():
        named[name] = whole[:, :, at : at + x.shape[1]]
        at += x.shape[1]
    return BatchDerivatives(
        whole[:, :, : widths[0]], whole[:, :, widths[0] : sum(widths)], named, exists, degenerate
    )
