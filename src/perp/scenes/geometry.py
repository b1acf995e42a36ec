"""The shapes of a scene as plain arrays, for pictures: no mujoco is needed to draw them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perp.scenes.engine import engine
from perp.scenes.frames import conjugate, from_matrix, multiply, rotate
from perp.scenes.model import WORLD, Model

# mujoco's colour of a geom that has none: then that of its material is meant.
_DEFAULT_COLOUR = np.array([0.5, 0.5, 0.5, 1.0])


@dataclass(frozen=True, eq=False)
class Shape:
    """One shape of a scene.

    Attributes:
        name: Of the geom.
        kind: plane, sphere, capsule, cylinder, ellipsoid, box, mesh or hfield.
        size: As in MJCF, shape (3,) [m]: radius and half length, or half sizes; 0 is endless for a plane.
        body: Index of its body, −1 for the world.
        position, quaternion: In the file's body frame, or in the world [m; w, x, y, z].
        rgba: Colour, shape (4,).
        vertices, faces: Of a mesh or height field in the shape's frame, shapes (v, 3) [m] and (f, 3).
        visual: Whether it never touches anything.
        group: MuJoCo's group of the geom; viewers hide 3 and up.
        textured: Whether its colour is the mean of a texture.
    """

    name: str
    kind: str
    size: np.ndarray
    body: int
    position: np.ndarray
    quaternion: np.ndarray
    rgba: np.ndarray
    vertices: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    faces: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    visual: bool = False
    group: int = 0
    textured: bool = False


def read_geometry(model: Model) -> tuple[Shape, ...]:
    """Every shape of a model, in the order of its geoms."""
    mujoco = engine()

    shapes = model.shapes
    data = mujoco.MjData(shapes)
    mujoco.mj_kinematics(shapes, data)
    paired = {int(g) for g in (*shapes.pair_geom1, *shapes.pair_geom2)}
    out = []
    for g in range(shapes.ngeom):
        kind = mujoco.mjtGeom(int(shapes.geom_type[g])).name.removeprefix("mjGEOM_").lower()
        position, quaternion = _pose(model, int(model.geom_body[g]), data, g)
        vertices, faces = _surface(shapes, g, kind)
        texture = _texture(shapes, g)
        touches = bool(shapes.geom_contype[g] or shapes.geom_conaffinity[g] or g in paired)
        out.append(
            Shape(
                name=model.geom_names[g],
                kind=kind,
                size=shapes.geom_size[g].copy(),
                body=int(model.geom_body[g]),
                position=position,
                quaternion=quaternion,
                rgba=_colour(shapes, g) if texture is None else _colour(shapes, g) * [*texture, 1.0],
                vertices=vertices,
                faces=faces,
                visual=not touches,
                group=int(shapes.geom_group[g]),
                textured=texture is not None,
            )
        )
    return tuple(out)


def _pose(model: Model, body: int, data: Any, g: int) -> tuple[np.ndarray, np.ndarray]:
    """Position and quaternion in the file's body frame."""
    x, q = data.geom_xpos[g].copy(), from_matrix(data.geom_xmat[g].reshape(3, 3))
    if body == WORLD:
        return x, q
    frame = multiply(model.quaternion[body], model.frame[body])
    origin = model.position[body] + rotate(model.quaternion[body], model.origin[body])
    back = conjugate(frame)
    return rotate(back, x - origin), multiply(back, q)


def _colour(shapes: Any, g: int) -> np.ndarray:
    own, material = shapes.geom_rgba[g].astype(np.float64), int(shapes.geom_matid[g])
    if material >= 0 and np.allclose(own, _DEFAULT_COLOUR):
        return shapes.mat_rgba[material].astype(np.float64)
    return own


def _texture(shapes: Any, g: int) -> np.ndarray | None:
    """Mean colour of the texture of a shape's material, shape (3,), or None without one."""
    material = int(shapes.geom_matid[g])
    if material < 0:
        return None
    used = [int(t) for t in np.atleast_1d(shapes.mat_texid[material]) if t >= 0]
    if not used:
        return None
    channels = int(shapes.tex_nchannel[used[0]])
    size = int(shapes.tex_height[used[0]]) * int(shapes.tex_width[used[0]]) * channels
    first = int(shapes.tex_adr[used[0]])
    pixels = np.asarray(shapes.tex_data[first : first + size]).reshape(-1, channels)
    mean = pixels.mean(axis=0) / 255.0
    return mean[:3] if channels >= 3 else np.full(3, mean[0])


def _surface(shapes: Any, g: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a mesh or height field; none for the others."""
    data = int(shapes.geom_dataid[g])
    if kind == "mesh":
        v, f = int(shapes.mesh_vertadr[data]), int(shapes.mesh_faceadr[data])
        vertices = shapes.mesh_vert[v : v + int(shapes.mesh_vertnum[data])].astype(np.float64)
        return vertices, shapes.mesh_face[f : f + int(shapes.mesh_facenum[data])].astype(np.int64)
    if kind == "hfield":
        return _height_field(shapes, data)
    return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)


def _height_field(shapes: Any, index: int) -> tuple[np.ndarray, np.ndarray]:
    """The upper surface of a height field: two triangles per cell."""
    rows, columns = int(shapes.hfield_nrow[index]), int(shapes.hfield_ncol[index])
    first = int(shapes.hfield_adr[index])
    heights = shapes.hfield_data[first : first + rows * columns].reshape(rows, columns)
    x_half, y_half, top, _ = (float(value) for value in shapes.hfield_size[index])
    x, y = np.meshgrid(np.linspace(-x_half, x_half, columns), np.linspace(-y_half, y_half, rows))
    vertices = np.column_stack([x.ravel(), y.ravel(), top * heights.ravel().astype(np.float64)])
    corner = np.arange(rows * columns).reshape(rows, columns)[:-1, :-1].ravel()
    right, up = corner + 1, corner + columns
    faces = np.concatenate([np.column_stack([corner, right, up]), np.column_stack([right, up + 1, up])])
    return vertices, faces
