"""A block of three rows with four places each, times another: four numbers at once.

LLVM finds such groups by itself only with an optimisation that Numba leaves off, and loops over four entries
are unrolled before they could become one instruction.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _subtract_product(
    typing_context: Any, left: Any, values: Any, begin: Any, target: Any, place: Any
) -> Any:
    """Subtracts left · V from T, both 3 × 4: V at values[begin …], T at target[place …], left by rows."""
    del typing_context
    signature = types.void(left, values, begin, target, place)
    four = ir.VectorType(ir.DoubleType(), 4)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def rows(position: int) -> list[Any]:
            kind = signature.args[position]
            array = context.make_array(kind)(context, builder, arguments[position])
            first = builder.gep(array.data, [arguments[position + 1]])
            places = [builder.gep(first, [ir.Constant(ir.IntType(64), 4 * r)]) for r in range(3)]
            return [builder.bitcast(place, four.as_pointer()) for place in places]

        def spread(value: Any) -> Any:
            one = builder.insert_element(
                ir.Constant(four, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
            )
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
            return builder.shuffle_vector(one, ir.Constant(four, ir.Undefined), zeros)

        V = [builder.load(place, align=8) for place in rows(1)]
        for r, place in enumerate(rows(3)):
            total = builder.load(place, align=8)
            for m in range(3):
                factor = spread(builder.extract_value(arguments[0], 3 * r + m))
                part = builder.fmul(factor, V[m], flags=("contract",))
                total = builder.fsub(total, part, flags=("contract",))
            builder.store(total, place, align=8)
        return context.get_dummy_value()

    return signature, generate


subtract_product: Any = intrinsic(_subtract_product)
