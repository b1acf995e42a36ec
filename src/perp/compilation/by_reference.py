"""Named tuples of this package are passed to compiled functions by reference, not field by field.

Numba passes every number of every array of a tuple as an argument of its own: 400 of them for the problem of
a step, in every call from kernel to kernel. A callee reads what it needs from one pointer when it begins, and
hands the same pointer on. Tuples of users stay as they are.
"""
# Numba's classes have no types of their own.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

from llvmlite.ir import Argument
from llvmlite.ir.instructions import AllocaInstr, LoadInstr
from numba.core import types
from numba.core.datamodel.models import TupleModel, UniTupleModel
from numba.core.datamodel.registry import default_manager

# Tuples of fewer numbers travel in registers.
_FEW = 8
_PACKAGE = __name__.split(".")[0]


class _ByReference:
    """How a tuple is an argument; whoever calls keeps the place until the callee returns."""

    def get_argument_type(self: Any) -> Any:
        return self.get_value_type().as_pointer()

    def as_argument(self: Any, builder: Any, value: Any) -> Any:
        if isinstance(value, LoadInstr) and isinstance(value.operands[0], AllocaInstr | Argument):
            return value.operands[0]
        with builder.goto_entry_block():
            place = builder.alloca(value.type)
        builder.store(value, place)
        return place

    def from_argument(self: Any, builder: Any, value: Any) -> Any:
        return builder.load(value)


class _Tuple(_ByReference, TupleModel):
    pass


class _UniTuple(_ByReference, UniTupleModel):
    pass


def _numbers(models: Any, kind: Any) -> int:
    """How many arguments numba would make of a value."""
    ahead, count = [models[kind].get_argument_type()], 0
    while ahead:
        one = ahead.pop()
        if isinstance(one, tuple | list):
            ahead += one
        else:
            count += 1
    return count


def _model(flat: Any, by_reference: Any) -> Any:
    def choose(models: Any, kind: Any) -> Any:
        ours = kind.instance_class.__module__.split(".")[0] == _PACKAGE
        large = sum(_numbers(models, field) for field in kind.types) > _FEW
        return (by_reference if ours and large else flat)(models, kind)

    return choose


default_manager.register(types.NamedTuple, _model(TupleModel, _Tuple))
default_manager.register(types.NamedUniTuple, _model(UniTupleModel, _UniTuple))
