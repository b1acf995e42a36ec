"""The mujoco module, imported on first use and without its incomplete type stubs."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def engine() -> Any:
    """The module `mujoco` of mujoco-core."""
    return import_module("mujoco")
