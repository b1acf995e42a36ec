"""A scene as arrays that can be kept in a file, so that a run can go on without the files it came from."""

import copy
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perp.scenes.engine import engine
from perp.scenes.geometry import Shape
from perp.scenes.model import Model, SceneError

_NAME = "stored.mjb"
_MOST_BYTES = 1 << 32


def store_scene(model: Model) -> dict[str, np.ndarray]:
    """The compiled scene, in mujoco's own binary form and compressed, and what perp has added to it."""
    return {
        "compressed": np.frombuffer(zlib.compress(pack_compiled(_bare(model.shapes)), 6), np.uint8),
        "restitution": model.geom_restitution,
        "friction_axis": model.friction_axis,
        "counts": _counts(model),
    }


def compiled_scene(arrays: Mapping[str, np.ndarray], geometry: Sequence[Shape]) -> Any:
    """The mujoco model of what `store_scene` returned; vertices are stored once, with its shapes."""
    # a few bytes can be made to expand to any size: no more is unpacked than a scene can have
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(arrays["compressed"].tobytes(), _MOST_BYTES)
    except zlib.error as error:
        raise SceneError(f"the stored scene is damaged: {error}") from None
    if not unpacker.eof:
        raise SceneError(f"the stored scene is damaged: it is cut off, or has more than {_MOST_BYTES} bytes")
    shapes = unpack_compiled(content)
    for g, rows in _meshes(shapes).items():
        shapes.mesh_vert[rows] = geometry[g].vertices
    return shapes


def _bare(shapes: Any) -> Any:
    """A copy without what no step reads (textures, normals, triangles), and without vertices of meshes.

    Contacts of meshes are those of their convex hulls, which vertices and the graph of the hull tell; the
    vertices are with the shapes that a recording keeps for pictures.
    """
    mujoco = engine()
    out = copy.copy(shapes)
    for name in ("tex_data", "mesh_texcoord", "mesh_facetexcoord", "mesh_normal", "mesh_facenormal"):
        getattr(out, name)[...] = 0
    rays = int(mujoco.mjtSensor.mjSENS_RANGEFINDER) in out.sensor_type
    if rays or out.nplugin:
        return out
    out.mesh_face[...] = 0
    for first, count in zip(out.mesh_bvhadr, out.mesh_bvhnum, strict=True):
        for name in ("bvh_aabb", "bvh_child", "bvh_nodeid", "bvh_depth"):
            getattr(out, name)[first : first + count] = 0
    for k in _meshes(out).values():
        out.mesh_vert[k] = 0
    return out


def _meshes(shapes: Any) -> dict[int, slice]:
    """Where the vertices of each shape that is a mesh are, by shape."""
    found = np.flatnonzero(shapes.geom_type == int(engine().mjtGeom.mjGEOM_MESH))
    first = shapes.mesh_vertadr[shapes.geom_dataid[found]]
    last = first + shapes.mesh_vertnum[shapes.geom_dataid[found]]
    return {int(g): slice(int(a), int(b)) for g, a, b in zip(found, first, last, strict=True)}


def pack_compiled(shapes: Any) -> bytes:
    """A mujoco model in mujoco's own binary form."""
    mujoco = engine()

    compiled = np.zeros(mujoco.mj_sizeModel(shapes), dtype=np.uint8)
    mujoco.mj_saveModel(shapes, buffer=compiled)
    return compiled.tobytes()


def unpack_compiled(content: bytes) -> Any:
    """The mujoco model that `pack_compiled` packed, unless another version of mujoco did."""
    mujoco = engine()

    try:
        return mujoco.MjModel.from_binary_path(_NAME, assets={_NAME: content})
    except ValueError as error:
        raise SceneError(f"mujoco {mujoco.__version__} cannot read the stored scene: {error}") from None


def check_complete(model: Model, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse a model made from a stored scene to which something had been added in Python."""
    if (_counts(model) != arrays["counts"]).any() or (model.friction_axis != arrays["friction_axis"]).any():
        raise SceneError(
            "joints, motors or friction axes had been added to the scene in Python: "
            "build it again and use restore(recording.snapshot)"
        )


def _counts(model: Model) -> np.ndarray:
    return np.array([model.body_count, len(model.joints), len(model.motors)])
