"""Rows of a step in words: which joint, limit, motor or contact they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perp.compilation.kernel import kernel
from perp.dynamics import scalar_tables as groups
from perp.scenes.naming import dof_joint, element_name
from perp.stepping.world import JOINTS

if TYPE_CHECKING:
    from perp.stepping.stepper import Stepper

_LAWS = {
    groups.LOWER: ("lower limit", "limit_dof"), groups.UPPER: ("upper limit", "limit_dof"),
    groups.BALL: ("limit", "ball_dof"), groups.RUB: ("friction", "rub_dof"),
    groups.YIELD: ("spring", "yield_dof"), groups.ROTOR: ("rotor", "rotor_dof"),
}  # fmt: skip
_TENDONS = {
    groups.TENDON_LOWER: "lower limit of tendon", groups.TENDON_UPPER: "upper limit of tendon",
    groups.TENDON_RUB: "friction of tendon", groups.ELASTIC: "spring of tendon",
}  # fmt: skip


@kernel
def _contact_shapes(w, c):
    """The two shapes of a contact of the step."""
    return w.start.geom[c, 0], w.start.geom[c, 1]


@kernel
def _identity(w, k):
    """Group of a joint row, and its number there."""
    return w.group[k], w.index[k]


def row_name(stepper: Stepper, constraint: int) -> str:
    """A constraint of the world's problem in words."""
    w, m = stepper.world, stepper.mujoco_model
    k = constraint - int(w.count[JOINTS])
    if k >= 0:
        return f"the contact of {contact_words(stepper, *_contact_shapes(w.struct, k))}"
    group, index = _identity(w.struct, constraint)
    tables = stepper.tables
    if group == groups.TABLE:
        return f"joint {stepper.joints[int(stepper.table.joint[index])].name!r}"
    if group in _LAWS:
        what, table = _LAWS[group]
        dof = int(tables[table][index])
        of_file = dof < tables["freedom_row"].size
        return f"the {what} of joint {dof_joint(m, dof) if of_file else stepper.limited(dof)!r}"
    if group in _TENDONS:
        return f"the {_TENDONS[group]} {element_name(m, 'tendon', index)!r}"
    if group == groups.COUPLE:
        tendon, first, dof = (int(x) for x in tables["couple"][index][:3])
        name = element_name(m, "tendon", first) if tendon else dof_joint(m, dof)
        return f"the equality of {'tendon' if tendon else 'joint'} {name!r}"
    names = stepper.motor_names
    return f"motor {names[index]!r}" if index < len(names) else "a motor"


def contact_words(stepper: Stepper, first: int, second: int) -> str:
    """Two shapes by their bodies, with the names that the shapes have."""
    model = stepper.model
    words = []
    for g in (int(first), int(second)):
        body = int(model.geom_body[g])
        name = model.geom_names[g]
        if body < 0:
            words.append(f"{name!r}")
        else:
            own = model.body_names[body]
            words.append(f"{own!r}" if name.startswith("shape ") or name == own else f"{own!r} ({name})")
    return " and ".join(words)
