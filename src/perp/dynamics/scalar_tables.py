"""Laws of single coordinates and tendons of mujoco's trees, as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from perp.dynamics.rows import JointRows
from perp.scenes.engine import enabled, engine

_I, _F, _I2, _F2 = types.int64[::1], types.float64[::1], types.int64[:, ::1], types.float64[:, ::1]

SCALAR_FIELDS = [
    # limits: coordinate, freedom, bounds; freedoms behind mujoco's are rows of the table (`measuring.row_of`)
    ("limit_at", _I),
    ("limit_dof", _I),
    ("limit_low", _F),
    ("limit_high", _F),
    # freedoms with dry friction, and its force; the same
    ("rub_dof", _I),
    ("rub_force", _F),
    # springs with their dampers on rows of the table, and rotors
    ("yield_dof", _I),
    ("yield_stiffness", _F),
    ("yield_damping", _F),
    ("yield_target", _F),
    ("rotor_dof", _I),
    ("rotor_inertia", _F),
    # ball joints of trees with a largest angle: coordinate, freedom, angle
    ("ball_at", _I),
    ("ball_dof", _I),
    ("ball_limit", _F),
    # equalities y₁ − r₁ = p(y₂ − r₂) of coordinates or tendons: 0 or 1 for tendons, then number of y₁ and of
    # y₂ or
    # −1 (coordinates: position and freedom); five coefficients; r₁, r₂
    ("couple", _I2),
    ("couple_poly", _F2),
    ("couple_reference", _F2),
    # tendons: rows of their Jacobian, range, spring, damper, dry friction
    ("tendon_begin", _I),
    ("tendon_count", _I),
    ("tendon_column", _I),
    ("tendon_limited", _I),
    ("tendon_range", _F2),
    ("tendon_stiffness", _F),
    ("tendon_damping", _F),
    ("tendon_spring", _F2),
    ("tendon_loss", _F),
    # springs of coordinates: where, 1 for rotations, stiffness, its coordinates without force
    ("spring_at", _I),
    ("spring_turns", _I),
    ("spring_stiffness", _F),
    ("spring_reference", _F2),
    # rows that hold between bodies and laws of coordinates as they are collected: group and number there
    ("sequence", _I2),
    # first identity of each group of rows, in the order of GROUPS, and the number of identities
    ("identity_base", _I),
]
GROUPS = (
    "table",
    "lower",
    "upper",
    "ball",
    "rub",
    "tendon lower",
    "tendon upper",
    "tendon rub",
    "elastic",
    "couple",
    "yield",
    "rotor",
)
TABLE, LOWER, UPPER, BALL, RUB, TENDON_LOWER, TENDON_UPPER, TENDON_RUB, ELASTIC, COUPLE = range(10)
YIELD, ROTOR, MOTOR = range(10, 13)


def has_laws(m: Any) -> bool:
    """Whether a compiled scene has laws of mujoco's coordinates besides those of single joints."""
    coupled = _couplings(m, enabled=enabled(m, "EQUALITY", "CONSTRAINT"))[0]
    return bool(m.nu or m.ntendon or coupled or has_passive(m))


def has_passive(m: Any) -> bool:
    """Whether gravity is compensated for, or a fluid drags."""
    return bool(m.body_gravcomp.any() or m.opt.density or m.opt.viscosity)


def scalar_tables(m: Any, flags: int, shapes: Any, rows: JointRows, *, cut: bool) -> dict[str, Any]:
    """The tables of a scene; `flags` is what the file disables and `shapes` the model before preparation.

    Laws of single joints are those of `rows` where joints are cut, else those of the file and behind them
    those of joints that were added.
    """
    mujoco = engine()
    bits, kinds = mujoco.mjtDisableBit, mujoco.mjtJoint

    def on(bit: Any) -> bool:
        return not flags & (int(bit) | int(bits.mjDSBL_CONSTRAINT))

    def whole(x: Any) -> np.ndarray:
        return np.array(x, dtype=np.int64)

    scalar = (m.jnt_type == int(kinds.mjJNT_HINGE)) | (m.jnt_type == int(kinds.mjJNT_SLIDE))
    limited = (m.jnt_limited != 0) & (not cut and on(bits.mjDSBL_LIMIT))
    j, b = np.flatnonzero(limited & scalar), np.flatnonzero(limited & (m.jnt_type == int(kinds.mjJNT_BALL)))
    rubs = np.flatnonzero((m.dof_frictionloss > 0) & (not cut and on(bits.mjDSBL_FRICTIONLOSS)))
    tendons = int(m.ntendon)
    springs, dampers = not flags & int(bits.mjDSBL_SPRING), not flags & int(bits.mjDSBL_DAMPER)
    couple, poly, reference = _couplings(m, enabled=on(bits.mjDSBL_EQUALITY))
    limits, frictions, yields, rotors = (
        np.array(law) for law in (rows.limits, rows.frictions, rows.yields, rows.rotors)
    )
    first = rows.freedom_row.size if cut else int(m.nv)
    for law in (limits, frictions, yields, rotors):
        law[:, 0] += first
    n = j.size + len(limits), rubs.size + len(frictions)
    before = {"lower": int(j.size), "rub": int(rubs.size)}  # laws of trees come first
    motors = int(m.nactuator) + rows.motor_row.size
    groups = (
        rows.law.size,
        n[0],
        n[0],
        b.size,
        n[1],
        *(4 * [tendons]),
        len(couple),
        len(yields),
        len(rotors),
        motors,
    )
    return {
        "limit_at": whole([*m.jnt_qposadr[j], *(0 for _ in limits)]),
        "limit_dof": whole([*m.jnt_dofadr[j], *limits[:, 0]]),
        "limit_low": np.array([*m.jnt_range[j, 0], *limits[:, 1]], float),
        "limit_high": np.array([*m.jnt_range[j, 1], *limits[:, 2]], float),
        "rub_dof": whole([*rubs, *frictions[:, 0]]),
        "rub_force": np.array([*m.dof_frictionloss[rubs], *frictions[:, 1]], float),
        "yield_dof": whole(yields[:, 0]), "yield_stiffness": np.array(yields[:, 1]),
        "yield_damping": np.array(yields[:, 2]), "yield_target": np.array(yields[:, 3]),
        "rotor_dof": whole(rotors[:, 0]), "rotor_inertia": np.array(rotors[:, 1]),
        "ball_at": whole(m.jnt_qposadr[b]), "ball_dof": whole(m.jnt_dofadr[b]),
        "ball_limit": np.array(m.jnt_range[b]).reshape(-1, 2).max(axis=1, initial=0.0),
        "couple": whole(couple).reshape(-1, 5), "couple_poly": np.array(poly, float).reshape(-1, 5),
        "couple_reference": np.array(reference, float).reshape(-1, 2),
        "tendon_begin": whole(m.ten_J_rowadr[:tendons]), "tendon_count": whole(m.ten_J_rownnz[:tendons]),
        "tendon_column": whole(m.ten_J_colind),
        "tendon_limited": whole((m.tendon_limited[:tendons] != 0) & on(bits.mjDSBL_LIMIT)),
        "tendon_range": np.array(m.tendon_range[:tendons]).reshape(-1, 2),
        "tendon_stiffness": np.array(shapes.tendon_stiffness[:tendons], float) * springs,
        "tendon_damping": np.array(shapes.tendon_damping[:tendons], float) * dampers,
        "tendon_spring": np.array(m.tendon_lengthspring[:tendons]).reshape(-1, 2),
        "tendon_loss": np.array(m.tendon_frictionloss[:tendons]) * on(bits.mjDSBL_FRICTIONLOSS),
        **_springs(m, on=springs and not cut),
        "sequence": whole(
            [(GROUPS.index(group), i + before.get(group, 0)) for group, i in rows.sequence]
            + [(LOWER, i) for i in range(j.size)] + [(BALL, i) for i in range(b.size)]
            + [(RUB, i) for i in range(rubs.size)]
        ).reshape(-1, 2),
        "identity_base": np.concatenate([[0], np.cumsum(groups)]).astype(np.int64),
    }  # fmt: skip


def _couplings(m: Any, *, enabled: bool) -> tuple[list[list[int]], list[Any], list[list[float]]]:
    kinds = engine().mjtEq
    couple, poly, reference = [], [], []
    for e in range(m.neq if enabled else 0):
        kind = int(m.eq_type[e])
        if not m.eq_active0[e] or kind not in (int(kinds.mjEQ_JOINT), int(kinds.mjEQ_TENDON)):
            continue
        one, two = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        poly.append(np.array(m.eq_data[e, :5]))
        if kind == int(kinds.mjEQ_TENDON):
            couple.append([1, one, one, two, two])
            reference.append(
                [float(m.tendon_length0[one]), float(m.tendon_length0[two]) if two >= 0 else 0.0]
            )
            continue
        at = [int(m.jnt_qposadr[one]), int(m.jnt_dofadr[one]), -1, -1]
        if two >= 0:
            at[2:] = [int(m.jnt_qposadr[two]), int(m.jnt_dofadr[two])]
        couple.append([0, *at])
        reference.append([float(m.qpos0[at[0]]), float(m.qpos0[at[2]]) if two >= 0 else 0.0])
    return couple, poly, reference


def _springs(m: Any, *, on: bool) -> dict[str, Any]:
    """Springs of joints, one line a coordinate or rotation."""
    kinds = engine().mjtJoint
    at, turns, stiffness, reference = [], [], [], []
    for j in np.flatnonzero(m.jnt_stiffness > 0) if on else ():
        first, kind = int(m.jnt_qposadr[j]), int(m.jnt_type[j])
        free, ball = kind == int(kinds.mjJNT_FREE), kind == int(kinds.mjJNT_BALL)
        single = [] if ball else list(range(first, first + (3 if free else 1)))
        whole = [first + 3] if free else [first] if ball else []
        for q in (*single, *whole):
            at.append(q)
            turns.append(int(q in whole))
            stiffness.append(float(m.jnt_stiffness[j]))
            width = 4 if q in whole else 1
            reference.append(np.pad(m.qpos_spring[q : q + width], (0, 4 - width)))
    return {
        "spring_at": np.array(at, dtype=np.int64), "spring_turns": np.array(turns, dtype=np.int64),
        "spring_stiffness": np.array(stiffness, dtype=np.float64),
        "spring_reference": np.array(reference, dtype=np.float64).reshape(-1, 4),
    }  # fmt: skip
