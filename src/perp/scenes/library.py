"""Scenes as MJCF text, for tests, benchmarks and first steps; lengths in metres, masses in kilograms."""

import math
from typing import Any

GRAVITY = 9.81
Triple = tuple[float, float, float]


def _element(tag: str, *inside: str, **attributes: Any) -> str:
    """An element of MJCF; attributes are text, numbers or several of them, or None to be left out."""
    words = (f' {name}="{_text(value)}"' for name, value in attributes.items() if value is not None)
    return f"<{tag}{''.join(words)}>{''.join(inside)}</{tag}>"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return " ".join(repr(float(x)) for x in (value if isinstance(value, tuple) else (value,)))


def _geom(name: str | None, kind: str, size: Any, friction: float, **others: Any) -> str:
    return _element("geom", name=name, type=kind, size=size, friction=(friction, 0.0, 0.0), **others)


def _free(name: str, position: Triple, *shapes: str, **others: Any) -> str:
    """A body that moves freely."""
    return _element("body", "<freejoint/>", *shapes, name=name, pos=position, **others)


def scene(bodies: str, *, gravity: Triple = (0.0, 0.0, -GRAVITY), extra: str = "") -> str:
    """A scene around some world bodies; `extra` holds sections beside the world (assets, actuators)."""
    # angles in radians throughout
    head = '<compiler angle="radian"/><size memory="64M"/>' + _element("option", gravity=gravity)
    return f"<mujoco>{head}{extra}<worldbody>{bodies}</worldbody></mujoco>"


def plane(friction: float) -> str:
    """The ground."""
    return _geom("ground", "plane", (50, 50, 1), friction)


def box(
    name: str,
    half: Triple,
    position: Triple,
    *,
    mass: float = 1.0,
    friction: float = 0.5,
    turn: Triple = (0.0, 0.0, 0.0),
) -> str:
    """A free box; `turn` are Euler angles [rad]."""
    return _free(name, position, _geom(name, "box", half, friction, mass=mass), euler=turn)


def box_on_plane(*, friction: float = 0.5, half: float = 0.05, slope: float = 0.0, mass: float = 1.0) -> str:
    """A cube at rest on a plane; `slope` [rad] tilts gravity towards +x."""
    gravity = (GRAVITY * math.sin(slope), 0.0, -GRAVITY * math.cos(slope))
    cube = box("box", (half, half, half), (0.0, 0.0, half), mass=mass, friction=friction)
    return scene(plane(friction) + cube, gravity=gravity)


def sphere_on_plane(
    *,
    friction: float = 0.5,
    radius: float = 0.1,
    mass: float = 1.0,
    height: float = 0.0,
    rolling: float = 0.0,
) -> str:
    """A sphere, `height` above the plane; a rolling friction length makes it a 5-row contact."""
    both = {"friction": (friction, 0.0, rolling), "condim": "6" if rolling else None}
    ground = _element("geom", name="ground", type="plane", size=(50, 50, 1), **both)
    ball = _element("geom", name="sphere", type="sphere", size=radius, mass=mass, **both)
    return scene(ground + _free("sphere", (0.0, 0.0, radius + height), ball))


def stack(count: int, *, ratio: float = 1.0, half: float = 0.05, friction: float = 0.5) -> str:
    """Cubes on each other, each `ratio` times as heavy as the one below."""
    boxes = "".join(
        box(f"box{i}", (half, half, half), (0.0, 0.0, half * (2 * i + 1)), mass=ratio**i, friction=friction)
        for i in range(count)
    )
    return scene(plane(friction) + boxes)


def wall(columns: int, layers: int, *, half: float = 0.05, friction: float = 0.5) -> str:
    """Stacks side by side, not touching: many contacts at rest."""
    boxes = "".join(
        box(f"box{c}_{k}", (half, half, half), (3 * half * c, 0.0, half * (2 * k + 1)), friction=friction)
        for c in range(columns)
        for k in range(layers)
    )
    return scene(plane(friction) + boxes)


def chain(
    links: int, *, end_mass: float = 1.0, length: float = 0.1, angle: float = math.pi / 2, joint: str = "ball"
) -> str:
    """A hanging chain, straight and turned by `angle` [rad] from the vertical; its last link may be heavy."""
    below = ""
    for i in range(links - 1, -1, -1):
        hinge = _element("joint", name=f"joint{i}", type=joint, axis="0 1 0")
        rod = _element(
            "geom", type="capsule", fromto=(0, 0, 0, 0, 0, -length), size=0.1 * length, contype="0",
            conaffinity="0", mass=end_mass if i == links - 1 else 1.0,
        )  # fmt: skip
        turn, at = ((0.0, -angle, 0.0), 0.0) if i == 0 else (None, -length)
        below = _element("body", hinge, rod, below, name=f"link{i}", pos=(0, 0, at), euler=turn)
    return scene(below)


def arch(
    stones: int, thickness: float, *, radius: float = 1.0, depth: float = 0.2, friction: float = 1.0
) -> str:
    """A semicircular arch of equal wedge stones with mean `radius`, on two fixed springers.

    The springers are blocks whose top lies in the plane of the first and of the last joint.
    """
    meshes, bodies = "", ""
    inner, outer, y = radius - 0.5 * thickness, radius + 0.5 * thickness, 0.5 * depth
    for i in range(stones):
        low, high = math.pi * i / stones, math.pi * (i + 1) / stones
        middle, name = 0.5 * (low + high), f"stone{i}"
        centre = (radius * math.cos(middle), 0.0, radius * math.sin(middle))
        corners = [
            (r * math.cos(a) - centre[0], side * y, r * math.sin(a) - centre[2])
            for r in (inner, outer)
            for a in (low, high)
            for side in (-1, 1)
        ]
        meshes += _element("mesh", name=name, vertex=" ".join(map(_text, corners)))
        bodies += _free(name, centre, _geom(name, "mesh", None, friction, mesh=name, density="2000"))
    springers = "".join(
        _geom(name, "box", (thickness, depth, 0.1), friction, pos=(x, 0, -0.1))
        for name, x in (("right", radius), ("left", -radius))
    )
    return scene(springers + bodies, extra=_element("asset", meshes))


def card_house(*, friction: float = 0.6, tilt: float = math.radians(20)) -> str:
    """Two pairs of leaning cards, a flat card across, and one pair on top."""
    half = (0.05, 0.03, 0.001)
    c, s = math.cos(tilt), math.sin(tilt)
    # a card's long axis stands `tilt` off the vertical; its lower edge touches the ground
    rise, reach = half[0] * c + half[2] * s, half[0] * s + half[2] * c

    def pair(name: str, x: float, z: float) -> str:
        return "".join(
            box(
                f"{name} {label}", half, (x - side * reach, 0.0, z + rise), mass=0.002, friction=friction,
                turn=(0.0, -(math.pi / 2 - side * tilt), 0.0),
            )
            for side, label in ((1, "left"), (-1, "right"))
        )  # fmt: skip

    apart, top = 2 * reach, 2 * rise
    flat = (2 * apart, 0.03, half[2])
    bodies = pair("first", -apart, 0.0) + pair("second", apart, 0.0)
    bodies += box("across", flat, (0.0, 0.0, top + half[2]), mass=0.004, friction=friction)
    return scene(plane(friction) + bodies + pair("third", 0.0, top + 2 * half[2]))


def rover(
    *,
    friction: float = 0.8,
    step_height: float = 0.05,
    step_length: float = 2.0,
    step_at: float = 1.0,
    speed: float = 0.0,
) -> str:
    """A four-wheeled rover in front of a step; controls add to the wheels' `speed` [rad/s], 8 N m at most."""
    wheels, motors = "", ""
    for name, x, y in (("fl", 0.3, 0.25), ("fr", 0.3, -0.25), ("rl", -0.3, 0.25), ("rr", -0.3, -0.25)):
        hinge = _element("joint", name=name, type="hinge", axis="0 1 0")
        wheel = _geom(None, "sphere", 0.15, friction, mass=1.0)
        wheels += _element("body", hinge, wheel, name=name, pos=(x, y, 0))
        motors += _element(
            "general", joint=name, gainprm="50", biastype="affine", biasprm=(50 * speed, 0, -50),
            forcerange="-8 8",
        )  # fmt: skip
    chassis = '<geom type="box" size="0.35 0.15 0.05" mass="10" contype="0" conaffinity="0"/>'
    half = (0.5 * step_length, 2, 0.5 * step_height)
    step = _geom("step", "box", half, friction, pos=(step_at + half[0], 0, half[2]))
    robot = _free("chassis", (0, 0, 0.15), chassis, wheels)
    return scene(plane(friction) + step + robot, extra=_element("actuator", motors))


def dominoes(count: int = 24, *, friction: float = 0.4, spacing: float = 0.035) -> str:
    """A row of dominoes along x; the first leans a little beyond its balance and starts the fall."""
    thick, tall = 0.004, 0.024
    half = (thick, 0.012, tall)
    lean = math.atan2(thick, tall) + 0.06
    c, s = math.cos(lean), math.sin(lean)
    # the lower front edge of the leaning one stays where it stood
    first = (thick - thick * c + tall * s, 0.0, tall * c + thick * s)
    bodies = box("domino0", half, first, mass=0.012, friction=friction, turn=(0.0, lean, 0.0))
    bodies += "".join(
        box(f"domino{i}", half, (spacing * i, 0.0, tall), mass=0.012, friction=friction)
        for i in range(1, count)
    )
    return scene(plane(friction) + bodies)


def tumbler(count: int = 500, *, friction: float = 0.4, speed: float = 1.5, staves: int = 24) -> str:
    """Spheres in a drum that a motor turns about y at `speed` [rad/s]; they start on a grid inside it."""
    drum, depth, ball, wall = 0.5, 0.24, 0.025, 0.02
    parts, outer = "", drum + wall
    half = (outer * math.tan(math.pi / staves), 0.5 * depth, wall)
    for i in range(staves):
        angle = 2 * math.pi * i / staves
        place = (outer * math.sin(angle), 0, outer * math.cos(angle))
        parts += _geom(None, "box", half, friction, pos=place, euler=(0, angle, 0), mass=0.5)
    for side in (-1, 1):
        parts += _geom(
            None, "cylinder", (outer, 0.01), friction, pos=(0, side * (0.5 * depth + 0.01), 0),
            euler=(math.pi / 2, 0, 0), mass=2.0, rgba="0.7 0.8 0.9 0.15",
        )  # fmt: skip
    body = _element("body", '<joint name="axle" axis="0 1 0"/>', parts, name="drum", pos=(0, 0, 0.6))
    # torque = 1000 (speed wanted − speed): control 0 turns it
    bias = (1000 * speed, 0, -1000)
    motor = _element("general", name="motor", joint="axle", biastype="affine", gainprm="0", biasprm=bias)
    spheres = "".join(
        _free(f"ball{i}", (x, y, 0.6 + z), _geom(None, "sphere", ball, friction, mass=0.05))
        for i, (x, y, z) in enumerate(_grid_in_circle(count, 0.9 * drum, 2.2 * ball, rows=4))
    )
    return scene(body + spheres, extra=_element("actuator", motor))


def _grid_in_circle(count: int, radius: float, apart: float, *, rows: int) -> list[Triple]:
    """Points of a grid inside a cylinder about y, from the bottom up."""
    steps = int(radius / apart)
    spots = [
        (apart * i, apart * (k - 0.5 * (rows - 1)), apart * j)
        for j in range(-steps, steps + 1)
        for i in range(-steps, steps + 1)
        for k in range(rows)
        if math.hypot(apart * i, apart * j) <= radius
    ]
    if len(spots) < count:
        raise ValueError(f"there is room for {len(spots)} spheres, not for {count}")
    return spots[:count]
