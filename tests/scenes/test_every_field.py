"""A walk over the arrays of mujoco's compiled model: none may change without motion or report noticing."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import perp
from perp.scenes import SceneError, attributes
from perp.scenes.engine import engine

# Values changed at random may make scenes that no step can satisfy.
pytestmark = pytest.mark.filterwarnings("ignore::perp.stepping.StepInaccurate")

RICH = """<mujoco><compiler angle="radian" autolimits="false"/><option density="50" viscosity="0.1" wind="1 0 0"/>
<default><geom solref="0.03 1" solimp="0.8 0.9 0.002 0.5 2" margin="0.001" gap="0.0005"/></default><worldbody>
 <geom name="ground" type="plane" size="5 5 1" friction="0.3 0.01 0.001" condim="6"/>
 <body name="arm" pos="0 0 1" gravcomp="0.1"><joint name="hinge" axis="0 1 0" pos="0.01 0 0" range="-1 0.02"
   limited="true" stiffness="3" springref="0.1" damping="0.2" frictionloss="0.05" armature="0.01" margin="0.001"/>
  <geom name="arm" type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="1"/><site name="s1" pos="0.1 0 0.05"/>
  <body name="out" pos="0.3 0 0"><joint name="slide" type="slide" axis="1 0 0" damping="0.1" range="-0.01 0.003"
    limited="true" stiffness="5" frictionloss="0.02" armature="0.05"/>
   <geom name="tip" type="sphere" size="0.03" mass="0.5"/><site name="s2" pos="0 0 0.02"/></body></body>
 <body name="swing" pos="0 1 1"><joint name="ball" type="ball" damping="0.02" stiffness="1" range="0 0.02"
   limited="true" frictionloss="0.01" armature="0.001"/><geom type="sphere" size="0.05" pos="0.2 0 0" mass="0.3"/></body>
 <body name="post" pos="0 2 1"><joint name="lift" type="slide" axis="1 0 0" damping="0.3" stiffness="4" range="-1 0.01"
   limited="true" frictionloss="0.1" armature="0.2"/><joint name="spin" axis="1 0 0" damping="0.1" stiffness="2"
   range="-1 0.01" limited="true" frictionloss="0.02" armature="0.1"/>
   <geom type="box" size="0.1 0.1 0.2" pos="0 0.1 0" mass="1"/></body>
 <body name="wheel" pos="0 3 1"><joint name="axle" axis="0 1 0" actuatorfrcrange="-0.5 0.5" actuatorfrclimited="true"/>
   <geom type="cylinder" size="0.1 0.02" pos="0.01 0 0" mass="1"/></body>
 <body name="box" pos="1 0 0.1"><joint name="free" type="free" damping="0.3" frictionloss="0.01" stiffness="2"
   armature="0.02"/><geom name="box" type="box" size="0.1 0.1 0.1" friction="0.3 0.02 0.002" condim="6" mass="1"
   solmix="2" priority="1"/></body>
 <body name="egg" pos="2 0 0.3"><freejoint/><geom name="egg" type="ellipsoid" size="0.1 0.12 0.1" condim="4" mass="1"/></body>
 <body name="plate" pos="3 0 0.05"><freejoint/><geom name="plate" type="cylinder" size="0.1 0.05" mass="1"/></body>
 <body name="top" pos="3 0 0.15"><freejoint/><geom name="top" type="sphere" size="0.05" mass="1"/></body></worldbody>
<contact><pair geom1="plate" geom2="top" friction="0.2 0.2 0.01 0.001 0.001" condim="3" margin="0.001" gap="0.0005"
 solref="0.03 1" solimp="0.8 0.9 0.002 0.5 2"/></contact>
<tendon><fixed name="cable" stiffness="5" damping="0.3" frictionloss="0.02" range="-0.01 0.008" limited="true"
  springlength="0.01" armature="0.1" margin="0.001"><joint joint="hinge" coef="0.3"/><joint joint="slide" coef="1"/></fixed>
 <spatial name="rope" stiffness="4" damping="0.2" springlength="0.05" actuatorfrcrange="-0.05 0.05"
  actuatorfrclimited="true"><site site="s1"/><site site="s2"/></spatial></tendon>
<equality><connect body1="egg" anchor="0.1 0 0.1" solref="0.03 1" solimp="0.8 0.9 0.002 0.5 2"/></equality>
<actuator><general name="plain" joint="hinge" gainprm="2" biastype="affine" biasprm="0.1 -1 -0.1" gear="1.1"
  ctrlrange="-0.5 0.5" ctrllimited="true"/><motor name="weak" joint="slide" gear="20" forcerange="-0.2 0.2" forcelimited="true"/>
 <motor name="strong" joint="axle"/><motor name="winch" tendon="rope"/>
 <general name="slow" joint="axle" dyntype="filter" dynprm="0.1" gainprm="0.05" actrange="-0.3 0.3" actlimited="true"/>
</actuator></mujoco>"""
# Computed by mujoco from other arrays or put into others (armature of motors), addresses of what others hold, and
# what needs an integer of the right kind.
DERIVED = {
    "body": "invweight0 subtreemass margin rootid weldid parentid treeid simple sameframe dofadr dofnum jntadr jntnum "
    "geomadr geomnum bvhadr bvhnum mocapid plugin contype conaffinity",
    "jnt": "type bodyid dofadr qposadr", "dof": "M0 invweight0 length bodyid jntid parentid treeid Madr simplenum",
    "geom": "aabb rbound type bodyid dataid sameframe plugin priority", "pair": "geom1 geom2 signature solreffriction",
    "exclude": "signature", "eq": "type obj1id obj2id objtype",
    "tendon": "invweight0 length0 adr num treeid treenum actuatorid type",
    "actuator": "acc0 length0 lengthrange cranklength trntype trnid gaintype biastype dyntype ctrladr ctrlnum outadr "
    "outnum actadr actnum ctrlspec historyadr history plugin armature dynprm",
}  # fmt: skip
# Whole groups of arrays without mechanics of their own.
OTHERS = {
    "cam": "cameras", "light": "lights", "tex": "textures", "mat": "materials", "skin": "skins", "vis": "looks",
    "numeric": "data of users", "text": "data of users", "tuple": "data of users", "names": "names",
    "name": "names", "paths": "names", "key": "keyframes", "stat": "statistics", "bvh": "trees of boxes",
    "oct": "trees of boxes", "sensor": "in the report", "plugin": "in the report", "flex": "in the report",
    "flexedge": "in the report", "mesh": "read by the collision call", "hfield": "read by the collision call",
    "site": "places, read through tendons and actuators", "wrap": "paths of tendons", "tree": "sleeping",
    "qpos": "qpos0 and qpos_spring: reference and springs",
}  # fmt: skip
# Structure of mujoco's sparse matrices.
SPARSE = (
    "M_",
    "B_",
    "D_",
    "mapM2M",
    "mapM2D",
    "mapD2M",
    "ten_J",
    "flexelem",
    "bodyflex",
    "flexvert",
    "efm",
    "_sizes",
)


def test_every_array_of_a_model_belongs_to_a_known_group() -> None:
    model = engine().MjModel.from_xml_string(RICH)
    arrays = [name for name in dir(model) if isinstance(getattr(model, name, None), np.ndarray)]
    assert len(arrays) > 300
    unknown = [
        name
        for name in arrays
        if name.split("_")[0].rstrip("0") not in {*attributes.USED, *OTHERS} and not name.startswith(SPARSE)
    ]
    assert unknown == []


def changed(name: str, x: np.ndarray) -> np.ndarray:
    """Other values that are still valid."""
    if name in ("axis", "quat", "iquat", "pos", "ipos"):
        return x + 0.02 * np.resize([1.0, -1.0, 0.5, 2.0], x.shape)
    if x.dtype.kind == "f":
        return np.where(x == 0, 0.013, 0.7 * x)
    if x.dtype.kind == "b":
        return ~x
    return {"condim": np.where(x == 1, 3, 1), "dim": np.full_like(x, 1)}.get(name, np.where(x != 0, 0, 1))


def after(model: Any, coordinates: str) -> tuple[np.ndarray, set[tuple[str, str]]]:
    """Where the bodies of RICH are in some steps, and its report."""
    sim = perp.Simulation(model, step=0.01, coordinates=coordinates, level="velocity")
    for body, linear, angular in (
        ("box", (1, 0, 0), (0, 0, 3)), ("plate", (0.5, 0, 0), (0, 0, 2)), ("top", (0.1, 0.2, 0), (0, 3, 1)),
    ):  # fmt: skip
        sim.body(body).set_velocity(linear, angular)
    if coordinates == "reduced":
        for joint, speed in (
            ("hinge", 1.0),
            ("slide", 0.3),
            ("ball", [0.3, 0.5, 0.7]),
            ("lift", 0.4),
            ("spin", 0.5),
        ):
            sim.joint(joint).set_velocity(speed)
    else:
        sim.body("post").set_velocity((0.4, 0, 0), (0.5, 0, 0))
    sim.set_control([0.9] * len(sim.stepper.motor_names))
    way = []
    for _ in range(6):
        sim.step()
        way.append(sim.state.position.copy())
    return np.array(way), set(sim.report.ignored)


@cache
def plain(coordinates: str) -> tuple[np.ndarray, set[tuple[str, str]]]:
    return after(engine().MjModel.from_xml_string(RICH), coordinates)


def noticed(element: str, name: str, coordinates: str, row: int | None = None) -> bool:
    """Whether a change of an array, or of one of its rows, changes motion or report, or stands in it already."""
    model = engine().MjModel.from_xml_string(RICH)
    array = getattr(model, f"{element}_{name}")
    rows = slice(None) if row is None else slice(row, row + 1)
    array[rows] = changed(name, array[rows])
    position, report = plain(coordinates)
    label = attributes._LABELS.get(element, element)
    names = attributes._names(model, element, np.isin(np.arange(len(array)), np.arange(len(array))[rows]))
    for line, _ in report:
        if line.startswith(f"{label} {name} of ") and (row is None or names in line or "more" in line):
            return True
    try:
        moved, lines = after(model, coordinates)
    except SceneError:
        return True
    return not np.array_equal(moved, position) or lines != report


FIELDS = [
    (element, name)
    for element in attributes.USED
    for name in sorted({*attributes.USED[element].split(), *attributes.IGNORED[element]})
    if name not in DERIVED[element].split()
]


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
@pytest.mark.parametrize("element", [element for element in attributes.USED if element != "exclude"])
def test_no_array_is_dropped_silently(element: str, coordinates: str) -> None:
    silent = [name for kind, name in FIELDS if kind == element and not noticed(element, name, coordinates)]
    assert silent == []


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
@pytest.mark.parametrize(
    ("element", "name"),
    [
        ("jnt", "stiffness"),
        ("jnt", "range"),
        ("dof", "damping"),
        ("dof", "frictionloss"),
        ("dof", "armature"),
    ],
)
def test_no_kind_of_joint_drops_its_springs_limits_and_losses(
    element: str, name: str, coordinates: str
) -> None:
    model = engine().MjModel.from_xml_string(RICH)
    array = getattr(model, f"{element}_{name}")
    first = model.jnt_dofadr if element == "dof" else np.arange(model.njnt)
    rows = [int(first[j]) for j in range(model.njnt) if array[first[j]].any()]
    simple = model.body_simple[model.dof_bodyid] if element == "dof" else np.zeros(len(array))
    # mujoco puts the armature of a body that has no other joints into an array of its own, dof_M0
    rows = [row for row in rows if not (name == "armature" and coordinates == "reduced" and simple[row])]
    assert [row for row in rows if not noticed(element, name, coordinates, row)] == []
    assert len(rows) >= 3


FLAGS = (
    "CONSTRAINT",
    "EQUALITY",
    "FRICTIONLOSS",
    "LIMIT",
    "CONTACT",
    "SPRING",
    "DAMPER",
    "GRAVITY",
    "CLAMPCTRL",
    "ACTUATION",
)
# They concern mujoco's solver and integrator, its collision call, sensors, or what it does with a scene that explodes.
HARMLESS = {"WARMSTART", "REFSAFE", "SENSOR", "MIDPHASE", "EULERDAMP", "AUTORESET", "NATIVECCD", "ISLAND", "MULTICCD", "FILTERPARENT"}  # fmt: skip


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
@pytest.mark.parametrize("flag", FLAGS)
def test_what_a_scene_disables_is_off(flag: str, coordinates: str) -> None:
    model = engine().MjModel.from_xml_string(RICH)
    model.opt.disableflags = int(getattr(engine().mjtDisableBit, f"mjDSBL_{flag}"))
    assert not np.array_equal(after(model, coordinates)[0], plain(coordinates)[0])


def test_the_flags_above_are_all_there_are() -> None:
    names = {
        name.removeprefix("mjDSBL_") for name in engine().mjtDisableBit.__members__ if name != "mjNDISABLE"
    }
    assert names == HARMLESS | set(FLAGS)
