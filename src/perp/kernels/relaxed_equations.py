"""The relaxed contact conditions as equations with their derivatives: the natural map F = d x − P(d x − u).

P is the projection onto the friction cone, P_N = t = κ (y_N + Σ μ_k ‖y_k‖) over the discs k that y leaves,
and P_k = μ_k t y_k / ‖y_k‖ there.
"""

from __future__ import annotations

from perp.compilation.kernel import kernel
from perp.kernels.cone import disc_rows, length, project_cone
from perp.kernels.equations import CLOSED, OPEN


@kernel(nogil=True)
def linearise_relaxed(size, mu, mu_r, d, x, u, i, F, B, C, y):
    """F of one contact at rows i … with dF = B dx + C du; `y` is a workspace of twice its rows.

    Returns:
        OPEN when F does not depend on u, else CLOSED.
    """
    for r in range(size):
        y[r] = y[size + r] = d * x[i + r] - u[i + r]
        for s in range(size):
            B[r, s] = 0.0
            C[r, s] = 0.0
    m = disc_rows(size, mu_r)
    project_cone(size, mu, mu_r, y)
    t = y[0]
    for r in range(size):
        F[i + r] = d * x[i + r] - y[r]
    if t <= 0.0 and y[size] < 0.0:
        for r in range(size):
            B[r, r] = d
        return OPEN
    kappa, begin = 1.0, size + 1
    for disc in range(2 if mu_r >= 0.0 else 1):
        rows, coefficient = (m, mu) if disc == 0 else (2, mu_r)
        far = length(y, begin, begin + rows)
        slides = far > coefficient * t
        if slides:
            kappa += coefficient * coefficient
        for a in range(rows):
            j = begin - size + a
            e = y[begin + a] / far if slides else 0.0
            # the derivative of t by y, up to κ; P_k = μ t e varies with t and with e
            C[0, j] = coefficient * e
            for b in range(rows):
                same = 1.0 if a == b else 0.0
                across = same - e * y[begin + b] / far if slides else same
                C[j, begin - size + b] = coefficient * t / far * across if slides else same
        begin += rows
    C[0, 0] = 1.0
    for s in range(size):
        C[0, s] /= kappa
    for r in range(1, size):
        # μ e of the row, which is zero where its disc holds y
        e = C[0, r] * kappa
        if e != 0.0:
            for s in range(size):
                C[r, s] += e * C[0, s]
    for r in range(size):
        for s in range(size):
            B[r, s] = -d * C[r, s]
        B[r, r] += d
    return CLOSED
