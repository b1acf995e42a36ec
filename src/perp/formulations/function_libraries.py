"""MCPs from functions of CasADi, JAX and PyTorch, which bring their own derivatives. Each is optional."""

from importlib import import_module
from typing import Any

import numpy as np

from perp.problems import MCP, ProblemError, SolverMissing
from perp.problems.validation import Vector


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise SolverMissing(f"{name} is not installed; add it with: pip install {name}") from None


def from_casadi(
    f: Any, x: Any = None, lower: Any = -np.inf, upper: Any = np.inf, *, start: Any = None, names: Any = None
) -> MCP:
    """An MCP from a CasADi expression f of the symbols x, or from a casadi.Function of one vector.

    The Jacobian is CasADi's own, sparse.

    Args:
        f: SX or MX of shape (n,), or a Function with one input and one output.
        x: The symbols that f is an expression of; None for a Function.
        lower: Lower bounds, a number or shape (n,).
        upper: Upper bounds.
        start: First z; zeros by default.
        names: Of the unknowns.
    """
    casadi = _module("casadi")
    if isinstance(f, casadi.Function):
        function = f
        symbols = casadi.MX.sym("z", *f.size_in(0))
        expression = f(symbols)
    else:
        if x is None:
            raise ProblemError("x is missing: the symbols that f is an expression of")
        symbols, expression = x, casadi.vec(f)
        function = casadi.Function("f", [symbols], [expression])
    slope = casadi.Function("J", [symbols], [casadi.jacobian(expression, symbols)])
    n = symbols.numel()
    pattern = slope.sparsity_out(0)
    rows, pointers = np.array(pattern.row(), dtype=np.int32), np.array(pattern.colind(), dtype=np.int32)

    def jacobian(z: Vector) -> Any:
        from scipy.sparse import csc_array

        values = np.array(slope(z).nonzeros(), dtype=np.float64)
        return csc_array((values, rows, pointers), shape=(n, n)).tocsr()

    first = np.zeros(n) if start is None else start
    return MCP(lambda z: np.array(function(z)).ravel(), lower, upper, jacobian, start=first, names=names)


def from_jax(f: Any, lower: Any, upper: Any, *, start: Any, names: Any = None) -> MCP:
    """An MCP from a function of JAX arrays, in double precision, with `jax.jacfwd`."""
    jax = _module("jax")
    jax.config.update("jax_enable_x64", True)
    value, slope = jax.jit(f), jax.jit(jax.jacfwd(f))
    return MCP(
        lambda z: np.asarray(value(z), dtype=np.float64), lower, upper,
        lambda z: np.asarray(slope(z), dtype=np.float64), start=start, names=names,
    )  # fmt: skip


def from_torch(f: Any, lower: Any, upper: Any, *, start: Any, names: Any = None) -> MCP:
    """An MCP from a function of PyTorch tensors, in double precision, with `torch.func.jacfwd`."""
    torch = _module("torch")
    slope = torch.func.jacfwd(f)

    def tensor(z: Vector) -> Any:
        return torch.tensor(z, dtype=torch.float64)

    return MCP(
        lambda z: f(tensor(z)).detach().numpy(), lower, upper, lambda z: slope(tensor(z)).detach().numpy(),
        start=start, names=names,
    )  # fmt: skip
