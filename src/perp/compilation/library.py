"""Machine-independent code of one kernel, alone or with all that it calls."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib import import_module
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary

# Of LLVM's optimisation of a whole. Level 3 inlines and unrolls more: it takes a sixth longer, and neither
# solves nor steps are faster for it.
_LEVEL = 2


class LeanLibrary(JITCodeLibrary):
    """Code whose functions are only tidied up on their own: what pays is done once all is linked together."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder()
        passes = binding.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_refprune_pass()
        for function in _defined(ll_module):
            passes.run(function, builder)


class PartLibrary(LeanLibrary):
    """The code of one kernel that others call. It is never translated.

    Attributes:
        origin: Module, name and types of the arguments of the kernel; how another process finds it again.
        symbol: Name of the function in the module.
    """

    symbol: str
    origin: tuple[str, str, tuple[Any, ...]]

    def finalize(self) -> None:
        """Take in what is not a kernel: numba's own functions, which only this part is sure to remember."""
        others = [library for library in self._linking_libraries if not isinstance(library, PartLibrary)]
        for library in dict.fromkeys(others):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._linking_libraries = self.callees()
        for callee in self.callees():
            self._reload_init.update(callee._reload_init)
        self._finalize_dynamic_globals()
        self._finalized = True

    def callees(self) -> list[PartLibrary]:
        """The kernels that this one calls."""
        return [
            library for library in dict.fromkeys(self._linking_libraries) if isinstance(library, PartLibrary)
        ]

    def code(self) -> Any:
        """The module of this kernel, without its callees."""
        self._ensure_finalized()
        return self._final_module

    def _get_module_for_linking(self) -> Any:
        """For code that is not a kernel: this one with all that it calls."""
        if self._shared_module is None:
            self._shared_module = binding.parse_assembly(str(self._codegen._create_empty_module(self.name)))
            for part in _link(self._shared_module, [self]):
                # Other modules may define it too. Only now: the linker leaves out what nobody calls yet.
                if not isinstance(part, SharedLibrary):
                    self._shared_module.get_function(part.symbol).linkage = "linkonce_odr"
        return self._shared_module

    @classmethod
    def restored(cls, codegen: Any, name: str, bitcode: bytes, callees: list[PartLibrary]) -> PartLibrary:
        """A part that was kept on disk."""
        library = cls(codegen, name)
        library._final_module = binding.parse_bitcode(bitcode)
        library._linking_libraries = callees
        for callee in callees:
            library._reload_init.update(callee._reload_init)
        library._finalized = True
        return library


class SharedLibrary(PartLibrary):
    """Stands for a kernel whose machine code others call: nothing to link, but to be loaded before them."""

    def __init__(self, codegen: Any, symbol: str, origin: tuple[str, str, tuple[Any, ...]]) -> None:
        super().__init__(codegen, symbol)
        self.symbol, self.origin = symbol, origin
        self._reload_init.add(partial(load_shared, *origin))
        self._finalized = True


def load_shared(module: str, name: str, types: tuple[Any, ...]) -> None:
    """Have the machine code of a shared kernel in this process; what calls it is about to be loaded."""
    getattr(import_module(module), name).translate(types)


class WholeLibrary(LeanLibrary):
    """The code of a kernel that Python calls, with every kernel that it reaches, optimised and translated."""

    def finalize(self) -> None:
        self._entries = {function.name for function in _defined(self._final_module)}
        parts = [library for library in self._linking_libraries if isinstance(library, PartLibrary)]
        for part in _link(self._final_module, parts):
            self._reload_init.update(part._reload_init)
        self._linking_libraries = [
            library for library in self._linking_libraries if not isinstance(library, PartLibrary)
        ]
        super().finalize()

    def _optimize_final_module(self) -> None:
        # Nothing else is called from outside: it may be inlined and dropped, and is never mixed up with a
        # function of the same name in another whole.
        for function in _defined(self._final_module):
            if function.name not in self._entries:
                function.linkage = "internal"
        # Numba's way but for the level: first what brings counts of references together, so that they cancel.
        cheap, options = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"
        )
        cheap.run(self._final_module, options)
        full, options = self._codegen._module_pass_manager(opt=_LEVEL)
        full.run(self._final_module, options)

    def serialize_using_object_code(self) -> Any:
        """Only the machine code and the names that it defines: nobody links a whole into something else."""
        self._ensure_finalized()
        names = [name for name in sorted(self._entries) if not self.get_function(name).is_declaration]
        stub = "".join(f'define void @"{name}"() {{ ret void }}\n' for name in names)
        return self.name, "object", (self._get_compiled_object(), binding.parse_assembly(stub).as_bitcode())


def _defined(module: Any) -> list[Any]:
    return [function for function in module.functions if not function.is_declaration]


def _reached(parts: Iterable[PartLibrary]) -> list[PartLibrary]:
    """Parts with all that they call, each once."""
    found = dict.fromkeys(parts)
    ahead = list(found)
    while ahead:
        for callee in ahead.pop().callees():
            if callee not in found:
                found[callee] = None
                ahead.append(callee)
    return list(found)


def _link(module: Any, parts: Iterable[PartLibrary]) -> list[PartLibrary]:
    """Put parts into a module, with all that they call; returns those parts."""
    linked = _reached(parts)
    for part in linked:
        module.link_in(part.code(), preserve=True)
    return linked
