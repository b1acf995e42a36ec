"""Versions of the packages behind a solver."""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata

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
        return f"perp {perp.__version__}"
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return ""
