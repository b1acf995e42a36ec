"""Cubes on a plane in Siconos with Bullet's collision detection; run by the interpreter that has Siconos.

The first line of standard input is the scene as JSON (places, friction, gravity, speed, half, step). Every
further line is a number of steps to take; the answer is a line of JSON with the CPU seconds of all steps so
far and the positions. Moreau–Jean time stepping, friction solved by Siconos's default solver and tolerance.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import siconos.kernel as kernel  # pyright: ignore[reportMissingImports]
from siconos.mechanics.collision import (  # pyright: ignore[reportMissingImports]
    RigidBodyDS,
    SiconosBox,
    SiconosContactor,
    SiconosContactorSet,
    SiconosPlane,
)
from siconos.mechanics.collision.bullet import (  # pyright: ignore[reportMissingImports]
    SiconosBulletCollisionManager,
    SiconosBulletOptions,
)

LONGEST = 1e4  # [s]
MARGIN = 0.1  # of the half side, inside the boxes: Bullet's own is made for metres


def main() -> None:
    """Serve one scene."""
    scene = json.loads(sys.stdin.readline())
    half = scene["half"]
    system = kernel.NonSmoothDynamicalSystem(0.0, LONGEST)
    bodies = []
    for i, place in enumerate(scene["places"]):
        speed = scene["speed"] if i == 0 else 0.0
        inertia = np.eye(3) * (2 * half) ** 2 / 6
        body = RigidBodyDS([*place, 1, 0, 0, 0], [speed, 0, 0, 0, 0, 0], 1.0, inertia)
        box = SiconosBox(2 * half, 2 * half, 2 * half)
        box.setInsideMargin(MARGIN * half)
        box.setOutsideMargin(0.0)
        body.contactors().append(SiconosContactor(box))
        body.setFExtPtr(np.array(scene["gravity"]))
        system.insertDynamicalSystem(body)
        bodies.append(body)
    plane = SiconosPlane()
    plane.setInsideMargin(0.0)
    plane.setOutsideMargin(0.0)
    ground = SiconosContactorSet()
    ground.append(SiconosContactor(plane))
    options = SiconosBulletOptions()
    options.worldScale = 1.0
    options.contactBreakingThreshold = 0.2 * half
    manager = SiconosBulletCollisionManager(options)
    manager.insertStaticContactorSet(ground, [0, 0, 0, 1, 0, 0, 0])
    law = kernel.NewtonImpactFrictionNSL(0.0, 0.0, scene["friction"], 3)
    manager.insertNonSmoothLaw(law, 0, 0)
    integrator, problem = kernel.MoreauJeanOSI(0.5), kernel.FrictionContact(3)
    problem.setMaxSize(30000)
    problem.setMStorageType(1)
    problem.setNumericsVerboseMode(False)
    problem.setKeepLambdaAndYState(True)
    simulation = kernel.TimeStepping(system, kernel.TimeDiscretisation(0.0, scene["step"]))
    simulation.insertInteractionManager(manager)
    simulation.insertIntegrator(integrator)
    simulation.insertNonSmoothProblem(problem)
    spent = 0.0
    for line in sys.stdin:
        began = time.process_time()
        for _ in range(int(line)):
            simulation.computeOneStep()
            simulation.nextStep()
        spent += time.process_time() - began
        positions = [[float(x) for x in body.q()[:3]] for body in bodies]
        print(json.dumps({"cpu": spent, "positions": positions}), flush=True)


if __name__ == "__main__":
    main()
