"""Four scenes for work against precision: text, start, recorded controls, and what is compared.

What is compared are points of one body, every 20 ms. Lengths in metres, seconds, radians.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import solve_ivp

from perp.scenes import library

# Controls are held for so long, and points are read as often.
SAMPLE = 0.02
G = library.GRAVITY


@dataclass(frozen=True)
class PrecisionScene:
    """One scene.

    Attributes:
        name: For the figure.
        text: MJCF.
        seconds: How long.
        size: What errors are relative to [m].
        body: The body whose points are compared.
        points: In the body's frame, shape (points, 3).
        linear, angular: Its velocity at the start, in the world.
        spheres: Collision spheres in the body's frame, (x, y, z, radius), that touch a plane where the body's
            own shape does; for engines that find a single point for a pair. None if the file has them.
        controls: Targets of the motors, shape (samples, motors).
        exact: Points at given times where a formula or an integration has them, shape (times, points, 3).
    """

    name: str
    text: str
    seconds: float
    size: float
    body: str
    points: np.ndarray
    linear: tuple[float, float, float] = (0.0, 0.0, 0.0)
    angular: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spheres: tuple[tuple[float, float, float, float], ...] | None = None
    controls: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    exact: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def times(self) -> np.ndarray:
        """When points are read, shape (samples,)."""
        return SAMPLE * np.arange(1, round(self.seconds / SAMPLE) + 1)


def sliding_cube() -> PrecisionScene:
    """A cube of 0.1 m at 6 m/s on μ = 0.5: x = 6 t − μ g t² / 2, and it does not lift off."""
    speed, mu = 6.0, 0.5

    def exact(times: np.ndarray) -> np.ndarray:
        t = np.minimum(times, speed / (mu * G))
        x = speed * t - 0.5 * mu * G * t * t
        return np.stack([x, 0 * x, 0.05 + 0 * x], axis=1)[:, None, :]

    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    tiny = 1e-4
    reach = 0.05 - tiny
    return PrecisionScene(
        "sliding cube",
        library.box_on_plane(friction=mu),
        1.4,
        0.1,
        "box",
        np.zeros((1, 3)),
        linear=(speed, 0.0, 0.0),
        spheres=tuple((reach * x, reach * y, reach * z, tiny) for x, y, z in corners),
        exact=exact,
    )


def tumbling_capsule() -> PrecisionScene:
    """A capsule of 0.3 m that lands on one end, falls over and rolls."""
    mu, radius, half = 0.5, 0.05, 0.1
    text = library.scene(
        library.plane(mu) + '<body name="capsule" pos="0 0 0.25" euler="0.3 0.5 0"><freejoint/>'
        f'<geom name="capsule" type="capsule" size="{radius} {half}" mass="1" friction="{mu} 0 0"/></body>'
    )
    return PrecisionScene(
        "tumbling capsule",
        text,
        1.0,
        2 * (radius + half),
        "capsule",
        np.array([[0.0, 0, 0], [0, 0, half]]),
        linear=(0.5, 0.2, 0.0),
        angular=(1.0, 4.0, 2.0),
        spheres=((0.0, 0.0, half, radius), (0.0, 0.0, -half, radius)),
    )


def double_pendulum() -> PrecisionScene:
    """Two links of 0.5 m, let go horizontally; two seconds are not yet chaotic."""
    length = 0.5
    return PrecisionScene(
        "double pendulum",
        library.chain(2, length=length, joint="hinge"),
        2.0,
        2 * length,
        "link1",
        np.array([[0.0, 0, 0], [0, 0, -length]]),
        exact=_pendulum(length),
    )


def _pendulum(length: float) -> Callable[[np.ndarray], np.ndarray]:
    """Lagrange's equations of two equal capsules on hinges, integrated to 1e-12."""
    # a capsule of radius 0.1 l and mass 1 about its middle: a cylinder and two half spheres
    r = 0.1 * length
    cylinder, ball = math.pi * r * r * length, 4 / 3 * math.pi * r**3
    rho = 1.0 / (cylinder + ball)
    inertia = rho * (
        cylinder * (length**2 / 12 + r * r / 4)
        + ball * (2 * r * r / 5 + (length / 2) ** 2 + 3 * length * r / 8)
    )
    c = 0.5 * length
    a11, a22, a12 = inertia + c * c + length**2, inertia + c * c, length * c

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        p, q, dp, dq = y  # angles of the links from hanging down
        mass = np.array([[a11, a12 * math.cos(p - q)], [a12 * math.cos(p - q), a22]])
        s = a12 * math.sin(p - q)
        force = [-s * dq * dq - G * (c + length) * math.sin(p), s * dp * dp - G * c * math.sin(q)]
        return np.array([dp, dq, *np.linalg.solve(mass, force)])

    def exact(times: np.ndarray) -> np.ndarray:
        start = [math.pi / 2, math.pi / 2, 0.0, 0.0]
        found = solve_ivp(rates, (0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-12).y
        ends = [length * np.stack([np.sin(a), 0 * a, -np.cos(a)], axis=1) for a in found[:2]]
        # link1 begins at the end of link0
        return np.stack([ends[0], ends[0] + ends[1]], axis=1)

    return exact


def quadruped() -> PrecisionScene:
    """A trot: eight servos with recorded targets, feet as spheres."""
    legs = motors = ""
    for name, x, y in (("fl", 0.2, 0.15), ("fr", 0.2, -0.15), ("rl", -0.2, 0.15), ("rr", -0.2, -0.15)):
        shape = 'contype="0" conaffinity="0"'
        legs += (
            f'<body name="{name}_thigh" pos="{x} {y} 0" euler="0 {BEND} 0">'
            f'<joint name="{name}_hip" axis="0 1 0" damping="0.5"/>'
            f'<geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.6" {shape}/>'
            f'<body name="{name}_shank" pos="0 0 -0.2" euler="0 {-2 * BEND} 0">'
            f'<joint name="{name}_knee" axis="0 1 0" damping="0.5"/>'
            f'<geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.015" mass="0.3" {shape}/>'
            f'<geom name="{name}_foot" type="sphere" pos="0 0 -0.2" size="0.02" mass="0.05" '
            'friction="0.8 0 0" contype="1" conaffinity="0"/></body></body>'
        )
        for joint in ("hip", "knee"):
            motors += f'<position name="{name}_{joint}" joint="{name}_{joint}" kp="{KP}" kv="{KV}"/>'
    trunk = '<geom type="box" size="0.25 0.1 0.05" mass="6" contype="0" conaffinity="0"/>'
    height = 0.4 * math.cos(BEND) + 0.02
    bodies = f'<body name="trunk" pos="0 0 {height!r}"><freejoint/>{trunk}{legs}</body>'
    text = library.scene(library.plane(0.8) + bodies, extra=f"<actuator>{motors}</actuator>")
    seconds = 1.0
    return PrecisionScene(
        "walking quadruped",
        text,
        seconds,
        0.5,
        "trunk",
        np.array([[0.25, 0.0, 0], [-0.25, 0, 0]]),
        controls=_trot(np.arange(round(seconds / SAMPLE)) * SAMPLE),
    )


# Gains of the quadruped's servos [N m/rad, N m s/rad], and how far its legs are bent at the start [rad].
KP, KV, BEND = 150.0, 4.0, 0.5


def _trot(times: np.ndarray) -> np.ndarray:
    """Targets of hip and knee for each leg, from the bent start: diagonal pairs swing at 2 Hz after 0.1 s."""
    columns = []
    ramp = np.clip((times - 0.1) / 0.2, 0.0, 1.0)
    for phase in (0.0, math.pi, math.pi, 0.0):
        angle = 4 * math.pi * times + phase
        lift = np.maximum(np.sin(angle), 0.0)
        columns += [ramp * (0.15 * np.cos(angle) + 0.3 * lift), -ramp * 0.6 * lift]
    return np.stack(columns, axis=1)


SCENES: dict[str, Callable[[], PrecisionScene]] = {
    "cube": sliding_cube,
    "capsule": tumbling_capsule,
    "pendulum": double_pendulum,
    "quadruped": quadruped,
}
