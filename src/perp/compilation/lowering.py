"""Lowering of kernels: the same code as numba's, in fewer words.

Numba writes some thirty instructions for `a[i]` and counts references for every variable that holds an array,
a tuple of arrays or a field of one, even where the caller holds them anyhow. LLVM takes nearly all of that
out again, but it has to be made, printed, read and optimised first: half of what was written for a kernel.
"""
# Numba's classes have no types of their own.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportOptionalMemberAccess=false

from __future__ import annotations

from typing import Any

from llvmlite.ir import Constant, IntType, Undefined
from llvmlite.ir.types import Aggregate
from numba.core import cgutils, ir, ir_utils, types
from numba.core.lowering import Lower
from numba.core.targetconfig import ConfigStack
from numba.np import arrayobj

from perp.compilation.front_end import holds_references


def struct_fields(context: Any, builder: Any, kind: Any, struct: Any) -> Any:
    """The fields of a struct in memory."""
    held = cgutils.create_struct_proxy(kind)(context, builder, value=struct)
    place = context.nrt.meminfo_data(builder, held.meminfo)
    data = kind.get_data_type()
    pointer = builder.bitcast(place, context.data_model_manager[data].get_value_type().as_pointer())
    return cgutils.create_struct_proxy(data)(context, builder, ref=pointer)


class KernelLower(Lower):
    """Numba's lowering, shorter where kernels spend most of it.

    *Borrowed* variables hold arguments, or fields of arguments, and nothing else: the caller holds references
    to these until the kernel returns, so that none are counted here. Structs that are fields of structs are
    borrowed too, but not by a kernel that replaces one.
    """

    def init(self) -> None:
        super().init()
        self._given: dict[str, int] = {}  # which argument a variable is: these need no place of their own
        self._borrowed: set[str] = set()
        self._advice: Any = None
        if self.generator_info is None:
            self._replaces = any(
                isinstance(self.typeof(change.value.name), types.StructRef)
                for block in self.blocks.values()
                for change in block.find_insts(ir.SetAttr)
            )
            self._find_borrowed()

    def _find_borrowed(self) -> None:
        values: dict[str, Any] = {}
        for block in self.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                name = assignment.target.name
                values[name] = None if name in values else assignment.value
        for name, value in values.items():
            if isinstance(value, ir.Arg) and self.typeof(f"arg.{value.name}") == self.typeof(name):
                self._given[name] = value.index
        self._borrowed.update(self._given)
        size = -1
        while size != len(self._borrowed):
            size = len(self._borrowed)
            self._borrowed.update(name for name, value in values.items() if self._borrows(name, value))

    def _borrows(self, name: str, value: Any) -> bool:
        if isinstance(value, ir.Var):
            return value.name in self._borrowed and self.typeof(value.name) == self.typeof(name)
        found = self._field(value, name) is not None or self._is_inner(value, name)
        return found and value.value.name in self._borrowed

    def _is_inner(self, value: Any, name: str) -> bool:
        """Whether an expression reads a struct from a struct that keeps it."""
        return (
            isinstance(value, ir.Expr)
            and value.op == "getattr"
            and isinstance(self.typeof(value.value.name), types.StructRef)
            and isinstance(self.typeof(name), types.StructRef)
            and not self._replaces
        )

    def _field(self, value: Any, name: str) -> int | None:
        """Which field of a tuple an expression reads, if it does."""
        if not isinstance(value, ir.Expr) or value.op not in ("getattr", "static_getitem"):
            return None
        kind = self.typeof(value.value.name)
        if value.op == "getattr":
            named = isinstance(kind, types.BaseNamedTuple) and value.attr in kind.fields
            index = kind.fields.index(value.attr) if named else None
        else:
            index = value.index if isinstance(kind, types.BaseTuple) and type(value.index) is int else None
        if index is None or not -len(kind) <= index < len(kind) or kind.types[index] != self.typeof(name):
            return None
        return index % len(kind)

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        if inst.target.name not in self._borrowed:
            return super().lower_assign(ty, inst)
        value = inst.value
        if isinstance(value, ir.Arg):
            return self.fnargs[value.index]
        if isinstance(value, ir.Var):
            return self.loadvar(value.name)
        outer = self.loadvar(value.value.name)
        if self._is_inner(value, inst.target.name):
            kind = self.typeof(value.value.name)
            return getattr(struct_fields(self.context, self.builder, kind, outer), value.attr)
        return self.builder.extract_value(outer, self._field(value, inst.target.name))

    def lower_inst(self, inst: Any) -> None:
        super().lower_inst(inst)
        # Blocks are lowered in their order: a jump to one that has its end already closes a loop.
        if isinstance(inst, ir.Jump | ir.Branch) and any(
            self.blkmap[label].is_terminated for label in inst.get_targets()
        ):
            self.builder.block.terminator.set_metadata("llvm.loop", self._loop_advice())

    def _loop_advice(self) -> Any:
        """What LLVM is told of loops whose length is not known: that their bodies are not repeated.

        Ours are short, so that copies of the body cost more than they save: a fifth of LLVM's time went into
        them. Loops of a known length are unrolled as ever. Vectors are for functions that say how sums may be
        rounded (`fastmath`), which is the algebra of long rows: elsewhere a loop is over three or six numbers
        of a contact, a body or a joint, and its second copy with vectors took another fifth.
        """
        if self._advice is None:
            advice = [self.module.add_metadata(["llvm.loop.unroll.runtime.disable"])]
            flags = ConfigStack.top_or_none()
            if not (flags and flags.fastmath.flags):
                advice.append(
                    self.module.add_metadata(["llvm.loop.vectorize.enable", Constant(IntType(1), 0)])
                )
            self._advice = self.module.add_metadata([advice[0]])
            self._advice.operands = (self._advice, *advice)  # LLVM asks that it names itself first
        return self._advice

    def loadvar(self, name: str) -> Any:
        return self.fnargs[self._given[name]] if name in self._given else super().loadvar(name)

    def _alloca_var(self, name: str, fetype: Any) -> None:
        if name not in self._given:
            super()._alloca_var(name, fetype)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        if name in self._given:
            return
        if self._counts(name):
            super().storevar(value, name, argidx)
            return
        self._alloca_var(name, self.typeof(name))
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        if self._counts(name):
            super().delvar(name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)

    def _counts(self, name: str) -> bool:
        return name not in self._borrowed and holds_references(self.context, self.typeof(name))

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        del datamodel  # for debuggers
        if isinstance(lltype, Aggregate) and not self._counts(name):
            with self.builder.goto_entry_block():
                return self.builder.alloca(lltype, name=name)  # no reference is given back before it is set
        return cgutils.alloca_once(self.builder, lltype, name=name, zfill=False)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if expr.op in ("pair_first", "pair_second"):
            return self._of_pair(resty, expr)
        if expr.op == "getiter" and self._steps_by_one(expr.value):
            return self._begin_range(resty, expr)
        if expr.op == "iternext" and isinstance(self.typeof(expr.value.name), types.RangeIteratorType):
            return self._next_of_range(resty, expr)
        if expr.op == "static_getitem":
            array, index = expr.value.name, expr.index
            indices = index if isinstance(index, tuple) else (index,)
            if all(type(number) is int for number in indices) and self._is_element(array, len(indices)):
                numbers = [self.context.get_constant(types.intp, number) for number in indices]
                return self._load(array, self._place(array, [types.intp] * len(indices), numbers), resty)
        return super().lower_expr(resty, expr)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        indices = self._indices(value.name, index.name)
        if indices is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        return self._load(value.name, self._place(value.name, *indices), resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> None:
        indices = self._indices(target_var.name, index_var.name)
        if indices is None or not isinstance(self.typeof(value_var.name), types.Number | types.Boolean):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        array, kind = self.typeof(target_var.name), self.typeof(value_var.name)
        value = self.context.cast(self.builder, self.loadvar(value_var.name), kind, array.dtype)
        place = self._place(target_var.name, *indices)
        arrayobj.store_item(self.context, self.builder, array, value, place)
        return None

    def _indices(self, array: str, index: str) -> tuple[Any, Any] | None:
        """Types and values of what is in the brackets, if it names one element."""
        kind = self.typeof(index)
        kinds = tuple(kind.types) if isinstance(kind, types.BaseTuple) else (kind,)
        if not all(isinstance(each, types.Integer) for each in kinds) or not self._is_element(
            array, len(kinds)
        ):
            return None
        value = self.loadvar(index)
        if isinstance(kind, types.BaseTuple):
            return kinds, [self.builder.extract_value(value, axis) for axis in range(len(kinds))]
        return kinds, [value]

    def _is_element(self, array: str, count: int) -> bool:
        kind = self.typeof(array)
        return (
            type(kind) is types.Array
            and kind.ndim == count
            and isinstance(kind.dtype, types.Number | types.Boolean)
            and not self.context.enable_boundscheck
        )

    def _place(self, array: str, kinds: Any, indices: Any) -> Any:
        """The address of an element: negative indices count from the end."""
        kind, value, builder = self.typeof(array), self.loadvar(array), self.builder
        position = self.context.data_model_manager[kind].get_field_position
        shape = [builder.extract_value(value, (position("shape"), axis)) for axis in range(kind.ndim)]
        strides = ()
        if kind.layout not in "CF":
            strides = [builder.extract_value(value, (position("strides"), axis)) for axis in range(kind.ndim)]
        fixed = []
        for each, index, size in zip(kinds, indices, shape, strict=True):
            if isinstance(index, Constant) and index.constant >= 0:
                fixed.append(index)
            else:
                fixed.append(arrayobj.fix_integer_index(self.context, builder, each, index, size))
        data = builder.extract_value(value, position("data"))
        return cgutils.get_item_pointer2(self.context, builder, data, shape, strides, kind.layout, fixed)

    def _load(self, array: str, place: Any, resty: Any) -> Any:
        kind = self.typeof(array)
        return self.context.cast(
            self.builder, arrayobj.load_item(self.context, self.builder, kind, place), kind.dtype, resty
        )

    def _of_pair(self, resty: Any, expr: Any) -> Any:
        model = self.context.data_model_manager[self.typeof(expr.value.name)]
        found = model.get(self.builder, self.loadvar(expr.value.name), expr.op.removeprefix("pair_"))
        if holds_references(self.context, resty):
            self.incref(resty, found)
        return found

    def _steps_by_one(self, variable: Any) -> bool:
        if not isinstance(self.typeof(variable.name), types.RangeType):
            return False
        call = ir_utils.guard(ir_utils.get_definition, self.func_ir, variable)
        return isinstance(call, ir.Expr) and call.op == "call" and not call.vararg and len(call.args) < 3

    def _begin_range(self, resty: Any, expr: Any) -> Any:
        builder, value = self.builder, self.loadvar(expr.value.name)
        given, made = (
            self.context.data_model_manager[kind] for kind in (self.typeof(expr.value.name), resty)
        )
        start, stop = given.get(builder, value, "start"), given.get(builder, value, "stop")
        ahead = builder.select(
            builder.icmp_signed(">", stop, start), builder.sub(stop, start), Constant(start.type, 0)
        )
        first, count = cgutils.alloca_once_value(builder, start), cgutils.alloca_once_value(builder, ahead)
        fields = {"iter": first, "stop": stop, "step": given.get(builder, value, "step"), "count": count}
        found = Constant(made.get_value_type(), Undefined)
        for name, field in fields.items():
            found = made.set(builder, found, field, name)
        return found

    def _next_of_range(self, resty: Any, expr: Any) -> Any:
        builder, value = self.builder, self.loadvar(expr.value.name)
        models = self.context.data_model_manager
        model, pair = models[self.typeof(expr.value.name)], models[resty]
        place, ahead = model.get(builder, value, "iter"), model.get(builder, value, "count")
        number, count = builder.load(place), builder.load(ahead)
        more = builder.icmp_signed(">", count, Constant(count.type, 0))
        with builder.if_then(more):  # without the condition LLVM does not use vectors
            builder.store(builder.sub(count, Constant(count.type, 1), flags=["nsw"]), ahead)
            builder.store(builder.add(number, model.get(builder, value, "step")), place)
        found = pair.set(builder, Constant(pair.get_value_type(), Undefined), number, "first")
        return pair.set(builder, found, more, "second")
