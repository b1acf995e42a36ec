"""A step as an operation of PyTorch: `perp.torch.step`."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from perp.problems import ProblemError
from perp.simulation.gradients.step_op import StepOp
from perp.simulation.simulation import Simulation


def step(sim: Simulation, parameters: Sequence[str] = ()) -> Callable[..., Any]:
    """The step of a simulation as a function f(x, u, theta) of tensors, with a gradient.

    Args:
        sim: In reduced coordinates; it is copied.
        parameters: Names of parameters whose values theta holds, one number each.

    Returns:
        f, which takes states x = (qpos, qvel, act), controls u and values theta in double precision and
        returns the state after a step. A leading axis of x and u is a batch, stepped on all cores.

    Raises:
        ProblemError: A tensor is in single precision or of another shape, or coordinates are not reduced.
    """
    torch: Any = import_module("torch")
    op = StepOp(sim, parameters)

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, u: Any, theta: Any) -> Any:
            ctx.save_for_backward(x, u, theta)
            call = op if x.ndim == 1 else op.many
            return torch.from_numpy(call(x.detach().numpy(), u.detach().numpy(), theta.detach().numpy()))

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            x, u, theta = (t.detach().numpy() for t in ctx.saved_tensors)
            g = grads[0].numpy()
            if x.ndim == 1:
                return tuple(torch.from_numpy(np.array(part)) for part in op.gradient(x, u, theta, g))
            by_x, by_u, by_theta = op.gradients(x, u, theta, g)
            return tuple(torch.from_numpy(part) for part in (by_x, by_u, by_theta.sum(axis=0)))

    def function(x: Any, u: Any = None, theta: Any = None) -> Any:
        if not isinstance(x, torch.Tensor):
            raise ProblemError(f"x is of type {type(x).__name__}: a tensor is needed")
        controls = torch.zeros((*x.shape[:-1], op.motors), dtype=torch.float64) if u is None else u
        if theta is None and op.parameters:
            raise ProblemError(f"theta is missing: values of {', '.join(op.parameters)}")
        values = torch.zeros(0, dtype=torch.float64) if theta is None else theta
        for name, tensor in (("x", x), ("u", controls), ("theta", values)):
            if tensor.dtype is not torch.float64:
                raise ProblemError(f"{name} is {tensor.dtype}: torch.float64 is needed")
        op.check(x, controls, values)
        return Step.apply(x, controls, values)

    return function
