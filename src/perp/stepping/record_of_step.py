"""The record of a step from its system and answer."""

from __future__ import annotations

import numpy as np

from perp.stepping.contact_rows import sliding
from perp.stepping.outcome import Blocks, Outcome
from perp.stepping.record import StepRecord
from perp.stepping.system import StepSystem

# A contact that slides slower than this share of the step's speeds counts as sticking in the record.
NO_SLIP = 1e-6


def record_of(
    system: StepSystem,
    outcome: Outcome,
    blocks: Blocks,
    route: str,
    tried: tuple[str, ...],
    times: dict[str, float],
) -> StepRecord:
    """What a route's answer leaves behind, without energies and momenta."""
    m, gap = system.joint_rows, system.gaps_after(outcome.velocity)
    slip, sticking = np.empty(gap.size), np.empty(gap.size, np.int64)
    sliding(
        system.first, system.contacts.rows, system.row_velocity(outcome.velocity), outcome.impulse,
        NO_SLIP * system.speed_scale, slip, sticking,
    )  # fmt: skip
    return StepRecord(
        time=system.state.time + system.h,
        step=system.h,
        route=route,
        retries=tried,
        iterations=outcome.iterations,
        solver_iterations=outcome.solver_iterations,
        joint_residual=blocks.joint,
        contact_residual=blocks.contact,
        friction_residual=blocks.friction,
        momentum_residual=blocks.momentum,
        residual=blocks.worst,
        penetration=abs(float(gap.min(initial=0.0))),
        joint_error=system.joint_error(outcome.velocity),
        contacts=system.contacts,
        contact_impulse=outcome.impulse[m:].copy(),
        contact_first=system.first - m,
        sticking=sticking,
        slip=slip,
        joint_impulse=outcome.impulse[:m].copy(),
        times=times,
    )
