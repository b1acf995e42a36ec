"""Poses of a robot that stand beside its URDF, in SRDF files: they become keyframes.

A robot `NAME_description/urdf/robot.urdf` keeps them as a rule in `NAME_description/srdf/robot.srdf`. Groups,
end effectors and lists of links that never touch are left to planners.
"""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from perp.scenes.model import SceneError

Lines = list[tuple[str, str]]


def srdf_of(path: Path) -> Path | None:
    """The SRDF file of a URDF file: of the same name beside it or in a folder srdf, or the only one there."""
    folders = (path.parent, path.parent / "srdf", path.parent.parent / "srdf")
    for folder in folders:
        if (folder / f"{path.stem}.srdf").is_file():
            return folder / f"{path.stem}.srdf"
    for folder in folders:
        found = sorted(folder.glob("*.srdf"))
        if len(found) == 1:
            return found[0]
    return None


def add_poses(spec: Any, model: Any, path: Path) -> Lines:
    """Add the group states of an SRDF file to a spec, which is compiled as well, as keyframes.

    Returns lines for the import report.
    """
    try:
        root = ET.fromstring(path.read_text(encoding="utf-8", errors="replace"))  # noqa: S314  the user's own
    except ET.ParseError as error:
        raise SceneError(f"{path}: {error}") from None
    address = {model.joint(j).name: int(model.jnt_qposadr[j]) for j in range(model.njnt)}
    names: set[str] = set()
    strange: list[str] = []
    for state in root.iter("group_state"):
        name = state.get("name") or "pose"
        if name in names:  # states of several groups share a name: the first one counts
            strange.append(name)
            continue
        qpos = model.qpos0.copy()
        for joint in state.findall("joint"):
            values = (joint.get("value") or "").split()
            at = address.get(joint.get("name") or "")
            if at is None or len(values) != 1:
                continue
            try:
                qpos[at] = float(values[0])
            except ValueError:
                raise SceneError(
                    f"{path}: joint {joint.get('name')!r} of group_state {name!r} has value {values[0]!r}"
                ) from None
        if np.isfinite(qpos).all():
            names.add(name)
            spec.add_key(name=name, qpos=qpos)
    return [
        (f"group_state {name} of {path.name}", "another group has a state of that name") for name in strange
    ]
