"""Parameters of a scene by name, as the numbers that `parameter_slopes` takes.

A parameter is "kind" or "kind:name".

    friction, torsion, rolling   coefficients of all contacts, or of those that a shape decides
    restitution                  of all contacts, or of those that a shape decides
    gravity                      three components
    mass, inertia, com           of a body: mass with its moments held, principal moments, centre of mass [m]
    damping, stiffness, armature, frictionloss    of a joint
    kp, kv                       gains of a servo
    size                         of a sphere or capsule (radius), of a box against planes (half lengths), of a
                                 plane, which nothing depends on
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.dynamics.actuators import control_names
from perp.problems.errors import ProblemError
from perp.scenes.model import find
from perp.scenes.naming import joint_names, listed_joints

if TYPE_CHECKING:
    from perp.stepping import Stepper

KINDS = (
    "friction", "torsion", "rolling", "restitution", "gravity", "mass", "inertia", "com", "damping",
    "stiffness", "armature", "frictionloss", "kp", "kv", "size",
)  # fmt: skip
_INERTIAL = ("mass", "inertia", "com", "damping", "stiffness", "armature", "kp", "kv")
_PLANE, _SPHERE, _CAPSULE, _BOX = 0, 2, 3, 6


@dataclass(frozen=True)
class Asked:
    """Parameters as numbers."""

    slices: tuple[tuple[str, slice], ...]  # the name and the columns of each
    columns: int  # how many there are
    codes: np.ndarray  # see `parameter_slopes`
    rest: np.ndarray
    sizes: dict[int, str]  # shapes whose size is asked for, with their name
    inertial: bool  # whether one of them is a part of the mass matrix, or is added to it


def split(parameter: str) -> tuple[str, str]:
    """Kind and name; an error that lists the kinds there are."""
    kind, _, name = parameter.partition(":")
    if kind not in KINDS:
        raise ProblemError(f"there is no parameter {kind!r}; there are: {', '.join(KINDS)}")
    if not name and kind not in KINDS[:5]:
        raise ProblemError(f"parameter {kind!r} needs a name: {kind}:name")
    return kind, name


def width_of(m: Any, model: Any, parameter: str) -> int:
    """How many numbers a parameter has."""
    kind, name = split(parameter)
    if kind == "size":
        return 3 if int(m.geom_type[model.geom_index(name)]) == _BOX else 1
    return 3 if kind in ("gravity", "inertia", "com") else 1


def asked_parameters(stepper: Stepper, parameters: Sequence[str]) -> Asked:
    """The codes of parameters."""
    m, model = stepper.mujoco_model, stepper.model
    widths = [width_of(m, model, parameter) for parameter in parameters]
    edges = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    codes, rest = np.zeros((len(parameters), 5), np.int64), np.zeros(len(parameters))
    sizes = {}
    for n, parameter in enumerate(parameters):
        kind, name = split(parameter)
        coordinate = 0
        if kind in ("friction", "torsion", "rolling", "restitution"):
            which = model.geom_index(name) if name else -1
        elif kind == "gravity":
            which = -1
        elif kind in ("mass", "inertia", "com"):
            which = _body(stepper, kind, name)
        elif kind == "size":
            which = model.geom_index(name)
            if int(m.geom_type[which]) == _PLANE:
                which = -1  # it has no end, whatever the file says
            else:
                sizes[which] = name
        elif kind in ("kp", "kv"):
            which = find(name, control_names(m), "motor")
            if not stepper.reduced and not m.actuator_biasprm[which, 1:3].any():
                raise ProblemError(f"motor {name!r} has no gain: in maximal coordinates it is no row")
        elif stepper.reduced:
            which, coordinate = _joint(stepper, kind, name)
            rest[n] = m.qpos_spring[coordinate]
        else:
            which = _cut_joint(stepper, kind, name)
        codes[n] = KINDS.index(kind), which, edges[n], widths[n], coordinate
    inertial = any(split(parameter)[0] in _INERTIAL for parameter in parameters)
    slices = tuple((name, slice(int(edges[n]), int(edges[n + 1]))) for n, name in enumerate(parameters))
    return Asked(slices, int(edges[-1]), codes, rest, sizes, inertial)


def _body(stepper: Stepper, kind: str, name: str) -> int:
    slot = stepper.model.body_index(name)
    if stepper.reduced:
        return int(np.flatnonzero(stepper.mujoco_model.body_weldid > 0)[slot])
    if kind == "com":
        raise ProblemError("com needs reduced coordinates: maximal ones are those of the centres themselves")
    return slot


def _joint(stepper: Stepper, kind: str, name: str) -> tuple[int, int]:
    """Freedom and coordinate of a hinge or slider."""
    m = stepper.mujoco_model
    j = find(name, joint_names(m), "joint", listed_joints(m))
    if int(m.jnt_type[j]) < 2:
        raise ProblemError(f"joint {name!r} is no hinge or slider: its parameters have no derivatives here")
    dof = int(m.jnt_dofadr[j])
    if kind == "frictionloss" and not m.dof_frictionloss[dof] > 0.0:
        raise ProblemError(f"joint {name!r} has no dry friction: its derivative is at a switch")
    return dof, int(m.jnt_qposadr[j])


# Where laws of cut joints are, and the column that has to be above zero.
_LAWS = {"frictionloss": ("frictions", 1), "armature": ("rotors", 1), "damping": ("yields", 2),
         "stiffness": ("yields", 1)}  # fmt: skip


def _cut_joint(stepper: Stepper, kind: str, name: str) -> int:
    """Number of the law that has the parameter, among those of its kind."""
    joint = find(name, tuple(joint.name for joint in stepper.model.joints), "joint")
    laws, column = _LAWS[kind]
    found = getattr(stepper.table, laws)
    of_joint = stepper.table.joint[found[:, 0].astype(np.int64)] == joint
    lines = np.flatnonzero(of_joint & (found[:, column] > 0.0))
    if not lines.size:
        raise ProblemError(f"joint {name!r} has no {kind} in the file: in maximal coordinates it is no row")
    return int(lines[0])


def check_sizes(asked: Asked, geom_type: np.ndarray, pairs: np.ndarray) -> None:
    """Sizes have derivatives where the formula of all their contacts is known."""
    for geom, name in asked.sizes.items():
        kind = int(geom_type[geom])
        for pair in pairs[(pairs == geom).any(axis=1)]:
            other = int(geom_type[pair[1] if pair[0] == geom else pair[0]])
            round_ = kind in (_SPHERE, _CAPSULE) and other in (_PLANE, _SPHERE, _CAPSULE)
            if not (round_ or (kind == _BOX and other == _PLANE)):
                raise ProblemError(f"size:{name}: contacts of these shapes have no formula")
