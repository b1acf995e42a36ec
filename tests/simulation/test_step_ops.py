"""Steps as operations of JAX and PyTorch: gradients against differences of the operation."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.simulation.gradients.step_op import StepOp

SCENE = """<mujoco><worldbody><geom type="plane" size="9 9 1" friction="0.5"/>
<body name="b" pos="0 0 .1"><freejoint/><geom type="sphere" size=".1" friction="0.5"/>
<body pos="0 0 .2"><joint name="j" axis="0 1 0" damping=".1"/>
<geom type="capsule" fromto="0 0 0 0 .1 .2" size=".02" contype="0" conaffinity="0"/></body></body></worldbody>
<actuator><motor name="m" joint="j"/></actuator></mujoco>"""


def start() -> tuple[perp.Simulation, np.ndarray]:
    sim = perp.Simulation(SCENE, step=0.01, coordinates="reduced")
    q, v = sim.qpos.copy(), np.array([1.0, 0.3, 0.0, 0.3, -0.2, 0.4, 0.5])
    q[3:7] = np.array([0.9, 0.1, -0.3, 0.2]) / np.linalg.norm([0.9, 0.1, -0.3, 0.2])
    return sim, np.concatenate([q, v])


def weights(n: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(n)


def difference(f, x: np.ndarray, k: int) -> float:
    e = np.zeros_like(x)
    e[k] = 1e-6
    return (float(f(x + e)) - float(f(x - e))) / 2e-6


def test_jax():
    jax = pytest.importorskip("jax")
    from perp import jax as perp_jax

    sim, x = start()
    with pytest.raises(perp.ProblemError, match="double"):
        perp_jax.step(sim)
    jax.config.update("jax_enable_x64", True)
    try:
        f = perp_jax.step(sim, ("friction",))
        w, u, theta = weights(x.size), np.array([0.2]), np.array([0.5])

        def loss(x, u, theta):
            return (w * f(f(x, u, theta), u, theta)).sum()

        by_x, by_u, by_theta = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(x, u, theta)
        for k in (0, 8, 12, 14):
            expected = difference(lambda y: loss(y, u, theta), x, k)
            assert by_x[k] == pytest.approx(expected, rel=1e-2, abs=1e-5)
        assert by_u[0] == pytest.approx(difference(lambda y: loss(x, y, theta), u, 0), rel=1e-2)
        assert by_theta[0] == pytest.approx(difference(lambda y: loss(x, u, y), theta, 0), rel=3e-2)
        # a batch has the bits of single steps, and the gradients
        lines = np.stack([x, x + 0.01])
        both = jax.vmap(lambda y: f(y, u, theta))(lines)
        for k in range(2):
            np.testing.assert_array_equal(both[k], f(lines[k], u, theta))
        by_both = jax.grad(lambda y: (w * jax.vmap(lambda z: f(z, u, theta))(y)).sum())(lines)
        by_one = jax.grad(lambda y: (w * f(y, u, theta)).sum())(lines[1])
        np.testing.assert_array_equal(by_both[1], by_one)
    finally:
        jax.config.update("jax_enable_x64", False)


def test_torch():
    torch = pytest.importorskip("torch")
    from perp import torch as perp_torch

    sim, x = start()
    f = perp_torch.step(sim, ("friction",))
    w = torch.from_numpy(weights(x.size))
    u, theta = torch.tensor([0.2], dtype=torch.float64), torch.tensor([0.5], dtype=torch.float64)
    tensor = torch.from_numpy(x).requires_grad_(True)
    (w * f(tensor, u, theta)).sum().backward()

    def loss(y):
        return (w * f(torch.from_numpy(y), u, theta)).sum()

    for k in (0, 8, 14):
        assert tensor.grad[k].item() == pytest.approx(difference(loss, x, k), rel=1e-2, abs=1e-5)
    lines = torch.from_numpy(np.stack([x, x + 0.01])).requires_grad_(True)
    theta.requires_grad_(True)
    both = f(lines, torch.stack([u, u]), theta)
    assert torch.equal(both[1], f(lines[1], u, theta))
    (w * both).sum().backward()
    single = torch.from_numpy(x).requires_grad_(True)
    (w * f(single, u, theta.detach())).sum().backward()
    assert torch.equal(lines.grad[0], single.grad)
    assert theta.grad.shape == (1,)
    with pytest.raises(perp.ProblemError, match="float64"):
        f(tensor.float(), u, theta)


def test_maximal_coordinates_are_refused():
    from perp.simulation.gradients.step_op import StepOp

    with pytest.raises(perp.ProblemError, match="reduced"):
        StepOp(perp.Simulation(SCENE, step=0.01, coordinates="maximal"))


def test_a_coefficient_of_all_contacts_is_set_whatever_other_shapes_have():
    """A third shape with more friction: 0.5 means 0.5 still, and its gradient is that of the step."""
    other = '<body pos="5 0 1"><freejoint/><geom type="sphere" size=".1" friction="2"/></body></worldbody>'
    sim = perp.Simulation(SCENE.replace("</worldbody>", other), step=0.01, coordinates="reduced")
    sim.body("b").set_velocity([1, 0, 0], [0, 0, 0])
    op = StepOp(sim, ("friction",))
    x, u, g = np.concatenate([sim.qpos, sim.qvel]), np.zeros(1), np.eye(op.size)[op.nq]
    ends = [op(x, u, np.array([mu]))[op.nq] for mu in (0.5 - 1e-6, 0.5, 0.5 + 1e-6)]
    sim.step()
    assert ends[1] == pytest.approx(sim.qvel[0], abs=1e-12)
    _, _, by_theta = op.gradient(x, u, np.array([0.5]), g)
    # a plain step knows its Coriolis forces to a millionth of its speed only
    assert by_theta[0] == pytest.approx((ends[2] - ends[0]) / 2e-6, rel=1e-5)
    assert by_theta[0] < -1e-3


@pytest.mark.parametrize("shapes", [((3,), (1,)), ((15,), (2,)), ((1, 2, 15), (1, 2, 1)), ((2, 15), (1,))])
def test_operations_refuse_other_shapes(shapes):
    op = StepOp(start()[0], ("friction",))
    with pytest.raises(perp.ProblemError, match="shapes"):
        op.check(np.zeros(shapes[0]), np.zeros(shapes[1]), np.array([0.5]))


def test_operations_refuse_values_that_make_no_sense():
    sim, x = start()
    op = StepOp(sim, ("friction",))
    with pytest.raises(perp.ProblemError, match="friction"):
        op(x, np.zeros(1), np.array([-1.0]))
    for bad in (np.zeros(x.size), np.full(x.size, np.nan)):
        with pytest.raises(perp.ProblemError, match="finite"):
            op(bad, np.zeros(1), np.array([0.5]))
    with pytest.raises(perp.ProblemError, match="several"):
        StepOp(sim, ("gravity",))
