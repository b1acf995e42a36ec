"""How perp's kernels are compiled and where they are kept.

Kernels are written as `@njit(cache=True)`, and numba would keep each one until its own file changes, with the
old code of what it calls in other files. `perp.compilation.cache` keeps perp's kernels until anything changes
that they are made of. It has to be in place before the first kernel is defined, while `import perp` must not
import numba: `take_over` therefore waits for numba's import. Code of others keeps numba's cache as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, cast

# The module of numba that gives a function its cache.
DISPATCHER = "numba.core.dispatcher"


class _NumbaImport:
    """Stands aside when numba's dispatcher is imported, and puts perp's cache into it."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        if fullname != DISPATCHER:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_equip(module: ModuleType) -> None:
            execute(module)
            _equip(module)

        spec.loader.exec_module = execute_and_equip
        return spec


def _equip(dispatcher: ModuleType) -> None:
    from numba.core import event

    from perp.compilation.stopwatch import STOPWATCH, Stopwatch

    event.Listener.register(Stopwatch)
    event.register("numba:compile", cast(event.Listener, STOPWATCH))
    dispatcher.FunctionCache = _cache_of  # pyright: ignore[reportAttributeAccessIssue]


def _cache_of(py_func: Callable[..., Any]) -> Any:
    # Imported when the first kernel is defined: numba is still being imported when it is equipped.
    from perp.compilation.cache import cache_of

    return cache_of(py_func)


def take_over() -> None:
    """Keep the kernels of this package in perp's cache: now if numba is here, or as soon as it comes."""
    loaded = sys.modules.get(DISPATCHER)
    if loaded is not None:
        _equip(loaded)
    elif not any(isinstance(finder, _NumbaImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NumbaImport())
