"""Coriolis forces that change from round to round as contacts open and close: the step says so."""

from __future__ import annotations

import numpy as np
import pytest
from derivative_states import _random_step


@pytest.mark.filterwarnings("ignore::perp.stepping.StepInaccurate")
def test_a_tumbling_rover_whose_coriolis_forces_do_not_settle_misses_its_tolerance() -> None:
    # free flight keeps this momentum; rows without impulses hold whatever the motion is
    kept = np.array([-21.694855678, 3.009955876, -16.200295801])
    sim, _ = _random_step(6399)
    record = sim.step()
    lost = np.linalg.norm(record.angular_momentum - kept) / np.linalg.norm(kept)
    assert lost < 1e-3 or (not record.met and "Coriolis forces" in str(record.cause))
