"""Other friction, masses, sizes and gains in a scene that runs, without reading or compiling it again.

Every change starts from the scene as it was loaded, so that factors do not pile up. What is derived from
masses and sizes is derived again.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from perp.problems import ProblemError
from perp.scenes import Model, SceneError, load_scene
from perp.scenes.engine import engine
from perp.scenes.model import find
from perp.simulation.arguments import number, positive


@dataclass(frozen=True)
class Changes:
    """What differs from the scene as it was loaded.

    Attributes:
        friction: Sliding coefficient by name of a shape or body; "" for all shapes.
        mass: By body [kg].
        size: Factor of all lengths of a body's shapes and of its centre of mass, by body.
        gain: Factor of the force of a motor for the same control and state, by motor.
    """

    friction: dict[str, float] = field(default_factory=dict)
    mass: dict[str, float] = field(default_factory=dict)
    size: dict[str, float] = field(default_factory=dict)
    gain: dict[str, float] = field(default_factory=dict)

    def and_also(self, friction: Any, mass: Any, size: Any, gain: Any) -> Changes:
        """These changes and others, which take precedence."""
        given = {}
        for name, value in (("friction", friction), ("mass", mass), ("size", size), ("gain", gain)):
            if value is None:
                continue
            if not isinstance(value, Mapping):
                if name != "friction":
                    raise ProblemError(f"{name} = {value!r}: a mapping from names is needed")
                given[name] = {"": _checked("friction", "friction", value)}
                continue
            own = {key: _checked(name, f"{name}[{key!r}]", x) for key, x in value.items()}
            given[name] = {**getattr(self, name), **own}
        return replace(self, **given)


def modified(model: Model, loaded: Any, changes: Changes, *, reduced: bool) -> Model:
    """A model with changes.

    Args:
        model: The model as it is, for what was added to it.
        loaded: The compiled scene as it was loaded.
        changes: From that scene.
        reduced: Of which coordinates.

    Raises:
        SceneError: There is no such body, shape or motor; or a mesh would have to change its size.
    """
    m = copy.copy(loaded)
    for name, value in changes.friction.items():
        shapes = slice(None) if not name else shapes_named(m, model, name)
        m.geom_friction[shapes, 0] = value
        if not name:
            m.pair_friction[:, :2] = value
    numbers = np.flatnonzero(m.body_weldid > 0)
    for name, factor in changes.size.items():
        _scale(m, int(numbers[model.body_index(name)]), name, factor)
    for name, value in changes.mass.items():
        b = int(numbers[model.body_index(name)])
        m.body_inertia[b] *= value / m.body_mass[b]
        m.body_mass[b] = value
    motors = tuple(m.actuator(i).name or f"actuator{i}" for i in range(m.nactuator))
    for name, factor in changes.gain.items():
        i = find(name, motors, "motor")
        m.actuator_gainprm[i, :3] *= factor
        m.actuator_biasprm[i, :3] *= factor
    if changes.mass or changes.size:
        engine().mj_setConst(m, engine().MjData(m))
    new = load_scene(m, reduced=reduced, lines=list(model.report.of_file))
    attached = model.joints[model.joints_of_file :]
    return replace(
        new, geom_restitution=model.geom_restitution, friction_axis=model.friction_axis,
        joints=(*new.joints, *attached),
    )  # fmt: skip


def shapes_named(m: Any, model: Model, name: str) -> np.ndarray:
    """Numbers of the shapes of that name, or of the body of that name."""
    if name in model.geom_names:
        return np.array([model.geom_names.index(name)])
    names = [m.body(b).name or f"body{b}" for b in range(m.nbody)]
    if name in names:
        return np.flatnonzero(m.geom_bodyid == names.index(name))
    known = ", ".join((*names[:10], *model.geom_names[:10]))
    raise SceneError(f"there is no shape or body named {name!r}; there are: {known}")


def _scale(m: Any, b: int, name: str, factor: float) -> None:
    """All lengths of a body's shapes, about the origin of its frame; its mass stays."""
    kinds = engine().mjtGeom
    fixed = (int(kinds.mjGEOM_MESH), int(kinds.mjGEOM_HFIELD), int(kinds.mjGEOM_SDF))
    shapes = np.flatnonzero(m.geom_bodyid == b)
    if np.isin(m.geom_type[shapes], fixed).any():
        raise SceneError(f"size[{name!r}]: meshes and height fields have their size from the file")
    m.geom_size[shapes] *= factor
    m.geom_pos[shapes] *= factor
    m.geom_rbound[shapes] *= factor
    m.geom_aabb[shapes] *= factor
    first, count = int(m.body_bvhadr[b]), int(m.body_bvhnum[b])
    m.bvh_aabb[first : first + count] *= factor
    m.body_ipos[b] *= factor
    m.body_inertia[b] *= factor**2


def _checked(kind: str, name: str, x: Any) -> float:
    if kind == "friction":
        return number(name, x, least=0.0)
    return positive(name, x, "kilograms" if kind == "mass" else "")
