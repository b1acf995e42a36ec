"""Which sensors of a scene are read, and which are not."""

from typing import Any

import numpy as np

from perp.scenes.engine import engine

# Forces of limits and details of contacts and plugins are not told apart by a step.
_NOT_READ = ("JOINTLIMITFRC", "TENDONLIMITFRC", "CONTACT", "TACTILE", "PLUGIN", "USER")
# Forces inside of a mechanism cannot be found from its motion where it closes loops.
_INNER = ("FORCE", "TORQUE")


def sensor_names(m: Any) -> tuple[str, ...]:
    """Names of the sensors, in the order of sensordata."""
    return tuple(m.sensor(i).name or f"sensor{i}" for i in range(m.nsensor))


def not_read(m: Any) -> tuple[int, ...]:
    """Numbers of the sensors that are not read."""
    mujoco = engine()
    kinds = [int(getattr(mujoco.mjtSensor, f"mjSENS_{name}")) for name in _NOT_READ]
    loops = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
    if np.isin(m.eq_type, loops).any():
        kinds += [int(getattr(mujoco.mjtSensor, f"mjSENS_{name}")) for name in _INNER]
    return tuple(i for i in range(m.nsensor) if int(m.sensor_type[i]) in kinds)
