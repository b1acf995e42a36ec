"""Steps that are divided where a contact bounces, so that an impact happens at its own time and place.

A step takes the impacts within it at its start. That is right to first order, and no more: where a ball ends
depends on when it bounced, and derivatives that do not know that time do not even tend to the true ones when
steps become short (an elastic billiard: Zhong and others, arXiv 2305.00092). Here a part of the step ends
where the first contact closes, found by Newton's method on its gap, and the next part bounces there.

With x₁ = S(x, t) the end of such a part, ẋ its derivative by the length t of the part and n the normal row of
the contact that closes there, the gap stays zero:

    dx₁ = A dx + ẋ dt,   n · dq₁ = 0,   and the last part is shorter by what all others are longer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.compilation.kernel import kernel
from perp.derivatives.step import StepDerivative, StepDifferentiator
from perp.derivatives.tangent import between
from perp.dynamics.state import State
from perp.problems.errors import ProblemError
from perp.stepping import Stepper, StepRecord
from perp.stepping.contact_rows import bounces
from perp.stepping.world import CONTACTS, JOINTS

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation

# Impacts of a step that have a part of their own: more follow each other in a pile, or in a jam.
_MOST = 16
# A part ends just before its contact closes, at this gap as a share of the scene's size, known to that.
_OPEN, _KNOWN = 1e-10, 1e-14
# Length of the part in which a contact bounces, as a share of the step.
_SHORT = 1e-6
# Gaps above this share of the scene's size are closed with a little less than a Newton step.
_FAR = 1e-6
_ITERATIONS = 30
# Differences by the length of a part, as a share of the step and of the part.
_STEP, _SHARE = 1e-4, 0.3


@kernel
def _bouncing(w):
    """Contacts that bounced in the last step: gap and speed of approach, constraint and shapes."""
    n, k = w.count[CONTACTS], 0
    out, which = np.empty((n, 2)), np.empty((n, 3), np.int64)
    for c in range(n):
        if w.start.restitution[c] > 0.0 and w.bounce[c] > 0.0 and bounces(w, c):
            out[k, 0], out[k, 1] = w.start.gap[c], -w.approach[c]
            which[k, 0] = w.count[JOINTS] + c
            which[k, 1], which[k, 2] = w.start.geom[c, 0], w.start.geom[c, 1]
            k += 1
    return out[:k], which[:k]


@kernel
def _touched(w, first, second):
    """Whether two shapes pushed each other in the last step."""
    p = w.problem
    for c in range(w.count[CONTACTS]):
        same = w.start.geom[c, 0] == first and w.start.geom[c, 1] == second
        if same and p.impulse[p.start[w.count[JOINTS] + c]] > 0.0:
            return True
    return False


@dataclass
class Substep:
    """A part of a step."""

    state: State  # where it begins
    memory: Any  # what the stepper remembers there
    length: float  # [s]
    restitution: np.ndarray  # of the shapes: none where it ends with an impact
    normal: np.ndarray | None = None  # normal row of what closes at its end, shape (nv,), or None

    def step(self, stepper: Stepper, wrench: np.ndarray, length: float) -> tuple[State, StepRecord]:
        """Take it, with another length; restitution stays as it is for the part."""
        stepper.set_memory(self.memory)
        stepper.tables["geom_restitution"][:] = self.restitution
        return stepper.step(self.state, length, wrench)


def step_with_impacts(
    stepper: Stepper, state: State, h: float, wrench: np.ndarray
) -> tuple[State, StepRecord, list[Substep]]:
    """A step of length h, divided at its impacts; the record is that of its last part."""
    table, near = stepper.tables["geom_restitution"], 2.0 * _OPEN * float(stepper.model.size)
    full, parts, left, short = table.copy(), [], h, _SHORT * h
    try:
        while True:
            part = Substep(state, stepper.memory(), left, full)
            after, record = part.step(stepper, wrench, left)
            found, which = _bouncing(stepper.world.struct)
            if not len(found) or len(parts) >= _MOST or left < 3.0 * short:
                return after, record, [*parts, part]
            if (found[:, 0] <= near).any():
                # an impact takes no time, and forces go on after it
                ways = [k for k in range(len(parts)) if not parts[k].restitution.any()]
                while len(ways) > 1 and ways[-2] == ways[-1] - 1:
                    # the longest of several: the others are as long as ever
                    ways.pop()
                if ways and parts[-1].normal is None and not parts[-1].restitution.any():
                    parts[ways[-1]].normal = _row(stepper, int(which[np.argmin(found[:, 0]), 0]))
                part.length = short
                state, _ = part.step(stepper, wrench, short)
            else:
                first = int(np.argmin(found[:, 0] / found[:, 1]))
                part.restitution = np.zeros_like(full)
                guess = 0.9 * float(found[first, 0] / found[first, 1])
                closed = _closing(stepper, part, which[first, 1:], guess, (left, short), full, wrench)
                if closed is None:
                    part.restitution = full
                    after, record = part.step(stepper, wrench, left)
                    return after, record, [*parts, part]
                state, part.length = closed
            parts.append(part)
            left -= part.length
    finally:
        table[:] = full


def _closing(
    stepper: Stepper, part: Substep, pair: np.ndarray, time: float, spans: tuple[float, float],
    full: np.ndarray, wrench: np.ndarray,
) -> tuple[State, float] | None:  # fmt: skip
    """The state where two shapes close, and when; None where there is no such time.

    Where the contact pushes before it is closed, as its normal turns on the way, the last state before that
    is returned: the way from there is short.
    """
    left, short = spans
    low, high, size, best, pushes = 0.0, left, float(stepper.model.size), None, False
    for _ in range(_ITERATIONS):
        if not low < time < high:
            time = 0.5 * (low + high)
        if time >= left - short:
            return None
        if best is not None and pushes and high - low < short:
            stepper.set_memory(best[2])
            return best[0], best[1]
        there, _record = part.step(stepper, wrench, time)
        late = _touched(stepper.world.struct, int(pair[0]), int(pair[1]))
        remainder = Substep(there, stepper.memory(), left - time, full)
        remainder.step(stepper, wrench, remainder.length)
        found, which = _bouncing(stepper.world.struct)
        these = np.flatnonzero((which[:, 1:] == pair).all(axis=1))
        if late or not these.size:
            high, pushes = time, True
            continue
        k = int(these[np.argmin(found[these, 0])])
        gap = float(found[k, 0]) - _OPEN * size
        if abs(gap) <= _KNOWN * size:
            stepper.set_memory(remainder.memory)
            return there, time
        if gap > 0.0:
            low, best = time, (there, time, remainder.memory)
        else:
            high, pushes = time, False
        # from below: beyond the impact there is nothing to learn
        time += (0.98 if gap > _FAR * size else 1.0) * gap / float(found[k, 1])
    return None


def _row(stepper: Stepper, constraint: int) -> np.ndarray:
    """The normal row of a constraint of the last step, shape (nv,)."""
    p, out = stepper.world.problem, np.zeros(stepper.sizes[1])
    i = int(p.start[constraint])
    for e in range(int(p.row_begin[i]), int(p.row_begin[i + 1])):
        out[p.column[e]] = p.value[e]
    return out


class ImpactDerivative:
    """Derivatives of a step that was divided at impacts; see `StepDerivative`."""

    one_sided = StepDerivative.one_sided
    smoothing = 0.0

    def __init__(self, whole: np.ndarray, parts: list[StepDerivative]) -> None:
        last = parts[-1]
        n, nu = last.A.shape[0], last.B.shape[1]
        self.A, self.B = whole[:, :n], whole[:, n : n + nu]
        columns = whole[:, n + nu :]
        self.parameters = {name: columns[:, of] for name, of in last._asked.slices}
        self.mode, self.redundant = last.mode, any(part.redundant for part in parts)
        self.velocity_unique = all(part.velocity_unique for part in parts)
        self.consistent = all(part.consistent for part in parts)
        # what closes at the end of a part is at a switch there, and open by definition
        self.degenerate = last.degenerate
        self.frozen = tuple(dict.fromkeys(word for part in parts for word in part.frozen))

    def vjp(self, gradient: Any) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """As of `StepDerivative`."""
        g = np.asarray(gradient, dtype=np.float64)
        return self.A.T @ g, self.B.T @ g, {name: x.T @ g for name, x in self.parameters.items()}


def derivative_of(
    sim: Simulation,
    differentiator: StepDifferentiator,
    parameters: Sequence[str],
    last: bool,
    smoothing: float,
) -> Any:
    """The derivative of the last step of a simulation with impacts, or of the next one; nothing changes."""
    if smoothing:
        raise ProblemError("smoothing: the central path has no impacts; make the simulation without them")
    stepper, parts = sim.stepper, sim._parts
    if not last or parts is None:
        kept = stepper.memory()
        _, _, parts = step_with_impacts(stepper, sim.state, sim.step_size, sim.wrench)
        stepper.set_memory(kept)
    wrench, memory, table = sim.wrench, stepper.memory(), stepper.tables["geom_restitution"]
    if len(parts) == 1:
        parts[0].step(stepper, wrench, parts[0].length)
        stepper.set_memory(memory)
        return differentiator.last(parameters)
    full = table.copy()
    try:
        found, ways = [], []
        for part in parts:
            part.step(stepper, wrench, part.length)
            found.append(differentiator.last(parameters))
            ways.append(_by_length(stepper, part, sum(x.length for x in parts), wrench))
    finally:
        stepper.set_memory(memory)
        table[:] = full
    n, nv = found[0].A.shape[0], stepper.sizes[1]
    columns = np.hstack([found[0].A, found[0].B, *found[0].parameters.values()]).shape[1]
    change, shorter = np.zeros((n, columns)), np.zeros(columns)
    change[:, :n] = np.eye(n)
    for part, step, way in zip(parts, found, ways, strict=True):
        change = step.A @ change
        change[:, n:] += np.hstack([step.B, *step.parameters.values()])
        if part is parts[-1]:
            change -= np.outer(way, shorter)
        if part.normal is None:
            continue
        longer = -(part.normal @ change[:nv]) / float(part.normal @ way[:nv])
        change += np.outer(way, longer)
        shorter += longer
    return ImpactDerivative(change, found)


def _by_length(stepper: Stepper, part: Substep, h: float, wrench: np.ndarray) -> np.ndarray:
    """The end of a part by its length, in the tangent space, from shorter ones: longer ones would bounce."""
    step = min(_STEP * h, _SHARE * part.length)
    ends = [part.step(stepper, wrench, part.length - k * step)[0].packed for k in range(3)]
    near, far = (between(stepper, end, ends[0]) for end in ends[1:])
    return (far - 4.0 * near) / (2.0 * step)
