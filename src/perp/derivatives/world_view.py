"""The arrays of a world after a step, for derivatives: views, to be read before the next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.compilation.kernel import kernel

_SCENE = (
    "cut", "last_dof", "dof_parent", "dof_reference", "triple", "mass", "inertia", "gravity", "size", "links",
    "geometry", "law", "parameters", "geom_axis", "identity_base",
)  # fmt: skip
_PLACE = (
    "x", "R", "quat", "cdof", "reference", "xipos", "ximat", "M", "tendon_length", "tendon_J", "motor_length",
    "moment", "moment_begin", "moment_count", "moment_column", "geom_xmat", "spring",
    "geom_xpos", "xpos", "xmat", "subtree_com",
)  # fmt: skip
_CONTACTS = (
    "geom", "body", "dim", "point", "frame", "gap", "friction", "restitution", "round", "accuracy",
)  # fmt: skip
_WORLD = (
    "q", "v", "act", "control", "wrench", "q_end", "v_end", "act_end", "extra", "force", "delta", "group",
    "index", "row_law", "value", "linear", "drive", "row_stiffness", "gain", "table_value", "table_row",
    "rotor_rate", "acts", "local", "carried", "approach", "bounce", "left_out", "gap0", "turned", "count",
    "info", "lively", "course", "sag", "row_correction", "row_compliance",
)  # fmt: skip
_NUMBERS = (
    "h", "contact_correction", "recovery", "joints_at_end", "contacts_at_end", "stiff", "speed", "parts",
)  # fmt: skip


@kernel(error_model="numpy")
def _scene(w):
    s = w.scene
    return (
        s.cut, s.last_dof, s.dof_parent, s.dof_reference, s.triple, s.mass, s.inertia, s.gravity, s.size,
        s.links, s.geometry, s.law, s.parameters, s.geom_axis, s.identity_base,
    )  # fmt: skip


@kernel(error_model="numpy")
def _arrays(p):
    return (
        p.x, p.R, p.quat, p.cdof, p.reference, p.xipos, p.ximat, p.M, p.tendon_length, p.tendon_J,
        p.motor_length, p.moment, p.moment_begin, p.moment_count, p.moment_column, p.geom_xmat, p.spring,
        p.geom_xpos, p.xpos, p.xmat, p.subtree_com,
    )  # fmt: skip


@kernel(error_model="numpy")
def _places(w):
    return _arrays(w.start), _arrays(w.end)


@kernel(error_model="numpy")
def _contacts(w):
    p = w.start
    return (
        p.geom, p.body, p.dim, p.point, p.frame, p.gap, p.friction, p.restitution, p.round, p.accuracy,
    )  # fmt: skip


@kernel(error_model="numpy")
def _world(w):
    return (
        w.q, w.v, w.act, w.control, w.wrench, w.q_end, w.v_end, w.act_end, w.extra, w.force, w.delta, w.group,
        w.index, w.law, w.value, w.linear, w.drive, w.stiffness, w.gain, w.table_value, w.table_row,
        w.rotor_rate, w.acts, w.local, w.carried, w.approach, w.bounce, w.left_out, w.gap0, w.turned, w.count,
        w.info, w.lively, w.course, w.sag, w.row_correction, w.row_compliance,
    )  # fmt: skip


@kernel(error_model="numpy")
def _numbers(w):
    return (
        w.h, float(w.corrected) * w.contact_correction, w.recovery, float(w.joints_at_end),
        float(w.contacts_at_end), float(w.stiff), w.speed, float(w.parts),
    )  # fmt: skip


@dataclass
class Group:
    """Arrays by name."""

    values: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass
class WorldView:
    """A world after a step.

    Attributes:
        scene, start, end, contacts, world: Arrays as `stepping.world` and `dynamics.place` name them.
        problem: The tree problem that was solved last.
        numbers: Options.
    """

    scene: Group
    start: Group
    end: Group
    contacts: Group
    world: Group
    problem: Any
    numbers: dict[str, float]

    @classmethod
    def of(cls, world: Any) -> WorldView:
        """The arrays of a `World`."""
        core = world.struct

        def group(names: tuple[str, ...], values: Any) -> Group:
            return Group(dict(zip(names, values, strict=True)))

        start, end = _places(core)
        return cls(
            group(_SCENE, _scene(core)), group(_PLACE, start), group(_PLACE, end),
            group(_CONTACTS, _contacts(core)), group(_WORLD, _world(core)), world.problem,
            dict(zip(_NUMBERS, _numbers(core), strict=True)),
        )  # fmt: skip

    def correction(self, k: int) -> float:
        """Υ of joint row k, 1 at position level."""
        if self.numbers["joints_at_end"]:
            return 1.0
        w = self.world
        return float(w.row_correction[int(self.scene.identity_base[int(w.group[k])]) + int(w.index[k])])

    def is_soft(self, k: int) -> bool:
        """Whether joint row k gives way: what it has given is then no error that is undone."""
        w = self.world
        return bool(w.row_compliance[int(self.scene.identity_base[int(w.group[k])]) + int(w.index[k])] > 0.0)

    @property
    def freedoms(self) -> int:
        """How many velocities there are."""
        return int(np.size(self.world.v))
