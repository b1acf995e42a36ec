"""MJCF or URDF (text or path), MjSpec or MjModel into a `Model`, through mujoco's own compiler."""

import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from perp.problems.validation import freeze
from perp.scenes.attributes import import_report
from perp.scenes.engine import enabled, engine
from perp.scenes.frames import from_matrix, multiply
from perp.scenes.includes import check_includes
from perp.scenes.mjcf_joints import read_equalities, read_joints
from perp.scenes.model import WORLD, Model, SceneError, find
from perp.scenes.naming import element_name, geom_names
from perp.scenes.neighbours import exclude_mounted
from perp.scenes.urdf import is_urdf, read_urdf

# Bytes of mujoco's arena: for any scene, for each shape (over a thousand contacts), and at most (for over a
# million contacts). The system hands out a page only when a contact is written to it, but what is reserved
# counts where a process forks: sixteen simulations with 1 GB each could start no other program. The room of a
# finished MjModel cannot be changed.
_ROOM, _ROOM_OF_SHAPE, _MOST_ROOM = 1 << 24, 1 << 20, 1 << 30


Lines = list[tuple[str, str]]
# How archives of numpy and files of HDF5 begin.
_NO_SCENES = (b"PK\x03\x04", b"\x89HDF")


def read_spec(scene: Any) -> Any:
    """An editable MjSpec from a path or text of MJCF or URDF, for adding motors, ground, servos, …."""
    return parse_scene(scene)[0]


def compile_scene(scene: Any) -> tuple[Any, Lines]:
    """A mujoco model from XML text, a path, an MjSpec or an MjModel, and lines for the report."""
    mujoco = engine()

    if isinstance(scene, mujoco.MjModel):
        _check_names(scene, "the scene")
        return scene, []
    spec, lines = (scene.copy(), []) if isinstance(scene, mujoco.MjSpec) else parse_scene(scene)
    spec.memory = max(spec.memory, min(_ROOM + _ROOM_OF_SHAPE * len(spec.geoms), _MOST_ROOM))
    model = compile_spec(spec, _called(scene))
    _check_names(model, _called(scene))
    mounted = exclude_mounted(spec, model)
    return (compile_spec(spec, _called(scene)) if mounted else model), [*lines, *mounted]


def _check_names(m: Any, called: str) -> None:
    """Names are printed in messages: one with control characters could write anything onto a terminal."""
    for written in bytes(m.names).split(b"\0"):
        name = written.decode("utf-8", "backslashreplace")
        if name.encode() != written:
            raise SceneError(f"{called} has the name {name!r}, which is not UTF-8: save the file as UTF-8")
        if any(unicodedata.category(letter) == "Cc" for letter in name):
            raise SceneError(f"{called} has the name {name!r}: control characters are not allowed in names")


def compile_spec(spec: Any, called: str = "the scene") -> Any:
    """The mujoco model of an MjSpec, which is changed by this."""
    try:
        return spec.compile()
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise SceneError(f"{called} cannot be compiled: {reason}{_asset(spec, reason)}") from None


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


def parse_scene(scene: Any) -> tuple[Any, Lines]:
    """The MjSpec of XML text or a path, to be edited, and lines for the report."""
    try:
        return _parse(engine(), scene)
    except ValueError as error:
        if isinstance(error, SceneError):
            raise
        raise SceneError(f"{_called(scene)} cannot be compiled: {' '.join(str(error).split())}") from None


def _parse(mujoco: Any, scene: Any) -> tuple[Any, Lines]:
    if isinstance(scene, str) and scene.lstrip().startswith("<"):
        if is_urdf(scene):
            return read_urdf(scene, None)
        check_includes(scene, Path.cwd(), "the scene")
        return mujoco.MjSpec.from_string(scene), []
    if not isinstance(scene, str | Path):
        kind = type(scene).__name__
        raise SceneError(
            f"scene is of type {kind}: a path, XML text, an MjSpec, an MjModel or a Model is needed"
        )
    path = Path(scene)
    if path.is_dir():
        raise SceneError(f"{path}: is a folder: name the scene file in it")
    if not path.is_file():
        raise SceneError(f"{path}: does not exist")
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(_NO_SCENES):
        raise SceneError(
            f"{path} is not a scene: `perp solve` and perp.load take problems, `perp simulate --resume` and "
            "perp.Recording.open recordings"
        )
    text = path.read_text(encoding="utf-8", errors="replace")
    if is_urdf(text):
        return read_urdf(text, path)
    if "<mujoco" not in text and "<" in text:
        raise SceneError(f"{path} is not a scene: it is neither MJCF nor URDF")
    check_includes(text, path.parent, str(path))
    return mujoco.MjSpec.from_file(str(path)), []


def load_scene(
    scene: Any,
    *,
    restitution: float | Mapping[str, float] = 0.0,
    reduced: bool = False,
    lines: Lines | None = None,
) -> Model:
    """Read a scene.

    Args:
        scene: Text or path of MJCF or URDF, an MjSpec, an MjModel, or a Model (returned as it is).
        restitution: Coefficient of restitution for all shapes, or by geom name; a pair takes the larger one.
        reduced: For generalised coordinates: joints and motors stay in the compiled scene.
        lines: What is already known to be ignored of the file, for the report.

    Raises:
        SceneError: The scene cannot be read, or asks for something without which it would be another scene.
    """
    if isinstance(scene, Model):
        return scene
    mujoco = engine()

    shapes, found = compile_scene(scene)
    found = [*found, *(lines or [])]
    data = mujoco.MjData(shapes)
    mujoco.mj_kinematics(shapes, data)
    mujoco.mj_comPos(shapes, data)
    movable = np.flatnonzero(shapes.body_weldid > 0)
    index = np.full(shapes.nbody, WORLD)
    index[movable] = np.arange(movable.size)
    names = tuple(shapes.body(int(b)).name or f"body{b}" for b in movable)
    mass, inertia = shapes.body_mass[movable].copy(), shapes.body_inertia[movable].copy()
    if not reduced:
        # a body that is put where it is needs no mass in trees; where joints are cut any will do
        light = (shapes.body_mocapid[movable] >= 0) & (mass <= 0)
        mass[light], inertia[light] = 1.0, 1.0
        _check_masses(mass, inertia, names)
    origin, principal, frame = _file_frames(shapes, data, movable)
    names_of_geoms = geom_names(shapes)
    _check_friction(shapes)
    body = Model(
        body_names=names,
        mass=freeze(mass),
        inertia=freeze(inertia),
        position=freeze(data.xipos[movable].copy()),
        quaternion=freeze(principal),
        velocity=freeze(np.zeros((movable.size, 6))),
        origin=freeze(origin),
        frame=freeze(frame),
        gravity=freeze(_gravity(shapes)),
        joints=(),
        motors=(),
        geom_names=names_of_geoms,
        geom_body=freeze(index[shapes.geom_bodyid]),
        geom_restitution=freeze(_restitution(restitution, names_of_geoms)),
        friction_axis=freeze(np.zeros((shapes.ngeom, 3))),
        shapes=shapes,
    )
    if reduced:
        return replace(body, report=import_report(shapes, found, reduced=True))
    joints = read_joints(shapes, data, body, movable, index)
    joints += read_equalities(shapes, data, body, index)
    report = import_report(shapes, found, reduced=False)
    return replace(body, joints=tuple(joints), report=report, joints_of_file=len(joints))


def _check_masses(mass: np.ndarray, inertia: np.ndarray, names: tuple[str, ...]) -> None:
    light = (mass <= 0) | (inertia <= 0).any(axis=1)
    if light.any():
        name = names[int(np.argmax(light))]
        raise SceneError(
            f"body {name!r} moves but has no mass or inertia: give it a geom or an inertial, or use "
            'coordinates="reduced"'
        )


def _check_friction(shapes: Any) -> None:
    """Refuse coefficients that no material has: mujoco takes them for an absolute value or nonsense."""
    for element in ("geom", "pair"):
        wrong = np.flatnonzero((np.asarray(getattr(shapes, f"{element}_friction")) < 0).any(axis=1))
        if wrong.size:
            i = int(wrong[0])
            value = getattr(shapes, f"{element}_friction")[i].tolist()
            name = element_name(shapes, element, i)
            raise SceneError(f"friction of {element} {name!r} is {value}: numbers of at least 0 are needed")


def _file_frames(shapes: Any, data: Any, movable: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Origins of the file's body frames in principal frames, principal frames, and the file's in these.

    Shapes (n, 3), (n, 4) and (n, 4). Of the two quaternions of a rotation those are taken with which a body's
    orientation has the sign of mujoco's `xquat`, and of its free joint in `qpos`.
    """
    axes = data.ximat[movable].reshape(-1, 3, 3)
    origin = np.einsum("nji,nj->ni", axes, data.xpos[movable] - data.xipos[movable])
    turned = np.einsum("nji,njk->nik", axes, data.xmat[movable].reshape(-1, 3, 3))
    principal, frame = (np.array([from_matrix(R) for R in a]).reshape(-1, 4) for a in (axes, turned))
    frame *= np.where(multiply(shapes.body_iquat[movable], frame)[:, :1] < 0, -1.0, 1.0)
    agrees = (multiply(principal, frame) * data.xquat[movable]).sum(axis=1, keepdims=True)
    return origin, principal * np.where(agrees < 0, -1.0, 1.0), frame


def _gravity(shapes: Any) -> np.ndarray:
    return np.array(shapes.opt.gravity, dtype=np.float64) * enabled(shapes, "GRAVITY")


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
