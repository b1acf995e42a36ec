"""De Saxcé's shift of every constraint at once."""

from __future__ import annotations

from numba import njit

from perp.problems.set_kernels import shift


@njit(cache=True, nogil=True)
def shifts(kind, start, a, b, u, out):
    """Γ(u) into the normal rows of `out`, zero in the others."""
    for c in range(kind.size):
        for i in range(start[c], start[c + 1]):
            out[i] = 0.0
        out[start[c]] = shift(kind[c], a[c], b[c], u, start[c], start[c + 1])
