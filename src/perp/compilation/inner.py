"""Numba's own functions, where kernels call them: code to be linked, and nothing more.

Numba translates every function that it compiles, with two wrappers, although only the code between is linked
into a kernel, and is optimised there once more. While a kernel is compiled the libraries that numba makes for
its own functions leave that out, and an assignment `a[:] = b` is told that sizes differ in a sentence without
numbers: the code that writes the shapes into it took two seconds to compile.
"""
# Numba's classes have no types of their own.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.cpu import CPUContext
from numba.core.registry import cpu_target
from numba.extending import overload
from numba.np import arrayobj

from perp.compilation import calls, front_end
from perp.compilation.library import LeanLibrary

_WRAPPERS = ("wrapper", "cfunc_wrapper")
# Objects between two collections of garbage. By default an eighth of the time goes into collections that find
# next to nothing: a compiler's graphs live as long as it works on them.
_THRESHOLD = (50_000, 20, 100)
_GET_EXECUTABLE = CPUContext.get_executable
_inside = False


class InnerLibrary(LeanLibrary):
    """The code of one of numba's functions, with all that it calls."""

    def add_ir_module(self, ir_module: Any) -> None:
        if ir_module.name not in _WRAPPERS:
            super().add_ir_module(ir_module)

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.py_object)
def _called_from_python(closure: Any, args: Any, kwargs: Any) -> Any:
    raise RuntimeError("this function of numba was compiled for kernels only")


def _executable(self: Any, library: Any, fndesc: Any, env: Any) -> Any:
    if not isinstance(library, InnerLibrary):
        return _GET_EXECUTABLE(self, library, fndesc, env)
    pointer = ctypes.cast(_called_from_python, ctypes.c_void_p).value
    name = fndesc.qualname.split(".")[-1]
    return _dynfunc.make_function(fndesc.lookup_module(), name, "", pointer, env, (library,))


def _shapes_differ(given: Any, place: Any) -> None:
    """Stands for numba's function that compiled assignments call where sizes differ."""


@overload(_shapes_differ)
def _(given: Any, place: Any) -> Any:
    def implementation(given: Any, place: Any) -> None:
        raise ValueError("cannot assign slice from input of different size")

    return implementation


_REPLACEMENTS = (
    *front_end.REPLACEMENTS,
    *calls.REPLACEMENTS,
    (CPUContext, "get_executable", _executable),
    (arrayobj, "raise_with_shape_context", _shapes_differ),
)


@contextmanager
def inner_functions() -> Iterator[None]:
    """What numba compiles of its own within is not translated. To be used with the compiler's lock."""
    global _inside
    if _inside:
        yield
        return
    codegen, threshold = cpu_target.target_context.codegen(), gc.get_threshold()
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in _REPLACEMENTS]
    _inside = True
    try:
        codegen._library_class = InnerLibrary
        for owner, name, value in _REPLACEMENTS:
            setattr(owner, name, value)
        gc.set_threshold(*_THRESHOLD)
        yield
    finally:
        codegen._library_class = JITCodeLibrary
        for owner, name, value in originals:
            setattr(owner, name, value)
        gc.set_threshold(*threshold)
        _inside = False
