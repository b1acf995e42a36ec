"""Rolling contacts on the central path: two cones that share the normal row.

    s_k = (μ_k λ_N, λ_k),    u_N + Σ μ_k ‖z_kT‖ = Σ μ_k z_kN,    u_k = z_kT        k sliding, rolling

With G_k λ = s_k a step is (H + T Σ) Δλ = Σ G_kᵀ V_k⁻¹ r_k − T L Δv − gap, H = Σ G_kᵀ V_k⁻² G_k, T as for one
cone. Cones stand one after the other in the small workspace, rows 0 … 2 and 3 … 5; the normal multiplier of
the second is kept in `upper`.
"""

from __future__ import annotations

from perp.compilation.kernel import part
from perp.kernels.cone_scaling import inverse_square, length_of_tail, room, unscale
from perp.kernels.friction_laws import MOST_ROWS, RELAXED
from perp.kernels.tree_path_scaling import CONE, DS, DZ, GAP, MATRIX, TURN, WORK, R, S, W, Z, scaled_goal
from perp.kernels.tree_state import impulse_step, keep_equations, weigh_rows

# No friction is larger than this on the path.
MOST_FRICTION = 30.0
_ROWS = 5


@part
def _place(k):
    """The row of the contact that entry k of the two cones is, the normal row twice."""
    return 0 if k % 3 == 0 else (k if k < 3 else k - 1)


@part
def begin_rolling(p, w, c, push, rate):
    """The first point: each cone bears half of the velocity."""
    i = p.start[c]
    p.impulse[i] = push - p.parameter[c, 5]
    w.dual[i] = 0.5 * rate / min(p.parameter[c, 0], MOST_FRICTION)
    w.upper[i] = 0.5 * rate / min(p.parameter[c, 1], MOST_FRICTION)


@part
def load_rolling(p, w, c, exact, small):
    """s, z, T and the gap of a rolling contact into the small workspace; returns the rows of both cones."""
    i, s, z, gap, turn = p.start[c], small[S], small[Z], small[GAP], small[TURN]
    x, u = p.impulse[i : i + _ROWS], p.row_velocity[i : i + _ROWS]
    gap[0], turn[0] = u[0], 0.0
    for k in range(2):
        mu, head = min(p.parameter[c, k], MOST_FRICTION), 3 * k
        small[CONE, head] = mu
        s[head], z[head] = mu * (x[0] + p.parameter[c, 5]), w.dual[i] if k == 0 else w.upper[i]
        for r in range(1, 3):
            row = 2 * k + r
            s[head + r], z[head + r] = x[row], w.dual[i + row]
            gap[row] = u[row] - z[head + r]
        slip = length_of_tail(z, head, 3) if exact and p.kind[c] < RELAXED else 0.0
        gap[0] += mu * (slip - z[head])
        for r in range(1, 3):
            row = 2 * k + r
            turn[row] = mu * z[head + r] / slip if slip > 0.0 else 0.0
            gap[0] += turn[row] * gap[row]
    return 6


@part
def _goals(p, w, c, aim, small):
    """r of both cones, and their scales."""
    load_rolling(p, w, c, aim[2], small)
    i = p.start[c]
    if aim[1]:
        for k in range(6):
            row = _place(k)
            small[DS, k] = w.step[i + row] * (small[CONE, k] if row == 0 else 1.0)
            small[DZ, k] = w.upper_step[i] if k == 3 else w.dual_step[i + row]
    return scaled_goal(aim[0], aim[1], 0, 3, small), scaled_goal(aim[0], aim[1], 3, 3, small)


@part
def aim_rolling(p, w, c, aim, small):
    """K, f and K L for an aim; False outside the cones."""
    scales = _goals(p, w, c, aim, small)
    if not (scales[0] > 0.0 and scales[1] > 0.0):
        return False
    i, A, work = p.start[c], small[MATRIX : MATRIX + _ROWS], small[WORK]
    right = 2 * _ROWS
    for r in range(_ROWS):
        for s in range(_ROWS):
            slope = small[TURN, s] if r == 0 and s > 0 else 1.0 if r == s else 0.0
            A[r, s], A[r, _ROWS + s] = slope * p.compliance[i + s], slope
        A[r, right] = small[GAP, r]
    for head in range(0, 6, 3):
        eta = scales[head // 3]
        unscale(small[W], eta, head, 3, small[R], MOST_ROWS + head, work, head)
        for a in range(head, head + 3):
            one = small[CONE, head] if a == head else 1.0
            A[_place(a), right] -= one * work[a]
            for b in range(head, head + 3):
                other = small[CONE, head] if b == head else 1.0
                square = inverse_square(small[W], eta, head, a - head, b - head)
                A[_place(a), _place(b)] += one * other * square
    if not keep_equations(p, w, c, A, _ROWS):
        return False
    if aim[3]:
        weigh_rows(p, w, c)
    return True


@part
def change_rolling(p, w, c, aim, small):
    """Changes of impulses and multipliers for the change of the velocities; how far they may go."""
    scales, i = _goals(p, w, c, aim, small), p.start[c]
    for r in range(i, i + _ROWS):
        w.step[r] = impulse_step(p, w, c, r)
    for k in range(6):
        row = _place(k)
        small[DS, k] = w.step[i + row] * (small[CONE, k] if row == 0 else 1.0)
    far = 2.0
    for head in range(0, 6, 3):
        eta = scales[head // 3]
        unscale(small[W], eta, head, 3, small[DS], head, small[WORK], head)
        for k in range(head, head + 3):
            small[WORK, k] = small[R, MOST_ROWS + k] - small[WORK, k]
        unscale(small[W], eta, head, 3, small[WORK], head, small[DZ], head)
        far = min(far, room(small[S], small[DS], head, 3), room(small[Z], small[DZ], head, 3))
    for k in range(6):
        if k == 3:
            w.upper_step[i] = small[DZ, k]
        else:
            w.dual_step[i + _place(k)] = small[DZ, k]
    return far
