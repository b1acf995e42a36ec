"""The scene of the viser page: bodies, ground, and contacts with their forces and friction cones."""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.view.drawing import Copies, body_size, copies_of, extent, placed
from perp.view.frames import Frames
from perp.view.marks import arrow_unit, contact_marks, drawn_side
from perp.view.meshes import Mesh, arrow, cone

_CONE_OPACITY = 0.3
_SEE_THROUGH = 0.35
_NOWHERE = 1e-9  # the size of marks that are not needed in a frame


class Stage:
    """What the page draws.

    Args:
        server: The viser server.
        frames: The run so far; it may grow.
    """

    def __init__(self, server: Any, frames: Frames) -> None:
        self._server, self._frames = server, frames
        first = frames.piece(0)
        copies = copies_of(first.geometry)
        positions = np.concatenate([frames.start[0][None], first.positions])
        centre, self._radius = extent(
            copies, positions, np.concatenate([frames.start[1][None], first.quaternions])
        )
        self._body_size = body_size(copies, self._radius)
        server.scene.set_up_direction("+z")
        server.scene.configure_environment_map("studio", environment_intensity=0.25)
        server.scene.configure_default_lights(enabled=False)
        server.scene.add_light_hemisphere(
            "/light/sky", sky_color=(225, 235, 255), ground_color=(150, 145, 140), intensity=0.8
        )
        sun = server.scene.add_light_directional("/light/sun", intensity=1.4, cast_shadow=True)
        sun.position = centre + self._radius * np.array([1.0, -1.6, 2.8])
        server.initial_camera.look_at = centre
        server.initial_camera.position = centre + 2.1 * self._radius * np.array([0.46, -0.8, 0.38])
        server.initial_camera.fov = float(np.radians(50.0))
        self._grounds([group for group in copies if group.kind == "plane"])
        self._bodies = [
            (group, self._body(f"/bodies/{i}", group))
            for i, group in enumerate(copies)
            if group.kind != "plane"
        ]
        self._marks = {"arrow": arrow(), "cone": cone()}
        self._handles: dict[str, Any] = {}
        self._capacity = 0
        self._unit, self._unit_frames = 0.0, 0
        self._drawn: tuple[Any, ...] = ()
        self._solid = True

    def draw(self, frame: int, shown: tuple[bool, bool, bool]) -> None:
        """Show a frame, with or without force arrows and friction cones, with bodies solid or not."""
        if (frame, shown) == self._drawn:
            return
        self._drawn = (frame, shown)
        position, quaternion = self._frames.pose(frame)
        with self._server.atomic():
            for group, handle in self._bodies:
                if (group.body >= 0).any():
                    x, q = placed(group, position, quaternion)
                    handle.batched_positions, handle.batched_wxyzs = (
                        x.astype(np.float32),
                        q.astype(np.float32),
                    )
            self._draw_contacts(frame, shown[:2])
            self._set_solid(not shown[2])

    def _set_solid(self, solid: bool) -> None:
        if solid != self._solid:
            self._solid = solid
            for _, handle in self._bodies:
                handle.opacity = None if solid else _SEE_THROUGH

    def _body(self, name: str, group: Copies) -> Any:
        x, q = placed(group, *self._frames.start)
        return self._server.scene.add_batched_meshes_simple(
            name,
            group.vertices.astype(np.float32),
            group.faces.astype(np.uint32),
            batched_wxyzs=q,
            batched_positions=x,
            batched_scales=group.scale,
            batched_colors=_bytes(group.color[:, :3]),
            batched_opacities=group.color[:, 3] if (group.color[:, 3] < 1).any() else None,
            lod="off",
        )

    def _grounds(self, planes: list[Copies]) -> None:
        """Planes as grids, large enough to have no visible end."""
        far = 40.0 * self._radius
        cell = 10.0 ** np.floor(np.log10(self._radius))
        for group in planes:
            x, q = placed(group, *self._frames.start)
            for k in range(len(x)):
                self._server.scene.add_grid(
                    f"/ground/{k}",
                    *np.minimum(2.0 * group.scale[k, :2], far).tolist(),
                    cell_size=cell / 2,
                    section_size=5 * cell / 2,
                    cell_color=(215, 220, 228),
                    section_color=(180, 188, 200),
                    plane_color=(238, 241, 245),
                    plane_opacity=1.0,
                    shadow_opacity=0.25,
                    fade_distance=12.0 * self._radius,
                    wxyz=q[k],
                    position=x[k],
                )

    def _draw_contacts(self, frame: int, shown: tuple[bool, bool]) -> None:
        rows = self._frames.contacts(frame)
        count = 0 if rows is None else rows.stop - rows.start
        if count > self._capacity:
            self._grow(count)
        if not self._capacity:
            return
        for name, visible in zip(("arrow", "cone"), shown, strict=True):
            self._handles[name].visible = visible and count > 0
        if rows is None or not count:
            return
        piece = self._frames.piece(frame)
        side = drawn_side(piece.contact_body[rows])
        marks = contact_marks(
            piece.contact_point[rows],
            side * piece.contact_frame[rows, 0],
            side * piece.contact_force[rows],
            piece.contact_friction[rows, 0],
            piece.contact_state[rows],
            unit=self._metres_per_newton(),
            size=min(0.12 * self._radius, 0.5 * self._body_size),
        )
        color = _bytes(marks.color)
        for name, turn, scale in (
            ("arrow", marks.arrow_turn, marks.arrow_scale),
            ("cone", marks.cone_turn, marks.cone_scale),
        ):
            handle = self._handles[name]
            handle.batched_positions = self._padded(marks.point, 0.0)
            handle.batched_wxyzs = self._padded(turn, 1.0)
            handle.batched_scales = self._padded(np.maximum(scale, _NOWHERE), _NOWHERE)
            handle.batched_colors = np.vstack([color, np.zeros((self._capacity - count, 3), np.uint8)])

    def _padded(self, values: np.ndarray, fill: float) -> np.ndarray:
        out = np.full((self._capacity, values.shape[1]), fill, dtype=np.float32)
        out[: len(values)] = values
        return out

    def _grow(self, count: int) -> None:
        """Make room for more marks: a batch keeps its length on the page."""
        self._capacity = max(2 * self._capacity, count + 8)
        for name, mesh in self._marks.items():
            self._handles[name] = self._mark(name, mesh)

    def _mark(self, name: str, mesh: Mesh) -> Any:
        n = self._capacity
        return self._server.scene.add_batched_meshes_simple(
            f"/contacts/{name}",
            mesh[0].astype(np.float32),
            mesh[1].astype(np.uint32),
            batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)),
            batched_positions=np.zeros((n, 3)),
            batched_scales=np.full((n, 3), _NOWHERE),
            batched_colors=np.zeros((n, 3), dtype=np.uint8),
            opacity=_CONE_OPACITY if name == "cone" else None,
            side="double" if name == "cone" else "front",
            lod="off",
            cast_shadow=False,
            receive_shadow=False,
        )

    def _metres_per_newton(self) -> float:
        """From the forces so far; measured again when the run has become half as long again."""
        if len(self._frames) > 1.5 * self._unit_frames:
            self._unit_frames = len(self._frames)
            force = np.concatenate([piece.contact_force for piece in self._frames.pieces])
            self._unit = arrow_unit(force, self._radius, self._body_size)
        return self._unit


def _bytes(color: np.ndarray) -> np.ndarray:
    """Colours of a batch, which viser takes as shares of light and not as values of a screen."""
    return np.round(255 * color**2.2).astype(np.uint8)
