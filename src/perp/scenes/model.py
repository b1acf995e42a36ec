"""The immutable description of a scene: bodies, joints, motors and shapes.

Every movable body has its frame at the centre of mass, along the principal axes of its inertia: that is the
frame of the state. The frame that the scene file gave to the body is kept as an offset from it.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from perp.problems import PerpError
from perp.scenes.joints import Joint
from perp.scenes.motors import Motor

# What stands in for the body index of everything that does not move.
WORLD = -1


class SceneError(PerpError, ValueError):
    """A scene that cannot be simulated; the message names the element and the reason."""


@dataclass(frozen=True, repr=False)
class ImportReport:
    """What a scene file asked for and perp does not do.

    Attributes:
        ignored: Pairs of element and reason.
        of_file: Those of them that only the file tells, not the compiled scene.
    """

    ignored: tuple[tuple[str, str], ...] = ()
    of_file: tuple[tuple[str, str], ...] = ()

    def lines(self, *, brief: bool = False) -> list[str]:
        """A line for each reason, with all that it applies to; briefly without the names of elements."""
        of_reason: dict[str, dict[str, None]] = {}
        for element, reason in self.ignored:
            of_reason.setdefault(reason, {})[element.split(" of ")[0] if brief else element] = None
        return [f"{'; '.join(elements)}: {reason}" for reason, elements in of_reason.items()]

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "nothing was ignored"

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Model:
    """Bodies and what connects them. Arrays are over movable bodies unless said.

    Attributes:
        body_names: Names, one per body.
        mass: Shape (bodies,) [kg].
        inertia: Principal moments, shape (bodies, 3) [kg m²].
        position: Centres of mass at the start, shape (bodies, 3) [m].
        quaternion: Principal frames at the start, (w, x, y, z), shape (bodies, 4).
        velocity: Linear and angular velocity at the start in the world frame, shape (bodies, 6).
        origin: The file's body origin in the principal frame, shape (bodies, 3) [m].
        frame: The file's body frame relative to the principal frame, shape (bodies, 4).
        gravity: Shape (3,) [m/s²].
        joints, motors: Between these bodies; further joints may be attached behind those of the file.
        geom_names: One per shape.
        geom_body: Body of each shape or WORLD, shape (geoms,).
        geom_restitution: Coefficient of restitution of each shape, shape (geoms,).
        friction_axis: Direction of the first friction coefficient in the shape's frame, shape (geoms, 3);
            zero where friction has no preferred direction.
        shapes: The compiled MuJoCo model that holds the shapes and finds contacts.
        report: What of the file was ignored.
        joints_of_file: How many of the joints the file has.
    """

    body_names: tuple[str, ...]
    mass: np.ndarray
    inertia: np.ndarray
    position: np.ndarray
    quaternion: np.ndarray
    velocity: np.ndarray
    origin: np.ndarray
    frame: np.ndarray
    gravity: np.ndarray
    joints: tuple[Joint, ...]
    motors: tuple[Motor, ...]
    geom_names: tuple[str, ...]
    geom_body: np.ndarray
    geom_restitution: np.ndarray
    friction_axis: np.ndarray
    shapes: Any
    report: ImportReport = field(default_factory=ImportReport)
    joints_of_file: int = 0

    @property
    def body_count(self) -> int:
        return len(self.body_names)

    @cached_property
    def size(self) -> float:
        """A typical length of the bodies [m]: the largest radius of gyration."""
        heavy = self.mass > 0
        if not heavy.any():
            return 1.0
        return float(np.sqrt(self.inertia[heavy].max(axis=1) / self.mass[heavy]).max())

    def body_index(self, name: str) -> int:
        """The index of a body by name; the error lists the names there are."""
        return find(name, self.body_names, "body")

    def geom_index(self, name: str) -> int:
        """The index of a shape by name."""
        return find(name, self.geom_names, "geom")


def find(name: str, names: tuple[str, ...], what: str, words: tuple[str, ...] = ()) -> int:
    """Index of `name`, or a SceneError that lists the valid names, by `words` if there are any."""
    try:
        return names.index(name)
    except ValueError:
        listed = ", ".join((words or names)[:20]) or "none"
        raise SceneError(f"there is no {what} named {name!r}; there are: {listed}") from None
