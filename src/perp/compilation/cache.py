"""The cache of perp's kernels: first what the wheel carries, then numba's own, with a stamp of ours."""

from __future__ import annotations

import fcntl
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult

from perp.compilation import shipped
from perp.compilation.library import PartLibrary
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


class _Index(IndexDataCacheFile):
    """Numba's index of entries; one that names types of a module that has gone is of other sources."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (ImportError, AttributeError):
            return {}

    def save(self, key: Any, data: Any) -> None:
        with _alone(self._cache_path):
            super().save(key, data)

    def load(self, key: Any) -> Any:
        with _alone(self._cache_path):
            return super().load(key)


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """No other process reads or writes entries of a folder meanwhile.

    Two that save at once would give both entries one file, and a third would run code of the wrong types.
    """
    try:
        file = os.open(Path(folder) / ".perp-lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # nothing is written there
        yield
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


class KernelCache(FunctionCache):
    """Keeps the code of one kernel until one of the sources changes that it is made of.

    Numba chooses the folder: NUMBA_CACHE_DIR, else `__pycache__` beside the source, else the user's cache;
    where none can be written to, nothing is kept. File names carry no line, so that an edit above a kernel
    replaces its entries and adds no new ones. Entries for Python hold machine code; parts, which only other
    kernels call, hold the code of the compiler and name the kernels that they call.
    """

    _impl_class = _Implementation

    def __init__(self, py_func: Callable[..., Any], *, called_from_python: bool = True) -> None:
        super().__init__(py_func)
        file = Path(inspect.getfile(py_func))
        base = filename_base(file, py_func.__qualname__) + ("" if called_from_python else ".shared")
        digest = stamp(file, py_func.__qualname__)
        self._cache_file = _Index(self._cache_path, base, digest)
        self._part_file = _Index(self._cache_path, f"{base}.part", digest)
        self._shipped_file = None
        if shipped.FOLDER.is_dir() and file.is_relative_to(PACKAGE):
            place = shipped.FOLDER / file.parent.relative_to(PACKAGE)
            self._shipped_file = _Index(str(place), base, digest)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        # A shared kernel is loaded while another one is compiled, when numba makes libraries for its own
        # functions that Python cannot call.
        codegen = target_context.codegen()
        kind, codegen._library_class = codegen._library_class, JITCodeLibrary
        try:
            return self._load_whole(sig, target_context)
        finally:
            codegen._library_class = kind

    def _load_whole(self, sig: Any, target_context: Any) -> Any:
        if self._shipped_file is not None and self._enabled and shipped.fits():
            codegen = target_context.codegen()
            found = self._shipped_file.load(self._index_key(sig, _ShippedTarget(codegen)))
            if found is not None:
                return self._impl.rebuild(target_context, found)
        return super()._load_overload(sig, target_context)

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not isinstance(self._impl.locator, _Nowhere):
            super()._save_overload(sig, data)

    def holds_anything(self) -> bool:
        """Whether the kernel is here for some signature, of today's sources."""
        shipped_here = self._shipped_file is not None and shipped.fits() and self._shipped_file._load_index()
        return bool(shipped_here or self._cache_file._load_index())

    def load_part(self, sig: Any, target_context: Any) -> CompileResult | None:
        """The part for a signature, with the parts that it calls; None where it was not kept."""
        target_context.refresh()
        kept = self._part_file.load(self._index_key(sig, target_context.codegen()))
        if kept is None:
            return None
        bitcode, origin, callees, fndesc, environment, signature, reload_init = kept
        for function in reload_init:
            function()
        kernels: list[Any] = [getattr(import_module(module), name, None) for module, name, _ in callees]
        if not all(hasattr(kernel, "linked") for kernel in kernels):
            return None  # a callee is no kernel any more
        libraries = [
            kernel.linked(types).library for kernel, (_, _, types) in zip(kernels, callees, strict=True)
        ]
        library = PartLibrary.restored(target_context.codegen(), fndesc.qualname, bitcode, libraries)
        library.origin, library.symbol = origin, fndesc.llvm_func_name
        key = object()
        target_context.insert_user_function(key, fndesc, [library])
        return CompileResult(
            typing_context=target_context.typing_context, target_context=target_context, entry_point=key,
            typing_error=None, type_annotation="", signature=signature, objectmode=False, lifted=(),
            fndesc=fndesc, library=library, call_helper=None, environment=environment, metadata=None,
            reload_init=reload_init, referenced_envs=None,
        )  # fmt: skip

    def save_part(self, sig: Any, part: CompileResult) -> None:
        """Keep a part."""
        library: PartLibrary = part.library
        if isinstance(self._impl.locator, _Nowhere) or not self._impl.check_cachable(part):
            return
        self._impl.locator.ensure_cache_path()
        part.fndesc.typemap = part.fndesc.calltypes = (
            None  # as numba does: of no use later, and not to be kept
        )
        callees = [callee.origin for callee in library.callees()]
        kept = (
            library.code().as_bitcode(), library.origin, callees, part.fndesc, part.environment,
            part.signature, part.reload_init,
        )  # fmt: skip
        self._part_file.save(self._index_key(sig, part.codegen), kept)


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
