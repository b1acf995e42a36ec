"""Small scenes, each with one feature of a scene file, and what the reader says of it."""

from __future__ import annotations

import perp

BODY = '<body name="a"><geom type="box" size="0.1 0.1 0.1"/>{inside}</body>'
TWO = (
    '<body name="a"><freejoint/><geom type="sphere" size="0.1"/></body>'
    '<body name="b" pos="1 0 0"><freejoint/><geom type="sphere" size="0.1"/></body>'
)


def scene(body: str = BODY.format(inside="<freejoint/>"), rest: str = "", option: str = "") -> str:
    """MJCF text with one body and whatever else is asked for."""
    return f"<mujoco>{option}<worldbody>{body}</worldbody>{rest}</mujoco>"


def joint(attributes: str) -> str:
    """A body on one joint."""
    return BODY.format(inside=f'<joint name="j" {attributes}/>')


def shape(attributes: str) -> str:
    """A free body with one geom of mass 1."""
    return f'<body><freejoint/><geom mass="1" {attributes}/></body>'


def actuator(element: str, attributes: str = "") -> str:
    """A motor on a hinge."""
    return scene(joint('type="hinge"'), f'<actuator><{element} joint="j" {attributes}/></actuator>')


def equality(element: str) -> str:
    """Two free bodies that an equality ties together."""
    return scene(TWO, f"<equality><{element}/></equality>")


TENDON = scene(joint('type="hinge"'), '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>')
FEATURES = {
    "freejoint": scene(),
    "joint hinge": scene(joint('type="hinge"')),
    "joint slide": scene(joint('type="slide"')),
    "joint ball": scene(joint('type="ball"')),
    "joint range (limits)": scene(joint('type="hinge" range="-30 30" limited="true"')),
    "joint stiffness, damping": scene(joint('type="hinge" stiffness="1" damping="0.1"')),
    "joint frictionloss": scene(joint('type="hinge" frictionloss="0.1"')),
    "joint armature": scene(joint('type="hinge" armature="0.01"')),
    "geom box": scene(shape('type="box" size="0.1 0.1 0.1"')),
    "geom sphere": scene(shape('type="sphere" size="0.1"')),
    "geom capsule": scene(shape('type="capsule" size="0.1 0.1"')),
    "geom cylinder": scene(shape('type="cylinder" size="0.1 0.1"')),
    "geom ellipsoid": scene(shape('type="ellipsoid" size="0.1 0.2 0.3"')),
    "geom condim 1": scene(shape('type="sphere" size="0.1" condim="1"')),
    "geom condim 3": scene(shape('type="sphere" size="0.1" condim="3"')),
    "geom condim 4": scene(shape('type="sphere" size="0.1" condim="4"')),
    "geom condim 6": scene(shape('type="sphere" size="0.1" condim="6"')),
    "actuator motor": actuator("motor"),
    "actuator velocity": actuator("velocity", 'kv="1"'),
    "actuator position": actuator("position", 'kp="1"'),
    "actuator general": actuator("general", 'gainprm="1" biastype="affine" biasprm="0 -1 -0.1"'),
    "actuator forcerange": actuator("motor", 'forcerange="-1 1" forcelimited="true"'),
    "actuator muscle": actuator("muscle", 'lengthrange="0 1"'),
    "equality connect": equality('connect body1="a" body2="b" anchor="0.5 0 0"'),
    "equality weld": equality('weld body1="a" body2="b"'),
    "tendon fixed": TENDON,
    "gravity": scene(option='<option gravity="0 0 -1.62"/>'),
}


def verdict(text: str) -> tuple[str, str, str]:
    """What becomes of a feature: simulated, left out or refused; in which coordinates; the reader's words."""
    try:
        sim = perp.Simulation(text, step=0.01)
    except perp.PerpError as error:
        return "refused", "", " ".join(str(error).split())
    words = "; ".join(reason for _, reason in sim.report.ignored)
    return "left out" if words else "simulated", str(sim.coordinates), words
