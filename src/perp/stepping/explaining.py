"""What is wrong with a step, in words: which body or row, how large, what to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perp.dynamics.state import State
from perp.scenes import Model
from perp.stepping import verdict as end
from perp.stepping.row_names import row_name

if TYPE_CHECKING:
    from perp.stepping.stepper import Stepper


def extent(model: Model) -> float:
    """A length of the whole scene [m]."""
    x = model.position
    return max(float(model.size), float(np.ptp(x, axis=0).max(initial=0.0)) if len(x) else 0.0)


def runaway(model: Model, before: State, after: State) -> str:
    """Which body a step has moved much too far."""
    moved = np.abs(after.position - before.position).max(axis=1, initial=0.0)
    body = int(np.argmax(np.where(np.isfinite(moved), moved, np.inf)))
    return (
        f"the step at t = {before.time:g} s: body {model.body_names[body]!r} moves by "
        f"{moved[body]:.3g} m in one step; look at the forces, controls and gains that act on it"
    )


def cause(stepper: Stepper, residual: float) -> str:
    """What keeps the last step of a stepper from its tolerance; its residual is what it is held to."""
    w = stepper.world
    if w.info[end.CAUSE] == 3:
        return f"shapes overlap by {length(float(w.figure[end.PENETRATION]))} at its end; try a smaller step"
    if w.info[end.CAUSE] == 4:
        open_by = float(w.figure[end.JOINT_ERROR])
        return f"joints are open by {open_by:.2g} m or rad at its end; try a smaller step"
    if w.info[end.CAUSE] == 5:
        return "its contacts or its turns have given bodies energy that nothing drives; try a smaller step"
    row = row_name(stepper, int(w.figure[end.WORST_ROW]))
    what = "no impulses were found that satisfy" if w.info[end.CAUSE] == 1 else "its end violates"
    return (
        f"{what} {row}: residual {residual:.1e}, tolerance {stepper.settings.tolerance:.0e}; try a smaller "
        "step, or look at the forces on it"
    )


def put_right(model: Model, wrong: tuple[float, ...], allowed: float, far: np.ndarray) -> str:
    """What a start missed by more than is allowed, and how far bodies were moved for it, shape (bodies,)."""
    body = model.body_names[int(np.argmax(far))]
    return f"the start {missed(wrong, allowed)}: bodies were moved by up to {length(far.max())} ({body})"


def missed(wrong: tuple[float, ...], allowed: float) -> str:
    """Errors of joints, limits and gaps that are more than is allowed, in words."""
    joint, limit, overlap = wrong
    said = [
        (joint, f"opens joints by {joint:.2g} m or rad"),
        (limit, f"passes limits of joints by {limit:.2g} m or rad"),
        (overlap, f"overlaps by {length(overlap)}"),
    ]
    return ", ".join(words for size, words in said if size > allowed)


def length(metres: float) -> str:
    """A length with a unit that suits it."""
    for unit, name in ((1.0, "m"), (1e-3, "mm"), (1e-6, "µm")):
        if abs(metres) >= unit:
            return f"{metres / unit:.3g} {name}"
    return f"{metres:.2g} m"
