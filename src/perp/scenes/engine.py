"""The mujoco module, imported on first use and without its incomplete type stubs."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def engine() -> Any:
    """The module `mujoco` of mujoco-core."""
    return import_module("mujoco")


def enabled(m: Any, *names: str) -> bool:
    """Whether a scene leaves parts of the mechanics on, by the names of mujoco's flags: "LIMIT", "SPRING", ….

    Limits, friction losses, equalities and contacts are also off where the scene disables constraints.
    """
    bits = engine().mjtDisableBit
    return not any(int(m.opt.disableflags) & int(getattr(bits, f"mjDSBL_{name}")) for name in names)
