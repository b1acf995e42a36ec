"""A step as an operation of JAX: `perp.jax.step`.

The step runs on the host (`pure_callback`), in double precision; a batch made by `vmap` is stepped on all
cores. A step that cannot be taken or has no derivative gives NaN: exceptions do not leave a callback.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from perp.problems import PerpError, ProblemError
from perp.simulation.gradients.step_op import StepOp
from perp.simulation.simulation import Simulation


def step(sim: Simulation, parameters: Sequence[str] = ()) -> Callable[..., Any]:
    """The step of a simulation as a function f(x, u, theta) of JAX arrays, with a gradient.

    Args:
        sim: In reduced coordinates; it is copied.
        parameters: Names of parameters whose values theta holds, one number each.

    Returns:
        f, which takes states x = (qpos, qvel, act), controls u and values theta (empty by default) and
        returns the state after a step; it can be jitted, differentiated once backwards, and mapped.

    Raises:
        ProblemError: JAX computes in single precision, or coordinates are not reduced.
    """
    jax: Any = import_module("jax")
    jnp: Any = import_module("jax.numpy")
    if not jax.config.read("jax_enable_x64"):
        raise ProblemError('steps need double precision: jax.config.update("jax_enable_x64", True)')
    op = StepOp(sim, parameters)
    sizes = op.size, op.motors, len(op.parameters)

    def forward(x: Any, u: Any, theta: Any) -> np.ndarray:
        x, u, theta = np.asarray(x), np.asarray(u), np.asarray(theta)
        if x.ndim == 2 and (theta == theta[0]).all():
            return op.many(x, u, theta[0])
        if x.ndim > 1:
            return np.array([forward(*line) for line in zip(x, u, theta, strict=True)])
        try:
            return op(x, u, theta)
        except PerpError:
            return np.full(op.size, np.nan)

    def backward(x: Any, u: Any, theta: Any, g: Any) -> tuple[np.ndarray, ...]:
        given = tuple(np.asarray(a) for a in (x, u, theta, g))
        if given[0].ndim > 1:
            lines = [backward(*line) for line in zip(*given, strict=True)]
            return tuple(np.array(part) for part in zip(*lines, strict=True))
        try:
            return op.gradient(*given)
        except PerpError:
            return tuple(np.full(n, np.nan) for n in sizes)

    shape = jax.ShapeDtypeStruct((op.size,), jnp.float64)
    shapes = tuple(jax.ShapeDtypeStruct((n,), jnp.float64) for n in sizes)

    @jax.custom_vjp
    def call(x: Any, u: Any, theta: Any) -> Any:
        return jax.pure_callback(forward, shape, x, u, theta, vmap_method="broadcast_all")

    def call_forward(x: Any, u: Any, theta: Any) -> Any:
        return call(x, u, theta), (x, u, theta)

    def call_backward(kept: Any, g: Any) -> Any:
        return jax.pure_callback(backward, shapes, *kept, g, vmap_method="broadcast_all")

    call.defvjp(call_forward, call_backward)

    def function(x: Any, u: Any = None, theta: Any = None) -> Any:
        if theta is None and op.parameters:
            raise ProblemError(f"theta is missing: values of {', '.join(op.parameters)}")
        given = (x, jnp.zeros(sizes[1]) if u is None else u, jnp.zeros(0) if theta is None else theta)
        x, controls, values = (jnp.asarray(part, jnp.float64) for part in given)
        if x.ndim != 1:
            raise ProblemError(f"x has shape {x.shape}: map a batch with jax.vmap")
        op.check(x, controls, values)
        return call(x, controls, values)

    return function
