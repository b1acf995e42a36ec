"""The whole state of a simulation as named arrays: to go back, to copy, to keep in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from perp.problems import ProblemError

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation

_STATE, _MEMORY = "state.", "memory."


def take_snapshot(simulation: Simulation) -> dict[str, np.ndarray]:
    """State, controls, wrenches and what the stepper remembers of earlier steps."""
    state = {
        _STATE + "time": np.array(simulation.state.time),
        _STATE + "packed": simulation.state.packed.copy(),
    }
    memory = {_MEMORY + name: np.array(x) for name, x in simulation.stepper.memory().items()}
    position, quaternion = simulation.stepper.mocap
    if len(position):
        state |= {"mocap.position": position, "mocap.quaternion": quaternion}
    return {**state, **memory, "control": simulation.ctrl, "wrench": simulation.wrench}


def restore_snapshot(simulation: Simulation, snapshot: Mapping[str, np.ndarray]) -> None:
    """Bring a simulation to where the snapshot was taken.

    Raises:
        ProblemError: The snapshot belongs to another scene; nothing is changed.
    """
    now = take_snapshot(simulation)
    for name, array in now.items():
        if name.startswith(_MEMORY):
            continue
        found = np.shape(snapshot[name]) if name in snapshot else None
        if found != array.shape:
            has = "is missing" if found is None else f"has shape {found}"
            raise ProblemError(f"snapshot[{name!r}] {has}: this scene needs shape {array.shape}")
    packed = np.array(snapshot[_STATE + "packed"], dtype=np.float64)
    simulation.state = simulation.stepper.unpacked(float(snapshot[_STATE + "time"]), packed)
    simulation.set_control(snapshot["control"])
    simulation.wrench = snapshot["wrench"]
    if "mocap.position" in now:
        simulation.stepper.set_mocap(snapshot["mocap.position"], snapshot["mocap.quaternion"])
    # a new control wakes sleepers: memory comes last
    simulation.stepper.set_memory(
        {name.removeprefix(_MEMORY): x for name, x in snapshot.items() if name.startswith(_MEMORY)}
    )
