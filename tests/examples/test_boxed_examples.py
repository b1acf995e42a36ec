"""The scripts in examples/ for boxed constraints: each against its closed form, and each draws its figure."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = [
    "block_on_growing_slope",
    "hinge_dry_friction",
    "slider_dry_friction",
    "hinge_motor",
    "slider_motor",
]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_block_slips_at_the_friction_angle_and_slides_as_the_formula_says() -> None:
    example = load("block_on_growing_slope")
    step = 0.01
    motion = example.simulate(step)
    slip = motion.angle[np.argmax(motion.speed > 1e-12)]
    assert 0 <= slip - np.arctan(example.FRICTION) <= example.RATE * step
    # implicit steps see the slope of the step's end: the speed is ahead by less than h times its growth
    error = motion.speed - example.closed_form(motion.angle)
    assert np.abs(error).max() < step * example.GRAVITY * 0.2
    holds = motion.angle < np.arctan(example.FRICTION)
    assert {case for case, hold in zip(motion.case, holds, strict=True) if hold} == {"2.2⁻"}
    assert {case for case, hold in zip(motion.case, holds, strict=True) if not hold} == {"2.1⁻"}
    assert motion.ratio[~holds] == pytest.approx(example.FRICTION, abs=1e-12)


def test_pendulum_stops_where_the_energy_it_lost_says() -> None:
    example = load("hinge_dry_friction")
    _, angle = example.simulate(0.002)
    known = example.turning_points()
    assert len(known) >= 4
    assert example.WEIGHT_TORQUE * abs(np.sin(known[-1])) < example.TORQUE_LIMIT
    assert angle[-1] == angle[-100]  # it stands
    assert np.degrees(angle[-1]) == pytest.approx(np.degrees(known[-1]), abs=0.1)
    turns = np.flatnonzero(np.sign(np.diff(angle)[1:]) * np.sign(np.diff(angle)[:-1]) < 0) + 1
    reached = np.degrees(angle[turns])
    assert reached == pytest.approx(np.degrees(known[1 : 1 + reached.size]), abs=0.1)


def test_slider_follows_its_half_swings_and_stays() -> None:
    example = load("slider_dry_friction")
    for step in (0.004, 0.002):
        time, position = example.simulate(step)
        known = example.closed_form(time)
        assert np.abs(position - known).max() < 1.5 * step  # a first-order stepper
        assert position[-1] == position[-50]
        assert position[-1] == pytest.approx(known[-1], abs=2e-4)
        assert 0.01 < abs(known[-1]) < example.SHIFT


def test_hinge_motor_reaches_its_rate_and_stalls_at_exactly_its_limit() -> None:
    example = load("hinge_motor")
    run = example.simulate(0.02)
    rate, torque = example.closed_form(run.time)
    assert run.rate == pytest.approx(rate, abs=5e-3)
    stalled = run.time > example.TORQUE_LIMIT / example.LOAD_GROWTH + 0.02
    assert run.torque[stalled] == pytest.approx(example.TORQUE_LIMIT, rel=1e-12)
    holds = (rate == example.WANTED_RATE) & ~stalled
    assert holds.sum() > 100
    assert run.rate[holds][1:] == pytest.approx(example.WANTED_RATE, rel=1e-9)
    assert run.torque[holds][1:-1] == pytest.approx(torque[holds][1:-1], abs=0.02)
    assert run.apart < 1e-12


def test_slider_motor_lifts_the_light_weight_and_not_the_heavy_one() -> None:
    example = load("slider_motor")
    light, heavy = example.simulate(example.LIGHT, 0.01), example.simulate(example.HEAVY, 0.01)
    assert light.speed[-1] == pytest.approx(example.WANTED_SPEED, rel=1e-12)
    assert light.force[-1] == pytest.approx(example.LIGHT * example.GRAVITY, rel=1e-9)
    assert heavy.force == pytest.approx(example.FORCE_LIMIT, rel=1e-12)
    for mass, run in ((example.LIGHT, light), (example.HEAVY, heavy)):
        assert run.speed == pytest.approx(example.closed_form(mass, run.time)[0], abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_every_example_draws_its_figure(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl
    from matplotlib import image

    mpl.use("Agg")
    example = load(name)
    simulate = example.simulate
    coarse = (lambda mass: simulate(mass, 0.02)) if name == "slider_motor" else lambda: simulate(0.02)
    monkeypatch.setattr(example, "simulate", coarse)
    out = tmp_path / "figure.png"
    example.plot(out)
    picture = image.imread(out)
    assert picture.shape[0] > 300
    assert picture.std() > 0.05
