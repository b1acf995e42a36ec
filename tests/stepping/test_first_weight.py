"""The proximal weight of a step's first solve is learnt, and is part of what a world remembers."""

from __future__ import annotations

import numpy as np

import perp
from perp.scenes import library
from perp.stepping.world import HEAVY


def _arm() -> str:
    """Two fingers on one slide each that press on a box with eight redundant contacts, and a hinge beside."""
    fingers = "".join(
        f'<body pos="{x} 0 0.1"><joint name="j{i}" type="slide" axis="{-np.sign(x)} 0 0" damping="1"/>'
        f'<joint name="t{i}" axis="0 1 0" damping="0.01"/>'
        '<geom type="box" size="0.01 0.05 0.05" mass="0.2"/></body>'
        for i, x in enumerate((-0.07, 0.07))
    )
    block = '<body pos="0 0 0.1"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="0.5"/></body>'
    motors = "".join(
        f'<position joint="j{i}" kp="300" kv="5"/><motor joint="t{i}" gear="1"/>' for i in range(2)
    )
    text = library.scene(library.plane(0.5) + block + fingers)
    return text.replace("</mujoco>", f"<actuator>{motors}</actuator></mujoco>")


def _controls(count: int) -> np.ndarray:
    t = np.arange(count)
    push, turn = 0.03 + 0.02 * np.sin(0.3 * t), 0.8 * np.sin(0.7 * t)
    return np.stack([push, turn, push, -turn], axis=1)


def test_weight_is_learnt_and_restored_with_a_snapshot():
    controls = _controls(120)
    sim = perp.Simulation(_arm(), step=0.005)
    seen, snapshot, at = set(), None, 0
    for k, control in enumerate(controls[:80]):
        sim.step(control)
        weight = int(sim.stepper.world.count[HEAVY])
        seen.add(weight)
        if weight and snapshot is None and k > 10:
            snapshot, at = sim.snapshot(), k + 1
    assert 0 in seen
    assert snapshot is not None, "no step of jammed contacts took more than three Newton steps"
    other = perp.Simulation(_arm(), step=0.005)
    sim.restore(snapshot)
    other.restore(snapshot)
    assert other.stepper.world.count[HEAVY] > 0
    for control in controls[at : at + 30]:
        sim.step(control)
        other.step(control)
    assert np.array_equal(sim.state.packed, other.state.packed)


def test_snapshots_with_fewer_counts_start_cold():
    sim = perp.Simulation(_arm(), step=0.005)
    for control in _controls(5):
        sim.step(control)
    snapshot = dict(sim.snapshot())
    snapshot["memory.pause"] = snapshot["memory.pause"][:-1]
    other = perp.Simulation(_arm(), step=0.005)
    other.restore(snapshot)
    assert other.stepper.world.count[HEAVY] == 0
    assert np.array_equal(other.state.packed, sim.state.packed)
    other.step(_controls(1)[0])
