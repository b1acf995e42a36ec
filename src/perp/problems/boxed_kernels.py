"""Compiled residual of boxed problems (an LCP is the box [0, ∞)), and the natural map that solvers use."""

from __future__ import annotations

import math

from perp.compilation.kernel import kernel, part

# Bounds so near to each other that no mobility makes a velocity of their distance: see `beyond`.
STRICT = 1e290
# The last digit of the smallest numbers, and a size beside which it does not count.
DENORMAL, ALL_DIGITS = 5e-324, 1e-300


@part
def underflow(z, size):
    """What sums of products of z may lose below the least normal number, relative to `size`.

    Nothing is lost where z is zero, and nothing that counts where `size` is far above.
    """
    if size > ALL_DIGITS:
        return 0.0
    for value in z:
        if value != 0.0:
            return (z.size + 1) * DENORMAL / size
    return 0.0


@part
def clip(x, lo, hi):
    """The number x moved into [lo, hi]; NaN stays NaN."""
    if x < lo:
        return lo
    if x > hi:
        return hi
    return x


@part
def beyond(d, x):
    """The distance x of an impulse from a bound as a velocity.

    Between bounds that are a denormal number apart, an impulse is at one of them or it is not.
    """
    if d < STRICT:
        return d * x
    return math.copysign(math.inf, x) if x != 0.0 else 0.0


@part
def bounds_at(low, high, j, z):
    """The bounds of a row that follows row j; its own for j = −1, those of |z_i| for j = −2 − i."""
    if j == -1:
        return low, high
    factor = max(z[j], 0.0) if j >= 0 else abs(z[-2 - j])
    return low * factor, high * factor


@kernel(nogil=True)
def boxed_natural_map(lo, hi, limiting_row, d, z, w, out):
    """F_i = d_i z_i − clip(d_i z_i − w_i, d_i lo_i, d_i hi_i), bounds scaled by their limiting row.

    Written as clip(w_i, d_i (z_i − hi_i), d_i (z_i − lo_i)), which is the same: the first form would lose w_i
    in the round-off of a large z_i, and call any large z a solution.
    """
    for i in range(z.size):
        low, high = bounds_at(lo[i], hi[i], limiting_row[i], z)
        out[i] = clip(w[i], d[i] * (z[i] - high), d[i] * (z[i] - low))


@part
def _limited(low, high, factor, d, z, w):
    """What is wrong with a row whose bounds are low · factor and high · factor."""
    return abs(clip(w, d * (z - high * factor), d * (z - low * factor)))


@part
def _following(lo, hi, follows, i, d, size, z, w):
    """What is wrong with row i, whose bounds follow another one as in `bounds_at`, relative to its size.

    A coefficient of 10⁹ makes wide bounds of a z_j of round-off. Row j is therefore taken for what it can be
    within the error that is found: in balance at its z_j (w_j = 0), or exactly at one of its bounds.
    """
    j, sign = (follows, 0.0) if follows >= 0 else (-2 - follows, -1.0)
    own = _limited(lo[i], hi[i], max(z[j], sign * z[j]), d[i], z[i], w[i]) / size[i]
    here = max(abs(w[j]) / size[j], own)
    for bound in (lo[j], hi[j]):
        if abs(bound) < math.inf:
            factor = max(bound, sign * bound)
            own = _limited(lo[i], hi[i], factor, d[i], z[i], w[i]) / size[i]
            here = min(here, max(abs(d[j] * (z[j] - bound)) / size[j], own))
    return here


@part
def boxed_verdict(lo, hi, limiting_row, d, size, z, w):
    """The residual: the worst row relative to what is at work there; infinite where not finite."""
    largest = 0.0
    for i in range(z.size):
        if not (math.isfinite(z[i]) and math.isfinite(w[i])):
            return math.inf
    for i in range(z.size):
        if limiting_row[i] == -1:
            value = abs(clip(w[i], beyond(d[i], z[i] - hi[i]), beyond(d[i], z[i] - lo[i]))) / size[i]
        else:
            value = _following(lo, hi, limiting_row[i], i, d, size, z, w)
        value = max(value, underflow(z, size[i]))
        if not value <= largest:
            largest = value
    return largest if math.isfinite(largest) else math.inf


@kernel(nogil=True)
def column_maximum(data, indices, out):
    """Largest absolute entry of each column of a CSR matrix, into `out` (at least what it holds)."""
    for k in range(data.size):
        size = abs(data[k])
        # written so that NaN is kept
        if not size <= out[indices[k]]:
            out[indices[k]] = size
