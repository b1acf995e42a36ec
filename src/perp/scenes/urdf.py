"""URDF into an MjSpec: mesh paths resolved, visuals only drawn, neighbours allowed to overlap.

mujoco reads URDF itself but looks for every mesh in one folder, and lets a link collide with the fixed base
it is mounted on. Here `package://`, `file://` and relative names are found from the file's place and from
ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, and links that share a joint or
overlap at the reference position do not collide, as ROS has it.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from perp.scenes.engine import engine
from perp.scenes.meshes import mesh_file
from perp.scenes.model import SceneError
from perp.scenes.neighbours import overlapping
from perp.scenes.srdf import add_poses, srdf_of

_DEFAULTS = {"strippath": "false", "discardvisual": "false", "balanceinertia": "true", "fusestatic": "false"}
_UNUSED = {
    "gazebo": "extensions of another simulator",
    "transmission": "it is for another controller: motors='force' or 'velocity' gives joints a motor",
    "safety_controller": "soft limits belong to a controller",
}
Lines = list[tuple[str, str]]
# Names of a line of the report; the group of shapes that viewers hide.
_NAMED, _HIDDEN = 3, 3
# What links that move but weigh nothing get: mass [kg] and radius of gyration [m].
LEAST_MASS, LEAST_GYRATION = 1e-3, 1e-2


def is_urdf(text: str) -> bool:
    """Whether XML text is a robot description."""
    return re.sub(r"<!--.*?-->|<\?.*?\?>", "", text, flags=re.DOTALL).lstrip().startswith("<robot")


def read_urdf(text: str, path: Path | None) -> tuple[Any, Lines]:
    """The MjSpec of a URDF, and lines for the import report.

    Relative names begin where its file is, if any, and poses are looked for there.
    """
    folder, where = (Path.cwd(), "the URDF text") if path is None else (path.parent, str(path))
    try:
        # blanks before the declaration and a zero byte at the end are no XML, but files in use have them
        robot = ET.fromstring(text.strip("\ufeff\0 \t\r\n"))  # noqa: S314  a robot of the user's own
    except ET.ParseError as error:
        raise SceneError(f"{where}: {error}") from None
    lines: Lines = []
    lines += _leave_out_empty(robot)
    assets = _meshes(robot, folder, where)
    lines += _visuals(robot, folder, assets)
    for tag, reason in _UNUSED.items():
        if next(robot.iter(tag), None) is not None:
            lines.append((tag, reason))
    if any(float(limit.get("velocity") or 0) > 0 for limit in robot.iter("limit")):
        lines.append(("limit velocity", "speeds of joints are not limited"))
    lines += _repair_inertias(robot)
    _compiler(robot)
    try:
        spec = engine().MjSpec.from_string(ET.tostring(robot, encoding="unicode"), assets=assets)
    except ValueError as error:
        raise SceneError(f"{where}: {error}") from None
    # a link without an inertial has no mass; mujoco would make one up from its shapes
    for name in [link.get("name") for link in robot.findall("link") if link.find("inertial") is None]:
        body = spec.body(name)
        for geom in [] if body is None else body.geoms:
            geom.mass = 0.0
    _only_draw(spec)
    # the hull of a flat mesh has no volume; links as a rule bring their own inertia
    for mesh in spec.meshes:
        mesh.inertia = engine().mjtMeshInertia.mjMESH_INERTIA_SHELL
    lines += _exclude_neighbours(spec, robot)
    found, model = _exclude_overlapping(spec, where)
    lines += found
    poses = None if path is None else srdf_of(path)
    if poses is not None:
        lines += add_poses(spec, model, poses)
    return spec, lines


def _leave_out_empty(robot: ET.Element) -> Lines:
    """Take out shapes without extent: a link that has no shape is written as a box of size 0 at times."""
    empty: list[str] = []
    for link in robot.iter("link"):
        for kind in ("collision", "visual"):
            for shape in link.findall(kind):
                sizes = [
                    float(number)
                    for part in shape.iterfind("geometry/*")
                    for name in ("size", "radius", "length")
                    for number in part.get(name, "").split()
                ]
                if sizes and min(sizes) <= 0:
                    link.remove(shape)
                    empty.append(f"{kind} of link {link.get('name')}")
    return [(name, "its shape has no extent: it is left out") for name in dict.fromkeys(empty)]


def _repair_inertias(robot: ET.Element) -> Lines:
    """Give links that move but weigh nothing, or do not resist turning, as little as can be computed with."""
    weak: list[str] = []
    moving = {
        child.get("link")
        for joint in robot.findall("joint")
        if joint.get("type") != "fixed"
        for child in joint.findall("child")
    }
    for link in robot.findall("link"):
        inertial = link.find("inertial")
        if inertial is None:
            if link.get("name") not in moving:
                continue
            inertial = ET.SubElement(link, "inertial")
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        mass = ET.SubElement(inertial, "mass", value="0") if mass is None else mass
        inertia = ET.SubElement(inertial, "inertia") if inertia is None else inertia
        kilograms = float(mass.get("value") or 0)
        xx, yy, zz = (float(inertia.get(name) or 0) for name in ("ixx", "iyy", "izz"))
        xy, xz, yz = (float(inertia.get(name) or 0) for name in ("ixy", "ixz", "iyz"))
        smallest = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])[0]
        if kilograms > 0 and smallest > 1e-12:
            continue
        if kilograms <= 0 and link.get("name") not in moving:
            link.remove(inertial)
            continue
        kilograms = max(kilograms, LEAST_MASS)
        mass.set("value", repr(kilograms))
        least = max(kilograms * LEAST_GYRATION**2, 1e-12)
        for name, moment in (("ixx", xx), ("iyy", yy), ("izz", zz)):
            inertia.set(name, repr(max(moment, least)))
        for name in ("ixy", "ixz", "iyz"):
            inertia.set(name, "0")
        weak.append(link.get("name") or "?")
    if not weak:
        return []
    reason = "without mass or inertia: it gets a gram and a radius of gyration of a centimetre at least"
    return [(f"inertial of link {name}", reason) for name in weak]


def _compiler(robot: ET.Element) -> None:
    extension = robot.find("mujoco")
    if extension is None:
        extension = ET.SubElement(robot, "mujoco")
    compiler = extension.find("compiler")
    if compiler is None:
        compiler = ET.SubElement(extension, "compiler")
    compiler.attrib.pop("meshdir", None)
    for name, value in _DEFAULTS.items():
        compiler.attrib.setdefault(name, value)
    compiler.set("strippath", "false")


def _meshes(robot: ET.Element, folder: Path, where: str) -> dict[str, bytes]:
    """Content of the collision meshes by the names that the URDF gets for them."""
    assets: dict[str, bytes] = {}
    given: dict[tuple[Path, str], str] = {}
    for link in robot.iter("link"):
        element = f"link {link.get('name')!r}"
        for mesh in link.findall("collision/geometry/mesh"):
            asked = mesh.get("filename", "")
            path = next((p for p in _candidates(asked, folder) if p.is_file()), None)
            if path is None:
                raise SceneError(f"{where}: the mesh {asked!r} of {element} is not found")
            key = (path, mesh.get("scale", ""))
            if key not in given:
                suffix, content = mesh_file(path, element)
                given[key] = f"mesh{len(given)}_{path.stem}{suffix}"
                assets[given[key]] = content
            mesh.set("filename", given[key])
    return assets


def _visuals(robot: ET.Element, folder: Path, assets: dict[str, bytes]) -> Lines:
    """Put the meshes of visuals among the assets; those that cannot be drawn are left out, with a line."""
    missing: list[str] = []
    for link in robot.iter("link"):
        for visual in link.findall("visual"):
            mesh = visual.find("geometry/mesh")
            if mesh is None:
                continue
            asked = mesh.get("filename", "")
            path = next((p for p in _candidates(asked, folder) if p.is_file()), None)
            try:
                if path is None:
                    raise SceneError(asked)
                suffix, content = mesh_file(path, "a visual")
            except (SceneError, OSError):
                link.remove(visual)
                missing.append(asked)
                continue
            name = next((name for name, other in assets.items() if other == content), None)
            if name is None:
                name = f"visual{len(assets)}_{path.stem}{suffix}"
                assets[name] = content
            mesh.set("filename", name)
    if not missing:
        return []
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    listed = ", ".join(missing[:_NAMED]) + more
    return [(f"visual {listed}", "the mesh is not found or cannot be read: it is not drawn")]


def _only_draw(spec: Any) -> None:
    """Visuals weigh nothing; shapes of bodies that have visuals are hidden behind them."""
    for body in spec.bodies:
        drawn = [geom for geom in body.geoms if not geom.contype and not geom.conaffinity]
        for geom in drawn:
            geom.mass, geom.group = 0.0, 1
        for geom in body.geoms if drawn else ():
            if geom.contype or geom.conaffinity:
                geom.group = _HIDDEN


def _candidates(name: str, folder: Path) -> Iterator[Path]:
    """Where a mesh may be, most likely place first."""
    scheme, _, place = name.partition("://")
    if not place:
        yield folder / name
        return
    if scheme == "file":
        yield Path(place)
        return
    parts = [*Path(place.lstrip("/")).parts]
    if not parts:
        return
    inside = Path(*parts[1:]) if len(parts) > 1 else Path(*parts)
    roots = [folder.resolve(), *folder.resolve().parents]
    for root in roots:
        yield root / Path(*parts)
        if root.name == parts[0]:
            yield root / inside
    for variable in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        for root in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            for place in (Path(root), Path(root) / "share"):
                yield place / Path(*parts)
    for root in roots:
        yield root / inside


def _exclude_neighbours(spec: Any, robot: ET.Element) -> Lines:
    names = {body.name for body in spec.bodies}
    pairs = []
    for joint in robot.findall("joint"):
        parent, child = joint.find("parent"), joint.find("child")
        if parent is None or child is None:
            continue
        a, b = parent.get("link", ""), child.get("link", "")
        if a in names and b in names and a != b:
            spec.add_exclude(name=f"neighbours {a} {b}", bodyname1=a, bodyname2=b)
            pairs.append((a, b))
    if not pairs:
        return []
    counted = "a pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    return [(f"contact of {counted} of links", "links that share a joint do not collide")]


def _exclude_overlapping(spec: Any, where: str) -> tuple[Lines, Any]:
    """Links that overlap at the reference position cannot collide: URDF leaves saying so to other files.

    Returns lines for the report, and the compiled robot.
    """
    try:
        model = spec.compile()
    except ValueError as error:
        raise SceneError(f"{where}: {' '.join(str(error).split())}") from None
    lines: Lines = []
    for first, second in overlapping(model):
        a, b = model.body(first).name, model.body(second).name
        spec.add_exclude(name=f"overlap {a} {b}", bodyname1=a, bodyname2=b)
        lines.append((f"contact of {a} and {b}", "they overlap at the reference position"))
    return lines, model
