"""docs/formulations-in-motion.md and its picture: the same scenes under every formulation.

    python docs/scripts/formulations_in_motion.py

A box is pushed at an angle to the tangents, a stack stands, a quadruped lands and stands. Measured are what
formulations differ in: creep of contacts that should stick, lift of a body that should slide, direction of
friction, and the time of a step.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import perp
from perp.scenes import library
from perp.stepping import StepInaccurate

DOCS = Path(__file__).parents[1]
PAGE, FIGURE = DOCS / "formulations-in-motion.md", DOCS / "figures" / "formulations-in-motion.png"
MARKS = "<!-- table -->", "<!-- end of table -->"
STEP, MU, START = 0.005, 0.5, (1.0, 0.5, 0.0)


@dataclass(frozen=True)
class Way:
    """A solver with a formulation, at a level; `steps` fewer than 60 where a step takes long."""

    solver: str | None
    formulation: str | None = None
    level: str = "position"
    steps: int = 60
    tolerance: float = 1e-9

    @property
    def name(self) -> str:
        """For the table."""
        parts = [self.solver or "the stepper's own", self.formulation or "Coulomb"]
        return " · ".join(parts) + (" · velocity level" if self.level == "velocity" else "")


WAYS = (
    Way(None),
    Way(None, level="velocity"),
    Way("newton"),
    Way("newton-fb"),
    Way("fischer-burmeister"),
    Way("fischer-burmeister", level="velocity"),
    Way("block-gauss-seidel"),
    Way("interior-point"),
    Way("gams-path", "equations-of-motion", steps=12, tolerance=1e-6),
    Way("gams-miles", "equations-of-motion", level="velocity", steps=4, tolerance=1e-6),
    Way("dantzig", "box"),
    Way("pgs", "box"),
    Way("lemke", "box+split"),
    Way("principal", "box+shifted"),
    Way("lemke", "stewart-trinkle"),
    Way("lemke", "anitescu-potra", level="velocity"),
    Way("clarabel", "dual", tolerance=1e-6),
    Way("scs", "dual", tolerance=1e-6),
    Way("cone-interior", "dual", tolerance=1e-6),
)
COLUMNS = (
    "solver · formulation",
    "lift of the pushed box [mm]",
    "friction off the motion [°]",
    "distance from Coulomb",
    "creep, stack [µm/s]",
    "creep, quadruped [µm/s]",
    "steps that missed",
    "ms a step: box / stack / quadruped",
)
DRAWN = {None: "Coulomb", "box": "box", "stewart-trinkle": "pyramid", "dual": "dual"}


def simulation(way: Way, scene: object) -> perp.Simulation:
    """A scene driven in a way."""
    return perp.Simulation(
        scene, step=STEP, level=way.level, solver=way.solver, formulation=way.formulation,
        tolerance=way.tolerance, coordinates="reduced" if isinstance(scene, Path) else None,
    )  # fmt: skip


def timed(sim: perp.Simulation, steps: int) -> tuple[perp.Recording, float]:
    """The run and the median CPU time of a step, without the first [ms]."""
    times = []
    from perp.simulation.recordings.recorder import Recorder

    recorder = Recorder(sim)
    for _ in range(steps):
        began = process_time()
        record = sim.step()
        times.append(process_time() - began)
        recorder.add(record)
    return recorder.recording(), 1e3 * float(np.median(times[1:]))


def pushed(way: Way) -> tuple[dict[str, float], np.ndarray]:
    """The box: lift [m], angle between friction and the direction against the motion [°]; its path."""
    sim = simulation(way, library.box_on_plane(friction=MU))
    sim.body("box").set_velocity(START, [0, 0, 0])
    run, time = timed(sim, way.steps)
    x = run.position("box")
    worst = 0.0
    for k in range(len(run)):
        force = run.contact_force[run.contact_start[k] : run.contact_start[k + 1]].sum(axis=0)[:2]
        speed = run.velocity("box")[k, :2]
        size = np.linalg.norm(force) * np.linalg.norm(speed)
        # a box in the air has forces of the size of a solver's tolerance
        if np.linalg.norm(speed) > 0.05 and np.linalg.norm(force) > 0.01:
            # the plane is the first body or the second: friction acts along a line
            worst = max(worst, float(np.degrees(np.arccos(np.clip(abs(force @ speed) / size, 0, 1)))))
    found = {"lift": float(x[:, 2].max() - 0.05), "angle": worst, "time": time}
    return found | {"distance": float(run.coulomb_distance.max()), "missed": int((~run.met).sum())}, x


def standing(way: Way, scene: object, body: str, steps: int) -> dict[str, float]:
    """A scene that should stand: creep of its contacts [m/s] and how far a body sank or rose [m]."""
    sim = simulation(way, scene)
    run, time = timed(sim, min(steps, way.steps))
    late = run.contact_start[len(run) // 2]
    creep = run.creep()[late:]
    z = run.position(body)[len(run) // 2 :, 2]
    return {"creep": float(creep.max(initial=0.0)), "moved": float(np.ptp(z)), "time": time,
            "missed": int((~run.met).sum())}  # fmt: skip


def main() -> None:
    """Run all, write table and picture."""
    warnings.simplefilter("ignore", StepInaccurate)
    rows, paths = [], {}
    quadruped = DOCS.parent / "examples" / "scenes" / "quadruped.xml"
    for way in WAYS:
        try:
            box, path = pushed(way)
            pile = standing(way, library.stack(5), "box0", way.steps)
            robot = standing(way, quadruped, "trunk", 4 * way.steps)
        except perp.PerpError as error:
            sys.stdout.write(f"{way.name}: {error}\n")
            continue
        paths[way.name] = (way, path)
        missed = int(box["missed"] + pile["missed"] + robot["missed"])
        rows.append(
            f"| {way.name} | {1e3 * box['lift']:.2g} | {box['angle']:.1f} | {box['distance']:.1e} | "
            f"{1e6 * pile['creep']:.2g} | {1e6 * robot['creep']:.2g} | {missed} | "
            f"{box['time']:.2g} / {pile['time']:.2g} / {robot['time']:.2g} |"
        )
        sys.stdout.write(rows[-1] + "\n")
        sys.stdout.flush()
    table = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|", *rows]
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(MARKS[0])
    PAGE.write_text(
        head + "\n".join([MARKS[0], *table, MARKS[1]]) + rest.split(MARKS[1])[1], encoding="utf-8"
    )
    draw(paths)


def draw(paths: dict[str, tuple[Way, np.ndarray]]) -> None:
    """Paths from above, and heights over the path."""
    figure, (above, side) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    seen = set()
    for way, x in paths.values():
        label = DRAWN.get(way.formulation)
        if label is None or label in seen or way.level == "velocity":
            continue
        seen.add(label)
        style = {"linestyle": "--" if label == "dual" else "-", "linewidth": 3 if label == "Coulomb" else 1.5}
        above.plot(1e3 * x[:, 0], 1e3 * x[:, 1], label=label, **style)
        side.plot(1e3 * STEP * np.arange(1, len(x) + 1), 1e3 * (x[:, 2] - 0.05), label=label, **style)
    above.set(xlabel="x [mm]", ylabel="y [mm]", title="the pushed box from above")
    side.set(xlabel="time [ms]", ylabel="height above the plane [mm]", title="its lift")
    above.legend()
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main()
