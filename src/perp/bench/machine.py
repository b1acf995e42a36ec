"""The machine that a run was made on, and the versions of what ran."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from perp.bench.versions import package_version
from perp.comparison.processes import ONE_THREAD

PACKAGES = ("perp", "numpy", "scipy", "numba", "clarabel", "scs", "quantecon", "pydrake", "pinocchio", "dask")


def describe() -> dict[str, Any]:
    """Processor, memory, system, interpreter, packages and threads, as plain data."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": _memory(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": [text for name in PACKAGES if (text := package_version(name))],
        "threads": dict(ONE_THREAD),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _memory() -> float | None:
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
