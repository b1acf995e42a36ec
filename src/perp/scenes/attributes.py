"""What becomes of every attribute of a scene: the one table behind the import report.

A compiled scene is a set of arrays, one per attribute. Each is listed here once: as used, as having no part
in the mechanics, or as ignored with the reason, which may differ between maximal and reduced coordinates. An
ignored attribute is reported where it differs from mujoco's default.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.scenes.engine import engine
from perp.scenes.model import ImportReport
from perp.scenes.naming import dof_joint, element_name
from perp.scenes.sensors import not_read, sensor_names

_SOFT = "contacts, limits, friction and equalities are exact: they have no softness"
_OWN = "it sets mujoco's solver: perp has its own"
_FREE = "springs, losses and rotor inertia of a free joint need reduced coordinates"
_MOTOR_ROTOR = "rotor inertia of a motor or a tendon needs reduced coordinates"


Lines = list[tuple[str, str]]


@dataclass(frozen=True)
class Ignored:
    """An attribute that is not simulated."""

    # why not, or None where it is used after all
    maximal: str | None
    reduced: str | None
    default: Any = 0  # the value that asks for nothing
    # which elements the attribute means anything for; all of them by default
    applies: Callable[[Any], np.ndarray] | None = None
    known: tuple[int, ...] = ()  # values that are used in reduced coordinates


def both(reason: str, default: Any = 0, applies: Callable[[Any], np.ndarray] | None = None) -> Ignored:
    """Ignored in both kinds of coordinates for the same reason."""
    return Ignored(reason, reason, default, applies)


def _touches(m: Any) -> np.ndarray:
    return (m.geom_contype != 0) | (m.geom_conaffinity != 0)


def _free_joints(m: Any) -> np.ndarray:
    """Which joints are free ones, shape (joints,)."""
    return np.asarray(m.jnt_type) == 0


def _free(m: Any) -> np.ndarray:
    """Which degrees of freedom belong to free joints, shape (nv,)."""
    return _free_joints(m)[m.dof_jntid] if m.nv else np.zeros(0, dtype=bool)


# mujoco's number of its Runge-Kutta integrator
_RK4 = 1
_SOLREF, _SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
_POLYNOMIAL = "only the linear term is used"
_PLASTIC = "springs do not yield"

# Arrays of the compiled model, by the element they belong to; names without the prefix.
USED: dict[str, str] = {
    "body": "mass inertia ipos iquat pos quat parentid rootid weldid jntadr jntnum dofadr dofnum geomadr "
    "geomnum gravcomp bvhadr bvhnum simple sameframe subtreemass invweight0 contype conaffinity treeid "
    "margin mocapid",
    "jnt": "type axis pos limited range bodyid dofadr qposadr actfrclimited actfrcrange",
    "dof": "bodyid jntid parentid treeid Madr M0 simplenum invweight0 length",
    "geom": "type size pos quat contype conaffinity condim friction priority bodyid dataid aabb "
    "rbound sameframe adhesion surfacevel fluid",
    "pair": "geom1 geom2 dim friction signature adhesion",
    "exclude": "signature",
    "eq": "type obj1id obj2id objtype active0 data",
    "tendon": "adr num limited treeid treenum length0 invweight0 actfrclimited actfrcrange actuatorid type "
    "range stiffness damping frictionloss lengthspring",
    "actuator": "trntype trnid gear gaintype gainprm biastype biasprm ctrllimited ctrlrange forcelimited "
    "forcerange ctrladr ctrlnum outadr outnum actadr actnum acc0 length0 lengthrange actlimited cranklength "
    "dynprm ctrlspec historyadr damping dyntype actrange actearly",
}
NOT_MECHANICS: dict[str, str] = {
    "body": "user",
    "jnt": "group user actuatorid plasticadr",
    "geom": "group matid rgba user castshadow",
    "tendon": "group matid rgba width user plasticadr",
    "actuator": "group user",
}
IGNORED: dict[str, dict[str, Ignored]] = {
    "body": {
        "plugin": both("plugins are not run", -1),
    },
    "jnt": {
        "stiffness": Ignored(_FREE, None, 0, _free_joints),
        "solref": both(_SOFT, _SOLREF, lambda m: m.jnt_limited != 0),
        "solimp": both(_SOFT, _SOLIMP, lambda m: m.jnt_limited != 0),
        "margin": both("limits act where they are", 0, lambda m: m.jnt_limited != 0),
        "stiffnesspoly": both(_POLYNOMIAL),
        "springyield": both(_PLASTIC),
        "actgravcomp": both("compensation of gravity is a force of the body, beside its motors"),
    },
    "dof": {
        **dict.fromkeys(("damping", "frictionloss", "armature"), Ignored(_FREE, None, 0, _free)),
        "dampingpoly": both(_POLYNOMIAL),
        "solref": both(_SOFT, _SOLREF, lambda m: m.dof_frictionloss > 0),
        "solimp": both(_SOFT, _SOLIMP, lambda m: m.dof_frictionloss > 0),
    },
    "geom": {
        "solmix": both(_SOFT, 1, _touches),
        "solref": both(_SOFT, _SOLREF, _touches),
        "solimp": both(_SOFT, _SOLIMP, _touches),
        "margin": both("contacts act where the surfaces touch", 0, _touches),
        "gap": both("contacts act where the surfaces touch", 0, _touches),
        "plugin": both("plugins are not run", -1),
    },
    "pair": {
        "solref": both(_SOFT, _SOLREF),
        "solreffriction": both(_SOFT, 0),
        "solimp": both(_SOFT, _SOLIMP),
        "margin": both("contacts act where the surfaces touch"),
        "gap": both("contacts act where the surfaces touch"),
    },
    "exclude": {},
    "eq": {"solref": both(_SOFT, _SOLREF), "solimp": both(_SOFT, _SOLIMP)},
    "tendon": {
        "armature": Ignored(_MOTOR_ROTOR, None),
        "stiffnesspoly": both(_POLYNOMIAL),
        "dampingpoly": both(_POLYNOMIAL),
        "springyield": both(_PLASTIC),
        "margin": both("limits act where they are"),
        "solref_lim": both(_SOFT, _SOLREF, lambda m: m.tendon_limited != 0),
        "solimp_lim": both(_SOFT, _SOLIMP, lambda m: m.tendon_limited != 0),
        "solref_fri": both(_SOFT, _SOLREF, lambda m: m.tendon_frictionloss > 0),
        "solimp_fri": both(_SOFT, _SOLIMP, lambda m: m.tendon_frictionloss > 0),
    },
    "actuator": {
        "armature": Ignored(_MOTOR_ROTOR, None),
        "dampingpoly": both(_POLYNOMIAL),
        "delay": both("controls act at once"),
        "history": both("controls act at once"),
        "plugin": both("plugins are not run", -1),
    },
}
_SOLVER_OPTIONS = (
    "cone jacobian solver iterations tolerance ls_iterations ls_tolerance noslip_iterations noslip_tolerance "
    "impratio ccd_tolerance ccd_iterations sdf_iterations sdf_initpoints sleep_tolerance o_margin o_solref "
    "o_solimp o_friction"
)
OPTIONS: dict[str, Ignored | None] = {
    "gravity": None,
    "disableflags": None,
    "enableflags": both("flags that only concern mujoco's solver and reports are left out"),
    **dict.fromkeys(("density", "viscosity", "wind")),
    "magnetic": both("it is read by magnetometers only"),
    "timestep": None,
    "integrator": Ignored(
        "perp has its own time stepping, and RK4 in reduced coordinates",
        "perp has its own time stepping, and RK4",
        known=(_RK4,),
    ),
    "disableactuator": both("groups of actuators are not switched off"),
    **dict.fromkeys(_SOLVER_OPTIONS.split(), both(_OWN)),
}
# How many names of elements a line of the report gives before it only counts.
_NAMED = 3
_LABELS = {"jnt": "joint", "dof": "joint", "eq": "equality"}


def unused_attributes(m: Any, *, reduced: bool) -> Lines:
    """Lines of the report for attributes that differ from their default and are not simulated."""
    lines: Lines = []
    for element, table in IGNORED.items():
        for name, entry in table.items():
            reason = entry.reduced if reduced else entry.maximal
            if reason is None:
                continue
            array = np.asarray(getattr(m, f"{element}_{name}"))
            asked = _asked(array, entry.default)
            if entry.applies is not None:
                asked &= entry.applies(m)
            if asked.any():
                lines.append(
                    (f"{_LABELS.get(element, element)} {name} of {_names(m, element, asked)}", reason)
                )
    defaults = engine().MjOption()
    for name, entry in OPTIONS.items():
        reason = None if entry is None else entry.reduced if reduced else entry.maximal
        if entry is not None and reduced and getattr(m.opt, name) in entry.known:
            continue
        if reason is not None and not np.array_equal(getattr(m.opt, name), getattr(defaults, name)):
            lines.append((f"option {name}", reason))
    return lines


def _asked(array: np.ndarray, default: Any) -> np.ndarray:
    """Which elements differ from the default, shape (elements,)."""
    if not array.size:
        return np.zeros(array.shape[0], dtype=bool)
    flat = array.reshape(array.shape[0], -1)
    return (flat != np.asarray(default, dtype=np.float64)).any(axis=1)


def _names(m: Any, element: str, asked: np.ndarray) -> str:
    """The elements in words: up to a few names, then a count."""
    found: list[str] = []
    for i in np.flatnonzero(asked):
        name = dof_joint(m, int(i)) if element == "dof" else element_name(m, element, int(i))
        if name not in found:
            found.append(name)
    if len(found) <= _NAMED:
        return ", ".join(found)
    return f"{', '.join(found[:_NAMED])} and {len(found) - _NAMED} more"


def unused_elements(m: Any) -> Lines:
    """Lines of the report for whole elements."""
    lines: Lines = []
    if m.nflex:
        lines.append((f"{m.nflex} flexes", "deformable bodies are not simulated"))
    unread = not_read(m)
    if unread:
        names = sensor_names(m)
        listed = ", ".join(names[i] for i in unread[:_NAMED])
        more = f" and {len(unread) - _NAMED} more" if len(unread) > _NAMED else ""
        why = "forces of limits and inside of loops, and sensors of contacts, plugins and users, are not read"
        lines.append((f"sensor {listed}{more}", why))
    if m.nplugin:
        lines.append((f"{m.nplugin} plugins", "plugins are not run"))
    kinds = engine().mjtEq
    soft = [int(kinds.mjEQ_FLEX), int(kinds.mjEQ_FLEXVERT), int(kinds.mjEQ_FLEXSTRAIN)]
    found = [e for e in range(m.neq) if int(m.eq_type[e]) in soft]
    lines += [(f"equality {m.eq(e).name or e!r}", "deformable bodies are not simulated") for e in found]
    return lines


def import_report(m: Any, of_file: Lines, *, reduced: bool) -> ImportReport:
    """The report of a compiled scene, with lines that its file adds."""
    lines = [*of_file, *unused_elements(m), *unused_attributes(m, reduced=reduced)]
    return ImportReport(tuple(dict.fromkeys(lines)), tuple(of_file))
