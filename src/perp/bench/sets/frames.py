"""The contact problems of a simulation, step by step: what a simulator asks of a solver.

A scene is run in this process with a solver that keeps each problem and its warm start before `auto` solves
it. The cold set starts every solver from zero; the warm set from the impulses that the step before left
behind.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import perp
from perp.bench.sets.base import NamedProblem
from perp.problems import ContactProblem
from perp.scenes import library
from perp.solvers import registry
from perp.solvers.attempt import Attempt, Control

RECORDER = "bench-recorder"
STEP = 0.01
SCENES: dict[str, Any] = {
    "stack": lambda: library.stack(6),
    "heavy-on-light": lambda: library.stack(4, ratio=10.0),
    "wall": lambda: library.wall(3, 4),
    "card-house": library.card_house,
}


@dataclass
class FrameSet:
    """Contact problems of scenes, at velocity level with a step of 10 ms."""

    path: Path | None = None  # a scene in place of the built-in ones
    warm: bool = False  # whether solvers start from the impulses of the step before
    steps: int = 24  # steps of each scene
    every: int = 3  # which of them are kept
    scenes: dict[str, Any] = field(default_factory=lambda: dict(SCENES))

    @property
    def name(self) -> str:
        """Cold and warm results are filed apart."""
        return "frames-warm" if self.warm else "frames"

    def problems(self) -> Iterator[NamedProblem]:
        """Frames with contacts, in the order of time; a cold first frame is not part of the warm set."""
        scenes = self.scenes if self.path is None else {self.path.stem: lambda: self.path}
        for scene, make in scenes.items():
            for number, (problem, start) in enumerate(record(make(), self.steps)):
                if number % self.every == 0 and not (self.warm and start is None):
                    yield NamedProblem(f"{scene}-{number:03d}", problem, start if self.warm else None)


def record(scene: Any, steps: int) -> list[tuple[ContactProblem, Any]]:
    """The contact problems of the first steps of a scene, each with its warm start or None."""
    frames: list[tuple[ContactProblem, Any]] = []
    auto = registry.find("auto")

    def keep(problem: ContactProblem, control: Control, options: object) -> Attempt:
        if not frames or frames[-1][0] is not problem:
            start = None if control.start is None or not control.start.any() else control.start.copy()
            frames.append((problem, start))
        return auto.run(problem, control, auto.options())

    registry.register(RECORDER, takes=ContactProblem, summary="keeps what it is given")(keep)
    try:
        simulation = perp.Simulation(scene, step=STEP, level="velocity", solver=RECORDER)
        simulation.run(steps * STEP)
    finally:
        registry.unregister(RECORDER)
    return frames
