"""A recording as one html file that plays offline.

The file holds a small player (assets/: html, style, WebGL renderer, plots) and the recording, packed: poses
and contacts as 16-bit integers, differences from frame to frame, compressed. Long runs keep every k-th step,
and the page says so; its plots keep all they can show.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems import ProblemError
from perp.scenes.geometry import Shape, spatial_tendons
from perp.simulation.recordings.summary import summarise
from perp.view.colors import STATE_COLORS, STATE_NAMES
from perp.view.drawing import Copies, body_size, copies_of, drawn_side, extent, not_drawn
from perp.view.meshes import arrow, cone, sphere, with_normals

if TYPE_CHECKING:
    from perp import Recording, Simulation

# Motion is interpolated between frames, so more than this many of them are not seen.
_MOST_FRAMES = 1500
# Bytes of poses and contacts before compression: pages stay below about 10 MB.
_MOST_BYTES = 12_000_000
_PLOT_POINTS = 2000  # more than a plot has pixels
_SCRIPTS = [
    "arrays",
    "maths",
    "shaders",
    "renderer",
    "frames",
    "camera",
    "plots",
    "live",
    "pushing",
    "player",
]


def page_text(recording: Recording, title: str) -> str:
    """The page of a recording that has steps, as text."""
    if not len(recording):
        raise ProblemError("the recording has no steps: there is nothing to show")
    return _page(title, *packed(recording))


def live_page_text(simulation: Simulation, title: str) -> str:
    """The page of a run that goes on: it asks its server for the frames."""
    geometry = simulation.geometry
    position = np.array([simulation.body(name).position for name in simulation.body_names]).reshape(-1, 3)
    quaternion = np.array([simulation.body(name).quaternion for name in simulation.body_names])
    header, arrays = _scene(geometry, position[None], quaternion.reshape(-1, 4)[None])
    header["notes"] = not_drawn(geometry, spatial_tendons(simulation.model.shapes))
    header |= {
        "live": True, "bodies": list(simulation.body_names), "step": float(simulation.step_size),
        "tolerance": float(simulation.stepper.settings.tolerance), "stride": 1,
        "relaxed": simulation.stepper.settings.formulation is not None,
    }  # fmt: skip
    return _page(title, header, _blob(header, arrays))


def _page(title: str, header: dict[str, Any], blob: bytes) -> str:
    header["title"] = title
    assets = files("perp.view") / "assets"
    script = "\n".join((assets / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
    parts = {
        # a page of a file asks nobody for anything
        "connect": "connect-src 'self'" if header.get("live") else "connect-src 'none'",
        "title": html.escape(title),
        "style": (assets / "page.css").read_text(encoding="utf-8"),
        # a body may have any name, even one that looks like the end of the script
        "header": json.dumps(header).replace("<", "\\u003c"),
        "data": base64.b64encode(gzip.compress(blob, 6, mtime=0)).decode("ascii"),
        "script": script,
    }
    page = (assets / "page.html").read_text(encoding="utf-8")
    # all at once: a title may look like one of the places
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], page)


def packed(recording: Recording) -> tuple[dict[str, Any], bytes]:
    """The header (JSON) and the arrays that it describes."""
    kept = _kept(recording)
    steps = kept[1:] - 1  # frame 0 is the start, frame k the end of step k − 1
    position = np.concatenate([recording.start_position[None], recording.positions[steps]])
    quaternion = np.concatenate([recording.start_quaternion[None], recording.quaternions[steps]])
    header, scene = _scene(recording.geometry, position, quaternion)
    header["notes"] = not_drawn(recording.geometry, recording.about.get("tendons", 0))
    arrays = {
        **_poses(position, quaternion),
        **_contacts(recording, steps),
        **_plots(recording),
        "time": np.concatenate([[recording.start_time], recording.time[steps]]).astype("<f4"),
        **scene,
    }
    summary = summarise(recording)
    header |= {
        "frames": int(kept.size),
        "steps": summary.steps,
        "stride": int(kept[1] - kept[0]) if kept.size > 2 else 1,
        "step": float(recording.step),
        "tolerance": float(recording.tolerance),
        "unmet": summary.missed,
        "late": int(recording.late_contacts.sum()),
        "penetration": summary.penetration,
        "residual": summary.residual,
        "coulomb": summary.coulomb_distance,
        "energy": [summary.energy_start, summary.energy_end],
        "bodies": list(recording.body_names),
    }
    return header, _blob(header, arrays)


def _scene(
    geometry: Iterable[Shape], position: np.ndarray, quaternion: np.ndarray
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What is drawn, without where: header and arrays; poses of all frames tell how far one has to see."""
    shapes = list(geometry)
    copies = copies_of(shapes)
    arrays: dict[str, np.ndarray] = {}
    groups = []
    for i, group in enumerate(copies):
        arrays |= {f"{name}{i}": array for name, array in _group(group).items()}
        groups.append({"kind": group.kind, "count": int(group.body.size)})
    for name, mesh in (("arrow", arrow()), ("cone", cone()), ("dot", sphere(8))):
        arrays |= {f"{name}_{part}": array for part, array in _mesh(*mesh).items()}
    centre, radius = extent(copies, position, quaternion)
    header = {
        "groups": groups,
        "centre": centre.tolist(),
        "radius": radius,
        "body_size": body_size(copies, radius),
        "states": list(STATE_NAMES),
        "colors": list(STATE_COLORS),
    }
    return header, arrays


def _blob(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Arrays one after the other; where each begins is put into the header."""
    blob, layout = bytearray(), {}
    for name, array in arrays.items():
        blob += b"\0" * (-len(blob) % 4)
        layout[name] = [array.dtype.str[1:], len(blob), int(array.size)]
        blob += np.ascontiguousarray(array).tobytes()
    header["arrays"] = layout
    return bytes(blob)


def _kept(recording: Recording) -> np.ndarray:
    """Indices of the frames to keep: every k-th of the start and the steps, and the last."""
    count = recording.time.size + 1
    size = 14.0 * count * len(recording.body_names) + 22.0 * recording.contact_start[-1]
    stride = int(np.ceil(max(count / _MOST_FRAMES, size / _MOST_BYTES, 1.0)))
    return np.unique(np.append(np.arange(0, count, stride), count - 1))


def _poses(position: np.ndarray, quaternion: np.ndarray) -> dict[str, np.ndarray]:
    """Differences of 16-bit integers; every body has its own range, so one that flies off costs no other."""
    low, span = _range(position)
    whole = _integers((position - low) / span * 65534.0 - 32767.0)
    # q and −q are the same turn: neighbours in time are to be neighbours in value
    sign = np.where(np.einsum("fbi,fbi->fb", quaternion[1:], quaternion[:-1]) < 0, -1.0, 1.0)
    steady = quaternion.copy()
    steady[1:] *= np.cumprod(sign, axis=0)[..., None]
    return {
        "position": _differences(whole),
        "quaternion": _differences(_integers(32767.0 * steady)),
        "position_low": low.astype("<f4"),
        "position_span": span.astype("<f4"),
    }


def _contacts(recording: Recording, steps: np.ndarray) -> dict[str, np.ndarray]:
    start = recording.contact_start
    count = start[steps + 1] - start[steps]
    first = np.cumsum(count) - count
    rows = np.arange(count.sum()) + np.repeat(start[steps] - first, count)
    side = drawn_side(recording.contact_body[rows])
    point, force = recording.contact_point[rows], side * recording.contact_force[rows]
    low, span = _range(point)
    largest = max(float(np.abs(force).max()), 1e-300) if rows.size else 1.0
    friction = np.clip(recording.contact_friction[rows, 0], 0.0, 10.0)
    return {
        "contact_start": np.concatenate([[0, 0], np.cumsum(count)]).astype("<u4"),
        "contact_point": _integers((point - low) / span * 65534.0 - 32767.0),
        "contact_low": low.astype("<f4"),
        "contact_span": span.astype("<f4"),
        "contact_force": _integers(force / largest * 32767.0),
        "force_largest": np.array([largest], dtype="<f4"),
        "contact_normal": np.round(127.0 * side * recording.contact_frame[rows, 0]).astype("i1"),
        "contact_friction": _integers(3000.0 * friction),
        "contact_state": recording.contact_state[rows].astype("i1"),
    }


def _plots(recording: Recording) -> dict[str, np.ndarray]:
    """Curves over all steps, thinned only beyond what a plot can show; the residual keeps its peaks."""
    count = recording.time.size
    first = np.arange(0, count, int(np.ceil(count / _PLOT_POINTS)))
    state, owner = recording.contact_state, np.repeat(np.arange(count), recording.contact_count)
    curves = {
        "plot_time": recording.time[first],
        "kinetic": recording.kinetic_energy[first],
        "potential": recording.potential_energy[first],
        "residual": np.maximum.reduceat(recording.residual, first),
        **{
            f"{name}_count": np.bincount(owner[state == k - 1], minlength=count)[first]
            for k, name in enumerate(STATE_NAMES)
        },
    }
    if (recording.coulomb_distance != recording.residual).any():  # a relaxation made the steps
        curves["coulomb"] = np.maximum.reduceat(recording.coulomb_distance, first)
    return {name: np.asarray(curve).astype("<f4") for name, curve in curves.items()}


def _group(group: Copies) -> dict[str, np.ndarray]:
    scale = np.where(np.isfinite(group.scale), group.scale, 0.0)  # 0 stands for a plane without end
    return {
        **_mesh(np.hstack([group.vertices, group.tint]), group.faces),
        "body": group.body.astype("<i4"),
        "local": np.hstack([group.position, group.quaternion, scale, group.color]).astype("<f4"),
    }


def _mesh(vertices: np.ndarray, faces: np.ndarray) -> dict[str, np.ndarray]:
    vertices, normals, faces = with_normals(vertices, faces)
    arrays = {"mesh": np.hstack([vertices[:, :3], normals]).astype("<f4"), "index": faces.astype("<u4")}
    if vertices.shape[1] > 3:
        arrays["tint"] = np.round(255.0 * vertices[:, 3:]).astype("u1")
    return arrays


def _range(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest value and span over the first axis; a span of zero becomes one."""
    if not values.shape[0]:
        return np.zeros(values.shape[1:]), np.ones(values.shape[1:])
    low, span = values.min(axis=0), np.ptp(values, axis=0)
    return low, np.where(span > 0, span, 1.0)


def _integers(values: np.ndarray) -> np.ndarray:
    return np.round(values).astype("<i2")


def _differences(values: np.ndarray) -> np.ndarray:
    """Frame to frame, modulo 2¹⁶: slow motion becomes small numbers, which compress well."""
    return np.concatenate([values[:1], np.diff(values, axis=0)])
