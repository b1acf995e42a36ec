"""What `make demo` shows: contact problems with known answers, solved, and what each answer is worth."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table

import perp
from perp.compilation.stopwatch import STOPWATCH
from perp.stepping import ahead

GRAVITY = 9.81  # [m/s²]
STEP = 0.01  # [s]
MASS = 2.0  # of a box [kg]
HALF_SIZE = np.array([0.10, 0.08, 0.05])  # of a box [m]: flat enough to slide before it tips
FRICTION = 0.5
SPEED = 6.0  # of a sliding box [m/s]
AHEAD = "--compile-ahead"
CORNERS = HALF_SIZE[:2] * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])


SCENE = f"""
<mujoco>
  <worldbody>
    <geom type="plane" size="10 10 1" friction="{FRICTION}"/>
    <body name="box" pos="0 0 {HALF_SIZE[2]}">
      <freejoint/>
      <geom type="box" mass="{MASS}" friction="{FRICTION}"
            size="{HALF_SIZE[0]} {HALF_SIZE[1]} {HALF_SIZE[2]}"/>
    </body>
  </worldbody>
</mujoco>
"""


@dataclass(frozen=True)
class Row:
    """One line of a table: an answer beside the truth (None where there is none)."""

    name: str
    known: float | None
    found: float
    error: float
    solution: perp.Solution


def stack(
    count: int, slope: float = 0.0, speed: float = 0.0, *, relaxed: bool = False
) -> perp.ContactProblem:
    """One time step of `count` boxes on top of each other, each on the four lower corners.

    Twelve rows for a box that has six ways to move: the impulses are not unique, the motion is.

    Args:
        count: Number of boxes.
        slope: Angle of the ground [degrees]; x points downhill, z away from the ground.
        speed: Of all boxes along x, before the step [m/s].
        relaxed: Pose the convex relaxation in place of Coulomb's law.
    """
    inertia = MASS / 3 * (np.sum(HALF_SIZE**2) - HALF_SIZE**2)
    mass = np.tile(np.diag([MASS, MASS, MASS, *inertia]), (count, 1, 1))
    angle = np.radians(slope)
    impulse_of_gravity = STEP * MASS * GRAVITY * np.array([np.sin(angle), 0.0, -np.cos(angle), 0.0, 0.0, 0.0])
    momentum = np.tile(impulse_of_gravity, count)
    momentum[::6] += MASS * speed
    jacobian = []
    for upper in range(count):
        for corner in CORNERS:
            for axis in np.eye(3)[[2, 0, 1]]:  # normal first, then the tangents
                row = np.zeros((count, 6))
                row[upper] = [*axis, *np.cross([*corner, -HALF_SIZE[2]], axis)]
                if upper > 0:
                    row[upper - 1] = [*-axis, *-np.cross([*corner, HALF_SIZE[2]], axis)]
                jacobian.append(row.ravel())
    sets = perp.Sets.coulomb(np.full(4 * count, FRICTION))
    return perp.ContactProblem.from_dynamics(mass, np.array(jacobian), momentum, sets=sets, relaxed=relaxed)


def slope_rows() -> list[Row]:
    """A box let go on a slope: its speed after one step is h·g·max(0, sin θ − μ cos θ)."""
    rows = []
    for degrees in (10, 20, 26, 27, 35, 45):
        angle = np.radians(degrees)
        known = STEP * GRAVITY * max(0.0, np.sin(angle) - FRICTION * np.cos(angle))
        solution = perp.solve(stack(1, slope=degrees), tol=1e-10)
        found = float(solution.w[1::3].mean())
        name = f"{degrees}°, {'sticks' if known == 0.0 else 'slides'}"
        rows.append(Row(name, known, found, abs(found - known), solution))
    return rows


def stack_rows() -> list[Row]:
    """Five boxes on top of each other: every level carries the weight of what is above it."""
    count = 5
    solution = perp.solve(stack(count), tol=1e-10)
    forces = solution.z.reshape(count, 4, 3)[:, :, 0].sum(axis=1) / STEP
    known = MASS * GRAVITY * np.arange(count, 0, -1)
    names = ["on the ground", *(f"on box {k}" for k in range(1, count))]
    return [
        Row(*row, abs(row[2] - row[1]), solution)
        for row in zip(names, known, map(float, forces), strict=True)
    ]


def lift_off_rows() -> list[Row]:
    """A box that slides stays on the floor; the convex relaxation throws it into the air."""
    rows = []
    for name, relaxed in (("exact Coulomb", False), ("convex relaxation", True)):
        solution = perp.solve(stack(1, speed=SPEED, relaxed=relaxed), tol=1e-10)
        found = float(solution.w[::3].mean())
        rows.append(Row(name, 0.0, found, abs(found), solution))
    return rows


@dataclass(frozen=True)
class Slide:
    """One run of `perp.Simulation`: where the box stopped, where it had to, and how far it rose [m]."""

    step: float
    known: float
    found: float
    lift: float
    residual: float


def slides() -> list[Slide]:
    """The sliding box in time: it stops at v²/(2μg), less what steps of length h cost, and never rises."""
    runs = []
    for step in (0.01, 0.002):
        sim = perp.Simulation(SCENE, step=step)
        sim.body("box").set_velocity((SPEED, 0.0, 0.0))
        recording = sim.run(1.5)
        speeds = SPEED - np.arange(1, len(recording.time)) * step * FRICTION * GRAVITY
        known = float(step * speeds[speeds > 0].sum())
        lift = float(np.abs(recording.position("box")[:, 2] - HALF_SIZE[2]).max())
        residual = max(float(recording.of(f"{part}_residual").max()) for part in ("contact", "friction"))
        runs.append(Slide(step, known, float(sim.body("box").position[0]), lift, residual))
    return runs


def slide_table(runs: list[Slide]) -> Table:
    """The runs as a table: distance beside its formula, and the rise that should not be."""
    ideal = SPEED**2 / (2 * FRICTION * GRAVITY)
    title = f"\nThe same box in time. Where does it stop? v²/(2μg) = {ideal:.5f} m"
    result = Table(title=title, title_justify="left", title_style="bold", header_style="dim", box=None,
                   padding=(0, 2, 0, 0))  # fmt: skip
    result.add_column("", min_width=18)
    for heading in ("formula in steps [m]", "found", "error", "lift [m]", "residual"):
        result.add_column(escape(heading), justify="right")
    for run in runs:
        error = abs(run.found - run.known)
        result.add_row(
            f"steps of {1e3 * run.step:g} ms",
            f"{run.known:.5f}",
            f"{run.found:.5f}",
            f"[{'green' if error < 1e-6 else 'bold red'}]{error:.0e}[/]",
            f"[{'green' if run.lift < 1e-6 else 'bold red'}]{run.lift:.0e}[/]",
            f"{run.residual:.0e}",
        )
    return result


def lcp_rows() -> list[Row]:
    """LCPs with known answers, and one without any."""
    murty = np.eye(8) + 2 * np.tril(np.ones((8, 8)), -1)
    string = 2 * np.eye(9) - np.eye(9, k=1) - np.eye(9, k=-1)
    load = np.full(9, 1 / 8)
    load[[0, -1]] -= 1.0  # both ends are held at height 1
    cases = (
        ("Murty's worst case", perp.LCP(murty, -np.ones(8)), np.eye(8)[0]),
        ("string on a floor", perp.LCP(string, load), np.array([9, 4, 1, 0, 0, 0, 1, 4, 9]) / 16),
        ("no solution exists", perp.LCP([[-1.0]], [-1.0]), None),
    )
    rows = []
    for name, problem, answer in cases:
        solution = perp.solve(problem, throw=False)
        error = np.inf if answer is None else float(np.abs(solution.z - answer).max())
        known = None if answer is None else float(answer.sum())
        rows.append(Row(name, known, float(solution.z.sum()), error, solution))
    return rows


def table(title: str, quantity: str, rows: list[Row]) -> Table:
    """The rows as a table of 80 columns: truth, answer, error, and the residual that decided the status."""
    result = Table(title=f"\n{title}", title_justify="left", title_style="bold", header_style="dim", box=None,
                   padding=(0, 2, 0, 0))  # fmt: skip
    result.add_column("", min_width=18)
    for heading in (quantity, "found", "error", "residual", "iterations"):
        result.add_column(escape(heading), justify="right")
    result.add_column("status")
    for row in rows:
        solved = row.solution.status is perp.Status.SOLVED
        result.add_row(
            row.name,
            "none" if row.known is None else f"{row.known:.5f}",
            "" if row.known is None else f"{row.found:z.5f}",
            "" if row.known is None else f"[{'green' if row.error < 1e-6 else 'bold red'}]{row.error:.0e}[/]",
            f"{row.solution.residual:.0e}",
            str(row.solution.iterations),
            f"[{'bold green' if solved else 'bold yellow'}]{row.solution.status.name}[/]",
        )
    return result


class Waiting:
    """The line below the tables: what is being worked on, and what is compiled for it, once on a machine."""

    def __init__(self, parts: int) -> None:
        self.parts, self.part, self.words = parts, 0, ""

    def next(self, words: str) -> None:
        """Go on with the next part."""
        self.part, self.words = self.part + 1, words

    def __rich__(self) -> Spinner:
        text = f"{self.part} of {self.parts}: {self.words}"
        if STOPWATCH.names:
            text += f"; compiled so far, once: {len(STOPWATCH.names)} functions, last {STOPWATCH.names[-1]}"
        return Spinner("dots", escape(text))


def main() -> None:
    """Solve everything and print each table as soon as its answers are there."""
    console = Console(highlight=False)
    limit = np.degrees(np.arctan(FRICTION))
    waiting = Waiting(5)
    STOPWATCH.spoken = True  # the line below says it
    helper = ahead.start(__file__, AHEAD)
    console.print(f"\n[bold cyan]perp {perp.__version__}[/]  hard frictional contact, answers you can check")
    with Live(waiting, console=console, transient=True, refresh_per_second=4):
        began = time.perf_counter()
        waiting.next("a box on a slope")
        slope = slope_rows()
        title = f"A box let go on a slope. Friction holds it up to {limit:.2f}°"
        console.print(table(title, "known [m/s]", slope))
        waiting.next("five boxes on top of each other")
        tower = stack_rows()
        console.print(
            table("Five boxes on top of each other. What does each level carry?", "known [N]", tower)
        )
        waiting.next("a sliding box")
        lift_off = lift_off_rows()
        console.print(table("A box sliding at 6 m/s. How fast does it lift off?", "known [m/s]", lift_off))
        console.print("[italic]The relaxation is another problem: perp offers it under its own name only.[/]")
        waiting.next("the same box in time")
        in_time = slides()
        console.print(slide_table(in_time))
        waiting.next("linear complementarity problems")
        if helper is not None:
            helper.wait()
        lcps = lcp_rows()
        console.print(table("Linear complementarity problems", "known Σz", lcps))
        console.print(lcps[-1].solution.status.value, style="italic", markup=False)
        elapsed = time.perf_counter() - began
    console.print()
    solutions = [row.solution for row in (*slope, *tower, *lift_off, *lcps)]
    count, names = len({id(solution) for solution in solutions}), sorted({s.solver for s in solutions})
    words = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    console.print(f"[bold]{count} problems and {len(in_time)} runs in {elapsed:.2f} s[/], by {words}.")
    console.print("Every residual was computed by shared code, none by the solver that it judges.")


def compile_ahead() -> None:
    """What the last tables need, in a second process of the first run on a machine."""
    ahead.main()
    lcp_rows()


if __name__ == "__main__":
    compile_ahead() if AHEAD in sys.argv else main()
