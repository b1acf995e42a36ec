"""The machine that a run was made on, and the versions of what ran."""

import os
import platform
import subprocess
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import perp
from perp.comparison.processes import ONE_THREAD
from perp.solvers import registry

PACKAGES = ("perp", "numpy", "scipy", "numba", "clarabel", "scs", "quantecon", "pydrake", "pinocchio", "dask")

# Modules whose distribution has another name.
_DISTRIBUTIONS = {"pydrake": "drake", "pinocchio": "pin", "highspy": "highspy", "gamspy_base": "gamspy-base"}


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


@lru_cache
def solver_version(name: str) -> str:
    """The version of a solver: perp's own, or that of the package that it needs."""
    info = registry.find(name)
    if info.needs is None:
        return package_version("perp") if info.run.__module__.startswith("perp.") else ""
    version = getattr(info.needs, "version", None)
    return package_version(info.needs.module) if version is None else version()


def package_version(module: str) -> str:
    """Name and version of the package that a module comes from, or an empty string."""
    name = _DISTRIBUTIONS.get(module, module)
    if name == "perp":
        return f"perp {perp.__version__} {commit()}".rstrip()
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return ""


@lru_cache
def commit() -> str:
    """The commit of perp's sources, marked where they have been changed since; empty when it is installed."""
    folder = Path(perp.__file__).parent
    try:
        _git(folder, "ls-files", "--error-unmatch", "__init__.py")
        changed = "+changes" if _git(folder, "status", "--porcelain", "--", ".") else ""
        return f"(git {_git(folder, 'rev-parse', '--short=10', 'HEAD')}{changed})"
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(folder: Path, *words: str) -> str:
    run = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=20, check=True
    )
    return run.stdout.strip()
