"""Random states of ten scenes whose steps are differentiated: no NaN, no exception, as differences say.

    python benchmarks/derivative_states.py [--first 0] [--count 100000] [--compare]

Scenes have contacts of all shapes and modes, joints with limits, dry friction and motors, a loop, a robot.
States, velocities, controls, levels, coordinates and restitution are random.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from functools import cache

import numpy as np

from perp.derivatives.errors import DerivativeError
from perp.scenes import library
from perp.simulation.gradients.step_differences import differences
from perp.simulation.simulation import Simulation

EXPECTED = (
    "fine", "missed", "not solved", "two stages", "agrees", "has none", "at a switch", "near a switch",
    "not unique", "held",
)  # fmt: skip
PLANE = '<geom name="floor" type="plane" size="9 9 1" friction="0.5 0.01 0.002"/>'
ARM = """<body name="upper" pos="0 0 .5">
<joint name="j1" axis="0 1 0" range="-60 60" limited="true" damping=".1"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/><body name="lower" pos=".3 0 0">
<joint name="j2" axis="0 1 0" stiffness="2" frictionloss=".2"/>
<geom type="capsule" fromto="0 0 0 .3 0 .1" size=".03"/></body></body>"""
LOOP = """<body name="a" pos="0 0 1"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
<body name="d" pos=".3 0 0"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 -.3" size=".02" contype="0"/></body></body>
<body name="c" pos=".8 0 1"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 -.2 0 -.3" size=".02" contype="0"/></body>"""
MOTORS = '<position name="p" joint="j1" kp="20" kv="1" forcerange="-2 2"/><motor name="m" joint="j2"/>'


def _free(name: str, geom: str, height: float) -> str:
    return (
        f'<body name="{name}" pos="0 0 {height}"><freejoint/><geom {geom} friction="0.5 0.01 0.002"/></body>'
    )


def _scene(bodies: str, more: str = "") -> str:
    return f"<mujoco><worldbody>{PLANE}{bodies}</worldbody>{more}</mujoco>"


SPHERE, BOX = 'type="sphere" size=".1"', 'type="box" size=".1 .15 .1"'
CAPSULE, CYLINDER = 'type="capsule" size=".08 .12"', 'type="cylinder" size=".1 .12"'
SCENES: tuple[str, ...] = (
    _scene(_free("b", SPHERE, 0.1)), _scene(_free("b", SPHERE + ' condim="6"', 0.1)),
    _scene(_free("b", BOX, 0.12)), _scene(_free("b", CAPSULE, 0.1)), _scene(_free("b", CYLINDER, 0.12)),
    _scene(_free("b", SPHERE, 0.1) + _free("c", SPHERE, 0.3) + _free("d", CAPSULE, 0.5)),
    _scene(_free("b", BOX, 0.1) + _free("c", BOX, 0.3) + _free("d", SPHERE + ' condim="4"', 0.5)),
    _scene(ARM, f"<actuator>{MOTORS}</actuator>"),
    _scene(LOOP, '<equality><connect body1="c" body2="d" anchor="-.2 0 -.3"/></equality>'),
    library.rover(step_at=0.5),
)  # fmt: skip
LEVELS, RESTITUTIONS = ("position", "velocity"), (0.0, 0.5)


@cache
def _simulation(scene: int, coordinates: str, level: str, restitution: float) -> Simulation:
    return Simulation(SCENES[scene], step=0.01, coordinates=coordinates, level=level, restitution=restitution)


def _random_step(seed: int) -> tuple[Simulation, np.random.Generator]:
    """A scene in a random state after a few steps."""
    random = np.random.default_rng(seed)
    coordinates = ("reduced", "maximal")[random.integers(2)]
    sim = _simulation(
        seed % len(SCENES), coordinates, LEVELS[random.integers(2)], RESTITUTIONS[random.integers(2)]
    )
    sim.reset()
    speed = 10.0 ** random.uniform(-3, 1)
    if len(sim.stepper.motor_names):
        sim.set_control(3.0 * random.standard_normal(len(sim.stepper.motor_names)))
    sim.qvel = speed * random.standard_normal(sim.qvel.size)
    for _ in range(int(random.integers(1, 6))):
        sim.step()
    return sim, random


# How a step that has no derivative says so.
_SAID = {"missed": "misses its tolerance", "not solved": "not solved"}


def try_state(seed: int) -> str:
    """Differentiate one random step; what came of it in a word.

    Returns:
        "fine", "missed", "not solved" or "two stages" (steps without a derivative that say so), "no number",
        or the name of an exception that nobody expects.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim, random = _random_step(seed)
            names = ("friction", "gravity", f"mass:{sim.model.body_names[0]}")
            found = sim.derivatives(names, last=bool(random.integers(2)))
            whole = np.hstack([found.A, found.B, *found.parameters.values()])
            back = found.vjp(random.standard_normal(whole.shape[0]))
    except DerivativeError as error:
        return next((word for word in ("missed", "not solved") if _SAID[word] in str(error)), "two stages")
    except Exception as error:  # noqa: BLE001 - any other exception is what is searched for
        return f"{type(error).__name__}: {error}"
    finite = np.isfinite(whole).all() and all(np.isfinite(x).all() for x in (back[0], back[1]))
    return "fine" if finite else "no number"


# Steps of differences with what round-off leaves of them, the shortest for states near a switch.
_WIDTHS = (1e-6, 1e-5, 1e-7, 1e-8, 1e-9)
_NOISE = 1e-11
# Steps that are compared are solved to this: derivatives follow how a step curves as far as it knows itself.
_TOLERANCE = 1e-11


def compare_state(seed: int) -> str:
    """The derivative of one random step by its state against central differences, in a word.

    Returns:
        "agrees" to 1e-6 of its largest entry; "has none"; "at a switch", "not unique" or "held" where it says
        that it is one-sided, of one of several answers or approximate; "near a switch" where only the
        shortest differences agree; or by how much it differs.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim, _ = _random_step(seed)
        usual = sim.stepper.settings.tolerance
        sim.stepper.set_tolerance(_TOLERANCE)
        try:
            return _compare(sim)
        finally:
            sim.stepper.set_tolerance(usual)


def _compare(sim: Simulation) -> str:
    try:
        found = sim.derivatives()
    except DerivativeError:
        return "has none"
    if found.degenerate.any():
        return "at a switch"
    if not (found.velocity_unique and found.consistent):
        return "not unique"
    if found.frozen:
        return "held"
    size, least = float(np.abs(found.A).max()), np.inf
    for width in _WIDTHS:
        off = (float(np.abs(found.A - differences(sim, "A", width)).max()) - _NOISE / width) / size
        if off <= 1e-6:
            return "agrees" if width >= 1e-7 else "near a switch"
        least = min(least, off)
    return f"differs by {least:.0e}"


def search(first: int, count: int) -> Counter[str]:
    """How many of the seeds from `first` on came out how."""
    return Counter(try_state(seed) for seed in range(first, first + count))


def main() -> None:
    """Print what came out, by scene, and every seed that nobody expects."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--compare", action="store_true", help="with central differences, at 0.02 s each")
    options = parser.parse_args()
    judge = compare_state if options.compare else try_state
    found: Counter[tuple[int, str]] = Counter()
    for seed in range(options.first, options.first + options.count):
        word = judge(seed)
        found[seed % len(SCENES), word] += 1
        if word not in EXPECTED:
            print(f"seed {seed}: {word}", flush=True)
        if (seed + 1 - options.first) % 1000 == 0:
            print(seed + 1, dict(sorted(found.items())), flush=True)
    print(dict(sorted(found.items())))


if __name__ == "__main__":
    main()
