"""Every pair of solver and formulation as the driver of a simulation: box, stack and quadruped, both levels.

    python benchmarks/drivers.py [--solver NAME ...] [--steps 12] [--seconds 20] [--out FILE]

A pair that is refused before the first step is left out. Each of the others runs in a process of its own that
is ended after `--seconds` of CPU: whatever takes longer is a fault of the bounds on the work of a step.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import perp
from perp.formulations.registry import all_formulations
from perp.scenes import library

SCENES = Path(__file__).parents[1] / "examples" / "scenes"
LEVELS = ("position", "velocity")
STEP, START = 0.005, (1.0, 0.5, 0.0)
# Seconds that a first step may take where its kernels have never been compiled.
COMPILATION = 90.0
# Seconds of silence that end a process whose own children do the work.
SILENT = 120


def formulations() -> Iterator[str | None]:
    """None, every formulation of contact problems, and those of boxed LCPs and LCPs behind them."""
    known = all_formulations().values()
    yield None
    for first in known:
        if first.source is not perp.ContactProblem:
            continue
        yield first.name
        if issubclass(first.target, perp.BoxedLCP) or first.target is perp.LCP:
            yield from (
                f"{first.name}+{last.name}" for last in known if issubclass(first.target, last.source)
            )


def scene_of(name: str) -> Any:
    """What a simulation is made of."""
    return {"box": library.box_on_plane(), "stack": library.stack(5), "quadruped": SCENES / "quadruped.xml"}[
        name
    ]


def simulation(
    solver: str, formulation: str | None, level: str, scene: str, tolerance: float
) -> perp.Simulation:
    """The scene under a driver; the box is pushed."""
    sim = perp.Simulation(
        scene_of(scene), step=STEP, level=level, solver=solver, formulation=formulation, tolerance=tolerance
    )
    if scene == "box":
        sim.body("box").set_velocity(START, [0, 0, 0])
    return sim


def run(pair: tuple[str, str | None, str, str], steps: int, tolerance: float, pipe: Any) -> None:
    """One pair on one scene: how many steps met the tolerance, the worst residual, CPU a step."""
    warnings.simplefilter("ignore")
    solver, formulation, level, scene = pair
    try:
        sim = simulation(solver, formulation, level, scene, tolerance)
    except perp.PerpError as error:
        pipe.send({"refused": str(error)})
        return
    pipe.send({"began": True})
    met = 0
    residual, distance, longest, began = 0.0, 0.0, 0.0, process_time()
    for done in range(3 * steps if scene == "quadruped" else steps):
        at = process_time()
        try:
            record = sim.step()
        except perp.PerpError as error:
            pipe.send({"steps": done, "met": met, "failed": f"{type(error).__name__}: {error}"[:300]})
            return
        met += bool(record.met)
        residual, distance = max(residual, record.residual), max(distance, record.coulomb_distance)
        longest = max(longest, process_time() - at)
        pipe.send(
            {
                "steps": done + 1,
                "met": met,
                "residual": residual,
                "distance": distance,
                "longest": longest,
                "cpu": process_time() - began,
            }
        )


def tried(
    pair: tuple[str, str | None, str, str], steps: int, seconds: float, tolerance: float
) -> dict[str, Any]:
    """The outcome of a pair, from a process that may be ended."""
    near, far = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=run, args=(pair, steps, tolerance, far))
    child.start()
    far.close()
    outcome: dict[str, Any] = {}
    try:
        heard, silent = 0.0, 0
        # kernels of a first step may have to be compiled
        while (
            cpu_of(child.pid) - heard < (seconds if outcome.get("steps") else COMPILATION) and silent < SILENT
        ):
            silent += 1
            if near.poll(1.0):
                outcome, heard, silent = near.recv(), cpu_of(child.pid), 0
        outcome["hung"] = True
    except EOFError:
        if "began" in outcome or not outcome:
            outcome["crashed"] = True
    child.kill()
    child.join()
    return outcome


def cpu_of(process: int | None) -> float:
    """CPU time of a process [s]."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run all pairs and write what came out, line by line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--solver", nargs="*")
    parser.add_argument("--formulation", nargs="*")
    parser.add_argument("--scene", nargs="*", default=["box", "stack", "quadruped"])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names = options.solver or [info.name for info in perp.solvers() if info.available]
    perp.solve(perp.ContactProblem.coulomb([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]], [-1.0, 0.3, 0.1], 0.5))
    for scene in options.scene:  # everything that processes share is loaded here
        simulation("newton", None, "position", scene, 1e-9).step()
    stream = options.out.open("a", encoding="utf-8") if options.out else sys.stdout
    for solver in names:
        for formulation in options.formulation or list(formulations()):
            for scene in options.scene:
                for level in LEVELS:
                    outcome = tried(
                        (solver, formulation, level, scene), options.steps, options.seconds, options.tolerance
                    )
                    if "refused" in outcome and not options.formulation:
                        continue
                    stream.write(json.dumps([solver, formulation, scene, level, outcome]) + "\n")
                    stream.flush()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
