"""How compiled functions call each other, and how Python's arguments come to them, in fewer instructions.

Numba fills the place of every result with zeros, twice, before the callee fills it, and takes each array out
of its Python object, and counts its references, in fifty instructions of its own: for the tuples of dozens of
arrays of this package that was a third of what LLVM had to read.
"""
# Numba's classes have no types of their own.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import CPUCallConv
from numba.core.callwrapper import _ArgManager
from numba.np import numpy_support

_ADD_ARGUMENT = _ArgManager.add_arg
_WORD, _CODE = ir.IntType(64), ir.IntType(32)
_POINTER = ir.IntType(8).as_pointer()
_SIZE = 8  # bytes of a word; arrays consist of words
_ITEMSIZE = 3  # which word of an array that is
_WRONG_TYPE = "can't unbox array from PyObject into native value.  The object maybe of a different type"


def _call_function(
    self: Any, builder: Any, callee: Any, resty: Any, argtys: Any, args: Any, attrs: Any = None
) -> Any:
    """Call a compiled function; the place of the result is read only where the callee has filled it."""
    with builder.goto_entry_block():
        place = builder.alloca(self.get_return_type(resty).pointee)
    error = cgutils.alloca_once(builder, callee.function_type.args[1].pointee, name="excinfo")
    given = self._get_arg_packer(argtys).as_arguments(builder, args)
    code = builder.call(callee, [place, error, *given], attrs=tuple(attrs or ()))
    status = self._get_return_status(builder, code, builder.load(error))
    return status, self.context.get_returned_value(builder, resty, builder.load(place))


def _add_argument(self: Any, given: Any, kind: Any) -> Any:
    """Take an argument of a kernel out of its Python object; it is released when the kernel has returned."""
    if not _is_taken_by_us(kind):
        return _ADD_ARGUMENT(self, given, kind)
    builder = self.builder
    with builder.goto_entry_block():
        place = builder.alloca(self.context.get_value_type(kind))
    failed = _take(self.context, self.api, kind, given, place)
    with cgutils.if_unlikely(builder, failed):
        builder.branch(self.nextblk)

    def release() -> None:
        _release(self.context, builder, kind, place)

    self.cleanups.append(release)
    on_error = builder.append_basic_block(f"arg{self.arg_count}.err")
    with builder.goto_block(on_error):
        release()
        builder.branch(self.nextblk)
    self.nextblk = on_error
    self.arg_count += 1
    return builder.load(place)


def _is_array(kind: Any) -> bool:
    return type(kind) is types.Array and isinstance(kind.dtype, types.Number | types.Boolean)


def _is_taken_by_us(kind: Any) -> bool:
    """Whether a type is an array or a tuple of arrays, structs and numbers."""
    if isinstance(kind, types.BaseTuple):
        others = types.Number | types.Boolean | types.StructRef
        return len(kind) > 0 and all(_is_taken_by_us(each) or isinstance(each, others) for each in kind.types)
    return _is_array(kind)


def _take(context: Any, api: Any, kind: Any, given: Any, place: Any) -> Any:
    """Fill the place of a value from a Python object; returns whether that failed, with an error set."""
    builder = api.builder
    if _is_array(kind):
        itemsize = _WORD(numpy_support.as_dtype(kind.dtype).itemsize)
        pointer = builder.bitcast(place, _POINTER)
        return builder.call(_function(context, builder.module, "take"), (given, pointer, itemsize))
    if not isinstance(kind, types.BaseTuple):
        native = api.to_native_value(kind, given)
        builder.store(native.value, place)
        return native.is_error
    failed, table = cgutils.false_bit, _table(context, builder, kind)
    if table is not None:
        pointer = builder.bitcast(place, _POINTER)
        failed = builder.call(_function(context, builder.module, "take_all"), (given, pointer, *table))
    for index, each in enumerate(kind.types):
        if not _is_array(each):
            item = api.tuple_getitem(given, index)
            field = cgutils.gep_inbounds(builder, place, 0, index)
            failed = builder.or_(failed, _take(context, api, each, item, field))
    return failed


def _release(context: Any, builder: Any, kind: Any, place: Any) -> None:
    """Give back the references that a value holds."""
    pointer = builder.bitcast(place, _POINTER)
    if _is_array(kind):
        builder.call(_function(context, builder.module, "release"), (pointer,))
        return
    if not isinstance(kind, types.BaseTuple):
        context.nrt.decref(builder, kind, builder.load(place))
        return
    table = _table(context, builder, kind)
    if table is not None:
        builder.call(_function(context, builder.module, "release_all"), (pointer, *table))
    for index, each in enumerate(kind.types):
        if isinstance(each, types.BaseTuple | types.StructRef):
            _release(context, builder, each, cgutils.gep_inbounds(builder, place, 0, index))


def _table(context: Any, builder: Any, kind: Any) -> tuple[Any, Any] | None:
    """Index, place in bytes and size of items of each array of a tuple, as a constant, and how many."""
    rows = [
        (index, offset, numpy_support.as_dtype(each.dtype).itemsize)
        for index, (each, offset) in enumerate(zip(kind.types, _offsets(context, kind), strict=True))
        if _is_array(each)
    ]
    if not rows:
        return None
    words = ir.ArrayType(_WORD, 3 * len(rows))
    name = "perp.arrays." + ".".join(str(number) for row in rows for number in row)
    value = builder.module.globals.get(name)
    if value is None:
        value = cgutils.global_constant(
            builder.module, name, words([number for row in rows for number in row])
        )
    return builder.bitcast(value, _WORD.as_pointer()), _WORD(len(rows))


def _offsets(context: Any, kind: Any) -> Iterator[int]:
    """Where the fields of a tuple lie [bytes]."""
    end = 0
    for each in kind.types:
        held = context.get_value_type(each)
        align = _SIZE if _is_array(each) else context.get_abi_alignment(held)
        yield (begin := -(-end // align) * align)
        end = begin + context.get_abi_sizeof(held)


def _function(context: Any, module: Any, name: str) -> Any:
    """One of the four functions below, which a module has once."""
    full = f"perp.{name}"
    if full not in module.globals:
        result, arguments, build = _FUNCTIONS[name]
        made = ir.Function(module, ir.FunctionType(result, arguments), full)
        made.linkage = "internal"
        made.attributes.add("noinline")
        builder = ir.IRBuilder(made.append_basic_block())
        build(context, builder, *made.args)
    return module.globals[full]


def _build_take(context: Any, builder: Any, given: Any, place: Any, itemsize: Any) -> None:
    api = context.get_python_api(builder)
    code = api.nrt_adapt_ndarray_from_python(given, place)
    words = builder.bitcast(place, _WORD.as_pointer())
    found = builder.load(builder.gep(words, [_WORD(_ITEMSIZE)]))
    failed = builder.or_(
        builder.icmp_signed("!=", code, _CODE(0)), builder.icmp_signed("!=", found, itemsize)
    )
    with cgutils.if_unlikely(builder, failed):
        api.err_set_string("PyExc_TypeError", _WRONG_TYPE)
    builder.ret(failed)


def _build_release(context: Any, builder: Any, place: Any) -> None:
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.VoidType(), [_POINTER]), "NRT_decref"
    )
    builder.call(function, [builder.load(builder.bitcast(place, _POINTER.as_pointer()))])
    builder.ret_void()


def _build_take_all(context: Any, builder: Any, given: Any, place: Any, table: Any, count: Any) -> None:
    api = context.get_python_api(builder)
    for index, offset, itemsize in _rows(builder, table, count):
        kind = ir.FunctionType(api.pyobj, [api.pyobj, _WORD])
        item = builder.call(api._get_function(kind, name="PyTuple_GetItem"), [given, index])
        take = _function(context, builder.module, "take")
        failed = builder.call(take, (item, builder.gep(place, [offset]), itemsize))
        with cgutils.if_unlikely(builder, failed):
            builder.ret(cgutils.true_bit)
    builder.ret(cgutils.false_bit)


def _build_release_all(context: Any, builder: Any, place: Any, table: Any, count: Any) -> None:
    release = _function(context, builder.module, "release")
    for _, offset, _ in _rows(builder, table, count):
        builder.call(release, (builder.gep(place, [offset]),))
    builder.ret_void()


def _rows(builder: Any, table: Any, count: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The body of a loop over the rows of a table."""
    with cgutils.for_range(builder, count) as loop:
        first = builder.mul(loop.index, _WORD(3))
        places = [builder.gep(table, [builder.add(first, _WORD(k))]) for k in range(3)]
        index, offset, itemsize = (builder.load(each) for each in places)
        yield index, offset, itemsize


_FLAG, _ROWS = ir.IntType(1), (_WORD.as_pointer(), _WORD)
_FUNCTIONS = {
    "take": (_FLAG, (_POINTER, _POINTER, _WORD), _build_take),
    "release": (ir.VoidType(), (_POINTER,), _build_release),
    "take_all": (_FLAG, (_POINTER, _POINTER, *_ROWS), _build_take_all),
    "release_all": (ir.VoidType(), (_POINTER, *_ROWS), _build_release_all),
}
REPLACEMENTS = (
    (CPUCallConv, "call_function", _call_function),
    (_ArgManager, "add_arg", _add_argument),
)
