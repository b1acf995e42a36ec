"""mujoco's C functions for compiled code: called by address, without the interpreter and its lock.

The symbols are registered by name, so that compiled callers can be cached. Models and data travel as integers
(`model._address`). Fatal errors of the library end the process here: what could overflow is checked before.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from perp.scenes.engine import engine

_NAMES = (
    "mj_kinematics",
    "mj_comPos",
    "mj_tendon",
    "mj_makeM",
    "mj_transmission",
    "mj_comVel",
    "mj_passive",
    "mj_fwdVelocity",
    "mj_fwdActuation",
    "mj_collision",
)


def _registered(name: str, *arguments: Any, result: Any = types.void) -> Any:
    """An external function of the library, by its symbol."""
    return types.ExternalFunction(name, Signature(result, arguments, None))


@cache
def _library() -> ctypes.CDLL:
    (path,) = sorted(Path(engine().__file__).parent.glob("libmujoco*"))[:1]
    return ctypes.CDLL(str(path))


@cache
def load() -> None:
    """Make the library's symbols known to the compiler; before any compiled caller is called."""
    library = _library()
    for name in (*_NAMES, "mj_rne", "mj_integratePos", "mj_differentiatePos", "mj_geomDistance"):
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        binding.add_symbol(name, address)


_i = types.int64
mj_kinematics, mj_comPos, mj_tendon, mj_makeM, mj_transmission = (_registered(n, _i, _i) for n in _NAMES[:5])
mj_comVel, mj_passive, mj_fwdVelocity, mj_fwdActuation, mj_collision = (
    _registered(n, _i, _i) for n in _NAMES[5:]
)
mj_rne = _registered("mj_rne", _i, _i, types.int32, _i)
mj_integratePos = _registered("mj_integratePos", _i, _i, _i, types.float64)
mj_differentiatePos = _registered("mj_differentiatePos", _i, _i, types.float64, _i, _i)
mj_geomDistance = _registered(
    "mj_geomDistance", _i, _i, types.int32, types.int32, types.float64, _i, result=types.float64
)


@cache
def collision_functions() -> np.ndarray:
    """Addresses of the library's functions that find contacts of two shapes, by the types of both."""
    count = int(engine().mjtGeom.mjNGEOMTYPES)
    table: Any = (ctypes.c_int64 * count**2).in_dll(_library(), "mjCOLLISIONFUNC")
    return np.array(table, dtype=np.int64).reshape(count, count)


def _call_collision(typing_context, function, model, data, out, first, second, margin):
    """Contacts of two shapes by such a function; how many there are.

    Written are ten numbers a contact: distance, point midway, normal, a tangent.
    """
    del typing_context, function, model, data, out, first, second, margin

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        number, word, real = (context.get_value_type(t) for t in (types.int64, types.int32, types.float64))
        kind = ir.FunctionType(word, (number, number, number, word, word, real))
        g, h = (builder.trunc(value, word) for value in values[4:6])
        function = builder.inttoptr(values[0], kind.as_pointer())
        found = builder.call(function, (*values[1:4], g, h, values[6]))
        return builder.sext(found, number)

    return types.int64(*(types.int64,) * 6, types.float64), generate


call_collision: Any = intrinsic(_call_collision)


class ContactLayout(NamedTuple):
    """Where mujoco keeps contacts.

    Attributes:
        stride: Bytes from one contact to the next.
        offsets: Bytes from a contact's beginning to dist, pos, frame, friction, adhesion, surfacevel, dim,
            geom, solref and solimp.
        counter, pointer: Bytes from the beginning of mjData to the number of contacts and to their address.
    """

    stride: int
    offsets: tuple[int, ...]
    counter: int
    pointer: int


_FIELDS = ("dist", "pos", "frame", "friction", "adhesion", "surfacevel", "dim", "geom", "solref", "solimp")


@cache
def contact_layout() -> ContactLayout:
    """The layout of this version of mujoco, found by experiment: three scenes with 5, 2 and 3 contacts."""
    mujoco = engine()
    body = '<body pos="{x} 0 0.05"><freejoint/><geom size="0.1"/></body>'
    seen: list[np.ndarray] = []
    stride, offsets, pointer = 0, (), 0
    balls = "".join(body.format(x=k) for k in range(5))
    plane = '<geom type="plane" size="1 1 1"/>'
    m = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{plane}{balls}</worldbody></mujoco>")
    d = mujoco.MjData(m)
    for count in (5, 2, 3):
        d.qpos[2::7] = np.where(np.arange(5) < count, 0.05, 9.0)
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        mujoco.mj_collision(m, d)
        views = [getattr(d.contact, name) for name in _FIELDS]
        base = address_of(views[0])
        stride, offsets = int(views[0].strides[0]), tuple(address_of(view) - base for view in views)
        seen.append(memory(d._address, _words_of_data(d), np.int32) == count)
        pointer = int(np.flatnonzero(memory(d._address, _words_of_data(d) // 2, np.int64) == base)[0])
    found = np.flatnonzero(seen[0] & seen[1] & seen[2])
    return ContactLayout(stride, offsets, 4 * int(found[0]), 8 * pointer)


def first_contact(d: Any) -> int:
    """Where mujoco writes the first contact of its data."""
    return int(memory(d._address + contact_layout().pointer, 1, np.int64)[0])


def _words_of_data(d: Any) -> int:
    """How many words to look at: mjData begins with its statistics, 40 bytes each; the counts follow them."""
    return 10 * np.asarray(d.solver.improvement).size + 256


def address_of(array: np.ndarray) -> int:
    """Where an array begins in memory."""
    return int(array.__array_interface__["data"][0])


def memory(address: int, size: int, kind: Any) -> np.ndarray:
    """An array over memory that someone else owns."""
    item = np.dtype(kind).itemsize
    raw: Any = (ctypes.c_char * (size * item)).from_address(address)
    return np.frombuffer(raw, dtype=kind)
