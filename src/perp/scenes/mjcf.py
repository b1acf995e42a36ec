"""MJCF (text, path, MjSpec or MjModel) into a `Model`, through mujoco's own compiler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from perp.problems.validation import freeze
from perp.scenes.engine import engine
from perp.scenes.frames import from_matrix
from perp.scenes.mjcf_joints import read_equalities, read_joints
from perp.scenes.mjcf_motors import read_motors
from perp.scenes.model import WORLD, ImportReport, Model, SceneError, find

# Bytes of mujoco's arena, enough for over a million contacts. It grows by itself: the system hands out a page
# only when a contact is written to it. The room of a finished MjModel cannot be changed.
ROOM = 1 << 30


def compile_scene(scene: Any) -> Any:
    """A mujoco model from XML text, a path, an MjSpec or an MjModel.

    Raises:
        SceneError: Missing file or malformed scene; the message is mujoco's, with file and line.
    """
    mujoco = engine()

    if isinstance(scene, mujoco.MjModel):
        return scene
    spec = None
    try:
        spec = scene.copy() if isinstance(scene, mujoco.MjSpec) else _parse(mujoco, scene)
        spec.memory = max(spec.memory, ROOM)
        return spec.compile()
    except ValueError as error:
        if isinstance(error, SceneError):
            raise
        reason = " ".join(str(error).split())
        raise SceneError(f"{_called(scene)} cannot be compiled: {reason}{_asset(spec, reason)}") from None


def _asset(spec: Any, reason: str) -> str:
    """The element whose file a message of mujoco's compiler is about."""
    for kind in ("mesh", "hfield", "texture") if spec is not None else ():
        for element in getattr(spec, f"{kind}s" if kind != "mesh" else "meshes"):
            if element.file and element.file in reason:
                return f" (of {kind} {element.name or Path(element.file).stem!r})"
    return ""


def _called(scene: Any) -> str:
    """How a message calls a scene: by its file, where it has one."""
    named = isinstance(scene, str | Path) and not str(scene).lstrip().startswith("<")
    return f"{scene}:" if named else "the scene"


def parse_scene(scene: Any) -> Any:
    """The MjSpec of XML text or a path, to be edited.

    Raises:
        SceneError: Missing file or malformed XML.
    """
    try:
        return _parse(engine(), scene)
    except ValueError as error:
        if isinstance(error, SceneError):
            raise
        raise SceneError(f"{_called(scene)} cannot be read: {' '.join(str(error).split())}") from None


def _parse(mujoco: Any, scene: Any) -> Any:
    if isinstance(scene, str) and scene.lstrip().startswith("<"):
        return mujoco.MjSpec.from_string(scene)
    if not isinstance(scene, str | Path):
        raise SceneError(
            f"scene is a {type(scene).__name__}: a path, XML text, an MjSpec, an MjModel or a Model is needed"
        )
    path = Path(scene)
    if not path.is_file():
        raise SceneError(f"{path}: no such file")
    return mujoco.MjSpec.from_file(str(path))


def load_scene(scene: Any, *, restitution: float | Mapping[str, float] = 0.0, reduced: bool = False) -> Model:
    """Read a scene.

    Args:
        scene: MJCF text, a path, an MjSpec, an MjModel, or a Model (returned as it is).
        restitution: Coefficient of restitution for all shapes, or by geom name; a pair takes the larger one.
        reduced: For generalised coordinates: joints and motors stay in the compiled scene.

    Raises:
        SceneError: The scene cannot be read, or asks for something without which it would be another scene.
    """
    if isinstance(scene, Model):
        return scene
    mujoco = engine()

    shapes = compile_scene(scene)
    data = mujoco.MjData(shapes)
    mujoco.mj_kinematics(shapes, data)
    mujoco.mj_comPos(shapes, data)
    movable = np.flatnonzero(shapes.body_weldid > 0)
    index = np.full(shapes.nbody, WORLD)
    index[movable] = np.arange(movable.size)
    names = tuple(shapes.body(int(b)).name or f"body{b}" for b in movable)
    if not reduced:
        _check_masses(shapes, movable, names)
    principal = np.array([from_matrix(R) for R in data.ximat[movable].reshape(-1, 3, 3)]).reshape(-1, 4)
    origin, frame = _file_frames(data, movable)
    ignored: list[tuple[str, str]] = []
    geom_names = tuple(shapes.geom(g).name or f"geom{g}" for g in range(shapes.ngeom))
    body = Model(
        body_names=names,
        mass=freeze(shapes.body_mass[movable].copy()),
        inertia=freeze(shapes.body_inertia[movable].copy()),
        position=freeze(data.xipos[movable].copy()),
        quaternion=freeze(principal),
        velocity=freeze(np.zeros((movable.size, 6))),
        origin=freeze(origin),
        frame=freeze(frame),
        gravity=freeze(_gravity(shapes)),
        joints=(),
        motors=(),
        geom_names=geom_names,
        geom_body=freeze(index[shapes.geom_bodyid]),
        geom_restitution=freeze(_restitution(restitution, geom_names)),
        friction_axis=freeze(np.zeros((shapes.ngeom, 3))),
        shapes=shapes,
    )
    if reduced:
        return body
    joints, joint_index = read_joints(shapes, data, body, movable, index, ignored)
    joints += read_equalities(shapes, data, body, index, ignored)
    motors = read_motors(shapes, joint_index, ignored)
    _note_unused(shapes, ignored)
    fields = {**body.__dict__, "joints": tuple(joints), "motors": tuple(motors)}
    return Model(**{**fields, "report": ImportReport(tuple(ignored))})


def _check_masses(shapes: Any, movable: np.ndarray, names: tuple[str, ...]) -> None:
    light = (shapes.body_mass[movable] <= 0) | (shapes.body_inertia[movable] <= 0).any(axis=1)
    if light.any():
        name = names[int(np.argmax(light))]
        raise SceneError(f"body {name!r} moves but has no mass or inertia: give it a geom or an inertial")


def _file_frames(data: Any, movable: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The file's body frames in principal coordinates: origins (n, 3) and quaternions (n, 4)."""
    principal = data.ximat[movable].reshape(-1, 3, 3)
    origin = np.einsum("nji,nj->ni", principal, data.xpos[movable] - data.xipos[movable])
    turned = np.einsum("nji,njk->nik", principal, data.xmat[movable].reshape(-1, 3, 3))
    return origin, np.array([from_matrix(R) for R in turned]).reshape(-1, 4)


def _gravity(shapes: Any) -> np.ndarray:
    mujoco = engine()

    disabled = int(shapes.opt.disableflags) & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    return np.zeros(3) if disabled else np.array(shapes.opt.gravity, dtype=np.float64)


def _restitution(value: float | Mapping[str, float], geom_names: tuple[str, ...]) -> np.ndarray:
    if not isinstance(value, Mapping):
        out = np.full(len(geom_names), float(value))
    else:
        out = np.zeros(len(geom_names))
        for name, e in value.items():
            out[find(name, geom_names, "geom")] = e
    if not ((out >= 0) & (out <= 1)).all():
        raise SceneError(f"restitution {value!r}: numbers from 0 to 1 are needed")
    return out


def _note_unused(shapes: Any, ignored: list[tuple[str, str]]) -> None:
    """What maximal coordinates do not carry."""
    if shapes.ntendon:
        ignored.append((f"{shapes.ntendon} tendons", "tendons are not simulated"))
    if shapes.nflex:
        ignored.append((f"{shapes.nflex} flexes", "deformable bodies are not simulated"))
    if (shapes.geom_condim == 4).any():
        ignored.append(("condim 4", "torsional friction is left out: the contact is Coulomb"))
    if (shapes.geom_condim == 6).any():
        ignored.append(("condim 6", "torsional friction is left out: sliding and rolling are kept"))
    if (shapes.dof_armature > 0).any():
        ignored.append(("armature", "rotor inertia needs reduced coordinates"))
