"""What a run leaves behind, as arrays over steps and contacts: in memory, or in an HDF5 file.

recording = perp.Simulation("scene.xml", step=0.01).run(2.0, out="run.h5")
recording = perp.Recording.open("run.h5")
recording.time, recording.position("box"), recording.contacts(10).force
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from perp.files.reading import PathName
from perp.files.writing import replacing
from perp.problems import FileError, ProblemError
from perp.scenes.geometry import Shape
from perp.scenes.model import find
from perp.simulation.recordings.columns import (
    CONTACT_COLUMNS,
    OF_TREES,
    STEP_COLUMNS,
    pack_shapes,
    stored,
    unpack_shapes,
)
from perp.simulation.recordings.tables import dataset
from perp.simulation.recordings.tables import table as table_of
from perp.simulation.recordings.trees import bodies_along

__all__ = ["ContactRows", "Recording"]

# Friction within this share of its limit counts as sliding.
_AT_THE_LIMIT = 1e-6


@dataclass(frozen=True, eq=False)
class ContactRows:
    """The contacts of one step; the force is that of the first body on the second, in the world.

    Attributes:
        body, geom: Indices of both sides, −1 for the world, shape (contacts, 2).
        point: [m]. frame: normal (first to second) and two tangents as rows. force: [N].
        torque: Of spin and rolling friction [N m].
        gap: [m]. friction: Two sliding coefficients, one of spin and two of rolling [m].
        state: −1 open, 0 slipping, 1 sticking. slip: Sliding speed [m/s].
    """

    body: np.ndarray
    geom: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    force: np.ndarray
    torque: np.ndarray
    gap: np.ndarray
    friction: np.ndarray
    state: np.ndarray
    slip: np.ndarray


def _column(name: str) -> Any:
    """A column of bodies or joints, which is kept or follows from qpos and qvel."""
    return property(lambda self: self._bodies[name])


@dataclass(eq=False, repr=False)
class Recording:
    """A run. Arrays have one row per step, n in all; bodies are those that can move.

    Attributes:
        body_names, geom_names, joint_names, motor_names: In the order of the columns; joints are hinges and
            sliders.
        step: Length of a step [s].
        tolerance: What the residual of a step is held against.
        geometry: The shapes, for pictures.
        centres: Centre of mass of each body in its frame, shape (bodies, 3) [m].
        start_time, start_energy: Before the first step [s, J].
        start_position, start_quaternion: The pose before the first step.
        time: At the end of each step, shape (n,) [s].
        positions, quaternions: Body frames of the file, shapes (n, bodies, 3) [m] and (n, bodies, 4).
        velocities: Of the centres of mass, and angular, in the world, shape (n, bodies, 6) [m/s, rad/s].
        joint_positions, joint_velocities: Shape (n, joints) [rad or m, and per second].
        qpos, qvel: Coordinates and velocities in reduced coordinates, as mujoco has them, shapes (n, nq) and
            (n, nv); no columns in maximal ones. Where they are known the five above follow from them, when
            they are first asked for, equal to those of the steps up to rounding.
        control: What the motors were given, shape (n, motors).
        kinetic_energy, potential_energy: Shape (n,) [J].
        linear_momentum, angular_momentum: Shape (n, 3) [kg m/s, kg m²/s].
        penetration: Largest overlap, shape (n,) [m]. joint_error: Largest, shape (n,) [m or rad].
        joint_residual, contact_residual: Shape (n,) [m]. friction_residual: [m/s].
        residual: The worst of those, each over its scale; a step is met up to `tolerance`. Steps by a
            relaxation (box, pyramid, dual) are held to that.
        coulomb_distance: The same of Coulomb's law, whatever made the step.
        iterations, solves: Newton steps, and how often the problem was solved, shape (n,).
        late_contacts, left_out: Contacts found at the end of a step only, and those that no freedom can open.
        met: Whether the tolerance was met, and no overlap was left that the step should have prevented.
        seconds: Wall time of each step, shape (n,).
        contact_start: Row of the first contact of each step, shape (n + 1,).
        contact_body, contact_geom: Shape (contacts of all steps, 2), −1 for the world.
        contact_point, contact_frame: [m]; normal (first body to second) and tangents as rows.
        contact_force, contact_torque: Of the first body on the second in the world, shape (…, 3) [N, N m];
            the torque is that of spin and rolling friction.
        contact_gap: [m]. contact_friction: Shape (…, 5). contact_state: −1 open, 0 slip, 1 stick.
        contact_slip: Sliding speed [m/s].
        about: Settings and versions of the run.
        tree: How bodies follow from qpos and qvel (`recordings.trees`); empty in maximal coordinates.
        bodies: The columns of bodies and joints where there is no tree.
        snapshot: The whole state after the last step, for `Simulation.restore`; empty when not kept.
        records, states: What each step returned, for a run of this process; empty when read from a file.
    """

    body_names: tuple[str, ...]
    geom_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    motor_names: tuple[str, ...]
    step: float
    tolerance: float
    geometry: tuple[Shape, ...]
    centres: np.ndarray
    start_time: float
    start_energy: float
    start_position: np.ndarray
    start_quaternion: np.ndarray
    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    control: np.ndarray
    kinetic_energy: np.ndarray
    potential_energy: np.ndarray
    linear_momentum: np.ndarray
    angular_momentum: np.ndarray
    penetration: np.ndarray
    joint_error: np.ndarray
    joint_residual: np.ndarray
    contact_residual: np.ndarray
    friction_residual: np.ndarray
    residual: np.ndarray
    coulomb_distance: np.ndarray
    iterations: np.ndarray
    solves: np.ndarray
    late_contacts: np.ndarray
    left_out: np.ndarray
    met: np.ndarray
    seconds: np.ndarray
    contact_start: np.ndarray
    contact_body: np.ndarray
    contact_geom: np.ndarray
    contact_point: np.ndarray
    contact_frame: np.ndarray
    contact_force: np.ndarray
    contact_torque: np.ndarray
    contact_gap: np.ndarray
    contact_friction: np.ndarray
    contact_state: np.ndarray
    contact_slip: np.ndarray
    about: dict[str, Any] = field(default_factory=dict)
    tree: dict[str, np.ndarray] = field(default_factory=dict)
    bodies: dict[str, np.ndarray] = field(default_factory=dict)
    snapshot: dict[str, np.ndarray] = field(default_factory=dict)
    records: list[Any] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)

    @classmethod
    def of_tables(
        cls,
        about: Mapping[str, Any],
        start: Mapping[str, np.ndarray],
        geometry: tuple[Shape, ...],
        steps: Mapping[str, np.ndarray],
        contacts: Mapping[str, np.ndarray],
        tree: Mapping[str, np.ndarray],
    ) -> Recording:
        """From what a file holds."""
        nothing = np.zeros((steps["time"].size, 0))
        steps = {"qpos": nothing, "qvel": nothing, "coulomb_distance": steps["residual"], **steps}
        apart = (*OF_TREES, "contact_count")
        columns: dict[str, Any] = {name: steps[name] for name in STEP_COLUMNS if name not in apart}
        touching: dict[str, Any] = {f"contact_{name}": contacts[name] for name in CONTACT_COLUMNS}
        return cls(
            **{f"{what}_names": tuple(about[f"{what}_names"]) for what in ("body", "geom", "joint", "motor")},
            step=float(about["step"]),
            tolerance=float(about["settings"]["tolerance"]),
            geometry=geometry,
            centres=start["centres"],
            start_time=float(start["time"]),
            start_energy=float(start["energy"]),
            start_position=start["position"],
            start_quaternion=start["quaternion"],
            **columns,
            contact_start=np.concatenate([[0], np.cumsum(steps["contact_count"])]).astype(np.int64),
            **touching,
            about=dict(about),
            tree=dict(tree),
            bodies={} if tree else {name: steps[name] for name in OF_TREES},
        )

    @classmethod
    def open(cls, path: PathName) -> Recording:
        """Read a recording; one whose run was killed, or is still going on, is read up to its last chunk.

        Raises:
            FileError: The file is missing, damaged or no recording.
        """
        from perp.files.recordings import read_recording

        about, groups = read_recording(path)
        try:
            names = tuple(about["geom_names"])
            shapes = unpack_shapes(names, groups["geometry"])
            start, steps, contacts, tree = (groups[name] for name in ("start", "steps", "contacts", "tree"))
            out = cls.of_tables(about, start, shapes, steps, contacts, tree)
            out._check()
        except (LookupError, ValueError, TypeError) as error:
            raise FileError(path, f"is not a complete recording: {error}") from None
        out.snapshot = groups.get("snapshot", {})
        return out

    def save(self, path: PathName, *, force: bool = False) -> None:
        """Write the recording to an HDF5 file.

        Raises:
            FileError: The file exists and `force` is False, or it cannot be written.
        """
        from perp.files.recordings import RecordingFile

        kept = {"steps": dict.fromkeys(STEP_COLUMNS), "contacts": dict.fromkeys(CONTACT_COLUMNS)}
        tables = {
            table: {name: getattr(self, ("" if table == "steps" else "contact_") + name) for name in columns}
            for table, columns in stored(kept, self.about, self.tree).items()
        }
        empty = {
            table: {name: rows[:0] for name, rows in columns.items()} for table, columns in tables.items()
        }
        groups = {"start": self._start(), "geometry": pack_shapes(self.geometry), "tree": self.tree}
        file = RecordingFile.create(path, self.about, groups, empty, force=force)
        try:
            file.append(tables, self.snapshot, when="after the last step")
        finally:
            file.close()

    def to_pandas(self, table: str = "steps") -> Any:
        """A table of pandas.

        Args:
            table: "steps" has one row a step, by time, with columns such as `box.x` and `knee.position`;
                "contacts" one row a contact of a step, with names, point, force, gap and state.
        """
        return table_of(self, table)

    def to_xarray(self) -> Any:
        """The steps as an `xarray.Dataset` over time, body, joint and motor."""
        return dataset(self)

    def to_html(self, path: PathName | None = None, *, title: str | None = None) -> str:
        """The run as one page that plays offline, written to `path` if given.

        Returns:
            The text of the page.
        """
        from perp.view.page import page_text

        text = page_text(self, title or ("perp" if path is None else Path(os.fsdecode(path)).stem))
        if path is not None:
            with replacing(path) as temporary:
                temporary.write_text(text, encoding="utf-8")
        return text

    def plot(self, path: PathName | None = None, *, title: str = "") -> Any:
        """Energy, errors, forces, joints, … as a figure of matplotlib, saved to `path` if given."""
        from perp.view.run_plot import figure_of, plot_run

        if path is not None:
            plot_run(self, os.fsdecode(path), title=title)
        return figure_of(self, title=title)

    def to_video(self, path: PathName, **options: Any) -> Path:
        """A film of the run, rendered off screen; `options` as in `perp.view.video.write_video`.

        They are fps, size, speed, and of the camera azimuth, elevation, zoom, follow, forces, cones, theme.
        """
        from perp.view.video import write_video

        return write_video(self, os.fsdecode(path), **options)

    def to_frames(self, folder: PathName, **options: Any) -> list[Path]:
        """Pictures of the run as PNG files; `options` as in `perp.view.video.write_frames`."""
        from perp.view.video import write_frames

        return write_frames(self, os.fsdecode(folder), **options)

    def __len__(self) -> int:
        return self.time.size

    def _repr_html_(self) -> str:
        from perp.view.notebook import recording_html

        return recording_html(self)

    def __repr__(self) -> str:
        end = self.time[-1] if len(self) else self.start_time
        return f"<Recording of {len(self)} steps to t = {end:g} s, {len(self.body_names)} bodies>"

    @cached_property
    def _bodies(self) -> Mapping[str, np.ndarray]:
        return bodies_along(self.tree, self.centres, self.qpos, self.qvel) if self.tree else self.bodies

    positions, quaternions, velocities, joint_positions, joint_velocities = map(_column, OF_TREES)

    @property
    def energy(self) -> np.ndarray:
        """Kinetic and potential energy, shape (n,) [J]."""
        return self.kinetic_energy + self.potential_energy

    @property
    def contact_count(self) -> np.ndarray:
        """Contacts of each step, shape (n,)."""
        return np.diff(self.contact_start)

    def position(self, body: str) -> np.ndarray:
        """Origin of a body's frame after each step, shape (n, 3) [m]."""
        return self.positions[:, find(body, self.body_names, "body")]

    def quaternion(self, body: str) -> np.ndarray:
        """Orientation of a body's frame after each step, (w, x, y, z), shape (n, 4)."""
        return self.quaternions[:, find(body, self.body_names, "body")]

    def velocity(self, body: str) -> np.ndarray:
        """Linear and angular velocity of a body's centre of mass after each step, shape (n, 6)."""
        return self.velocities[:, find(body, self.body_names, "body")]

    def joint(self, name: str) -> np.ndarray:
        """Coordinate of a hinge or slider after each step, shape (n,) [rad or m]."""
        return self.joint_positions[:, find(name, self.joint_names, "joint")]

    def of(self, name: str) -> np.ndarray:
        """A quantity over the steps by name: `recording.of("energy")`."""
        known = (*STEP_COLUMNS, "energy")
        if name not in known:
            raise ProblemError(f"there is no quantity {name!r}; there are: {', '.join(known)}")
        return getattr(self, name)

    def contacts(self, step: int) -> ContactRows:
        """The contacts of one step; the last is −1."""
        i = range(len(self))[step]
        rows = slice(self.contact_start[i], self.contact_start[i + 1])
        return ContactRows(*(getattr(self, f"contact_{part.name}")[rows] for part in fields(ContactRows)))

    def creep(self) -> np.ndarray:
        """Slip of contacts whose friction is below its limit, where Coulomb allows none, shape (…,) [m/s].

        Zero for the other contacts, of which some slide because they must.
        """
        force, torque = (
            np.einsum("crk,ck->cr", self.contact_frame, x) for x in (self.contact_force, self.contact_torque)
        )
        # one cone limits forces and torques; what a contact does not limit is zero
        limit = np.maximum(self.contact_friction, np.finfo(float).tiny)
        used = np.linalg.norm(np.hstack([force[:, 1:], torque]) / limit, axis=1)
        holds = used < (1.0 - _AT_THE_LIMIT) * force[:, 0]
        return np.where(holds, self.contact_slip, 0.0)

    def _start(self) -> dict[str, np.ndarray]:
        return {
            "time": np.array(self.start_time),
            "energy": np.array(self.start_energy),
            "position": self.start_position,
            "quaternion": self.start_quaternion,
            "centres": self.centres,
        }

    def _check(self) -> None:
        """Whether every column has its shape.

        Raises:
            ValueError: One has not.
        """
        sizes: dict[Any, int] = {
            "bodies": len(self.body_names),
            "joints": len(self.joint_names),
            "motors": len(self.motor_names),
            "coordinates": self.qpos.shape[-1],
            "freedoms": self.qvel.shape[-1],
        }
        total = int(self.contact_start[-1])
        for table, rows, prefix in ((STEP_COLUMNS, len(self), ""), (CONTACT_COLUMNS, total, "contact_")):
            for name, (shape, _) in table.items():
                wanted = (rows, *(sizes.get(n, n) for n in shape))
                found = np.shape(getattr(self, prefix + name))
                if found != wanted:
                    raise ValueError(f"{prefix}{name} has shape {found} in place of {wanted}")
