"""Υ and Σ of joint rows: from the settings by kind and by name, from joints of the scene, from its file.

A mocap body is a handle. Where a scene begins with one that no motion can follow, what holds on to it is soft
as the file says, whatever the softness of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perp.dynamics.file_softness import file_compliance
from perp.dynamics.row_kernels import ORIENTATION
from perp.dynamics.rows import HOLD, LIMIT
from perp.dynamics.scalar_tables import BALL, COUPLE, LOWER, TABLE, TENDON_LOWER, TENDON_UPPER, UPPER
from perp.problems import ProblemError
from perp.scenes.engine import engine
from perp.stepping.settings import DEFAULT_CORRECTION, Softness, given

if TYPE_CHECKING:
    from perp.stepping.stepper import Stepper

_KINDS = ("joints", "contacts")


class _Row(NamedTuple):
    """A row that holds something.

    Its identity, the name of its joint, HOLD or LIMIT, Σ of scene and file, and whether it is of a handle.
    """

    identity: int
    name: str
    law: int
    compliance: float
    of_file: float
    handle: bool = False


def set_rows(stepper: Stepper) -> None:
    """Υ and Σ of all joint rows into the world of a stepper.

    Raises:
        ProblemError: The settings name a joint that is none, or that has no row to give way.
    """
    settings, world = stepper.settings, stepper.world
    rows = list(_rows(stepper))
    _check_names("correction", settings.correction, {row.name for row in rows}, stepper)
    held = {row.name for row in rows if row.law == HOLD}
    _check_names("compliance", settings.compliance, held, stepper)
    soft = settings.softness == Softness.FILE
    world.row_correction[:] = DEFAULT_CORRECTION
    for row in rows:
        world.row_correction[row.identity] = given(
            settings.correction, row.name, "joints", default=DEFAULT_CORRECTION
        )
        own = row.compliance + (row.of_file if soft else 0.0)
        if row.law == HOLD:
            own = given(settings.compliance, row.name, "joints", default=own)
        world.row_compliance[row.identity] = own
    stepper.handles = {row.identity: row.of_file for row in rows if row.handle}


def let_go(stepper: Stepper) -> bool:
    """What holds on to mocap bodies becomes soft as the file says; whether there is such a thing."""
    for identity, of_file in stepper.handles.items():
        stepper.world.row_compliance[identity] = max(stepper.world.row_compliance[identity], of_file)
    return bool(stepper.handles)


def _check_names(setting: str, value: Any, known: set[str], stepper: Stepper) -> None:
    for name in value if isinstance(value, Mapping) else ():
        if name in known or name in _KINDS:
            continue
        m = stepper.mujoco_model
        coordinates = {m.jnt(j).name for j in range(m.njnt)}
        if stepper.reduced and name in coordinates:
            raise ProblemError(
                f"{setting}[{name!r}]: in reduced coordinates this joint is a coordinate and cannot open; "
                "take coordinates='maximal'"
            )
        names = ", ".join(sorted(known)) or "no joints"
        raise ProblemError(f"{setting} has {name!r}: 'joints', 'contacts' or one of {names}")


def _rows(stepper: Stepper) -> Iterable[_Row]:
    m, table, tables, joints = stepper.mujoco_model, stepper.table, stepper.tables, stepper.joints
    base = tables["identity_base"]
    closed, couples = _equalities(m)
    limits = {m.jnt(j).name: j for j in range(m.njnt)}
    for i in np.flatnonzero(table.law == HOLD):
        name, of_file, handle = joints[int(table.joint[i])].name, 0.0, False
        if name in closed:
            of_file = closed[name][int(table.links[i, 0] == ORIENTATION)]
            handle = bool(closed[name][2])
        yield _Row(int(base[TABLE] + i), name, HOLD, float(table.compliance[i]), of_file, handle)
    for group, at in ((LOWER, "limit_dof"), (UPPER, "limit_dof"), (BALL, "ball_dof")):
        for i, dof in enumerate(tables[at]):
            name = stepper.limited(int(dof))
            of_file = _of_limit(m, limits[name]) if name in limits else 0.0
            yield _Row(int(base[group]) + i, name, LIMIT, 0.0, of_file)
    for group in (TENDON_LOWER, TENDON_UPPER):
        for t in range(m.ntendon):
            of_file = m.tendon_invweight0[t] * _of(m.tendon_solref_lim[t], m.tendon_solimp_lim[t])
            yield _Row(int(base[group]) + t, m.tendon(t).name, LIMIT, 0.0, of_file)
    for e, (name, of_file) in enumerate(couples[: len(tables["couple"])]):
        yield _Row(int(base[COUPLE]) + e, name, HOLD, 0.0, of_file)


def _of(solref: np.ndarray, solimp: np.ndarray) -> float:
    """Per inverse mass; rows that are hardly violated have the first impedance."""
    return float(file_compliance(np.array(solref), np.array(solimp), 0.0))


def _of_limit(m: Any, j: int) -> float:
    return float(m.dof_invweight0[m.jnt_dofadr[j]]) * _of(m.jnt_solref[j], m.jnt_solimp[j])


def _equalities(m: Any) -> tuple[dict[str, tuple[float, float, bool]], list[tuple[str, float]]]:
    """Σ of the file's equalities: of connect and weld by name, of couplings in order.

    The former for shifts and turns, and whether they hold on to a mocap body.
    """
    kinds = engine().mjtEq
    closed: dict[str, tuple[float, float, bool]] = {}
    couples: list[tuple[str, float]] = []
    for e in range(m.neq):
        kind, name = int(m.eq_type[e]), m.eq(e).name or f"equality{e}"
        per_mass = _of(m.eq_solref[e], m.eq_solimp[e])
        ends = [int(m.eq_obj1id[e]), int(m.eq_obj2id[e])]
        if kind in (int(kinds.mjEQ_CONNECT), int(kinds.mjEQ_WELD)):
            if int(m.eq_objtype[e]) == int(engine().mjtObj.mjOBJ_SITE):
                ends = [int(m.site_bodyid[site]) for site in ends]
            shift, turn = np.array(m.body_invweight0[ends]).sum(axis=0)
            handle = bool((np.asarray(m.body_mocapid)[ends] >= 0).any())
            closed[name] = float(shift) * per_mass, float(turn) * per_mass, handle
        elif m.eq_active0[e] and kind in (int(kinds.mjEQ_JOINT), int(kinds.mjEQ_TENDON)):
            tendons = kind == int(kinds.mjEQ_TENDON)
            loose = [
                float(m.tendon_invweight0[end] if tendons else m.dof_invweight0[m.jnt_dofadr[end]])
                for end in ends
                if end >= 0
            ]
            couples.append((name, sum(loose) * per_mass))
    return closed, couples
