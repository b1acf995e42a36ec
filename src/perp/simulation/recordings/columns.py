"""The columns of a recording: what each row holds, and how shapes of a scene become columns."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from perp.scenes.geometry import Shape

Tables = dict[str, dict[str, np.ndarray]]
Column = TypeVar("Column")

_NUMBER, _WHOLE, _FLAG, _TEXT = "f8", "i8", "?", "U16"

# Shape of a row, and its type. Words stand for counts.
STEP_COLUMNS: dict[str, tuple[tuple[int | str, ...], str]] = {
    "time": ((), _NUMBER),
    "positions": (("bodies", 3), _NUMBER),
    "quaternions": (("bodies", 4), _NUMBER),
    "velocities": (("bodies", 6), _NUMBER),
    "joint_positions": (("joints",), _NUMBER),
    "joint_velocities": (("joints",), _NUMBER),
    "qpos": (("coordinates",), _NUMBER),
    "qvel": (("freedoms",), _NUMBER),
    "control": (("motors",), _NUMBER),
    "kinetic_energy": ((), _NUMBER),
    "potential_energy": ((), _NUMBER),
    "linear_momentum": ((3,), _NUMBER),
    "angular_momentum": ((3,), _NUMBER),
    "penetration": ((), _NUMBER),
    "joint_error": ((), _NUMBER),
    "joint_residual": ((), _NUMBER),
    "contact_residual": ((), _NUMBER),
    "friction_residual": ((), _NUMBER),
    "residual": ((), _NUMBER),
    "coulomb_distance": ((), _NUMBER),
    "iterations": ((), _WHOLE),
    "solves": ((), _WHOLE),
    "late_contacts": ((), _WHOLE),
    "left_out": ((), _WHOLE),
    "met": ((), _FLAG),
    "seconds": ((), _NUMBER),
    "contact_count": ((), _WHOLE),
}
OF_TREES = ("positions", "quaternions", "velocities", "joint_positions", "joint_velocities")
"""What follows from qpos and qvel where there is a tree of bodies; a file does not keep it then."""
CONTACT_COLUMNS: dict[str, tuple[tuple[int | str, ...], str]] = {
    "body": ((2,), _WHOLE),
    "geom": ((2,), _WHOLE),
    "point": ((3,), _NUMBER),
    "frame": ((3, 3), _NUMBER),
    "force": ((3,), _NUMBER),
    "torque": ((3,), _NUMBER),
    "gap": ((), _NUMBER),
    "friction": ((5,), _NUMBER),
    "state": ((), _WHOLE),
    "slip": ((), _NUMBER),
}


def empty_tables(sizes: Mapping[str, int]) -> Tables:
    """Columns without rows, given the counts that their shapes name."""
    return {
        table: {
            name: np.zeros((0, *(sizes[n] if isinstance(n, str) else n for n in shape)), dtype=kind)
            for name, (shape, kind) in columns.items()
        }
        for table, columns in (("steps", STEP_COLUMNS), ("contacts", CONTACT_COLUMNS))
    }


def stored(
    tables: Mapping[str, Mapping[str, Column]], about: Mapping[str, Any], tree: Mapping[str, np.ndarray]
) -> dict[str, dict[str, Column]]:
    """What of the columns a file keeps: with a tree not the bodies, else not the coordinates."""
    left_out: set[str] = set(OF_TREES if tree else ("qpos", "qvel"))
    if about["settings"]["solver"] is None and about["settings"]["formulation"] is None:
        left_out.add("coulomb_distance")  # the residual itself: nothing but Coulomb's law was solved
    return {
        table: {name: rows for name, rows in columns.items() if name not in left_out}
        for table, columns in tables.items()
    }


# Type and shape of what is stored of every shape of a scene as it is.
_OF_SHAPE: dict[str, tuple[Any, tuple[int, ...]]] = {
    "kind": (_TEXT, ()), "size": (float, (3,)), "body": (np.int64, ()), "position": (float, (3,)),
    "quaternion": (float, (4,)), "rgba": (float, (4,)), "visual": (bool, ()), "textured": (bool, ()),
    "group": (np.int64, ()),
}  # fmt: skip


def pack_shapes(shapes: Sequence[Shape]) -> dict[str, np.ndarray]:
    """Shapes as arrays; each mesh once, vertices and faces one after the other, in single precision."""
    meshes: dict[tuple[bytes, bytes, bytes], int] = {}
    vertices, faces, number = [np.zeros((0, 3), np.float32)], [np.zeros((0, 3), np.int32)], []
    colors = [np.zeros((0, 3), np.uint8)]
    for shape in shapes:
        v, f = shape.vertices.astype(np.float32), shape.faces.astype(np.int32)
        c = np.round(255.0 * shape.colors).astype(np.uint8)
        key = v.tobytes(), f.tobytes(), c.tobytes()
        if key not in meshes:
            meshes[key] = len(meshes)
            vertices.append(v)
            faces.append(f)
            colors.append(c)
        number.append(meshes[key])
    return {
        **{
            name: np.array([getattr(shape, name) for shape in shapes], dtype=kind).reshape(len(shapes), *size)
            for name, (kind, size) in _OF_SHAPE.items()
        },
        "mesh": np.array(number, dtype=np.int64),
        "vertex_count": np.array([len(v) for v in vertices[1:]], dtype=np.int64),
        "face_count": np.array([len(f) for f in faces[1:]], dtype=np.int64),
        "color_count": np.array([len(c) for c in colors[1:]], dtype=np.int64),
        "vertices": np.concatenate(vertices),
        "colors": np.concatenate(colors),
        "faces": np.concatenate(faces),
    }


def unpack_shapes(names: Sequence[str], columns: Mapping[str, np.ndarray]) -> tuple[Shape, ...]:
    """The shapes that `pack_shapes` packed."""
    whole: dict[str, Any] = {field: columns[field] for field in _OF_SHAPE}

    def part(of: str, count: str, i: int) -> np.ndarray:
        """Of the mesh of a shape."""
        mesh = int(columns["mesh"][i])
        first = int(columns[count][:mesh].sum())
        return columns[of][first : first + int(columns[count][mesh])]

    return tuple(
        Shape(
            name=name,
            **{field: x[i] if x.ndim > 1 else x[i].item() for field, x in whole.items()},
            vertices=part("vertices", "vertex_count", i).astype(np.float64),
            faces=part("faces", "face_count", i).astype(np.int64),
            colors=part("colors", "color_count", i) / 255.0,
        )
        for i, name in enumerate(names)
    )
