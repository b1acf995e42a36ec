"""Optimality conditions, games and variational inequalities as MCPs, from their functions.

| what | conditions |
|---|---|
| min φ(x), c(x) ≥ 0, e(x) = 0, x in a box | ∇φ − Cᵀλ − Eᵀν ⊥ x in its box, c ⊥ λ ≥ 0, e ⊥ ν free |
| min ½ xᵀPx + qᵀx, Gx ≤ h, Ax = b, x in a box | the same, affine |
| players i: min φ_i(x) over their own x_i in a box | ∂φ_i/∂x_i ⊥ x_i |
| VI(F, K), K a box with A x ≥ b | F − Aᵀλ ⊥ x, A x − b ⊥ λ ≥ 0 |

Gradients that are not given are taken by differences or, where said so, by complex steps; the MCP then takes
its Jacobian from differences of gradients, which costs digits: give gradients where they are at hand.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from perp.problems import MCP, ProblemError
from perp.problems.validation import Vector, is_sparse, matrix, per_row, vector

Function = Callable[[Vector], Any]
STEP = 1e-30  # complex steps do not cancel


def from_nlp(
    gradient: Function,
    start: Any,
    *,
    constraints: Function | None = None,
    jacobian: Function | None = None,
    equalities: int = 0,
    lower: Any = -np.inf,
    upper: Any = np.inf,
) -> MCP:
    """The optimality conditions of min φ(x) with c(x) ≥ 0 (the first `equalities` rows = 0) in a box.

    Unknowns are x and the multipliers λ: ∇φ(x) − J(x)ᵀ λ ⊥ x, c(x) ⊥ λ.

    Args:
        gradient: ∇φ, shape (n,) -> (n,).
        start: First x, shape (n,).
        constraints: c, shape (n,) -> (m,).
        jacobian: Its Jacobian, shape (n,) -> (m, n), dense.
        equalities: How many of the first constraints are equations.
        lower: Lower bounds of x, a number or shape (n,).
        upper: Upper bounds of x.
    """
    x = vector("start", start)
    n = x.size
    if constraints is None:
        return MCP(gradient, per_row("lower", lower, n, finite=False), upper, start=x)
    if jacobian is None:
        raise ProblemError("constraints need their jacobian")
    m = np.asarray(constraints(x)).size
    if not 0 <= equalities <= m:
        raise ProblemError(f"equalities = {equalities}: between 0 and the {m} constraints is needed")

    def f(z: Vector) -> Vector:
        x, multipliers = z[:n], z[n:]
        return np.concatenate([gradient(x) - np.asarray(jacobian(x)).T @ multipliers, constraints(x)])

    free = np.full(equalities, -np.inf)
    low = np.concatenate([per_row("lower", lower, n, finite=False), free, np.zeros(m - equalities)])
    high = np.concatenate([per_row("upper", upper, n, finite=False), np.full(m, np.inf)])
    return MCP(f, low, high, start=np.concatenate([x, np.zeros(m)]))


def from_qp(
    P: Any,
    q: Any,
    G: Any = None,
    h: Any = None,
    A: Any = None,
    b: Any = None,
    lower: Any = -np.inf,
    upper: Any = np.inf,
) -> MCP:
    """The optimality conditions of min ½ xᵀ P x + qᵀ x with G x ≤ h, A x = b in a box, as an affine MCP.

    Unknowns are x, the multipliers of G x ≤ h and those of A x = b.

    Args:
        P: Shape (n, n), dense or sparse, as the other matrices.
        q: Shape (n,).
        G: Shape (m, n).
        h: Shape (m,).
        A: Shape (k, n).
        b: Shape (k,).
        lower: Lower bounds of x, a number or shape (n,).
        upper: Upper bounds of x.
    """
    from scipy.sparse import block_array, csr_array

    q = vector("q", q)
    n = q.size
    P = csr_array(matrix("P", P, rows=n, columns=n))
    G = csr_array((0, n)) if G is None else csr_array(matrix("G", G, columns=n))
    A = csr_array((0, n)) if A is None else csr_array(matrix("A", A, columns=n))
    m, k = G.shape[0], A.shape[0]
    h = vector("h", np.zeros(0) if h is None else h, m)
    b = vector("b", np.zeros(0) if b is None else b, k)
    M: Any = block_array(
        [
            [P, G.T, -A.T],
            [-G, csr_array((m, m)), csr_array((m, k))],
            [A, csr_array((k, m)), csr_array((k, k))],
        ],
        format="csr",
    )
    low = np.concatenate([per_row("lower", lower, n, finite=False), np.zeros(m), np.full(k, -np.inf)])
    high = np.concatenate([per_row("upper", upper, n, finite=False), np.full(m + k, np.inf)])
    return MCP.affine(M, np.concatenate([q, h, -b]), low, high)


def from_game(
    costs: Sequence[Callable[[Vector], Any]],
    sizes: Sequence[int],
    start: Any,
    *,
    lower: Any = 0.0,
    upper: Any = np.inf,
) -> MCP:
    """The Nash equilibrium of players who each minimise their cost φ_i(x) over their own part x_i of x.

    f_i = ∂φ_i/∂x_i ⊥ x_i in its box. Derivatives are complex steps: costs are written with analytic functions
    of NumPy. An equilibrium of convex costs solves the MCP, and the other way round.

    Args:
        costs: φ_i(x) of all players' x, one function a player.
        sizes: How many entries of x each player has, in order.
        start: First x, shape (n,).
        lower: Lower bounds, a number or shape (n,).
        upper: Upper bounds.
    """
    x = vector("start", start, int(sum(sizes)))
    if len(costs) != len(sizes):
        raise ProblemError(f"sizes has {len(sizes)} entries: {len(costs)} players need one each")
    owner = np.repeat(np.arange(len(sizes)), sizes).tolist()

    def f(z: Vector) -> Vector:
        out = np.empty(z.size)
        for j, player in enumerate(owner):
            moved = z.astype(complex)
            moved[j] += 1j * STEP
            out[j] = np.imag(costs[player](moved)) / STEP
        return out

    return MCP(f, per_row("lower", lower, x.size, finite=False), upper, start=x)


def from_variational_inequality(
    F: Function, start: Any, *, lower: Any = -np.inf, upper: Any = np.inf, A: Any = None, b: Any = None
) -> MCP:
    """Find x in K = {A x ≥ b} ∩ [lower, upper] with F(x)ᵀ (y − x) ≥ 0 for all y in K.

    Args:
        F: Shape (n,) -> (n,).
        start: First x, shape (n,).
        lower: Lower bounds, a number or shape (n,).
        upper: Upper bounds.
        A: Matrix of the polyhedron, shape (m, n), dense or sparse.
        b: Its right-hand side, shape (m,).
    """
    x = vector("start", start)
    n = x.size
    if A is None:
        return MCP(F, per_row("lower", lower, n, finite=False), upper, start=x)
    rows = matrix("A", A, columns=n)
    m = rows.shape[0]
    right = vector("b", np.zeros(m) if b is None else b, m)

    def f(z: Vector) -> Vector:
        return np.concatenate([np.asarray(F(z[:n])) - rows.T @ z[n:], rows @ z[:n] - right])

    pattern = None
    if is_sparse(rows):
        pattern = "detect"
    low = np.concatenate([per_row("lower", lower, n, finite=False), np.zeros(m)])
    high = np.concatenate([per_row("upper", upper, n, finite=False), np.full(m, np.inf)])
    return MCP(f, low, high, start=np.concatenate([x, np.zeros(m)]), pattern=pattern)
