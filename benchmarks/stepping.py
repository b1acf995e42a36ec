"""Time and accuracy of a step against contacts: perp, MuJoCo, and Drake, DART and Siconos where they are.

    python benchmarks/stepping.py [--steps 30] [--quick]        # all tables
    python benchmarks/stepping.py cubes dominoes drum chains    # some

Boxes go to every simulator with the same friction, gravity and step, and peers keep their default contact
parameters; cubes, dominoes, drum and chains are perp's and MuJoCo's alone. Times are CPU time of one process
after a warm-up, for boxes the best of three runs. Beside the time stands what it bought: creep at half the
friction angle, lift-off of a sliding cube, motion of what should rest, overlap.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import perp
from perp.bench.peers import siconos
from perp.scenes import library
from perp.scenes.engine import engine

HALF = 0.05
# A simulator whose step takes longer [s] is spared the larger scenes.
SLOW = 0.05


@dataclass(frozen=True)
class Boxes:
    """A scene of equal cubes on a plane: what every simulator here can be given."""

    name: str
    places: tuple[tuple[float, float, float], ...]
    friction: float = 0.5
    slope: float = 0.0
    speed: float = 0.0

    @property
    def gravity(self) -> tuple[float, float, float]:
        g = library.GRAVITY
        return (g * math.sin(self.slope), 0.0, -g * math.cos(self.slope))

    @property
    def mjcf(self) -> str:
        bodies = "".join(
            library.box(f"box{i}", (HALF, HALF, HALF), place, friction=self.friction)
            for i, place in enumerate(self.places)
        )
        return library.scene(library.plane(self.friction) + bodies, gravity=self.gravity)


class Simulator(Protocol):
    """One simulator with one scene."""

    def step(self) -> None: ...

    def positions(self) -> np.ndarray: ...


class Perp:
    """perp at one level."""

    def __init__(self, scene: Boxes, h: float, **options: Any) -> None:
        self.sim = perp.Simulation(scene.mjcf, step=h, **options)
        if scene.speed:
            self.sim.body("box0").set_velocity((scene.speed, 0, 0))

    def step(self) -> None:
        self.sim.step()

    def positions(self) -> np.ndarray:
        return self.sim.state.position.copy()


class Mujoco:
    """MuJoCo with its default solver and contact parameters."""

    def __init__(self, scene: Boxes, h: float) -> None:
        self.mujoco = engine()
        self.model = self.mujoco.MjModel.from_xml_string(scene.mjcf)
        self.model.opt.timestep = h
        self.data = self.mujoco.MjData(self.model)
        self.data.qvel[0] = scene.speed

    def step(self) -> None:
        self.mujoco.mj_step(self.model, self.data)

    def positions(self) -> np.ndarray:
        return self.data.qpos.reshape(-1, 7)[:, :3].copy()


class Drake:
    """Drake's discrete plant with the given contact approximation."""

    def __init__(self, scene: Boxes, h: float, approximation: str) -> None:
        from pydrake.geometry import Box, HalfSpace
        from pydrake.math import RigidTransform
        from pydrake.multibody.plant import (
            AddMultibodyPlantSceneGraph,
            CoulombFriction,
            DiscreteContactApproximation,
        )
        from pydrake.multibody.tree import SpatialInertia
        from pydrake.systems.analysis import Simulator as DrakeSimulator
        from pydrake.systems.framework import DiagramBuilder

        builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=h)
        self.plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, approximation))
        self.plant.mutable_gravity_field().set_gravity_vector(scene.gravity)
        friction, side = CoulombFriction(scene.friction, scene.friction), 2 * HALF
        self.plant.RegisterCollisionGeometry(
            self.plant.world_body(), RigidTransform(), HalfSpace(), "ground", friction
        )
        inertia = SpatialInertia.SolidBoxWithMass(1.0, side, side, side)
        self.bodies = []
        for i in range(len(scene.places)):
            body = self.plant.AddRigidBody(f"box{i}", inertia)
            cube = Box(side, side, side)
            self.plant.RegisterCollisionGeometry(body, RigidTransform(), cube, f"box{i}", friction)
            self.bodies.append(body)
        self.plant.Finalize()
        diagram = builder.Build()
        self.simulator = DrakeSimulator(diagram)
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        for body, place in zip(self.bodies, scene.places, strict=True):
            self.plant.SetFreeBodyPose(self.context, body, RigidTransform(list(place)))
        if scene.speed:
            from pydrake.multibody.math import SpatialVelocity

            moving = SpatialVelocity(np.zeros(3), np.array([scene.speed, 0.0, 0.0]))
            self.plant.SetFreeBodySpatialVelocity(self.bodies[0], moving, self.context)
        self.h, self.time = h, 0.0

    def step(self) -> None:
        self.time += self.h
        self.simulator.AdvanceTo(self.time)

    def positions(self) -> np.ndarray:
        poses = [self.plant.EvalBodyPoseInWorld(self.context, body) for body in self.bodies]
        return np.array([pose.translation() for pose in poses])


class Dart:
    """DART with its default boxed LCP solver."""

    def __init__(self, scene: Boxes, h: float) -> None:
        import dartpy as dart

        self.world = dart.simulation.World()
        self.world.setTimeStep(h)
        self.world.setGravity(list(scene.gravity))
        side = 2 * HALF
        ground = self._cube(
            dart, "ground", (20.0, 20.0, 1.0), (0.0, 0.0, -0.5), scene.friction, movable=False
        )
        self.world.addSkeleton(ground)
        self.cubes = []
        for i, place in enumerate(scene.places):
            cube = self._cube(dart, f"box{i}", (side, side, side), place, scene.friction, movable=True)
            self.world.addSkeleton(cube)
            self.cubes.append(cube)
        if scene.speed:
            self.cubes[0].setVelocities([0, 0, 0, scene.speed, 0, 0])

    @staticmethod
    def _cube(dart: Any, name: str, sides: tuple, place: tuple, friction: float, *, movable: bool) -> Any:
        skeleton = dart.dynamics.Skeleton(name)
        make = skeleton.createFreeJointAndBodyNodePair if movable else skeleton.createWeldJointAndBodyNodePair
        joint, body = make()
        shape = dart.dynamics.BoxShape(list(sides))
        node = body.createShapeNode(shape)
        node.createCollisionAspect()
        node.createDynamicsAspect().setFrictionCoeff(friction)
        inertia = dart.dynamics.Inertia()
        inertia.setMass(1.0)
        inertia.setMoment(shape.computeInertia(1.0))
        body.setInertia(inertia)
        if movable:
            skeleton.setPositions([0, 0, 0, *place])
        else:
            pose = dart.math.Isometry3()
            pose.set_translation(list(place))
            joint.setTransformFromParentBodyNode(pose)
        return skeleton

    def step(self) -> None:
        self.world.step()

    def positions(self) -> np.ndarray:
        return np.array([cube.getPositions()[3:6] for cube in self.cubes])


class Siconos:
    """Siconos with Bullet's collision detection, in the interpreter that has it; see `siconos_boxes.py`.

    Steps are counted and taken when somebody asks for positions or for the time.
    """

    def __init__(self, scene: Boxes, h: float) -> None:
        script = Path(__file__).with_name("siconos_boxes.py")
        self.process = subprocess.Popen(
            [siconos.interpreter(), siconos.ISOLATED, str(script)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        about = {"places": scene.places, "friction": scene.friction, "gravity": scene.gravity}
        self._say(json.dumps(about | {"speed": scene.speed, "half": HALF, "step": h}))
        self.waiting = 0

    def _say(self, line: str) -> None:
        print(line, file=self.process.stdin, flush=True)

    def _now(self) -> dict[str, Any]:
        self._say(str(self.waiting))
        self.waiting = 0
        for line in self.process.stdout or ():
            if line.startswith("{"):
                return json.loads(line)
        raise RuntimeError("Siconos gave up")

    def step(self) -> None:
        self.waiting += 1

    def positions(self) -> np.ndarray:
        return np.array(self._now()["positions"])

    def clock(self) -> float:
        """CPU seconds of its steps so far."""
        return float(self._now()["cpu"])

    def __del__(self) -> None:
        self.process.kill()
        self.process.wait()


Maker = Callable[[Boxes, float], Simulator]


def simulators() -> dict[str, Maker]:
    """Those that can be imported here; a row with the message for each of the others."""
    found: dict[str, Maker] = {
        "perp position": Perp,
        "perp velocity": lambda scene, h: Perp(scene, h, level="velocity"),
        "mujoco": Mujoco,
    }
    for package, makers in (
        ("pydrake", {f"drake {n}": (lambda s, h, n=n: Drake(s, h, f"k{n}")) for n in ("Sap", "Lagged")}),
        ("dartpy", {"dart": Dart}),
    ):
        try:
            __import__(package)
            found.update(makers)
        except ImportError as error:
            print(f"{package:14s} error: {error}")
    missing = siconos.SICONOS.missing()
    if missing is None:
        found["siconos"] = Siconos
    else:
        print(f"{'siconos':14s} error: {missing}")
    return found


def time_per_step(make: Maker, scene: Boxes, h: float, steps: int) -> tuple[float, float]:
    """Best CPU time of three runs [s], and what boxes moved in the last [m]."""
    best, moved = math.inf, 0.0
    for _ in range(3):
        simulator = make(scene, h)
        start = simulator.positions()
        for _ in range(3):
            simulator.step()
        clock = getattr(simulator, "clock", time.process_time)
        began = clock()
        for _ in range(steps):
            simulator.step()
        best = min(best, (clock() - began) / steps)
        moved = float(np.abs(simulator.positions() - start).max())
    return best, moved


def wall(columns: int, layers: int) -> Boxes:
    """Stacks side by side."""
    places = tuple((3 * HALF * c, 0.0, HALF * (2 * k + 1)) for c in range(columns) for k in range(layers))
    return Boxes(f"{columns} x {layers}", places)


def pile(count: int, seed: int = 0) -> str:
    """Cubes that fall on each other, each turned at random: a scene in motion."""
    rng = np.random.default_rng(seed)
    boxes = "".join(
        library.box(
            f"box{i}",
            (HALF, HALF, HALF),
            (0.06 * rng.normal(), 0.06 * rng.normal(), 0.1 + 0.12 * i),
            turn=tuple(rng.uniform(-1, 1, 3).tolist()),
        )
        for i in range(count)
    )
    return library.scene(library.plane(0.5) + boxes)


def in_motion(name: str, scene: str, h: float, steps: int, longest: float = math.inf) -> None:
    """Time the steps of a scene in motion, in perp and as many in MuJoCo; perp's end after `longest` [s]."""
    perp.Simulation(scene, step=h).run(5 * h)
    sim = perp.Simulation(scene, step=h)
    spent: list[float] = []
    missed, overlap, most = 0, 0.0, 0
    while len(spent) < steps and sum(spent) < 1e3 * longest:
        began = time.process_time()
        record = sim.step()
        spent.append(1e3 * (time.process_time() - began))
        missed += not record.met
        overlap, most = max(overlap, record.penetration), max(most, record.contact_count)
    mujoco = engine()
    model = mujoco.MjModel.from_xml_string(scene)
    model.opt.timestep = h
    data, deepest, other = mujoco.MjData(model), 0.0, 0.0
    for _ in spent:
        began = time.process_time()
        mujoco.mj_step(model, data)
        other += 1e3 * (time.process_time() - began) / len(spent)
        deepest = max(deepest, -data.contact.dist.min(initial=0.0))
    print(
        f"{name}: perp mean {np.mean(spent):.2f}, median {np.median(spent):.2f}, worst {max(spent):.1f} ms, "
        f"missed {missed} of {len(spent)}, up to {most} contacts, overlap {overlap:.1e} m; "
        f"mujoco mean {other:.3f} ms, overlap {deepest:.1e} m",
        flush=True,
    )


def cubes() -> None:
    """Cubes that tumble into a pile."""
    print("\ntumbling cubes, h = 10 ms, 3 s: CPU time of a step")
    for count in (5, 15):
        in_motion(f"{count:3d} cubes", pile(count), 0.01, 300)


def dominoes() -> None:
    """A row of dominoes that falls and comes to lie."""
    print("\n24 falling dominoes, h = 5 ms, 2 s: CPU time of a step")
    in_motion("dominoes", library.dominoes(), 0.005, 400)


def drum(longest: float) -> None:
    """Spheres in a drum that turns."""
    print(f"\ndrum of 500 spheres, h = 5 ms, 2 s or {longest:g} s of CPU time: CPU time of a step")
    in_motion("drum", library.tumbler(), 0.005, 400, longest)


def creep(make: Maker, h: float) -> float:
    """Speed on a slope at half the friction angle over the second half of two seconds [m/s]."""
    simulator = make(Boxes("slope", ((0.0, 0.0, HALF),), slope=0.5 * math.atan(0.5)), h)
    count = round(1.0 / h)
    for _ in range(count):
        simulator.step()
    middle = simulator.positions()
    for _ in range(count):
        simulator.step()
    return float(np.linalg.norm(simulator.positions() - middle)) / (count * h)


def lift(make: Maker, h: float) -> float:
    """How far a cube rises that slides at 6 m/s [m]."""
    simulator = make(Boxes("slide", ((0.0, 0.0, HALF),), speed=6.0), h)
    highest = 0.0
    for _ in range(round(1.0 / h)):
        simulator.step()
        highest = max(highest, float(simulator.positions()[0, 2]) - HALF)
    return highest


def chains(steps: int) -> None:
    """Chains of ball joints: no contacts, all joints."""
    print("\nchains of ball joints in maximal coordinates, h = 1 ms: CPU ms a step")
    for links in (10, 100):
        sim = perp.Simulation(library.chain(links, angle=0.5), step=1e-3, coordinates="maximal")
        for _ in range(3):
            sim.step()
        began = time.process_time()
        error = max(sim.step().joint_error for _ in range(steps))
        spent = 1e3 * (time.process_time() - began) / steps
        mujoco = engine()
        model = mujoco.MjModel.from_xml_string(library.chain(links, angle=0.5))
        model.opt.timestep = 1e-3
        data = mujoco.MjData(model)
        began = time.process_time()
        for _ in range(steps):
            mujoco.mj_step(model, data)
        other = 1e3 * (time.process_time() - began) / steps
        print(f"{links:4d} links: perp {spent:.3f} (joint error {error:.0e} m), mujoco {other:.3f} (reduced)")


def boxes(steps: int, *, quick: bool) -> None:
    """Accuracy of one box, and times of boxes at rest, in all simulators."""
    h, makers = 0.01, simulators()
    print("\naccuracy at h = 10 ms (exact: 0 and 0)")
    for name, make in makers.items():
        print(f"{name:14s} creep {creep(make, h):.1e} m/s   lift {lift(make, h):.1e} m", flush=True)
    scenes = [wall(1, 1), wall(1, 5), wall(5, 5)] + ([] if quick else [wall(20, 5), wall(20, 10)])
    print("\nboxes at rest, h = 10 ms: CPU ms a step, motion over the run")
    slow: set[str] = set()
    for scene in scenes:
        for name, make in makers.items():
            if name in slow:
                continue
            spent, moved = time_per_step(make, scene, h, steps)
            if spent > SLOW:
                slow.add(name)
            line = f"{scene.name:8s} {len(scene.places):4d} boxes  {name:14s} {1e3 * spent:9.4f} ms"
            print(f"{line}   moved {moved:.1e} m", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=30, help="of boxes and chains")
    parser.add_argument("--quick", action="store_true", help="small walls of boxes only")
    parser.add_argument("--longest", type=float, default=300.0, help="CPU seconds of perp for the drum")
    tables: dict[str, Callable[[], None]] = {
        "boxes": lambda: boxes(arguments.steps, quick=arguments.quick),
        "cubes": cubes,
        "dominoes": dominoes,
        "drum": lambda: drum(arguments.longest),
        "chains": lambda: chains(arguments.steps),
    }
    parser.add_argument("tables", nargs="*", metavar="table", help=f"of {', '.join(tables)}")
    arguments = parser.parse_args()
    for name in arguments.tables or tables:
        if name not in tables:
            raise SystemExit(f"{name!r} is none of {', '.join(tables)}")
        tables[name]()


if __name__ == "__main__":
    main()
