"""Parameters of a scene as numbers: read, and changed in a new simulation of the same scene."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.derivatives.parameters import split, width_of
from perp.problems.errors import ProblemError
from perp.scenes import SceneError, load_scene
from perp.scenes.engine import engine
from perp.scenes.model import find
from perp.scenes.naming import joint_names, listed_joints

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation


_COEFFICIENTS = {"friction": 0, "torsion": 1, "rolling": 2, "restitution": -1}


def parameter_values(sim: Simulation, names: Any) -> dict[str, np.ndarray]:
    """The values of parameters, by name, shape (size,) each.

    A coefficient of all contacts is the largest one of the shapes.
    """
    m, model, out = sim.model.shapes, sim.model, {}
    for parameter in names:
        array, at, sign = places(m, model.geom_restitution, model, parameter)[0]
        found = sign * np.atleast_1d(np.array(array[at], dtype=float)).ravel()
        out[parameter] = found[: width_of(m, model, parameter)]
        if parameter in _COEFFICIENTS:
            out[parameter] = np.array([_largest(m, model.geom_restitution, parameter)])
    return out


def _largest(m: Any, restitution: np.ndarray, kind: str) -> float:
    """The largest coefficient of the shapes that can touch anything."""
    touching = (m.geom_contype != 0) | (m.geom_conaffinity != 0)
    values = restitution if kind == "restitution" else m.geom_friction[touching, _COEFFICIENTS[kind]]
    return float(np.max(values, initial=0.0))


def with_parameters(sim: Simulation, values: Mapping[str, Any], *, shift: bool = False) -> Simulation:
    """A new simulation of the same scene, in the same state, with other values of some parameters.

    A coefficient of all contacts becomes that of every shape; with `shift` the coefficients of all shapes
    change by the same instead, so that those of contacts keep their differences.
    """
    from perp.simulation.simulation import Simulation

    m, restitution = copy.copy(sim.model.shapes), sim.model.geom_restitution.copy()
    for parameter, value in values.items():
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
        coefficient = split(parameter)[0] in _COEFFICIENTS
        if not np.isfinite(numbers).all() or (coefficient and not shift and (numbers < 0.0).any()):
            raise ProblemError(f"{parameter} = {value!r}: it needs finite numbers, coefficients from 0 on")
        together = shift and parameter in _COEFFICIENTS
        # the larger of two coefficients is that of the contact still
        change = numbers[0] - _largest(m, restitution, parameter) if together else 0.0
        for array, at, sign in places(m, restitution, sim.model, parameter):
            if together:
                array[at] = np.maximum(array[at] + change, 0.0)
            else:
                array[at] = sign * (numbers if numbers.size > 1 else numbers[0])
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


def places(m: Any, restitution: np.ndarray, model: Any, parameter: str) -> list[tuple[Any, Any, float]]:
    """Arrays that hold a parameter, where, and with which sign: of mujoco's model, and restitutions."""
    kind, name = split(parameter)
    if kind in _COEFFICIENTS:
        shapes = shapes_named(m, model, name) if name else np.arange(m.ngeom)
        if kind == "restitution":
            return [(restitution, shapes, 1.0)]
        columns = {"friction": (0, 1), "torsion": (2,), "rolling": (3, 4)}[kind]
        pairs = [] if name or not m.npair else [(m.pair_friction, (slice(None), c), 1.0) for c in columns]
        return [(m.geom_friction, (shapes, _COEFFICIENTS[kind]), 1.0), *pairs]
    if kind == "gravity":
        return [(m.opt.gravity, slice(None), 1.0)]
    if kind in ("mass", "inertia", "com"):
        b = int(np.flatnonzero(m.body_weldid > 0)[model.body_index(name)])
        if kind == "com" and m.body_simple[b]:
            raise ProblemError(
                f"body {name!r} is compiled with its centre at its origin: give it an <inertial>"
            )
        return [({"mass": m.body_mass, "inertia": m.body_inertia, "com": m.body_ipos}[kind], b, 1.0)]
    if kind == "size":
        return [(m.geom_size, (model.geom_index(name), slice(0, width_of(m, model, parameter))), 1.0)]
    if kind in ("kp", "kv"):
        i = find(name, tuple(m.actuator(i).name or f"actuator{i}" for i in range(m.nactuator)), "motor")
        gain, bias = (
            (m.actuator_gainprm, (i, 0), 1.0),
            (m.actuator_biasprm, (i, 1 if kind == "kp" else 2), -1.0),
        )
        if kind == "kp":
            return [gain, bias]
        return [bias, gain] if m.actuator_biasprm[i, 1] == 0.0 else [bias]
    j = find(name, joint_names(m), "joint", listed_joints(m))
    if kind == "stiffness":
        return [(m.jnt_stiffness, j, 1.0)]
    return [(getattr(m, f"dof_{kind}"), int(m.jnt_dofadr[j]), 1.0)]


def shapes_named(m: Any, model: Any, name: str) -> np.ndarray:
    """Numbers of the shapes of that name, or of the body of that name."""
    if name in model.geom_names:
        return np.array([model.geom_names.index(name)])
    names = [m.body(b).name or f"body{b}" for b in range(m.nbody)]
    if name in names:
        return np.flatnonzero(m.geom_bodyid == names.index(name))
    known = ", ".join((*names[:10], *model.geom_names[:10]))
    raise SceneError(f"there is no shape or body named {name!r}; there are: {known}")
