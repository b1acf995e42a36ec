"""Joint constraint functions and their Jacobians, on random poses with moving parents."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import perp
from moved import moved
from perp.compilation.kernel import whole
from perp.dynamics.motion import rotation_matrices
from perp.dynamics.rows import HOLD, MEASURE, JointRows
from perp.scenes import JointKind, Motor, MotorKind, attach, load_scene
from perp.scenes.library import box, scene

ROWS = {
    "fixed": 6,
    "hinge": 5,
    "slider": 5,
    "ball": 3,
    "universal": 4,
    "cylindrical": 4,
    "planar": 3,
    "distance": 1,
}
TWO = scene(
    box("a", (0.1, 0.2, 0.3), (0.3, 0.1, 0.5))
    + box("b", (0.2, 0.1, 0.1), (-0.4, 0.6, 0.2), turn=(0.3, 0.2, -0.5))
)


def joint_model(kind: str, parent: str | None, **options: Any):
    model = load_scene(TWO)
    other = (0.5, -0.2, 0.1) if kind == "distance" else None
    return attach(
        model, kind, "a", parent, anchor=(0.1, 0.3, 0.2), axis=(0.3, -0.4, 0.8), other_anchor=other, **options
    )


def evaluate(table: JointRows, x: np.ndarray, quat: np.ndarray, last: np.ndarray):
    R = np.empty((x.shape[0], 3, 3))
    whole(rotation_matrices)(quat, R)
    return table.evaluate(x, quat, R, last)


@pytest.mark.parametrize("kind", list(ROWS))
@pytest.mark.parametrize("parent", [None, "b"])
def test_rows_vanish_where_the_joint_was_placed(kind: str, parent: str | None) -> None:
    model = joint_model(kind, parent)
    table = JointRows.of(model)
    value, _ = evaluate(table, model.position, model.quaternion, np.zeros(table.law.size))
    assert table.law.size == ROWS[kind]
    assert np.abs(value).max() < 1e-15


@pytest.mark.parametrize("kind", list(ROWS))
@pytest.mark.parametrize("parent", [None, "b"])
def test_jacobian_is_the_derivative_at_random_poses(kind: str, parent: str | None) -> None:
    single = kind in ("hinge", "slider", "cylindrical", "universal", "planar", "distance")
    options = (
        {"lower": -1.0, "upper": 1.0, "stiffness": 2.0, "friction": 0.1}
        if single
        else {"upper": 1.0, "stiffness": 2.0}
        if kind == "ball"
        else {}
    )
    table = JointRows.of(joint_model(kind, parent, **options))
    rng = np.random.default_rng(7)
    for _ in range(5):
        x, quat = rng.normal(size=(2, 3)), rng.normal(size=(2, 4))
        quat /= np.linalg.norm(quat, axis=1)[:, None]
        last, jacobian = evaluate(table, x, quat, np.zeros(table.law.size))
        u, eps = rng.normal(size=(2, 6)), 1e-6
        ends = []
        for side in (eps, -eps):
            new_x, new_quat = moved(x, quat, u, side)
            ends.append(evaluate(table, new_x, new_quat, last)[0])
        rate = (ends[0] - ends[1]) / (2 * eps)
        parent_rate = 0.0 if parent is None else jacobian[:, 6:] @ u[1]
        assert rate == pytest.approx(jacobian[:, :6] @ u[0] + parent_rate, abs=2e-9)


@pytest.mark.parametrize("kind", list(ROWS))
def test_free_motion_of_each_joint_leaves_its_rows_at_zero(kind: str) -> None:
    """Displacements that the joint allows: the null space of its Jacobian has the right dimension."""
    model = joint_model(kind, "b")
    table = JointRows.of(model)
    _, jacobian = evaluate(table, model.position, model.quaternion, np.zeros(table.law.size))
    assert np.linalg.matrix_rank(jacobian, tol=1e-9) == ROWS[kind]
    together = np.zeros(12)
    together[:3] = together[6:9] = (1.0, -2.0, 0.5)
    assert np.abs(jacobian @ together).max() < 1e-14
    spin = np.array([0.2, 0.9, -0.4])
    turning = np.concatenate(
        [np.cross(spin, model.position[0]), spin, np.cross(spin, model.position[1]), spin]
    )
    assert np.abs(jacobian @ turning).max() < 1e-14


def test_angles_count_their_turns() -> None:
    table = JointRows.of(joint_model("hinge", None, friction=1.0))
    model = joint_model("hinge", None)
    axis = np.array([0.3, -0.4, 0.8]) / np.linalg.norm([0.3, -0.4, 0.8])
    x, quat = model.position.copy(), model.quaternion.copy()
    u = np.zeros((2, 6))
    u[0, 3:] = 0.5 * axis
    arm = x[0] - np.array([0.1, 0.3, 0.2])
    last = np.zeros(table.law.size)
    for _ in range(40):
        u[0, :3] = np.cross(u[0, 3:], arm)
        new_x, new_quat = moved(x, quat, u, 1.0)
        x, quat = new_x, new_quat
        last, _ = evaluate(table, x, quat, last)
    assert last[5] == pytest.approx(20.0, abs=1e-9)


def test_laws_and_sets_of_a_hinge_with_everything() -> None:
    model = joint_model(
        "hinge", "b", lower=-0.5, upper=0.5, stiffness=3.0, damping=0.2, friction=0.1, compliance=1e-6
    )
    motors = (
        Motor("push", 0, MotorKind.FORCE, force_limit=2.0, control=5.0),
        Motor("servo", 0, MotorKind.POSITION, 10.0, 1.0, 4.0),
    )
    table = JointRows.of(replace(model, motors=motors))
    # one row measures the coordinate for all of its laws
    assert list(table.law) == [HOLD] * 5 + [MEASURE]
    assert list(table.motor_row) == [5, 5]
    assert list(table.compliance) == [1e-6] * 5 + [0.0]
    assert table.limits.tolist() == [[5, -0.5, 0.5]]
    assert table.yields.tolist() == [[5, 3.0, 0.2, 0.0]]
    assert table.frictions.tolist() == [[5, 0.1]]
    assert table.rotors.size == 0
    value, _ = evaluate(table, model.position, model.quaternion, np.zeros(table.law.size))
    assert value == pytest.approx(np.zeros(6), abs=1e-15)
    # force = g · control + a + b q + c q̇
    assert motors[0].affine == (1.0, 0.0, 0.0, 0.0)
    assert motors[1].affine == (10.0, 0.0, -10.0, -1.0)


def test_a_motor_added_in_python_pushes_as_its_law_says() -> None:
    model = attach(
        load_scene(scene(box("b", (0.1, 0.1, 0.1), (0, 0, 0), mass=2.0), gravity=(0.0, 0.0, 0.0))),
        "slider", "b", anchor=(0, 0, 0), axis=(1, 0, 0),
    )  # fmt: skip
    push = Motor("push", 0, MotorKind.FORCE, force_limit=2.0, control=5.0)
    servo = Motor("servo", 0, MotorKind.POSITION, 50.0, 20.0, control=0.3)
    hold = Motor("hold", 0, MotorKind.VELOCITY, force_limit=9.0, damping=math.inf, control=0.7)
    ends = {}
    for motor in (push, servo, hold):
        sim = perp.Simulation(replace(model, motors=(motor,)), step=0.01)
        assert sim.motor_names == (motor.name,)
        sim.run(1.0)
        ends[motor.name] = sim.body("b").velocity[0]
        if motor is servo:
            sim.run(3.0)
            assert sim.body("b").position[0] == pytest.approx(0.3, abs=1e-6)
    assert ends["push"] == pytest.approx(1.0, rel=1e-9)
    assert ends["hold"] == pytest.approx(0.7, rel=1e-9)


def test_a_joint_without_one_coordinate_cannot_have_a_motor() -> None:
    model = replace(joint_model("ball", "b"), motors=(Motor("m", 0, MotorKind.FORCE),))
    with pytest.raises(ValueError, match="no single coordinate"):
        JointRows.of(model)


def test_joint_kinds_are_those_of_the_design() -> None:
    assert {kind.value for kind in JointKind} == set(ROWS)
    assert math.isinf(joint_model("hinge", None).joints[0].upper)
