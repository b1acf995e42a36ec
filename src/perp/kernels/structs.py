"""Structs of arrays for compiled code: one pointer a call, field types given, never inferred.

A kernel that takes a struct has one variant, whatever made the arrays. Inside, `view` of the struct's module
turns it into a named tuple of arrays whose references are not counted, which inner functions take by value.
"""

from __future__ import annotations

from numba import types
from numba.experimental import structref

INTEGERS, REALS, FLAG = types.int64[::1], types.float64[::1], types.boolean


@structref.register
class StructType(types.StructRef):
    """The type of a struct, made from a list of names and types."""


class Struct(structref.StructRefProxy):
    """The Python side of a struct: it is only passed on."""


structref.define_boxing(StructType, Struct)
