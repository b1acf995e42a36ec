"""Collision meshes that mujoco does not read: COLLADA, glTF, ASCII STL, as the convex hull that contact uses.

Lengths follow the file's unit; the axis that a COLLADA file calls up is left alone, as ROS does.
"""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from perp.scenes.gltf import glb_points
from perp.scenes.model import SceneError

# mujoco refuses larger files.
_MOST_FACES = 200_000


def mesh_file(path: Path, element: str) -> tuple[str, bytes]:
    """Suffix and content of a mesh, which an element asks for, in a form that mujoco reads."""
    suffix, content = path.suffix.lower(), path.read_bytes()
    try:
        if suffix == ".dae":
            return ".obj", hull_as_obj(collada_points(content))
        if suffix == ".glb":
            return ".obj", hull_as_obj(glb_points(content))
        if suffix == ".stl" and _is_text(content):
            numbers = re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", content)
            return ".obj", hull_as_obj(np.array(numbers, dtype=np.float64))
        if suffix == ".stl" and _face_count(content) > _MOST_FACES:
            return ".obj", hull_as_obj(_stl_points(content))
    except (ValueError, LookupError, TypeError, ET.ParseError) as error:
        raise SceneError(f"{path}: the mesh of {element} cannot be read: {error}") from None
    if suffix not in (".stl", ".obj", ".msh"):
        raise SceneError(
            f"{path}: the mesh of {element} is {suffix or 'no known format'}: "
            "STL, OBJ, MSH, COLLADA or GLB is needed"
        )
    return suffix, content


def _face_count(content: bytes) -> int:
    return int(np.frombuffer(content[80:84], dtype="<u4")[0]) if len(content) >= 84 else 0


def _is_text(content: bytes) -> bool:
    return content[:5] == b"solid" and len(content) != 84 + 50 * _face_count(content)


def _stl_points(content: bytes) -> np.ndarray:
    face = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("attribute", "<u2")])
    return np.frombuffer(content, dtype=face, offset=84)["corner"].reshape(-1, 3).astype(np.float64)


def collada_points(content: bytes) -> np.ndarray:
    """All points of a COLLADA scene, in metres, shape (points, 3)."""
    root = ET.fromstring(re.sub(rb'\sxmlns="[^"]*"', b"", content, count=1))  # noqa: S314  the user's own
    unit = root.find("asset/unit")
    metre = float(unit.get("meter", 1.0)) if unit is not None else 1.0
    points = {
        "#" + (geometry.get("id") or ""): _geometry_points(geometry)
        for geometry in root.findall("library_geometries/geometry")
    }
    found: list[np.ndarray] = []
    for scene in root.findall("library_visual_scenes/visual_scene"):
        for node in scene.findall("node"):
            _collect(node, np.eye(4), points, found)
    if not found:
        found = list(points.values())
    if not found:
        raise ValueError("it holds no geometry")
    return metre * np.concatenate(found)


def _geometry_points(geometry: ET.Element) -> np.ndarray:
    mesh = geometry.find("mesh")
    if mesh is None:
        return np.zeros((0, 3))
    inputs = mesh.findall("vertices/input")
    ids = {entry.get("source", "")[1:] for entry in inputs if entry.get("semantic") == "POSITION"}
    parts = [
        np.array((source.findtext("float_array") or "").split(), dtype=np.float64).reshape(-1, 3)
        for source in mesh.findall("source")
        if source.get("id") in ids
    ]
    return np.concatenate(parts) if parts else np.zeros((0, 3))


def _collect(
    node: ET.Element, above: np.ndarray, points: dict[str, np.ndarray], out: list[np.ndarray]
) -> None:
    here = above @ _transform(node)
    for instance in node.findall("instance_geometry"):
        found = points.get(instance.get("url", ""))
        if found is not None and len(found):
            out.append(found @ here[:3, :3].T + here[:3, 3])
    for child in node.findall("node"):
        _collect(child, here, points, out)


def _transform(node: ET.Element) -> np.ndarray:
    """The product of a node's transformations, in the order of the file, shape (4, 4)."""
    total = np.eye(4)
    for part in node:
        if part.tag not in ("matrix", "translate", "rotate", "scale"):
            continue
        x = np.array((part.text or "").split(), dtype=np.float64)
        step = np.eye(4)
        if part.tag == "matrix":
            step = x.reshape(4, 4)
        elif part.tag == "translate":
            step[:3, 3] = x
        elif part.tag == "scale":
            step[:3, :3] = np.diag(x)
        else:
            axis, angle = x[:3] / np.linalg.norm(x[:3]), np.radians(x[3])
            cross = np.cross(np.eye(3), axis)
            step[:3, :3] = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
        total = total @ step
    return total


def hull_as_obj(points: np.ndarray) -> bytes:
    """The convex hull of points as OBJ text, faces turned outwards."""
    from scipy.spatial import ConvexHull, QhullError

    points = np.unique(points, axis=0)
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        raise ValueError("its points lie in a plane, or there are fewer than four") from None
    number = {int(old): new + 1 for new, old in enumerate(hull.vertices)}
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points[hull.vertices].tolist()]
    for corners, equation in zip(hull.simplices, hull.equations, strict=True):
        a, b, c = points[corners]
        outward = np.cross(b - a, c - a) @ equation[:3] > 0
        order = corners if outward else corners[::-1]
        lines.append("f " + " ".join(str(number[int(i)]) for i in order))
    return "\n".join(lines).encode()
