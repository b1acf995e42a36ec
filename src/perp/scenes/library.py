"""Scenes as MJCF text, for tests, benchmarks and first steps; lengths in metres, masses in kilograms."""

from __future__ import annotations

import math

GRAVITY = 9.81


def scene(bodies: str, *, gravity: tuple[float, float, float] = (0.0, 0.0, -GRAVITY), extra: str = "") -> str:
    """A scene around some world bodies; `extra` holds sections beside the world (assets, actuators)."""
    x, y, z = gravity
    # autolimits off would need limited="true" everywhere; angles in radians throughout
    return (
        f'<mujoco><compiler angle="radian"/><size memory="64M"/><option gravity="{x!r} {y!r} {z!r}"/>{extra}'
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )


def plane(friction: float) -> str:
    """The ground."""
    return f'<geom name="ground" type="plane" size="50 50 1" friction="{friction!r} 0 0"/>'


def box(
    name: str,
    half: tuple[float, float, float],
    position: tuple[float, float, float],
    *,
    mass: float = 1.0,
    friction: float = 0.5,
    turn: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> str:
    """A free box; `turn` are Euler angles [rad]."""
    return (
        f'<body name="{name}" pos="{_numbers(position)}" euler="{_numbers(turn)}"><freejoint/>'
        f'<geom name="{name}" type="box" size="{_numbers(half)}" mass="{mass!r}" '
        f'friction="{friction!r} 0 0"/></body>'
    )


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
    shape = f'type="sphere" size="{radius!r}" mass="{mass!r}" friction="{friction!r} 0 {rolling!r}"'
    condim = 'condim="6"' if rolling else ""
    ground = (
        f'<geom name="ground" type="plane" size="50 50 1" friction="{friction!r} 0 {rolling!r}" {condim}/>'
    )
    return scene(
        f'{ground}<body name="sphere" pos="0 0 {radius + height!r}"><freejoint/>'
        f'<geom name="sphere" {shape} {condim}/></body>'
    )


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
    opened = ""
    for i in range(links):
        turn = f'euler="0 {-angle!r} 0"' if i == 0 else ""
        mass = end_mass if i == links - 1 else 1.0
        opened += (
            f'<body name="link{i}" pos="0 0 {0.0 if i == 0 else -length!r}" {turn}>'
            f'<joint name="joint{i}" type="{joint}" axis="0 1 0"/>'
            f'<geom type="capsule" fromto="0 0 0 0 0 {-length!r}" '
            f'size="{0.1 * length!r}" mass="{mass!r}" contype="0" conaffinity="0"/>'
        )
    return scene(opened + "</body>" * links)


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
        middle = 0.5 * (low + high)
        centre = (radius * math.cos(middle), 0.0, radius * math.sin(middle))
        corners = [
            (r * math.cos(a) - centre[0], side * y, r * math.sin(a) - centre[2])
            for r in (inner, outer)
            for a in (low, high)
            for side in (-1, 1)
        ]
        vertices = " ".join(_numbers(corner) for corner in corners)
        meshes += f'<mesh name="stone{i}" vertex="{vertices}"/>'
        bodies += (
            f'<body name="stone{i}" pos="{_numbers(centre)}"><freejoint/>'
            f'<geom name="stone{i}" type="mesh" mesh="stone{i}" density="2000" '
            f'friction="{friction!r} 0 0"/></body>'
        )
    half = thickness
    springers = "".join(
        f'<geom name="{name}" type="box" size="{half!r} {depth!r} 0.1" pos="{x!r} 0 -0.1" '
        f'friction="{friction!r} 0 0"/>'
        for name, x in (("right", radius), ("left", -radius))
    )
    return scene(springers + bodies, extra=f"<asset>{meshes}</asset>")


def card_house(*, friction: float = 0.6, tilt: float = math.radians(20)) -> str:
    """Two pairs of leaning cards, a flat card across, and one pair on top."""
    half = (0.05, 0.03, 0.001)
    c, s = math.cos(tilt), math.sin(tilt)
    # a card's long axis stands `tilt` off the vertical; its lower edge touches the ground
    rise = half[0] * c + half[2] * s
    reach = half[0] * s + half[2] * c
    bodies = ""

    def pair(name: str, x: float, z: float) -> str:
        out = ""
        for side, label in ((1, "left"), (-1, "right")):
            turn = (0.0, -(math.pi / 2 - tilt), 0.0) if side == 1 else (0.0, -(math.pi / 2 + tilt), 0.0)
            out += box(
                f"{name} {label}",
                half,
                (x - side * reach, 0.0, z + rise),
                mass=0.002,
                friction=friction,
                turn=turn,
            )
        return out

    apart = 2 * reach
    bodies += pair("first", -apart, 0.0) + pair("second", apart, 0.0)
    top = 2 * rise
    flat = (2 * apart, 0.03, half[2])
    bodies += box("across", flat, (0.0, 0.0, top + half[2]), mass=0.004, friction=friction)
    bodies += pair("third", 0.0, top + 2 * half[2])
    return scene(plane(friction) + bodies)


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
        wheels += (
            f'<body name="{name}" pos="{x} {y} 0"><joint name="{name}" type="hinge" axis="0 1 0"/>'
            f'<geom type="sphere" size="0.15" mass="1" friction="{friction!r} 0 0"/></body>'
        )
        motors += (
            f'<general joint="{name}" gainprm="50" biastype="affine" biasprm="{50 * speed!r} 0 -50" '
            'forcerange="-8 8"/>'
        )
    chassis = '<geom type="box" size="0.35 0.15 0.05" mass="10" contype="0" conaffinity="0"/>'
    obstacle = (
        f'<geom name="step" type="box" size="{0.5 * step_length!r} 2 {0.5 * step_height!r}" '
        f'pos="{step_at + 0.5 * step_length!r} 0 {0.5 * step_height!r}" friction="{friction!r} 0 0"/>'
    )
    return scene(
        plane(friction)
        + obstacle
        + f'<body name="chassis" pos="0 0 0.15"><freejoint/>{chassis}{wheels}</body>',
        extra=f"<actuator>{motors}</actuator>",
    )


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
    drum, depth, ball = 0.5, 0.24, 0.025
    wall = 0.02
    parts = ""
    half = (drum + wall) * math.tan(math.pi / staves)
    for i in range(staves):
        angle = 2 * math.pi * i / staves
        x, z = (drum + wall) * math.sin(angle), (drum + wall) * math.cos(angle)
        parts += (
            f'<geom type="box" size="{half!r} {0.5 * depth!r} {wall!r}" pos="{x!r} 0 {z!r}" '
            f'euler="0 {angle!r} 0" mass="0.5" friction="{friction!r} 0 0"/>'
        )
    for side in (-1, 1):
        parts += (
            f'<geom type="cylinder" size="{drum + wall!r} 0.01" pos="0 {side * (0.5 * depth + 0.01)!r} 0" '
            f'euler="{math.pi / 2!r} 0 0" mass="2" friction="{friction!r} 0 0" rgba="0.7 0.8 0.9 0.15"/>'
        )
    body = f'<body name="drum" pos="0 0 0.6"><joint name="axle" axis="0 1 0"/>{parts}</body>'
    # torque = 1000 (speed wanted − speed): control 0 turns it
    bias = f"{1000 * speed!r} 0 -1000"
    motor = f'<general name="motor" joint="axle" biastype="affine" gainprm="0" biasprm="{bias}"/>'
    spots = _grid_in_circle(count, 0.9 * drum, 2.2 * ball, rows=4)
    spheres = "".join(
        f'<body name="ball{i}" pos="{x!r} {y!r} {0.6 + z!r}"><freejoint/>'
        f'<geom type="sphere" size="{ball!r}" mass="0.05" friction="{friction!r} 0 0"/></body>'
        for i, (x, y, z) in enumerate(spots)
    )
    return scene(body + spheres, extra=f"<actuator>{motor}</actuator>")


def _grid_in_circle(
    count: int, radius: float, apart: float, *, rows: int
) -> list[tuple[float, float, float]]:
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


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(repr(float(value)) for value in values)
