"""How elements without a name in the file are called: by the body that they belong to."""

from typing import Any

import numpy as np

from perp.scenes.engine import engine

_KINDS = {"body": "BODY", "jnt": "JOINT", "geom": "GEOM", "pair": "PAIR", "eq": "EQUALITY",
          "tendon": "TENDON", "actuator": "ACTUATOR"}  # fmt: skip
_JOINTS = {"free": "free joint", "ball": "ball joint", "slide": "slider"}


def body_name(m: Any, body: int) -> str:
    """A body of the compiled scene."""
    return "the world" if body == 0 else m.body(body).name or f"body{body}"


def geom_names(m: Any) -> tuple[str, ...]:
    """One per shape; "shape 2 of arm" where the file has none."""
    return tuple(element_name(m, "geom", g) for g in range(m.ngeom))


def joint_names(m: Any) -> tuple[str, ...]:
    """By which joints are asked for, in the order of qpos; "joint2" where the file has none."""
    return tuple(m.joint(j).name or f"joint{j}" for j in range(m.njnt))


def listed_joints(m: Any) -> tuple[str, ...]:
    """`joint_names` for people to read: what the file leaves unnamed has its body beside it."""
    words = (element_name(m, "jnt", j) for j in range(m.njnt))
    return tuple(
        name if name == other else f"{name} ({other})"
        for name, other in zip(joint_names(m), words, strict=True)
    )


def element_name(m: Any, element: str, index: int) -> str:
    """The name of an element (of a kind of `_KINDS`) of the compiled scene, or words for it."""
    mujoco = engine()
    kind = int(getattr(mujoco.mjtObj, f"mjOBJ_{_KINDS[element]}"))
    given = mujoco.mj_id2name(m, kind, index)
    if given:
        return given
    match element:
        case "body":
            return body_name(m, index)
        case "geom":
            body = int(m.geom_bodyid[index])
            return f"shape {index - int(m.body_geomadr[body]) + 1} of {body_name(m, body)}"
        case "jnt":
            types = engine().mjtJoint
            word = types(int(m.jnt_type[index])).name.removeprefix("mjJNT_").lower()
            body = int(m.jnt_bodyid[index])
            count = int(m.body_jntnum[body])
            number = f" {index - int(m.body_jntadr[body]) + 1}" if count > 1 else ""
            return f"{_JOINTS.get(word, word)}{number} of {body_name(m, body)}"
        case "pair":
            shapes = (element_name(m, "geom", int(g[index])) for g in (m.pair_geom1, m.pair_geom2))
            return " with ".join(shapes)
        case "eq":
            return _equality(m, index)
        case _:
            return f"{element}{index}"


def _equality(m: Any, e: int) -> str:
    mujoco = engine()
    ends = [int(x) for x in (m.eq_obj1id[e], m.eq_obj2id[e])]
    kind = mujoco.mjtEq(int(m.eq_type[e])).name.removeprefix("mjEQ_").lower()
    if kind in ("joint", "tendon"):
        names = [element_name(m, "jnt" if kind == "joint" else kind, i) for i in ends if i >= 0]
    elif int(m.eq_objtype[e]) == int(mujoco.mjtObj.mjOBJ_BODY):
        names = [body_name(m, i) for i in ends]
    else:
        names = [m.site(i).name or body_name(m, int(m.site_bodyid[i])) for i in ends if i >= 0]
    return f"{kind} of {' and '.join(names)}"


def dof_joint(m: Any, dof: int) -> str:
    """The joint that a freedom belongs to."""
    return element_name(m, "jnt", int(np.asarray(m.dof_jntid)[dof]))
