"""`@kernel` and `@part`: functions that are compiled when first needed, in time proportional to the code.

Numba makes every function whole: it links in the machine-independent code of all that the function calls,
optimises the sum and translates it, so that code at the bottom of a tower of calls is optimised once per
storey. Kernels are made in two roles instead. A *part* is what another kernel calls: it is typed and lowered,
and that is all. A *whole* is what Python calls: the parts that it reaches are linked once, optimised together
and translated. Both are kept on disk, see `perp.compilation.cache`. `@kernel` marks what Python calls, and is
a part where another kernel calls it too; `@part` marks what only compiled code calls.

Only kernels of this package are made like this; code of users, and numba's own, is compiled as ever, and may
call kernels. It uses what numba offers for own compilers (dispatcher, pipeline, library as subclasses).
"""
# Numba's classes have no types of their own.
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportPrivateImportUsage=false

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba.core import bytecode, config, event, sigutils, types, typing
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from perp.compilation.cache import KernelCache
from perp.compilation.inner import inner_functions
from perp.compilation.library import PartLibrary, SharedLibrary, WholeLibrary
from perp.compilation.lowering import KernelLower
from perp.compilation.stopwatch import STOPWATCH

# The roles of the kernels that are being compiled, the innermost last: a shared part is a whole that Python
# cannot call.
_PART, _WHOLE, _SHARED_PART = 1, 2, 3
_roles: list[int] = []
# Options are given, not taken over from the first caller, as numba would: a part is the same for all of them.
# Division by zero gives an infinity, as in NumPy.
_OPTIONS = {"nopython": True, "boundscheck": None, "fastmath": False, "error_model": "numpy"}


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Numba's lowering in fewer words, with a library that fits the role."""

    _name = "perp_kernel_lowering"

    @property
    def lowering_class(self) -> type[KernelLower]:
        return KernelLower

    def run_pass(self, state: Any) -> Any:
        kind = PartLibrary if _roles[-1] == _PART else WholeLibrary
        state.library = library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        library.enable_object_caching()
        state.flags.no_cfunc_wrapper = True
        if kind is WholeLibrary:
            state.flags.no_cpython_wrapper = _roles[-1] == _SHARED_PART
            super().run_pass(state)
            _set_environments(library)
            return True
        state.flags.no_cpython_wrapper = state.flags.no_compile = True
        super().run_pass(state)
        lowered, key = state["cr"], object()  # Python has nothing to call: callers find the part by this key
        library.symbol = lowered.fndesc.llvm_func_name
        state.targetctx.insert_user_function(key, lowered.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = lowered._replace(cfunc=key)
        return True


def _set_environments(library: WholeLibrary) -> None:
    """Tell the machine code where the objects are that its parts refer to."""
    for variable in library._final_module.global_variables:
        found = lookup_environment(variable.name)
        if found is not None:
            library.codegen.set_env(variable.name, found)


class _Flags(Flags):
    """Numba's flags, which are compared with each other at every call that is typed: here in less time."""

    __slots__ = ("_complete", "_seen")
    _HASH = hash(Flags())

    def __hash__(self) -> int:
        return self._HASH

    def values(self) -> dict[str, Any]:
        """All values, those that were not set with their defaults."""
        if getattr(self, "_seen", None) != self._values:
            self._seen = dict(self._values)
            self._complete = super().values()
        return self._complete


class _Compiler(Compiler):
    """Numba's pipeline with the lowering above, and with names that are the same in every process."""

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (_Lowering, about) if made is NativeLowering else (made, about) for made, about in manager.passes
        ]
        manager._finalized = False
        manager.finalize()
        return [manager]

    def compile_extra(self, func: Any) -> Any:
        number = bytecode.FunctionIdentity._unique_ids
        bytecode.FunctionIdentity._unique_ids = iter([_roles[-1]])
        try:
            identity = bytecode.FunctionIdentity.from_function(func)
        finally:
            bytecode.FunctionIdentity._unique_ids = number
        with inner_functions():
            return self._compile_identity(identity)

    def _compile_identity(self, identity: Any) -> Any:
        from numba.core.untyped_passes import ExtractByteCode

        self.state.func_id = identity
        ExtractByteCode().run_pass(self.state)
        self.state.lifted = ()
        self.state.lifted_from = None
        return self._compile_bytecode()


class Kernel(CPUDispatcher):
    """A function of the package that is compiled for the types it is called with.

    Attributes:
        parts: What other compiled code links, by types of the arguments; `overloads` are for Python.
    """

    _role = _WHOLE  # where it is translated

    def __init__(self, py_func: Callable[..., Any], **kept: Any) -> None:
        super().__init__(py_func, **{"pipeline_class": _Compiler} | kept)
        self._compiler._customize_flags = _Flags
        self.parts: dict[tuple[Any, ...], Any] = {}

    def enable_caching(self) -> None:
        self._cache = KernelCache(self.py_func, called_from_python=self._role == _WHOLE)

    def compile(self, sig: Any) -> Any:
        """Make it callable from Python for one signature; returns what is called."""
        return self.translate(sig)

    def translate(self, sig: Any) -> Any:
        """Have its machine code in this process, for one signature."""
        with global_compiler_lock, STOPWATCH.starting_up():
            _roles.append(self._role)
            try:
                return super().compile(sig)
            finally:
                _roles.pop()

    def is_kept(self) -> bool:
        """Whether Python can call it for some signature without a compilation."""
        return bool(self.overloads) or self._cache.holds_anything()

    def part(self, sig: Any) -> Any:
        """The part for one signature: numba's result of a compilation, whose library is a `PartLibrary`."""
        args, return_type = sigutils.normalize_signature(sig)
        with global_compiler_lock:
            found = self.parts.get(tuple(args))
            if found is not None:
                return found
            found = self._cache.load_part(sig, self.targetctx)
            if found is None:
                with event.trigger_event("numba:compile", data={"dispatcher": self, "args": args}):
                    _roles.append(_PART)
                    try:
                        found = self._compiler.compile(args, return_type)
                    finally:
                        _roles.pop()
                found.library.origin = (self.py_func.__module__, self.py_func.__qualname__, tuple(args))
                self._cache.save_part(sig, found)
            self.parts[tuple(args)] = found
            return found

    # Numba asks the next two when compiled code calls this function.

    def get_call_template(self, args: Any, kws: Any) -> Any:
        pysig, args = self._compiler.fold_argument_types(args, kws)
        args = tuple(types.unliteral(kind) for kind in args)  # a variant for each constant helps nobody
        signatures = [self.linked(args).signature]
        name = self.py_func.__name__
        template = typing.make_concrete_template(f"CallTemplate({name})", key=name, signatures=signatures)
        return template, pysig, args, {}

    def get_overload(self, sig: Any) -> Any:
        return self.linked(sig).entry_point

    def linked(self, sig: Any) -> Any:
        """What the kernel that is being compiled links to call this one."""
        return self.part(sig)


class Shared(Kernel):
    """A kernel that other kernels call as it is: it is translated once, in place of once in each of them."""

    def __init__(self, py_func: Callable[..., Any], **kept: Any) -> None:
        super().__init__(py_func, **kept)
        self._shared: dict[tuple[Any, ...], Any] = {}

    def linked(self, sig: Any) -> Any:
        args = tuple(sigutils.normalize_signature(sig)[0])
        with global_compiler_lock:
            if args not in self._shared:
                self.translate(args)
                whole, key = self.overloads[args], object()
                origin = (self.py_func.__module__, self.py_func.__qualname__, args)
                library = SharedLibrary(self.targetctx.codegen(), whole.fndesc.llvm_func_name, origin)
                self.targetctx.insert_user_function(key, whole.fndesc, [library])
                self._shared[args] = whole._replace(library=library, entry_point=key)
            return self._shared[args]


class Part(Kernel):
    """A kernel that only compiled code calls: it is translated with what calls it."""

    def compile(self, sig: Any) -> Any:  # noqa: ARG002
        """Refuse: each one that Python calls is translated, and carried by the wheel."""
        raise TypeError(f"{self.py_func.__qualname__} is a part of kernels, which Python does not call")


class SharedPart(Part, Shared):
    """A part that is translated once, in place of once in each of the kernels that call it."""

    _role = _SHARED_PART

    def add_overload(self, cres: Any) -> None:
        # Not among those that Python calls: there is no code that takes Python's objects.
        self.overloads[tuple(cres.signature.args)] = cres


def kernel(function: Callable[..., Any] | None = None, *, shared: bool = False, **options: Any) -> Any:
    """Compile a function of this package that Python calls when it is needed, and keep it.

    Args:
        function: What to compile.
        shared: Whether other kernels call its machine code, for large ones that several others call; else its
            code is optimised together with that of each caller.
        options: Of `numba.njit`; sums keep their order and division by zero is no error unless they say so.
    """
    return _made(Shared if shared else Kernel, function, options)


def part(function: Callable[..., Any] | None = None, *, shared: bool = False, **options: Any) -> Any:
    """Compile a function of this package where kernels call it; arguments as for `kernel`."""
    return _made(SharedPart if shared else Part, function, options)


@cache
def whole(part: Any) -> Any:
    """A part as a kernel, for tests of it."""
    return part if config.DISABLE_JIT else _made(Kernel, part.py_func, part.targetoptions)


def _made(kind: type[Kernel], function: Callable[..., Any] | None, options: dict[str, Any]) -> Any:
    if function is None:
        return lambda function: _made(kind, function, options)
    if config.DISABLE_JIT:
        return function
    made = kind(function, targetoptions=_OPTIONS | options)
    made.enable_caching()
    return made


event.Listener.register(type(STOPWATCH))
event.register("numba:compile", STOPWATCH)
