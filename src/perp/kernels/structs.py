"""Structs of arrays for compiled code: one pointer a call, field types given, never inferred.

A kernel that takes a struct has one variant, whatever made the arrays. Arrays that are read from a struct are
borrowed: nobody counts references to them, which would be two atomic operations for every field that a
function touches. So whoever reads a field holds the struct meanwhile, and reads it again after it was
replaced; what is stored in a field is an array that was made, never one that was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils, imputils
from numba.core.datamodel import models
from numba.core.datamodel.registry import default_manager
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.experimental import structref
from numba.extending import infer_getattr, intrinsic

from perp.compilation.lowering import struct_fields

INTEGERS, REALS, FLAG = types.int64[::1], types.float64[::1], types.boolean


def zeros(kind: types.Array, shape: tuple[int | str, ...], sizes: Mapping[str, int]) -> np.ndarray:
    """An array for a field, whose shape has numbers and names of numbers."""
    dtype = np.int64 if kind.dtype == types.int64 else np.float64
    return np.zeros([sizes[n] if isinstance(n, str) else n for n in shape], dtype)


class StructType(types.StructRef):
    """The type of a struct, made from a list of names and types.

    Numba would name it by all its fields, and names of compiled functions contain those of their types.
    """

    def __init__(self, fields: Any) -> None:
        super().__init__(fields)
        self.name = f"Struct{sha256(self.name.encode()).hexdigest()[:16]}"


class Struct(structref.StructRefProxy):
    """The Python side of a struct: it is only passed on."""


default_manager.register(StructType, models.StructRefModel)
structref.define_boxing(StructType, Struct)


@infer_getattr
class _Fields(AttributeTemplate):
    """Types of the fields."""

    key = StructType

    def generic_resolve(self, struct: Any, name: str) -> Any:
        return struct.field_dict.get(name)


@lower_getattr_generic(StructType)
def _read(context: Any, builder: Any, kind: Any, struct: Any, name: str) -> Any:
    value, field = getattr(struct_fields(context, builder, kind, struct), name), kind.field_dict[name]
    if not isinstance(field, types.Array):
        return imputils.impl_ret_borrowed(context, builder, field, value)
    view = cgutils.create_struct_proxy(field)(context, builder, value=value)
    view.meminfo = cgutils.get_null_value(view.meminfo.type)
    view.parent = cgutils.get_null_value(view.parent.type)
    return view._getvalue()


@lower_setattr_generic(StructType)
def _write(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    kind, given = signature.args
    fields, field = struct_fields(context, builder, kind, arguments[0]), kind.field_dict[name]
    value, old = context.cast(builder, arguments[1], given, field), getattr(fields, name)
    context.nrt.incref(builder, field, value)
    setattr(fields, name, value)
    context.nrt.decref(builder, field, old)


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


def _set_fields(typing_context: Any, struct: Any, values: Any) -> Any:
    """The first fields of a new struct from a tuple, in their order."""
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, given = signature.args
        fields = struct_fields(context, builder, kind, arguments[0])
        for k, (name, field) in zip(range(len(given)), kind.field_dict.items(), strict=False):
            value = builder.extract_value(arguments[1], k)
            value = context.cast(builder, value, given[k], field)
            context.nrt.incref(builder, field, value)
            setattr(fields, name, value)
        return context.get_dummy_value()

    return types.void(struct, values), generate


set_fields: Any = intrinsic(_set_fields)
address_of: Any = intrinsic(_address_of)
struct_at: Any = intrinsic(_struct_at)
