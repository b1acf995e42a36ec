"""Structs of arrays for compiled code: one pointer a call, field types given, never inferred.

A kernel that takes a struct has one variant, whatever made the arrays. Inside, `view` of the struct's module
turns it into a named tuple of arrays whose references are not counted, which inner functions take by value.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from numba import types
from numba.core import cgutils, imputils
from numba.experimental import structref
from numba.extending import intrinsic

INTEGERS, REALS, FLAG = types.int64[::1], types.float64[::1], types.boolean


@structref.register
class StructType(types.StructRef):
    """The type of a struct, made from a list of names and types.

    Numba would name it by all its fields, and names of compiled functions contain those of their types.
    """

    def __init__(self, fields: Any) -> None:
        super().__init__(fields)
        self.name = f"Struct{sha256(self.name.encode()).hexdigest()[:16]}"


class Struct(structref.StructRefProxy):
    """The Python side of a struct: it is only passed on."""


structref.define_boxing(StructType, Struct)


def _address_of(typing_context: Any, struct: Any) -> Any:
    """Where a struct is, as a number that `struct_at` takes while somebody holds the struct."""
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0])
        return builder.ptrtoint(held.meminfo, context.get_value_type(types.int64))

    return types.int64(struct), generate


def _struct_at(typing_context: Any, kind: Any, address: Any) -> Any:
    """The struct of type `kind` at an address: a number costs a call from Python half a microsecond less."""
    del typing_context
    result = kind.instance_type if isinstance(kind, types.TypeRef) else kind

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        struct = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        struct.meminfo = builder.inttoptr(arguments[1], struct.meminfo.type)
        value = struct._getvalue()
        return imputils.impl_ret_borrowed(context, builder, signature.return_type, value)

    return result(kind, address), generate


address_of: Any = intrinsic(_address_of)
struct_at: Any = intrinsic(_struct_at)
