"""Many worlds of one scene as arrays with a leading axis: what a chunk of them needs to be stepped.

A world is a line of numbers: its state, and what it remembers from step to step. Scene, problem and workspace
belong to the thread that steps it, so ten thousand worlds take megabytes.
"""

from __future__ import annotations

from numba import types
from numba.experimental import structref
from numba.extending import intrinsic

from perp.compilation.kernel import kernel
from perp.dynamics.scene_tables import F2, F3, I2, F, I
from perp.kernels.structs import StructType, set_fields

_f = types.float64

FIELDS = [
    # where the work is, see FIRST …
    ("at", I),
    # states as `packing.pack_state` has them, memories (see `many_steps`), times [s], shape (worlds, …)
    ("state", F2),
    ("memory", F2),
    ("time", F),
    # controls that stay, and those of every step, shape (worlds, steps, motors) or of size 0; wrenches
    ("control", F2),
    ("controls", F3),
    ("wrench", F3),
    # why a world has stopped for good, 0 where it has not
    ("failed", I),
    # of every step or, in one column, the worst of all: statuses, residuals; states q v act, or of size 0
    ("status", I2),
    ("residual", F2),
    ("states", F3),
    # contacts of all steps where they are asked for: world, step and a packed contact a line; their number
    ("contact", F2),
    ("contact_count", I),
    # values that are a world's own, shape (worlds, values); which of them goes where in this thread's memory
    ("value", F2),
    ("source", I),
    ("target", I),
]
WorldsType = StructType(FIELDS)
# Positions in `at`: the chunk, its steps, the world at work, its step, whether it is loaded and in a step.
FIRST, LAST, STEPS, WORLD, STEP, LOADED, BEGUN, LOGGING = range(8)
PLACES = 8


@kernel
def pack_worlds(x):
    """The struct of a tuple of the fields in their order."""
    b = structref.new(WorldsType)  # pyright: ignore[reportCallIssue]
    set_fields(b, x)
    return b


def _write_number(typing_context, address, value):
    """Store a number at an address."""
    del typing_context

    def generate(context, builder, _, arguments):
        kind = context.get_value_type(types.float64)
        builder.store(arguments[1], builder.inttoptr(arguments[0], kind.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.float64), generate


write_number = intrinsic(_write_number)


@kernel
def logged(b):
    """Contacts that were logged, a copy."""
    return b.contact[: b.contact_count[0]].copy()
