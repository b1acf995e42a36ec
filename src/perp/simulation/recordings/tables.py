"""A recording as tables of pandas and as a dataset of xarray, both imported when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems import PerpError, ProblemError
from perp.simulation.recordings.columns import STEP_COLUMNS

if TYPE_CHECKING:
    from perp.simulation.recordings.recording import Recording

STATES = ("open", "slip", "stick")
_AXES, _TURN = ("x", "y", "z"), ("qw", "qx", "qy", "qz")
_MOTION = ("vx", "vy", "vz", "wx", "wy", "wz")


def steps_frame(recording: Recording) -> Any:
    """One row a step, by time; columns such as `box.x`, `knee.position`, `motor.control`, `energy`."""
    columns: dict[str, np.ndarray] = {}
    for names, array, parts in (
        (recording.body_names, recording.positions, _AXES),
        (recording.body_names, recording.quaternions, _TURN),
        (recording.body_names, recording.velocities, _MOTION),
    ):
        for b, name in enumerate(names):
            columns |= {f"{name}.{part}": array[:, b, k] for k, part in enumerate(parts)}
    for names, array, what in (
        (recording.joint_names, recording.joint_positions, "position"),
        (recording.joint_names, recording.joint_velocities, "velocity"),
        (recording.motor_names, recording.control, "control"),
    ):
        columns |= {f"{name}.{what}": array[:, k] for k, name in enumerate(names)}
    for quantity in ("linear_momentum", "angular_momentum"):
        array = getattr(recording, quantity)
        columns |= {f"{quantity}.{axis}": array[:, k] for k, axis in enumerate(_AXES)}
    columns |= {name: getattr(recording, name) for name in _scalars()}
    columns |= {"energy": recording.energy, "contact_count": recording.contact_count}
    frame = _pandas().DataFrame(columns, index=recording.time)
    frame.index.name = "time"
    return frame


def contacts_frame(recording: Recording) -> Any:
    """One row a contact of a step: names of bodies and shapes, point, normal, force on the second body, …."""
    count = recording.contact_count
    step = np.repeat(np.arange(len(recording)), count)
    bodies, geoms = np.array([*recording.body_names, "world"], object), np.array(recording.geom_names, object)
    normal = recording.contact_frame[:, 0]
    pressure = np.einsum("ck,ck->c", normal, recording.contact_force)
    friction = np.linalg.norm(recording.contact_force - pressure[:, None] * normal, axis=1)
    columns: dict[str, Any] = {"step": step, "time": recording.time[step]}
    for side in range(2):
        columns[f"body{side + 1}"] = bodies[recording.contact_body[:, side]]
        columns[f"geom{side + 1}"] = geoms[recording.contact_geom[:, side]]
    columns |= {axis: recording.contact_point[:, k] for k, axis in enumerate(_AXES)}
    columns |= {f"n{axis}": normal[:, k] for k, axis in enumerate(_AXES)}
    columns |= {f"f{axis}": recording.contact_force[:, k] for k, axis in enumerate(_AXES)}
    columns |= {
        "normal_force": pressure, "friction_force": friction, "gap": recording.contact_gap,
        "slip": recording.contact_slip, "friction": recording.contact_friction[:, 0],
        "state": np.array(STATES, object)[recording.contact_state + 1],
    }  # fmt: skip
    return _pandas().DataFrame(columns)


def dataset(recording: Recording) -> Any:
    """The steps over named axes: time, body, joint, motor."""
    try:
        import xarray
    except ImportError:
        raise PerpError("xarray is not installed: pip install xarray") from None
    variables: dict[str, Any] = {
        "position": (("time", "body", "axis"), recording.positions, {"units": "m"}),
        "quaternion": (("time", "body", "component"), recording.quaternions),
        "linear_velocity": (("time", "body", "axis"), recording.velocities[..., :3], {"units": "m/s"}),
        "angular_velocity": (("time", "body", "axis"), recording.velocities[..., 3:], {"units": "rad/s"}),
        "joint_position": (("time", "joint"), recording.joint_positions),
        "joint_velocity": (("time", "joint"), recording.joint_velocities),
        "control": (("time", "motor"), recording.control),
        "linear_momentum": (("time", "axis"), recording.linear_momentum),
        "angular_momentum": (("time", "axis"), recording.angular_momentum),
        "contact_count": ("time", recording.contact_count),
        "energy": ("time", recording.energy, {"units": "J"}),
        **{name: ("time", getattr(recording, name)) for name in _scalars()},
    }
    coordinates = {
        "time": ("time", recording.time, {"units": "s"}), "body": list(recording.body_names),
        "joint": list(recording.joint_names), "motor": list(recording.motor_names), "axis": list(_AXES),
        "component": ["w", "x", "y", "z"],
    }  # fmt: skip
    return xarray.Dataset(variables, coordinates, {"step": recording.step, "tolerance": recording.tolerance})


def table(recording: Recording, name: str) -> Any:
    """The table of pandas by name."""
    tables = {"steps": steps_frame, "contacts": contacts_frame}
    if name not in tables:
        raise ProblemError(f"there is no table {name!r}; there are: {', '.join(tables)}")
    return tables[name](recording)


def _scalars() -> list[str]:
    """Columns of one number a step, without those that are made from others."""
    return [
        name
        for name, (shape, _) in STEP_COLUMNS.items()
        if not shape and name not in ("time", "contact_count")
    ]


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise PerpError("pandas is not installed: pip install pandas") from None
    return pd
