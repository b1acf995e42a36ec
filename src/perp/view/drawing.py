"""A recording as what a viewer draws: meshes with many placed copies, and poses of bodies over time."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from perp.scenes.frames import multiply, rotate
from perp.scenes.geometry import Shape
from perp.view import meshes
from perp.view.colors import shape_color

# Shapes of MuJoCo's groups 3 and up are helpers: its own viewer hides them too.
_HIDDEN_GROUP = 3
# A mesh is drawn with at most this many faces: more are smaller than a pixel and only make files large.
_MOST_FACES = 20_000


@dataclass(frozen=True)
class Copies:
    """One mesh and where it is drawn."""

    kind: str  # as in the scene: "box", "plane", …
    vertices: np.ndarray  # shape (n, 3)
    faces: np.ndarray  # shape (m, 3)
    # what the colour of a copy is multiplied with at each vertex, shape (n, 3), or (n, 0) without a texture
    tint: np.ndarray
    body: np.ndarray  # body that each copy moves with, −1 for the world, shape (copies,)
    # in the body's frame, shapes (copies, 3) and (copies, 4)
    position: np.ndarray
    quaternion: np.ndarray
    scale: np.ndarray  # along the mesh's axes, shape (copies, 3)
    color: np.ndarray  # red, green, blue, opacity, shape (copies, 4)


def copies_of(geometry: Iterable[Shape]) -> list[Copies]:
    """Shapes of a recording, grouped by mesh."""
    groups: dict[object, tuple[str, meshes.Mesh, list[tuple[Shape, np.ndarray]]]] = {}
    for geom in geometry:
        if geom.group >= _HIDDEN_GROUP:
            continue
        key, mesh, scale = _mesh(geom)
        groups.setdefault(key, (geom.kind, mesh, []))[2].append((geom, scale))
    return [
        Copies(
            kind=kind,
            vertices=vertices[:, :3],
            faces=faces,
            tint=vertices[:, 3:],
            body=np.array([geom.body for geom, _ in members]),
            position=np.array([geom.position for geom, _ in members]),
            quaternion=np.array([geom.quaternion for geom, _ in members]),
            scale=np.array([scale for _, scale in members]),
            color=np.array([shape_color(np.asarray(geom.rgba), geom.body) for geom, _ in members]),
        )
        for kind, (vertices, faces), members in groups.values()
    ]


def not_drawn(geometry: Iterable[Shape], tendons: int = 0) -> list[str]:
    """What of the shapes, and of tendons through space, a picture lacks, in words."""
    shapes = list(geometry)
    hidden = sum(shape.group >= _HIDDEN_GROUP for shape in shapes)
    coarse = sum(len(shape.faces) > _MOST_FACES for shape in shapes if shape.group < _HIDDEN_GROUP)
    textured = sum(shape.textured for shape in shapes if shape.group < _HIDDEN_GROUP)
    counted = (
        (textured, "with a texture: its mean colour is drawn"),
        (hidden, f"of groups {_HIDDEN_GROUP} and up: not drawn"),
        (coarse, f"drawn with {_MOST_FACES:,} triangles or fewer"),
    )
    lines = [f"{_counted(count, 'shape')} {words}" for count, words in counted if count]
    return [*lines, *([f"{_counted(tendons, 'tendon')}: not drawn"] if tendons else [])]


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _mesh(geom: Shape) -> tuple[object, meshes.Mesh, np.ndarray]:
    """What tells the mesh from others, the mesh, and the scale of this copy."""
    a, b, c = (float(value) for value in geom.size)
    match geom.kind:
        case "plane":
            return "plane", meshes.quad(), np.array([a or np.inf, b or np.inf, 1.0])
        case "sphere":
            return "sphere", meshes.sphere(), np.array([a, a, a])
        case "ellipsoid":
            return "sphere", meshes.sphere(), np.array([a, b, c])
        case "box":
            return "box", meshes.box(), np.array([a, b, c])
        case "cylinder":
            return "cylinder", meshes.cylinder(), np.array([a, a, b])
        case "capsule":
            ratio = round(b / a, 6)
            return ("capsule", ratio), meshes.capsule(ratio), np.array([a, a, a])
        case _:
            vertices, faces = (
                np.asarray(geom.vertices, dtype=np.float64),
                np.asarray(geom.faces, dtype=np.int64),
            )
            if len(geom.colors):
                vertices = np.hstack([vertices, geom.colors])
            key = (vertices.shape, faces.shape, vertices.tobytes(), faces.tobytes())
            return key, meshes.coarsened(vertices, faces, _MOST_FACES), np.ones(3)


def placed(copies: Copies, position: np.ndarray, quaternion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (copies, 3) and quaternions (copies, 4) in the world, from poses of the bodies."""
    # the world is the body after the last
    x = np.vstack([position, np.zeros(3)])[copies.body]
    q = np.vstack([quaternion, [1.0, 0.0, 0.0, 0.0]])[copies.body]
    return x + rotate(q, copies.position), multiply(q, copies.quaternion)


def extent(
    copies: Iterable[Copies], positions: np.ndarray, quaternions: np.ndarray
) -> tuple[np.ndarray, float]:
    """Centre (3,) and radius [m] of what there is to look at, from poses of the bodies in all frames.

    That is all that moves, and finite shapes around it, at the start; later frames count as long as bodies
    stay near: one that falls off the world is not followed.
    """
    low, high = _bounds(copies, positions[0], quaternions[0])
    centre, radius = 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))
    for frame in np.linspace(0, len(positions) - 1, 12).astype(int)[1:]:
        inside = np.linalg.norm(positions[frame] - centre, axis=1) < 3.0 * radius
        if inside.all():
            bottom, top = _bounds(copies, positions[frame], quaternions[frame])
            low, high = np.minimum(low, bottom), np.maximum(high, top)
    return 0.5 * (low + high), max(0.5 * float(np.linalg.norm(high - low)), 1e-6)


def body_size(copies: Iterable[Copies], radius: float) -> float:
    """Half the diagonal of a typical moving shape [m]; `radius` if nothing moves."""
    sizes = [np.zeros(0)]
    for group in copies:
        reach = np.abs(group.vertices).max(axis=0) * group.scale
        sizes.append(np.linalg.norm(reach[group.body >= 0], axis=1))
    moving = np.concatenate(sizes)
    return float(np.median(moving)) if moving.size else radius


def _bounds(
    copies: Iterable[Copies], position: np.ndarray, quaternion: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner of the shapes, without planes and huge fixed ones."""
    spread = max(float(np.ptp(position, axis=0).max()), 0.5) if position.size else 1.0
    corners = [np.zeros((0, 3))]
    for group in copies:
        if group.kind == "plane":
            continue
        reach = np.abs(group.vertices).max(axis=0) * group.scale
        counted = (group.body >= 0) | (np.linalg.norm(reach, axis=1) < 5.0 * spread)
        centre, turn = placed(group, position, quaternion)
        signs = product((-1.0, 1.0), repeat=3)
        corners.extend((centre + rotate(turn, reach * sign))[counted] for sign in signs)
    points = np.concatenate(corners)
    return (points.min(axis=0), points.max(axis=0)) if points.size else (-np.ones(3), np.ones(3))


def drawn_side(contact_body: np.ndarray) -> np.ndarray:
    """1 where the force on the second body is drawn, −1 where that is the world: forces are on what moves.

    Shape (contacts, 1), from both bodies of each contact, −1 for the world.
    """
    return np.where(contact_body[:, 1] < 0, -1.0, 1.0)[:, None]
