"""Parameters of a scene as numbers: read, and changed in a new simulation of the same scene."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.derivatives.parameters import split, width_of
from perp.problems.errors import ProblemError
from perp.scenes import load_scene
from perp.scenes.engine import engine
from perp.scenes.model import find
from perp.scenes.naming import joint_names, listed_joints

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation


_COEFFICIENTS = {"friction": 0, "torsion": 1, "rolling": 2}


def parameter_values(sim: Simulation, names: Any) -> dict[str, np.ndarray]:
    """The values of parameters, by name, shape (size,) each.

    A coefficient of all contacts is the largest one of the shapes.
    """
    m, model = sim.model.shapes, sim.model
    out = {}
    for parameter in names:
        if split(parameter)[0] == "restitution":
            values = model.geom_restitution
            name = split(parameter)[1]
            out[parameter] = np.array([values[model.geom_index(name)] if name else values.max(initial=0.0)])
            continue
        array, at = _place(m, model, parameter)[0]
        kind, name = split(parameter)
        if kind == "kv":
            out[parameter] = np.array([-float(array[at])])
            continue
        if kind in _COEFFICIENTS and not name:
            out[parameter] = np.array([_largest(m, kind)])
            continue
        out[parameter] = np.atleast_1d(np.array(array[at], dtype=float)).ravel()[
            : width_of(m, model, parameter)
        ]
    return out


def _largest(m: Any, kind: str) -> float:
    """The largest coefficient of the shapes that can touch anything."""
    touching = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    return float(np.max(m.geom_friction[touching, _COEFFICIENTS[kind]], initial=0.0))


def with_parameters(sim: Simulation, values: Mapping[str, Any], *, shift: bool = False) -> Simulation:
    """A new simulation of the same scene, in the same state, with other values of some parameters.

    A coefficient of all contacts becomes that of every shape; with `shift` the coefficients of all shapes
    change by the same instead, so that those of contacts keep their differences.

    Raises:
        ProblemError: A value is no number, or a coefficient is negative.
    """
    from perp.simulation.simulation import Simulation

    m, restitution = copy.copy(sim.model.shapes), sim.model.geom_restitution.copy()
    for parameter, value in values.items():
        kind, name = split(parameter)
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
        coefficient = kind in _COEFFICIENTS or kind == "restitution"
        if not np.isfinite(numbers).all() or (coefficient and not shift and (numbers < 0.0).any()):
            raise ProblemError(f"{parameter} = {value!r}: it needs finite numbers, coefficients from 0 on")
        if kind == "restitution":
            if name:
                restitution[sim.model.geom_index(name)] = numbers[0]
            elif shift:
                restitution += numbers[0] - restitution.max(initial=0.0)
            else:
                restitution[:] = numbers[0]
            continue
        if kind in _COEFFICIENTS and not name and shift:
            # the larger of two coefficients is that of the contact still
            change = numbers[0] - _largest(m, kind)
            for array, at in _place(m, sim.model, parameter):
                array[at] = np.maximum(array[at] + change, 0.0)
            continue
        if kind != "kv":
            for array, at in _place(m, sim.model, parameter):
                array[at] = numbers if numbers.size > 1 else numbers[0]
        if kind == "kp":
            i = find(name, sim.stepper.motor_names, "motor")
            m.actuator_biasprm[i, 1] = -numbers[0]
        elif kind == "kv":
            i = find(name, sim.stepper.motor_names, "motor")
            if m.actuator_biasprm[i, 1] == 0.0:
                m.actuator_gainprm[i, 0] = numbers[0]
            m.actuator_biasprm[i, 2] = -numbers[0]
    if any(split(p)[0] in ("mass", "inertia", "com", "armature") for p in values):
        # subtree masses and what mujoco derives from them
        engine().mj_setConst(m, engine().MjData(m))
    if any(split(p)[0] == "size" for p in values):
        _bounds(m)
    reduced = sim.stepper.reduced
    model = replace(
        load_scene(m, reduced=reduced), geom_restitution=restitution, velocity=sim.model.velocity,
        friction_axis=sim.model.friction_axis,
    )  # fmt: skip
    other = Simulation(
        model, step=sim.step_size, coordinates=sim.coordinates, settings=sim.stepper.settings,
        impacts=sim.impacts,
    )  # fmt: skip
    other.restore(sim.snapshot())
    return other


def _bounds(m: Any) -> None:
    """Radii of the spheres around shapes and their boxes, which mujoco sorts pairs out by."""
    kinds = engine().mjtGeom
    for g in range(m.ngeom):
        kind, size = int(m.geom_type[g]), m.geom_size[g]
        if kind == int(kinds.mjGEOM_SPHERE):
            m.geom_rbound[g] = size[0]
            m.geom_aabb[g, 3:] = size[0]
        elif kind == int(kinds.mjGEOM_CAPSULE):
            m.geom_rbound[g] = size[0] + size[1]
            m.geom_aabb[g, 3:] = size[0], size[0], size[0] + size[1]
        elif kind == int(kinds.mjGEOM_BOX):
            m.geom_rbound[g] = np.linalg.norm(size)
            m.geom_aabb[g, 3:] = size


def _place(m: Any, model: Any, parameter: str) -> list[tuple[Any, Any]]:
    """Arrays of mujoco's model that hold a parameter, and where."""
    kind, name = split(parameter)
    if kind in _COEFFICIENTS:
        k = _COEFFICIENTS[kind]
        geoms = np.array([model.geom_index(name)]) if name else np.arange(m.ngeom)
        places = [(m.geom_friction, (geoms, k))]
        if not name and m.npair:
            columns = {"friction": (0, 1), "torsion": (2,), "rolling": (3, 4)}[kind]
            places += [(m.pair_friction, (slice(None), c)) for c in columns]
        return places
    if kind == "gravity":
        return [(m.opt.gravity, slice(None))]
    if kind in ("mass", "inertia", "com"):
        b = int(np.flatnonzero(m.body_weldid > 0)[model.body_index(name)])
        if kind == "com" and m.body_simple[b]:
            raise ProblemError(
                f"body {name!r} is compiled with its centre at its origin: give it an <inertial>"
            )
        array = {"mass": m.body_mass, "inertia": m.body_inertia, "com": m.body_ipos}[kind]
        return [(array, b)]
    if kind == "size":
        g = model.geom_index(name)
        return [(m.geom_size, (g, slice(0, width_of(m, model, parameter))))]
    if kind in ("kp", "kv"):
        names = tuple(m.actuator(i).name or f"actuator{i}" for i in range(m.nactuator))
        i = find(name, names, "motor")
        return [(m.actuator_gainprm, (i, 0))] if kind == "kp" else [(m.actuator_biasprm, (i, 2))]
    j = find(name, joint_names(m), "joint", listed_joints(m))
    dof = int(m.jnt_dofadr[j])
    return {
        "damping": [(m.dof_damping, dof)], "armature": [(m.dof_armature, dof)],
        "frictionloss": [(m.dof_frictionloss, dof)], "stiffness": [(m.jnt_stiffness, j)],
    }[kind]  # fmt: skip
