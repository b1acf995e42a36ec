"""Coordinates of compound and ball joints: values, Jacobians and laws, on random poses with moving parents."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from moved import moved
from perp.compilation.kernel import whole
from perp.dynamics.motion import rotation_matrices
from perp.dynamics.row_kernels import LOGARITHM, SPIN, TURN
from perp.dynamics.rows import HOLD, MEASURE, JointRows
from perp.scenes import Coordinate, Freedom, JointKind, attach, load_scene
from perp.scenes.joints import FREEDOMS
from perp.scenes.library import box, scene

TWO = scene(
    box("a", (0.1, 0.2, 0.3), (0.3, 0.1, 0.5))
    + box("b", (0.2, 0.1, 0.1), (-0.4, 0.6, 0.2), turn=(0.3, 0.2, -0.5))
)
BALL = {"upper": 1.0, "stiffness": 2.0, "damping": 0.3, "friction": 0.1, "armature": 0.2}


def joint_model(kind: str, parent: str | None = "b", **options: Any):
    return attach(
        load_scene(TWO), kind, "a", parent, anchor=(0.1, 0.3, 0.2), axis=(0.3, -0.4, 0.8), **options
    )


def everything(kind: str, sign: float = 1.0) -> tuple[Coordinate, ...]:
    """All laws on all coordinates of a joint."""
    return tuple(
        Coordinate(freedom, f"q{k}", sign, 0.1, -1.0, 1.5, 2.0, 0.2, 0.3, 0.1, 0.05)
        for k, freedom in enumerate(FREEDOMS[JointKind(kind)])
    )


def evaluate(table: JointRows, x: np.ndarray, quat: np.ndarray, last: np.ndarray):
    R = np.empty((x.shape[0], 3, 3))
    whole(rotation_matrices)(quat, R)
    return table.evaluate(x, quat, R, last)


def random_pose(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    quat = rng.normal(size=(2, 4))
    return rng.normal(size=(2, 3)), quat / np.linalg.norm(quat, axis=1)[:, None]


@pytest.mark.parametrize("parent", [None, "b"])
@pytest.mark.parametrize("kind", ["universal", "cylindrical", "planar", "ball"])
def test_jacobian_is_the_derivative_at_random_poses(kind: str, parent: str | None) -> None:
    options: Any = BALL if kind == "ball" else {"coordinates": everything(kind, -1.0)}
    table = JointRows.of(joint_model(kind, parent, **options))
    rng = np.random.default_rng(3)
    for size in (1.0, 1.0, 1.0, 1e-3, 1e-7):
        x, quat = random_pose(rng)
        if size < 1:  # nearly no rotation between the frames
            joint = joint_model(kind, parent, **options).joints[0]
            frames = [
                Rotation.from_quat(f, scalar_first=True) for f in (joint.child_frame, joint.parent_frame)
            ]
            world = Rotation.random(rng=rng)
            small = Rotation.from_rotvec(size * rng.normal(size=3))
            turned = small * world * frames[0].inv()
            under = world * frames[1].inv()
            if parent is None:
                turned = small * frames[1] * frames[0].inv()
            quat = np.array([r.as_quat(scalar_first=True) for r in (turned, under)])
        last, jacobian = evaluate(table, x, quat, np.zeros(table.law.size))
        u, eps = rng.normal(size=(2, 6)), 1e-6 * min(1.0, 1e3 * size)
        ends = []
        for side in (eps, -eps):
            new_x, new_quat = moved(x, quat, u, side)
            ends.append(evaluate(table, new_x, new_quat, last)[0])
        rate = (ends[0] - ends[1]) / (2 * eps)
        expected = jacobian[:, :6] @ u[0] + (0.0 if parent is None else jacobian[:, 6:] @ u[1])
        whole = table.links[:, 0] != SPIN
        near = 1e-8 if size == 1 else 1e-6 if size > 1e-5 else 1e-5
        check = whole & ((table.links[:, 0] != TURN) | (size > 1e-5))
        assert rate[check] == pytest.approx(expected[check], abs=near)


def test_coordinates_of_a_universal_joint_are_its_two_turns() -> None:
    """R = Rz(q₁) Rx(q₂) between the joint frames, at any parent pose, and rates are q̇."""
    model = joint_model("universal")
    joint = model.joints[0]
    rows = JointRows.measuring([(joint, Coordinate(freedom)) for freedom in FREEDOMS[joint.kind]])
    rng = np.random.default_rng(4)
    child, parent = (
        Rotation.from_quat(f, scalar_first=True) for f in (joint.child_frame, joint.parent_frame)
    )
    for _ in range(10):
        q = rng.uniform(-3, 3, 2)
        world = Rotation.random(rng=rng)
        turned = world * parent * Rotation.from_euler("ZX", q) * child.inv()
        quat = np.array([turned.as_quat(scalar_first=True), world.as_quat(scalar_first=True)])
        value, jacobian = evaluate(rows, rng.normal(size=(2, 3)), quat, np.zeros(2))
        assert value == pytest.approx(q, abs=1e-12)
        rate, carried = rng.normal(size=2), rng.normal(size=3)
        z = (world * parent).apply([0, 0, 1])
        x = (turned * child).apply([1, 0, 0])
        u = np.concatenate([np.zeros(3), carried + rate[0] * z + rate[1] * x, np.zeros(3), carried])
        assert jacobian @ u == pytest.approx(rate, abs=1e-12)


def test_the_rotation_vector_of_a_ball_joint_and_its_angle() -> None:
    """Values are those of scipy's logarithm; the spring's torque is −k φ, its energy k θ² / 2."""
    model = joint_model("ball", upper=0.5, stiffness=2.0)
    joint, table = model.joints[0], JointRows.of(model)
    child, parent = (
        Rotation.from_quat(f, scalar_first=True) for f in (joint.child_frame, joint.parent_frame)
    )
    rng = np.random.default_rng(5)
    for size in (1e-12, 1e-6, 9e-3, 1.1e-2, 1.0, 3.1):
        phi = rng.normal(size=3)
        phi *= size / np.linalg.norm(phi)
        world = Rotation.random(rng=rng)
        turned = world * parent * Rotation.from_rotvec(phi) * child.inv()
        quat = np.array([turned.as_quat(scalar_first=True), world.as_quat(scalar_first=True)])
        value, jacobian = evaluate(table, np.zeros((2, 3)), quat, np.zeros(table.law.size))
        logarithm, angle = table.links[:, 0] == LOGARITHM, table.links[:, 0] == TURN
        assert value[logarithm] == pytest.approx(phi, rel=1e-9, abs=1e-15)
        assert value[angle] == pytest.approx(size, abs=1e-14)
        # the gradient of θ²/2 is the rotation vector itself
        torque = value[logarithm] @ jacobian[logarithm, 3:6]
        assert torque == pytest.approx((world * parent).apply(phi), rel=1e-7, abs=1e-15)


def test_every_coordinate_with_laws_is_measured_once() -> None:
    for kind, count in (("universal", 2), ("cylindrical", 2), ("planar", 3)):
        table = JointRows.of(joint_model(kind, coordinates=everything(kind)))
        assert list(table.law) == [HOLD] * (6 - count) + [MEASURE] * count
        for laws in (table.limits, table.frictions, table.yields, table.rotors):
            assert sorted(laws[:, 0]) == list(range(6 - count, 6))
    table = JointRows.of(joint_model("ball", **BALL))
    # the angle, the rotation vector and the spin
    assert list(table.law) == [HOLD] * 3 + [MEASURE] * 7
    found = [len(laws) for laws in (table.limits, table.frictions, table.yields, table.rotors)]
    assert found == [1, 3, 6, 3]


def test_a_joint_refuses_coordinates_that_it_has_not() -> None:
    with pytest.raises(ValueError, match="no coordinate 'slide x'; its coordinates: turn z, turn child x"):
        joint_model("universal", coordinates=(Coordinate(Freedom.SLIDE_X),))
    assert math.isinf(joint_model("planar").joints[0].coordinate(Freedom.SLIDE_X).upper)
