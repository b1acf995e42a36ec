"""Arrays of the caller without counting references, for compiled code that is called every few microseconds.

Counting is an atomic operation for every array of a problem and every function that it is passed to: for one
contact half of the time.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic


def _borrowed(typing_context: Any, array: Any) -> Any:
    """The array as a view that owns nothing: whoever called must keep the array until the view is gone."""
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(signature.return_type)(context, builder, value=arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), generate


def _onward(typing_context: Any, array: Any, first: Any) -> Any:
    """The vector from an element on, borrowed and without looking whether it is there.

    Elements of it by constant numbers need no look at its length either, which says nothing: it is that of
    the whole vector. So six neighbours of a row are read at once.
    """
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = cgutils.create_struct_proxy(signature.return_type)(context, builder, value=arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        view.data = builder.gep(view.data, [arguments[1]])
        return view._getvalue()

    return array(array, first), generate


def _numbers_of(typing_context: Any, table: Any, number: Any) -> Any:
    """Line `number` of a table of two or three dimensions as a vector of all its numbers, like `onward`."""
    del typing_context
    result = types.Array(table.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0])
        size = builder.extract_value(whole.shape, 1)
        for axis in range(2, table.ndim):
            size = builder.mul(size, builder.extract_value(whole.shape, axis))
        line = cgutils.create_struct_proxy(result)(context, builder)
        line.meminfo = cgutils.get_null_value(line.meminfo.type)
        line.parent = cgutils.get_null_value(line.parent.type)
        line.data = builder.gep(whole.data, [builder.mul(arguments[1], size)])
        line.nitems, line.itemsize = size, whole.itemsize
        line.shape = cgutils.pack_array(builder, [size])
        line.strides = cgutils.pack_array(builder, [whole.itemsize])
        return line._getvalue()

    return result(table, types.int64), generate


borrowed: Any = intrinsic(_borrowed)
onward: Any = intrinsic(_onward)
numbers_of: Any = intrinsic(_numbers_of)
