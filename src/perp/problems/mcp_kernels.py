"""Elementwise parts of the residual of an MCP, compiled: `mcp_residual` has their formulas."""

import numpy as np

from perp.compilation.kernel import kernel, part

# Fractions of Σ|J_ij z_j| and Σ|J_ij| below which a size means nothing: 1e-8 of the first is about 50 units
# of round-off; the second lets a zero be a zero where all terms of a row vanish.
RESOLVED, ZERO = 1e-6, 1e-14


@kernel
def own_sizes(f, by_slope, near, around, confirmed, terms, total):
    """The size s_i of each function, shape (n,).

    Args:
        f: f(z), shape (n,).
        by_slope: J d, shape (n,).
        near: f(z ± η d), shape (2, n), or (0, n) where d is 0.
        around: f near z for patterns of signs, shape (k, n).
        confirmed: η.
        terms: |J| |z|, shape (n,).
        total: Σ_j |J_ij|, shape (n,).
    """
    s = np.empty(f.size)
    for i in range(f.size):
        by_difference = _largest_change(near, i, f[i]) / confirmed
        slope = abs(by_slope[i])
        s[i] = abs(f[i]) + (min(slope, by_difference) if np.isfinite(slope) else 0.0)
        changes = 10.0 * _largest_change(around, i, f[i]) / confirmed
        if np.isfinite(terms[i]) and np.isfinite(total[i]):
            s[i] = max(s[i], RESOLVED * min(terms[i], changes), ZERO * total[i])
    return s


@part
def _largest_change(values, i, here):
    largest = 0.0
    for k in range(values.shape[0]):
        change = abs(values[k, i] - here)
        if np.isfinite(change):
            largest = max(largest, change)
    return largest


@kernel
def in_own_sizes(z, f, s, lo, hi, influence):
    """Distance above lo, below hi, and f, each in its own size, shape (n,) each."""
    below, above, relative = np.empty(f.size), np.empty(f.size), np.empty(f.size)
    for i in range(f.size):
        width = hi[i] - lo[i]
        below[i] = _in_own_size(z[i] - lo[i], lo[i], width, influence[i])
        above[i] = _in_own_size(hi[i] - z[i], hi[i], width, influence[i])
        relative[i] = 0.0 if f[i] == 0.0 else f[i] / s[i]
    return below, above, relative


@part
def _in_own_size(distance, bound, width, influence):
    """A signed distance from a bound (infinite where there is none) over the size of its variable."""
    if distance == 0.0:
        return 0.0
    unit = abs(bound) if bound != 0.0 else min(1.0, width)
    if not (0.0 < unit < np.inf):
        unit = 1.0
    return distance * max(influence, 1.0 / unit)
