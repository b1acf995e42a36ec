"""Lets a wheel carry compiled kernels: such a wheel is for one Python and one kind of machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = Path("src/perp/compilation/kernels")
# Machine code of kernels calls nothing but numba's own library, which is built for this baseline or a later
# one.
PLATFORM = "manylinux_2_17_x86_64.manylinux2014_x86_64"


class CompiledKernels(BuildHookInterface):
    """Adds the folder that `packaging/wheel.py` has filled, if it has."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = Path(self.root) / KERNELS
        if version != "standard" or not (folder / "facts.json").is_file():
            return
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{PLATFORM}"
        build_data["artifacts"].append(f"{KERNELS}/**")  # git ignores them
