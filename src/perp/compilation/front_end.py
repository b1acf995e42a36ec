"""Numba's front end in less time: what it works out again and again is remembered while kernels are compiled.

Most of the time of a compilation goes into Python, not into LLVM. Numba asks every template of an operator
anew at every use of it, makes coloured messages of errors that nobody sees, imports the same modules before
every function that it looks up, and takes references out of numbers. Each replacement below gives the same
answer as what it replaces.
"""
# Numba's classes have no types of their own.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from functools import cache
from types import CodeType
from typing import Any

from numba.core import base, compiler_machinery, errors, event, ir, lowering, typeinfer, types
from numba.core.base import BaseContext
from numba.core.datamodel.packer import ArgPacker
from numba.core.ir import UNDEFINED
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.runtime.context import NRTContext
from numba.core.targetconfig import ConfigStack
from numba.core.transforms import canonicalize_cfg
from numba.core.types import functions
from numba.core.types.functions import BaseFunction
from numba.core.typing import typeof
from numba.core.untyped_passes import InlineClosureLikes

_GET_CALL_TYPE = BaseFunction.get_call_type
_REFRESH = BaseContext.refresh
_INLINE_CLOSURES = InlineClosureLikes.run_pass
_POST_PROCESS = PostProcessor.run
_LITERAL_OR_OMITTED = lowering._lit_or_omitted
# Nobody listens to this one, which numba announces twice at every call of LLVM.
_LOCK = "numba:llvm_lock"
# Signatures, with the functions of numba's that they belong to: whose identity would be given away otherwise.
_call_types: dict[Any, tuple[Any, Any]] = {}


def _call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a function of numba's for arguments: the templates are asked once."""
    if kws:
        return _GET_CALL_TYPE(self, context, args, kws)
    key = (id(self), context, tuple(args), _mode())
    found = _call_types.get(key)
    if found is None:
        found = _call_types[key] = self, _GET_CALL_TYPE(self, context, args, kws)
    return found[1]


def _mode() -> Any:
    """The options that what numba compiles to answer depends on."""
    flags = ConfigStack.top_or_none()
    return flags and (frozenset(flags.fastmath.flags), flags.error_model, flags.boundscheck)


def _refresh(self: Any) -> None:
    """Take over what modules have registered since the last time, if they have."""
    registries = (*self._registries, *self.typing_context._registries)
    sizes = [sum(map(len, vars(registry).values())) for registry in registries]
    if self.__dict__.get("_sizes") != sizes:
        _REFRESH(self)
        registries = (*self._registries, *self.typing_context._registries)
        self._sizes = [sum(map(len, vars(registry).values())) for registry in registries]


def _meminfos(self: Any, builder: Any, ty: Any, val: Any) -> list[Any]:
    """The references that a value holds: parts of it that hold none are not looked at."""
    model = self._context.data_model_manager[ty]
    found = [(ty, model.get_nrt_meminfo(builder, val))] if model.has_nrt_meminfo() else []
    for kind, getter in model.traverse(builder):
        if _holds(self._context.data_model_manager, kind):
            found.extend(self.get_meminfos(builder, kind, getter(val)))
    return found


@cache
def _holds(models: Any, kind: Any) -> bool:
    return models[kind].contains_nrt_meminfo()


@cache
def _packer(models: Any, kinds: tuple[Any, ...]) -> ArgPacker:
    return ArgPacker(models, kinds)


def _argument_packer(self: Any, kinds: Any) -> ArgPacker:
    """How arguments of these types are passed: asked for at each call of a function, and where it is made."""
    return _packer(self.data_model_manager, tuple(kinds))


def holds_references(context: Any, kind: Any) -> bool:
    """Whether references are counted for values of a type."""
    return _holds(context.data_model_manager, kind)


def _literal_or_omitted(value: Any) -> Any:
    return types.Omitted(value) if value is UNDEFINED else _LITERAL_OR_OMITTED(value)


def _sizeof(self: Any, kind: Any) -> int:
    sizes = self.__dict__.setdefault("_sizes_of_types", {})
    name = str(kind)
    if name not in sizes:
        sizes[name] = kind.get_abi_size(self.target_data)
    return sizes[name]


def _inline_closures(self: Any, state: Any) -> bool:
    """Put functions that are defined inside a function, and comprehensions, where they are used."""
    constants = state.func_id.code.co_consts
    lists = any(any(block.find_exprs(op="build_list")) for block in state.func_ir.blocks.values())
    if lists or any(isinstance(constant, CodeType) for constant in constants):
        return _INLINE_CLOSURES(self, state)
    return False


def _post_process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """What numba does between two passes: lifetimes of variables are worked out where they are asked for."""
    if self.func_ir.is_generator:
        _POST_PROCESS(self, emit_dels, extend_lifetimes)
        return
    self.func_ir.blocks = canonicalize_cfg(self.func_ir.blocks)
    self.func_ir.variable_lifetime = VariableLifetime(self.func_ir.blocks)
    self.func_ir.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


def _quietly(announce: Any) -> Any:
    return lambda kind, *data, **named: None if kind == _LOCK else announce(kind, *data, **named)


class _Plain:
    """Messages without colours: most of them are of errors that numba catches itself."""

    def code(self, msg: str) -> str:
        return msg

    errmsg = filename = indicate = highlight = reset = code


class _ErrorContext:
    """Says where an error happened, if one does; a generator for each instruction took longer."""

    __slots__ = ("_words",)

    def __init__(self, text: str, *args: Any, **kwargs: Any) -> None:
        self._words = text, args, kwargs
        place = kwargs.get("loc")
        if place is not None and not place.filename.startswith(errors._numba_path):
            errors.loc_info.update(kwargs)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, errors.NumbaError):
            error.add_context(errors._format_msg(*self._words))


_PLAIN = _Plain()

REPLACEMENTS: tuple[tuple[Any, str, Any], ...] = (
    (BaseFunction, "get_call_type", _call_type),
    (BaseContext, "refresh", _refresh),
    (BaseContext, "get_abi_sizeof", _sizeof),
    (BaseContext, "get_arg_packer", _argument_packer),
    (NRTContext, "get_meminfos", _meminfos),
    (base, "_has_loc", cache(base._has_loc)),
    (lowering, "_lit_or_omitted", _literal_or_omitted),
    (InlineClosureLikes, "run_pass", _inline_closures),
    (PostProcessor, "run", _post_process),
    *((event, name, _quietly(getattr(event, name))) for name in ("start_event", "end_event")),
    *((owner, "new_error_context", _ErrorContext) for owner in (errors, lowering, typeinfer)),
    *((owner, "_termcolor", _PLAIN) for owner in (compiler_machinery, functions, ir, typeinfer, typeof)),
    (errors, "_termcolor_inst", _PLAIN),
)
