"""Values that every world of a batch has for itself: friction, masses, gains, gravity, restitution.

They are columns of one array, and each column knows the numbers in a thread's scene and MjModel that it
stands for. They are written there before a world is stepped.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perp.dynamics.libmujoco import address_of
from perp.problems import ProblemError
from perp.problems.validation import check_finite, to_float
from perp.scenes import SceneError
from perp.scenes.engine import engine
from perp.scenes.model import find
from perp.simulation.gradients.parameter_values import shapes_named
from perp.stepping import Stepper


@dataclass
class OwnValues:
    """Values by world."""

    value: np.ndarray  # shape (worlds, values)
    # column that goes to each target, shape (targets,)
    source: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    # name of the array and index in it of each target
    places: list[tuple[str, int]] = field(default_factory=list)
    # the columns of what was asked for, by kind and name; "" for all shapes and for gravity
    given: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def targets(self, stepper: Stepper) -> np.ndarray:
        """Addresses of the targets in the memory of a stepper, shape (targets,)."""
        arrays = _arrays(stepper)
        return np.array([address_of(arrays[name]) + 8 * k for name, k in self.places], dtype=np.int64)

    def write(self, stepper: Stepper, world: int) -> None:
        """Give a stepper the values of one world."""
        arrays = _arrays(stepper)
        for (name, k), column in zip(self.places, self.source, strict=True):
            arrays[name].ravel()[k] = self.value[world, column]

    def keep(self, kind: str, name: str, numbers: np.ndarray) -> None:
        """Remember values as they were asked for, shape (worlds, width)."""
        names = self.given.setdefault(kind, {})
        if not name:
            self.given[kind] = names = {"": names[""]} if "" in names else {}
        if name not in names:
            width = self.value.shape[1]
            names[name] = list(range(width, width + numbers.shape[1]))
            self.value = np.ascontiguousarray(np.hstack([self.value, numbers]))
        self.value[:, names[name]] = numbers

    def of_world(self, world: int) -> dict[str, Any]:
        """What was asked for of one world, as `Simulation.modify` takes it."""
        out: dict[str, Any] = {}
        for kind, names in self.given.items():
            found = {name: self.value[world, columns] for name, columns in names.items()}
            out[kind] = found[""] if kind == "gravity" else {name: float(x[0]) for name, x in found.items()}
        return out

    def put(self, name: str, indices: Any, numbers: np.ndarray) -> None:
        """Give numbers of one array values of their own, shape (worlds, indices) or one for all of them."""
        numbers = np.broadcast_to(numbers, (len(numbers), np.size(indices)))
        for j, k in enumerate(np.ravel(indices)):
            place = (name, int(k))
            if place in self.places:
                self.value[:, self.source[self.places.index(place)]] = numbers[:, j]
                continue
            self.places.append(place)
            self.source = np.append(self.source, self.value.shape[1])
            self.value = np.ascontiguousarray(np.column_stack([self.value, numbers[:, j]]))


def _arrays(stepper: Stepper) -> dict[str, np.ndarray]:
    """Arrays of a stepper that worlds may have values of their own for."""
    m, tables = stepper.mujoco_model, stepper.tables
    found = {
        "geom_friction": m.geom_friction, "pair_friction": m.pair_friction, "gravity": tables["gravity"],
        "opt_gravity": m.opt.gravity, "mass": tables["mass"], "inertia": tables["inertia"],
        "body_mass": m.body_mass, "body_inertia": m.body_inertia, "subtree": m.body_subtreemass,
        "subtree_mass": tables["subtree_mass"], "gain": tables["motor_gain"], "bias": tables["motor_bias"],
        "restitution": tables["geom_restitution"], "dof_M0": m.dof_M0,
    }  # fmt: skip
    for name, array in found.items():
        if array.dtype != np.float64 or not array.flags.c_contiguous:
            raise TypeError(f"{name} is not a plain array of numbers")
    return found


def set_values(own: OwnValues, stepper: Stepper, **given: Any) -> None:
    """Set what is given for every world; names as of `Batch.modify`."""
    for name, x in given.items():
        if x is not None:
            _SETTERS[name](own, stepper, x)


def _numbers(own: OwnValues, name: str, x: Any, width: int = 1, least: float = -np.inf) -> np.ndarray:
    """Values of all worlds, shape (worlds, width), from one for all, or one a world."""
    found = to_float(name, x)
    check_finite(name, found)
    worlds = own.value.shape[0]
    wanted = (worlds, width) if width > 1 else (worlds,)
    try:
        found = np.broadcast_to(found, wanted).reshape(worlds, width)
    except ValueError:
        raise ProblemError(f"{name} has shape {found.shape}: {wanted} or less is needed") from None
    if (found < least).any():
        raise ProblemError(f"{name}: numbers of at least {least:g} are needed")
    return found


def _by_name(name: str, x: Any) -> dict[str, Any]:
    if not isinstance(x, Mapping):
        raise ProblemError(f"{name}: a mapping from names to one value a world is needed")
    return dict(x)


def _set_friction(own: OwnValues, stepper: Stepper, x: Any) -> None:
    m = stepper.mujoco_model
    for name, y in x.items() if isinstance(x, Mapping) else [("", x)]:
        shapes = shapes_named(m, stepper.model, name) if name else np.arange(m.ngeom)
        values = _numbers(own, f"friction[{name!r}]" if name else "friction", y, least=0.0)
        own.keep("friction", name, values)
        own.put("geom_friction", 3 * shapes, values)
        if not name:
            own.put("pair_friction", 5 * np.arange(m.npair)[:, None] + np.arange(2), values)


def _set_restitution(own: OwnValues, stepper: Stepper, x: Any) -> None:
    names = stepper.model.geom_names
    given = x if isinstance(x, Mapping) else dict.fromkeys(names, x)
    for name, y in given.items():
        values = _numbers(own, f"restitution[{name!r}]", y, least=0.0)
        if (values > 1.0).any():
            raise ProblemError(f"restitution[{name!r}]: numbers up to 1 are needed")
        own.put("restitution", [find(name, names, "geom")], values)
        own.keep("restitution", name, values)


def _set_gravity(own: OwnValues, stepper: Stepper, x: Any) -> None:
    values = _numbers(own, "gravity", x, 3)
    own.keep("gravity", "", values)
    own.put("gravity", range(3), values)
    own.put("opt_gravity", range(3), values)


def _set_mass(own: OwnValues, stepper: Stepper, x: Any) -> None:
    model, m = stepper.model, stepper.model.shapes
    movable = np.flatnonzero(m.body_weldid > 0)
    everywhere = np.tile(np.asarray(m.body_mass), (own.value.shape[0], 1))
    for (name, k), column in zip(own.places, own.source, strict=True):
        if name == "body_mass":
            everywhere[:, k] = own.value[:, column]
    for name, y in _by_name("mass", x).items():
        b = model.body_index(name)
        values = _numbers(own, f"mass[{name!r}]", y)
        if (values <= 0.0).any():
            raise ProblemError(f"mass[{name!r}]: numbers above 0 are needed")
        number, part = int(movable[b]), np.arange(3)
        if not np.isclose(model.mass[b], m.body_mass[number], rtol=1e-12):
            raise SceneError(f"mass[{name!r}]: other bodies are fixed to it, which share its mass")
        ratio = values / m.body_mass[number]
        everywhere[:, number] = values[:, 0]
        own.keep("mass", name, values)
        own.put("mass", [b], values)
        own.put("inertia", 3 * b + part, ratio * model.inertia[b])
        own.put("body_mass", [number], values)
        own.put("body_inertia", 3 * number + part, ratio * m.body_inertia[number])
    subtree, M0 = _derived(m, everywhere)
    own.put("subtree", range(m.nbody), subtree)
    own.put("subtree_mass", range(m.nbody), subtree)
    own.put("dof_M0", range(m.nv), M0)


def _derived(m: Any, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Masses of subtrees and inertias of freedoms at the reference, for masses of shape (worlds, bodies)."""
    mujoco, changed = engine(), copy.copy(m)
    data = mujoco.MjData(changed)
    subtree, M0 = np.empty((len(mass), m.nbody)), np.empty((len(mass), m.nv))
    factor = np.divide(mass, m.body_mass, out=np.ones_like(mass), where=m.body_mass > 0)
    for i, line in enumerate(mass):
        changed.body_mass[:] = line
        changed.body_inertia[:] = m.body_inertia * factor[i][:, None]
        mujoco.mj_setConst(changed, data)
        subtree[i], M0[i] = changed.body_subtreemass, changed.dof_M0
    return subtree, M0


def _set_gain(own: OwnValues, stepper: Stepper, x: Any) -> None:
    tables, names = stepper.tables, stepper.motor_names
    for name, y in _by_name("gain", x).items():
        at = np.flatnonzero(tables["motor_control"] == find(name, names, "motor"))
        if not at.size:
            raise SceneError(f"gain[{name!r}]: this motor has no affine law")
        factor, part = _numbers(own, f"gain[{name!r}]", y), np.arange(3)
        own.keep("gain", name, factor)
        for k in at:
            own.put("gain", 3 * k + part, factor * tables["motor_gain"][k])
            own.put("bias", 3 * k + part, factor * tables["motor_bias"][k])


_SETTERS = {
    "friction": _set_friction, "mass": _set_mass, "gain": _set_gain, "gravity": _set_gravity,
    "restitution": _set_restitution,
}  # fmt: skip
