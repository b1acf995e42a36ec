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
    """What a scene file asked for and perp does not do."""

    ignored: tuple[tuple[str, str], ...] = ()  # pairs of element and reason
    # those of them that only the file tells, not the compiled scene
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
    """Bodies and what connects them. Arrays are over movable bodies unless said."""

    body_names: tuple[str, ...]
    mass: np.ndarray  # shape (bodies,) [kg]
    inertia: np.ndarray  # principal moments, shape (bodies, 3) [kg m²]
    position: np.ndarray  # centres of mass at the start, shape (bodies, 3) [m]
    quaternion: np.ndarray  # principal frames at the start, (w, x, y, z), shape (bodies, 4)
    velocity: np.ndarray  # linear and angular velocity at the start in the world frame, shape (bodies, 6)
    origin: np.ndarray  # the file's body origin in the principal frame, shape (bodies, 3) [m]
    frame: np.ndarray  # the file's body frame relative to the principal frame, shape (bodies, 4)
    gravity: np.ndarray  # shape (3,) [m/s²]
    # between these bodies; further ones may be attached behind those of the file
    joints: tuple[Joint, ...]
    motors: tuple[Motor, ...]  # added in Python where joints are cut; those of the file are in `shapes`
    geom_names: tuple[str, ...]  # one per shape
    geom_body: np.ndarray  # body of each shape or WORLD, shape (geoms,)
    geom_restitution: np.ndarray  # coefficient of restitution of each shape, shape (geoms,)
    # direction of the first friction coefficient in the shape's frame, shape (geoms, 3); zero where friction
    # has no preferred direction
    friction_axis: np.ndarray
    shapes: Any  # the compiled MuJoCo model that holds the shapes and finds contacts
    report: ImportReport = field(default_factory=ImportReport)  # what of the file was ignored
    joints_of_file: int = 0  # how many of the joints the file has

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
