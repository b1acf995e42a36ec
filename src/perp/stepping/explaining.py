"""What is wrong with a step, in words: which body or row, how large, what to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perp.dynamics.state import State
from perp.scenes import Model
from perp.stepping import verdict as end
from perp.stepping.step import contact_shapes
from perp.stepping.world import JOINTS

if TYPE_CHECKING:
    from perp.stepping.record import StepRecord
    from perp.stepping.world import World


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


def cause(model: Model, w: World, record: StepRecord) -> str:
    """What keeps a step from its tolerance."""
    if w.info[end.CAUSE] == 3:
        return f"shapes overlap by {record.penetration:.2g} m at its end; try a smaller step"
    if w.info[end.CAUSE] == 4:
        return f"joints are open by {record.joint_error:.2g} at its end; try a smaller step"
    row = _row(model, w, int(w.figure[end.WORST_ROW]))
    what = "no impulses were found that satisfy" if w.info[end.CAUSE] == 1 else "at its end misses"
    return (
        f"{what} {row}: residual {record.residual:.1e} where {record.tolerance:.0e} is asked for; try a "
        "smaller step, or look at what this row asks for"
    )


def put_right(model: Model, wrong: tuple[float, ...], allowed: float, far: np.ndarray) -> str:
    """What a start missed by more than is allowed, and how far bodies were moved for it, shape (bodies,)."""
    names = ("joints by", "limits by", "gaps by")
    what = [f"{name} {size:.2g}" for name, size in zip(names, wrong, strict=True) if size > allowed]
    body = model.body_names[int(np.argmax(far))]
    return f"the start missed {', '.join(what)}: bodies were moved by up to {far.max():.2g} m ({body})"


def _row(model: Model, w: World, constraint: int) -> str:
    """A constraint of the world's problem in words."""
    k = constraint - int(w.count[JOINTS])
    if k < 0:
        return f"joint row {constraint}"
    geom = contact_shapes(w.struct, k)
    return f"the contact of {model.geom_names[geom[0]]!r} and {model.geom_names[geom[1]]!r}"
