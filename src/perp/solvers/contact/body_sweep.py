"""Block Gauss–Seidel sweeps over a contact problem in body form, in either direction."""

from __future__ import annotations

import numpy as np
from numba import njit

from perp.solvers.contact.body_form import pull, push
from perp.solvers.contact.local_solve import solve_coulomb, solve_planar, solve_relaxed
from perp.solvers.contact.sweep import TINY, WORKSPACE, rolling


@njit(cache=True, nogil=True)
def body_sweep(form, x, v, backwards, b):
    """One sweep over all constraints, changing x and the bodies' velocities v in place; `b` is workspace."""
    start, low, high, mu, mu_r, q, d = form.start, form.low, form.high, form.mu, form.mu_r, form.q, form.d
    t1, t2, own, own_at, soft = form.t1, form.t2, form.own, form.own_at, form.soft
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
                mu[c], t1[c], t2[c], X[1], X[2],
            )  # fmt: skip
            b[0], b[1], b[2] = n - X[0], f1 - X[1], f2 - X[2]
            if b[0] == 0.0 and b[1] == 0.0 and b[2] == 0.0:
                continue
            X[0], X[1], X[2] = n, f1, f2
        else:
            for r in range(size):
                b[5 + r] = x[i + r]
                for s in range(size):
                    b[r] -= own[p + r * size + s] * x[i + s]
            if mu[c] < 0.0:
                step = own[p] if own[p] > 0.0 else d[c]
                x[i] = min(max(x[i] - (b[0] + own[p] * x[i]) / step, low[c]), high[c])
            elif relaxed:
                b[10:] = 1.0
                b[11], b[12] = max(t1[c], TINY), max(t2[c], TINY)
                solve_relaxed(p, size, own, b, mu[c], mu_r[c], b[10:], x, i)
            elif size == 2:
                x[i], x[i + 1] = solve_planar(p, own, b[0], b[1], mu[c])
            else:
                rolling(c, start, mu, mu_r, own, p, b, x)
            for r in range(size):
                b[r] = x[i + r] - b[5 + r]
        push(c, size, first, body, at, unknown, B, b, v)


@njit(cache=True, nogil=True)
def body_sweeps(form, x, v, count):
    """`count` forward sweeps in place."""
    b = np.zeros(WORKSPACE)
    for _ in range(count):
        body_sweep(form, x, v, False, b)
