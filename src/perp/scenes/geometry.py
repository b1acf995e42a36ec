"""The shapes of a scene as plain arrays, for pictures: no mujoco is needed to draw them."""

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
    """One shape of a scene."""

    name: str  # of the geom
    kind: str  # plane, sphere, capsule, cylinder, ellipsoid, box, mesh or hfield
    # as in MJCF, shape (3,) [m]: radius and half length, or half sizes; 0 is endless for a plane
    size: np.ndarray
    body: int  # index of its body, −1 for the world
    # in the file's body frame, or in the world [m; w, x, y, z]
    position: np.ndarray
    quaternion: np.ndarray
    rgba: np.ndarray  # colour, shape (4,)
    # of a mesh or height field in the shape's frame, shapes (v, 3) [m] and (f, 3)
    vertices: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    faces: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    visual: bool = False  # whether it never touches anything
    group: int = 0  # MuJoCo's group of the geom; viewers hide 3 and up
    textured: bool = False  # whether its colour is the mean of a texture
    # of a mesh with a texture, that of the texture at each vertex, shape (v, 3), from 0 to 1
    colors: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))


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
        pixels = _texture(shapes, g)
        touches = bool(shapes.geom_contype[g] or shapes.geom_conaffinity[g] or g in paired)
        colors = np.zeros((0, 3)) if pixels is None else _sampled(shapes, g, kind, pixels)
        mean = None if pixels is None or len(colors) else pixels.mean(axis=(0, 1))
        out.append(
            Shape(
                name=model.geom_names[g],
                kind=kind,
                size=shapes.geom_size[g].copy(),
                body=int(model.geom_body[g]),
                position=position,
                quaternion=quaternion,
                rgba=_colour(shapes, g) if mean is None else _colour(shapes, g) * [*mean, 1.0],
                vertices=vertices,
                faces=faces,
                visual=not touches,
                group=int(shapes.geom_group[g]),
                textured=mean is not None,
                colors=colors,
            )
        )
    return tuple(out)


def spatial_tendons(shapes: Any) -> int:
    """How many tendons of a compiled scene run through space: those that one would see."""
    joint = int(engine().mjtWrap.mjWRAP_JOINT)
    return int(np.count_nonzero(shapes.wrap_type[shapes.tendon_adr] != joint)) if shapes.ntendon else 0


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
    """The texture of a shape's material, shape (height, width, 3), from 0 to 1, or None without one."""
    material = int(shapes.geom_matid[g])
    if material < 0:
        return None
    used = [int(t) for t in np.atleast_1d(shapes.mat_texid[material]) if t >= 0]
    if not used:
        return None
    channels, height = int(shapes.tex_nchannel[used[0]]), int(shapes.tex_height[used[0]])
    size = height * int(shapes.tex_width[used[0]]) * channels
    first = int(shapes.tex_adr[used[0]])
    pixels = np.asarray(shapes.tex_data[first : first + size]).reshape(height, -1, channels) / 255.0
    return pixels[..., :3] if channels >= 3 else np.repeat(pixels[..., :1], 3, axis=2)


def _sampled(shapes: Any, g: int, kind: str, pixels: np.ndarray) -> np.ndarray:
    """A texture at the vertices of a mesh that says where it lies, shape (v, 3); none for other shapes."""
    data = int(shapes.geom_dataid[g])
    if kind != "mesh" or int(shapes.mesh_texcoordadr[data]) < 0:
        return np.zeros((0, 3))
    f, first = int(shapes.mesh_faceadr[data]), int(shapes.mesh_texcoordadr[data])
    some = slice(f, f + int(shapes.mesh_facenum[data]))
    place = np.asarray(shapes.mesh_texcoord[first + shapes.mesh_facetexcoord[some].reshape(-1)])
    place = np.where(
        (place >= 0) & (place <= 1), place, place % 1.0
    )  # textures repeat; 1 is their last pixel
    height, width, _ = pixels.shape
    column = np.minimum((place[:, 0] * width).astype(np.int64), width - 1)
    row = np.minimum((place[:, 1] * height).astype(np.int64), height - 1)
    corner = shapes.mesh_face[some].reshape(-1)
    total, count = np.zeros((int(shapes.mesh_vertnum[data]), 3)), np.bincount(corner)
    np.add.at(total, corner, pixels[row, column])
    total[: count.size] /= np.maximum(count, 1)[:, None]
    return total


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
