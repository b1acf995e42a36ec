"""Block Gauss–Seidel sweeps over a contact problem in body form, in either direction."""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.kernels.body_form import body_form_of, body_velocity, pull, push
from perp.kernels.local_solve import solve_coulomb, solve_many_tangents, solve_planar, solve_relaxed
from perp.kernels.residual import MOST_ROWS, workspace
from perp.kernels.sweep import rolling
from perp.problems import ContactProblem
from perp.problems.validation import Vector


@kernel(nogil=True)
def body_sweep(form, x, v, backwards, b):
    """One sweep over all constraints, changing x and the bodies' velocities v in place; `b` is workspace."""
    start, low, high, mu, mu_r, q, d = form.start, form.low, form.high, form.mu, form.mu_r, form.q, form.d
    own, own_at, soft = form.own, form.own_at, form.soft
    first, body, at, unknown, J, B = form.first, form.body, form.at, form.unknown, form.J, form.B
    relaxed = form.relaxed
    count = start.size - 1
    for k in range(count):
        c = count - 1 - k if backwards else k
        i, size, p = start[c], start[c + 1] - start[c], own_at[c]
        pull(c, i, size, first, body, at, unknown, J, q, soft, x, v, b)
        if size == 3 and not relaxed:
            D, X = own[p : p + 9], x[i : i + 3]
            n, f1, f2 = solve_coulomb(
                p, 3, own,
                b[0] - (D[0] * X[0] + D[1] * X[1] + D[2] * X[2]),
                b[1] - (D[3] * X[0] + D[4] * X[1] + D[5] * X[2]),
                b[2] - (D[6] * X[0] + D[7] * X[1] + D[8] * X[2]),
                mu[c], X[1], X[2],
            )  # fmt: skip
            b[0], b[1], b[2] = n - X[0], f1 - X[1], f2 - X[2]
            if b[0] == 0.0 and b[1] == 0.0 and b[2] == 0.0:
                continue
            X[0], X[1], X[2] = n, f1, f2
        else:
            for r in range(size):
                b[MOST_ROWS + r] = x[i + r]
                for s in range(size):
                    b[r] -= own[p + r * size + s] * x[i + s]
            if mu[c] < 0.0:
                step = own[p] if own[p] > 0.0 else d[c]
                x[i] = min(max(x[i] - (b[0] + own[p] * x[i]) / step, low[c]), high[c])
            elif relaxed:
                solve_relaxed(p, size, own, b, mu[c], mu_r[c], x, i)
            elif size == 2:
                x[i], x[i + 1] = solve_planar(p, own, b[0], b[1], mu[c])
            elif mu_r[c] >= 0.0:
                rolling(c, start, mu, mu_r, own, p, b, x)
            else:
                solve_many_tangents(p, size, own, b, mu[c], x, i)
            for r in range(size):
                b[r] = x[i + r] - b[MOST_ROWS + r]
        push(c, size, first, body, at, unknown, B, b, v)


@kernel(nogil=True)
def body_sweeps(form, x, v, count):
    """`count` forward sweeps in place."""
    b = workspace()
    for _ in range(count):
        body_sweep(form, x, v, False, b)


class BodySweeps:
    """Sweeps over a problem in dynamics form, with the methods of `Packed` that they need.

    Attributes:
        work: Floating-point operations of one sweep.
    """

    def __init__(self, problem: ContactProblem) -> None:
        self.form, self.size = body_form_of(problem), problem.size
        self.velocity = np.empty(self.form.unknown[-1])
        self.work = 4.0 * self.form.J.size

    def impulse(self, x: Vector) -> Vector:
        """Impulses of the problem as given from packed ones, shape (size,) [N·s]."""
        impulse = np.zeros(self.size)
        impulse[self.form.row] = self.form.scale * x
        return impulse

    def unknowns(self, impulse: Vector) -> Vector:
        """Packed impulses from those of the problem as given, shape (rows,)."""
        return impulse[self.form.row] / self.form.scale

    def sweep(self, x: Vector, count: int) -> None:
        """`count` sweeps in place."""
        body_velocity(self.form, x, self.velocity)
        body_sweeps(self.form, x, self.velocity, count)
