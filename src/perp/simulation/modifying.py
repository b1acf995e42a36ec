"""Other friction, masses, sizes, gains, gravity in a scene that runs, without reading or compiling it again.

Every change starts from the scene as it was loaded, so that factors do not pile up. What is derived from
masses and sizes is derived again.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems import ProblemError
from perp.problems.validation import freeze, vector
from perp.scenes import Model, SceneError, load_scene
from perp.scenes.engine import engine
from perp.scenes.model import find
from perp.simulation.arguments import number, positive
from perp.simulation.generalised import coordinates, state_at
from perp.simulation.gradients.parameter_values import places
from perp.stepping import Stepper

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation


@dataclass(frozen=True)
class Changes:
    """What differs from the scene as it was loaded."""

    # sliding coefficient by name of a shape or body; "" for all shapes
    friction: dict[str, float] = field(default_factory=dict)
    mass: dict[str, float] = field(default_factory=dict)  # by body [kg]
    # factor of all lengths of a body's shapes and of its centre of mass, by body
    size: dict[str, float] = field(default_factory=dict)
    # factor of the force of a motor for the same control and state, by motor
    gain: dict[str, float] = field(default_factory=dict)
    restitution: dict[str, float] = field(default_factory=dict)  # by name of a shape; "" for all shapes
    gravity: np.ndarray | None = None  # shape (3,) [m/s²]; None for that of the scene

    def and_also(self, **others: Any) -> Changes:
        """These changes and others, by name of the attribute, which take precedence; None changes nothing."""
        given: dict[str, Any] = {}
        for name, value in others.items():
            if value is None:
                continue
            if name == "gravity":
                given[name] = vector(name, value, 3)
                continue
            if not isinstance(value, Mapping):
                if name not in ("friction", "restitution"):
                    raise ProblemError(f"{name} = {value!r}: a mapping from names is needed")
                given[name] = {"": _checked(name, name, value)}
                continue
            own = {key: _checked(name, f"{name}[{key!r}]", x) for key, x in value.items()}
            given[name] = {**getattr(self, name), **own}
        return replace(self, **given)


def modify(sim: Simulation, *, size: Any, **others: Any) -> None:
    """Change the scene of a simulation where it is; see `Simulation.modify`."""
    changes = sim._changes.and_also(size=size, **others)
    model = modified(sim.model, sim._loaded, changes, reduced=sim.stepper.reduced)
    (qpos, qvel), turns, control = coordinates(sim.stepper, sim.state), sim.state.coordinate, sim.ctrl
    sim.model, sim._changes = model, changes
    sim._geometry = sim._geometry if size is None else None
    sim.stepper = Stepper(model, sim.stepper.settings, reduced=sim.stepper.reduced)
    state = state_at(sim, qpos, qvel)
    state.coordinate[:] = sim.stepper.table.evaluate(state.position, state.quaternion, state.rotation, turns)[
        0
    ]
    sim.set_control(control)
    if size is None:
        sim.state = state
    else:
        sim._start(state)
    sim._last = sim._before = None


def modified(model: Model, loaded: Any, changes: Changes, *, reduced: bool) -> Model:
    """A model with changes from the compiled scene as it was loaded, and with what was added to the model."""
    m, restitution = copy.copy(loaded), model.geom_restitution.copy()
    for kind, given in (("friction", changes.friction), ("restitution", changes.restitution)):
        for name, value in given.items():
            for array, at, _ in places(m, restitution, model, f"{kind}:{name}"):
                array[at] = value
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
    if changes.gravity is not None:
        m.opt.gravity[:] = changes.gravity
    if changes.mass or changes.size:
        engine().mj_setConst(m, engine().MjData(m))
    new = load_scene(m, reduced=reduced, lines=list(model.report.of_file))
    attached = model.joints[model.joints_of_file :]
    return replace(
        new, geom_restitution=freeze(restitution), friction_axis=model.friction_axis,
        joints=(*new.joints, *attached), motors=model.motors,
    )  # fmt: skip


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
    if kind in ("friction", "restitution"):
        found = number(name, x, least=0.0)
        if kind == "restitution" and found > 1.0:
            raise ProblemError(f"{name} = {found:g}: a number from 0 to 1 is needed")
        return found
    return positive(name, x, "kilograms" if kind == "mass" else "")
