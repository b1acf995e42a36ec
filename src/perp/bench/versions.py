"""Versions of the packages behind a solver."""

from __future__ import annotations

import subprocess
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import perp
from perp.solvers import registry

# Modules whose distribution has another name.
_DISTRIBUTIONS = {"pydrake": "drake", "pinocchio": "pin", "highspy": "highspy", "gamspy_base": "gamspy-base"}


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
