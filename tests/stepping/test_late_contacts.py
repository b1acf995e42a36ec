"""Contacts that a step reaches and its start did not foresee: tumbling cubes neither overlap nor gain energy."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes import library
from second_detector import SecondDetector

SIZE = 0.05 * 3**0.5
OPEN = pytest.mark.xfail(strict=True, reason="hard impacts: the kernel misses them")


def cubes(count: int, seed: int) -> str:
    """Turned cubes above each other, far enough apart not to touch."""
    rng = np.random.default_rng(seed)
    boxes = "".join(
        library.box(
            f"box{i}",
            (0.05, 0.05, 0.05),
            (0.06 * rng.normal(), 0.06 * rng.normal(), 0.1 + 0.18 * i),
            turn=tuple(rng.uniform(-1, 1, 3).tolist()),
        )
        for i in range(count)
    )
    return library.scene(library.plane(0.5) + boxes)


@pytest.mark.parametrize(
    ("seed", "spin", "h"), [(3, 0.0, 0.01), (2, 8.0, 0.01), pytest.param(0, 4.0, 0.05, marks=OPEN)]
)
def test_tumbling_cubes_neither_overlap_nor_gain_energy(seed: int, spin: float, h: float) -> None:
    sim, detector = perp.Simulation(cubes(8, seed), step=h), SecondDetector(cubes(8, seed))
    rng = np.random.default_rng(seed + 100)
    for i in range(8):
        turning = spin * rng.normal(size=3)
        sim.body(f"box{i}").set_velocity((*rng.normal(size=2), -2.0), turning)
    energy, deepest, late = [], [], 0
    for _ in range(round(1.2 / h)):
        record = sim.step()
        energy.append(record.energy)
        deepest.append(detector.overlap(sim))
        late += record.late_contacts
        assert record.penetration == pytest.approx(deepest[-1], abs=1e-8)
    assert late > 0 or seed != 3  # normals that turn with their faces leave hardly any
    assert max(deepest) < 2e-5 * SIZE
    assert np.diff(energy).max() < 1e-7 * energy[0]
