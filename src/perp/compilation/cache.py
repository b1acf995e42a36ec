"""The cache of perp's kernels: first what the wheel carries, then numba's own, with a stamp of ours."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from perp.compilation import shipped
from perp.compilation.sources import PACKAGE, stamp


class _Nowhere:
    """The place of a kernel where nothing can be written: it is compiled in every process that needs it."""

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Nowhere:  # noqa: ARG003
        return cls()

    def get_cache_path(self) -> str:
        return ""

    def get_source_stamp(self) -> bytes:
        return b""

    def get_disambiguator(self) -> str:
        return ""


class _Implementation(CompileResultCacheImpl):
    _locator_classes = [*CompileResultCacheImpl._locator_classes, _Nowhere]  # noqa: RUF012


class KernelCache(FunctionCache):
    """Keeps the machine code of one kernel until one of the sources changes that it is made of.

    Numba chooses the folder: NUMBA_CACHE_DIR, else `__pycache__` beside the source, else the user's cache;
    where none can be written to, nothing is kept. File names carry no line, so that an edit above a kernel
    replaces its entries and adds no new ones.
    """

    _impl_class = _Implementation

    def __init__(self, py_func: Callable[..., Any], file: Path) -> None:
        super().__init__(py_func)
        base, digest = filename_base(file, py_func.__qualname__), stamp(file)
        self._cache_file = IndexDataCacheFile(self._cache_path, base, digest)
        self._shipped_file = None
        if shipped.FOLDER.is_dir():
            place = shipped.FOLDER / file.parent.relative_to(PACKAGE)
            self._shipped_file = IndexDataCacheFile(str(place), base, digest)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        if self._shipped_file is not None and self._enabled and shipped.fits():
            codegen = target_context.codegen()
            found = self._shipped_file.load(self._index_key(sig, _ShippedTarget(codegen)))
            if found is not None:
                return self._impl.rebuild(target_context, found)
        return super()._load_overload(sig, target_context)

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not isinstance(self._impl.locator, _Nowhere):
            super()._save_overload(sig, data)


class _ShippedTarget:
    """Stands for the code generator of the machine that compiled the shipped kernels."""

    def __init__(self, codegen: Any) -> None:
        self._system = codegen.magic_tuple()[0]

    def magic_tuple(self) -> tuple[str, str, str]:
        return self._system, shipped.CPU, ""


def filename_base(file: Path, qualname: str) -> str:
    """What the files of a kernel's entries are called."""
    name = f"{file.stem}.{qualname}".replace("<", "").replace(">", "")
    version = f"py{sys.version_info.major}{sys.version_info.minor}{getattr(sys, 'abiflags', '')}"
    return f"{name}.perp.{version}"


def cache_of(py_func: Callable[..., Any]) -> FunctionCache:
    """The cache of a function: perp's for kernels of this package, numba's own for those of anybody else."""
    file = Path(inspect.getfile(py_func))
    return KernelCache(py_func, file) if file.is_relative_to(PACKAGE) else FunctionCache(py_func)
