"""The cache of perp's kernels: numba's, with a stamp that covers what a kernel calls in other files."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

from perp.compilation.sources import PACKAGE, stamp


class KernelCache(FunctionCache):
    """Keeps the machine code of one kernel until one of the sources changes that it is made of.

    Numba chooses the folder: NUMBA_CACHE_DIR, else `__pycache__` beside the source, else the user's cache.
    File names carry no line, so that an edit above a kernel replaces its entries and adds no new ones.
    """

    def __init__(self, py_func: Callable[..., Any], file: Path) -> None:
        super().__init__(py_func)
        name = f"{file.stem}.{py_func.__qualname__}".replace("<", "").replace(">", "")
        version = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path, filename_base=f"{name}.perp.{version}", source_stamp=stamp(file)
        )


def cache_of(py_func: Callable[..., Any]) -> FunctionCache:
    """The cache of a function: perp's for kernels of this package, numba's own for those of anybody else."""
    file = Path(inspect.getfile(py_func))
    return KernelCache(py_func, file) if file.is_relative_to(PACKAGE) else FunctionCache(py_func)
