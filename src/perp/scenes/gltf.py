"""Points of binary glTF meshes (`.glb`), each primitive moved by the nodes that it hangs from.

Their axes stay as they are, as those of COLLADA do. The format calls y up, and some viewers turn that into
z; the robots that come with such meshes are written for those that do not: only so do their centres of mass
lie within them.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from perp.scenes.frames import to_matrices

_HEADER, _FLOAT = 12, 5126


def glb_points(content: bytes) -> np.ndarray:
    """All points of the scene, in metres, shape (points, 3).

    Raises:
        ValueError, LookupError, TypeError: It is no glTF, or compressed, or points at what is not there.
    """
    if content[:4] != b"glTF":
        raise ValueError("it does not begin as binary glTF does")
    chunks: dict[bytes, bytes] = {}
    at = _HEADER
    while at + 8 <= len(content):
        size = int.from_bytes(content[at : at + 4], "little")
        chunks.setdefault(content[at + 4 : at + 8], content[at + 8 : at + 8 + size])
        at += 8 + size
    scene = json.loads(chunks[b"JSON"])
    found: list[np.ndarray] = []
    waiting = [(root, np.eye(4)) for root in scene["scenes"][scene.get("scene", 0)]["nodes"]]
    nodes = list(scene["nodes"])
    while waiting:
        number, above = waiting.pop()
        # a node hangs from one other at most
        node, nodes[number] = nodes[number], None
        here = above @ _placing(node)
        if "mesh" in node:
            for primitive in scene["meshes"][node["mesh"]]["primitives"]:
                points = _positions(scene, chunks[b"BIN\0"], primitive["attributes"]["POSITION"])
                found.append(points @ here[:3, :3].T + here[:3, 3])
        waiting += [(child, here) for child in node.get("children", ())]
    if not found:
        raise ValueError("it holds no geometry")
    return np.concatenate(found)


def _placing(node: Any) -> np.ndarray:
    """The transformation of a node, shape (4, 4)."""
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    out = np.eye(4)
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    out[:3, :3] = to_matrices(np.array([[w, x, y, z]], dtype=np.float64))[0] * node.get("scale", (1, 1, 1))
    out[:3, 3] = node.get("translation", (0, 0, 0))
    return out


def _positions(scene: Any, data: bytes, number: int) -> np.ndarray:
    accessor = scene["accessors"][number]
    if accessor["componentType"] != _FLOAT or accessor["type"] != "VEC3":
        raise ValueError("its points are compressed")
    view = scene["bufferViews"][accessor["bufferView"]]
    begin = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    strides = (view.get("byteStride", 12), 4)
    return np.ndarray((accessor["count"], 3), "<f4", data, begin, strides).astype(np.float64)
