"""Triangle meshes of the shapes of a scene.

A mesh is a pair of vertices, shape (n, 3), and faces, shape (m, 3). Vertices are shared inside smooth
surfaces and repeated along creases, so that averaged normals look right. Three further columns of vertices
are colours, which go where their vertices go.
"""

import numpy as np

Mesh = tuple[np.ndarray, np.ndarray]

# Two faces whose normals differ by more than this meet in a visible edge.
_CREASE = np.cos(np.radians(35.0))
_POINT = 1e-9  # a circle this small is the tip of a cone
_AROUND = 32  # corners of a circle: edges stop being visible at about this many


def box() -> Mesh:
    """A cube from −1 to 1."""
    vertices, faces = [], []
    for axis in range(3):
        for side in (-1.0, 1.0):
            corners = np.zeros((4, 3))
            corners[:, axis] = side
            corners[:, (axis + 1) % 3] = [-1, 1, 1, -1]
            corners[:, (axis + 2) % 3] = [-1, -1, 1, 1]
            first = 4 * len(vertices)
            order = [[0, 1, 2], [0, 2, 3]] if side > 0 else [[0, 2, 1], [0, 3, 2]]
            vertices.append(corners)
            faces.append(first + np.array(order))
    return np.concatenate(vertices), np.concatenate(faces)


def sphere(rings: int = 16) -> Mesh:
    """The unit sphere."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, rings + 1)
    return _turned(np.cos(angles), np.sin(angles))


def capsule(ratio: float) -> Mesh:
    """A capsule of radius 1 along z whose cylinder reaches from −ratio to ratio."""
    angles = np.linspace(0, np.pi / 2, 9)
    radius = np.concatenate([np.cos(angles)[::-1], np.cos(angles)])
    height = np.concatenate([-ratio - np.sin(angles)[::-1], ratio + np.sin(angles)])
    return _turned(radius, height)


def cylinder() -> Mesh:
    """A cylinder of radius 1 from z = −1 to 1, with caps."""
    return joined(
        _turned([1.0, 1.0], [-1.0, 1.0]), _turned([0.0, 1.0], [-1.0, -1.0]), _turned([1, 0], [1, 1])
    )


def cone() -> Mesh:
    """The surface √(x² + y²) = z from z = 0 to 1, without a lid."""
    return _turned([0.0, 1.0], [0.0, 1.0])


def arrow(*, shaft: float = 0.05, head: float = 0.13, head_length: float = 0.28) -> Mesh:
    """An arrow of length 1 along z."""
    neck = 1.0 - head_length
    return joined(
        _turned([0, shaft], [0, 0]),
        _turned([shaft, shaft], [0, neck]),
        _turned([shaft, head], [neck, neck]),
        _turned([head, 0.0], [neck, 1.0]),
    )


def quad() -> Mesh:
    """A square from −1 to 1 in the plane z = 0."""
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], dtype=np.float64)
    return corners, np.array([[0, 1, 2], [0, 2, 3]])


def joined(*meshes: Mesh) -> Mesh:
    """Several meshes as one, without sharing vertices between them."""
    first = np.cumsum([0, *(vertices.shape[0] for vertices, _ in meshes)])
    vertices = np.concatenate([mesh[0] for mesh in meshes])
    return vertices, np.concatenate([mesh[1] + start for mesh, start in zip(meshes, first[:-1], strict=True)])


def with_normals(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, unit normals and faces, with vertices repeated where faces meet in an edge."""
    corners = vertices[faces, :3]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    smooth = np.zeros((len(vertices), 3))
    for k in range(3):
        np.add.at(smooth, faces[:, k], area)
    flat = np.repeat(_unit(area)[:, None], 3, axis=1)
    around = _unit(smooth)[faces]
    creased = np.einsum("fkx,fkx->fk", flat, around) < _CREASE
    normals = np.where(creased[..., None], flat, around).reshape(-1, 3)
    # a corner is told from another by its vertex and its normal to two digits
    key = np.column_stack([faces.reshape(-1), np.round(100 * normals).astype(np.int64)])
    _, kept, index = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return vertices[faces.reshape(-1)[kept]], normals[kept], index.reshape(-1, 3)


def coarsened(vertices: np.ndarray, faces: np.ndarray, most: int) -> Mesh:
    """The mesh with at most about `most` faces: vertices in the same cell of a grid become one."""
    cells = 256
    while faces.shape[0] > most and cells >= 8:
        x = vertices[:, :3]
        low, span = x.min(axis=0), np.ptp(x, axis=0).max()
        cell = np.floor((x - low) / max(span, 1e-300) * cells).astype(np.int64)
        _, index, count = np.unique(cell, axis=0, return_inverse=True, return_counts=True)
        mean = np.zeros((count.size, vertices.shape[1]))
        np.add.at(mean, index.reshape(-1), vertices)
        merged = index.reshape(-1)[faces]
        a, b, c = merged.T
        merged = merged[(a != b) & (b != c) & (c != a)]
        vertices, faces = mean / count[:, None], np.unique(merged, axis=0)
        cells //= 2
    return vertices, faces


def _turned(radius: object, height: object) -> Mesh:
    """The surface of a profile (radius, height) turned about z, outwards where the profile goes up."""
    r, z = np.asarray(radius, dtype=np.float64), np.asarray(height, dtype=np.float64)
    angle = 2 * np.pi * np.arange(_AROUND) / _AROUND
    vertices = np.stack(
        [np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle)), np.repeat(z[:, None], _AROUND, axis=1)],
        axis=-1,
    ).reshape(-1, 3)
    here, right = np.arange(_AROUND), (np.arange(_AROUND) + 1) % _AROUND
    faces = []
    for k in range(r.size - 1):
        low, high = k * _AROUND, (k + 1) * _AROUND
        if r[k] > _POINT:
            faces.append(np.column_stack([low + here, low + right, high + here]))
        if r[k + 1] > _POINT:
            faces.append(np.column_stack([low + right, high + right, high + here]))
    return vertices, np.concatenate(faces)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300)
