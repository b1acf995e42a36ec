"""Compiled constraint laws: what each row adds to its velocity, its compliance and its bounds.

A row's velocity is u = J u⁺ + bias + compliance λ. `linear` is the constant part of the row's position over
the step, c(u) ≈ linear + h J u: the value at the start at velocity level, c(uᵏ) − h J uᵏ at iterate k of
position level.
"""

from __future__ import annotations

from numba import njit

HOLD, LIMIT, DRIVE = 0, 1, 2


@njit(cache=True)
def joint_terms(law, parameters, linear, correction, h, bias, compliance, low, high):
    """Terms of joint rows (see dynamics/rows.py for the laws and parameters)."""
    for i in range(bias.size):
        compliance[i] = 0.0
        low[i] = high[i] = 0.0
        if law[i] == DRIVE:
            kp, kd, limit = parameters[i, 0], parameters[i, 1], parameters[i, 4]
            gain = h * h * kp + h * kd
            if gain < 1e300:
                bias[i] = h * (kp * (linear[i] - parameters[i, 2]) - kd * parameters[i, 3]) / gain
                compliance[i] = 1.0 / gain
            else:
                bias[i] = -parameters[i, 3]
            if limit < 1e300:
                low[i], high[i] = -h * limit, h * limit
            continue
        bias[i] = linear[i] / h
        if law[i] == HOLD:
            bias[i] *= correction
            compliance[i] = parameters[i, 5] / (h * h)
        elif linear[i] < 0.0:
            bias[i] *= correction


@njit(cache=True)
def contact_terms(
    first, gap, linear, accuracy, restitution, approach, predicted, correction, recovery, rest_speed, h, bias
):
    """Bias of the normal rows.

    A contact that closes within the step at a speed above `rest_speed` and has restitution e bounces: its
    bias is e J u⁻ and holds no gap. Overlap is recovered no faster than `recovery`.

    Args:
        first: Normal row of each contact.
        gap: At the start of the step [m].
        linear: Constant part of the gap over the step [m].
        accuracy: Error to expect of the gap [m].
        restitution: e of each contact.
        approach: J u⁻ of each contact [m/s].
        predicted: J ũ of each contact [m/s].
        correction: Baumgarte's Υ for overlap, 1 at position level.
        recovery: Speed cap [m/s].
        rest_speed: Below it nothing bounces [m/s].
        h: Step [s].
        bias: Out, over the rows of contacts; tangential rows are left alone.
    """
    for c in range(first.size):
        i = first[c]
        closes = gap[c] + h * predicted[c] <= 0.0 or gap[c] + h * approach[c] <= 0.0
        if restitution[c] > 0.0 and approach[c] < -rest_speed and closes:
            bias[i] = restitution[c] * approach[c]
            continue
        # what the gap at the end may be at least: overlap beyond the cap stays for later steps, and overlap
        # that cannot be told from none stays for good, as undoing it would jam what rests between others
        allowed = 0.0
        if gap[c] < 0.0:
            allowed = gap[c] if gap[c] > -accuracy[c] else min(gap[c] + h * recovery, -accuracy[c])
        bias[i] = (linear[c] - allowed) / h
        if gap[c] < 0.0 and correction < 1.0:
            bias[i] += (1.0 - correction) * (allowed - gap[c]) / h
