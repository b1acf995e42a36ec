"""De Saxcé's shift of every constraint at once."""

from __future__ import annotations

from perp.compilation.kernel import kernel
from perp.kernels.cone import disc_rows, length
from perp.kernels.packed import velocity, view
from perp.problems.set_kernels import shift


@kernel(nogil=True)
def shifts(kind, start, parameters, u, out):
    """Γ(u) into the normal rows of `out`, zero in the others."""
    for c in range(kind.size):
        for i in range(start[c], start[c + 1]):
            out[i] = 0.0
        out[start[c]] = shift(kind[c], parameters[c], u, start[c], start[c + 1])


@kernel(nogil=True)
def packed_shifts(packed, x, u, out):
    """The same at impulses x of a packed problem, with their velocities into u."""
    blocks = view(packed)
    velocity(blocks, x, u)
    for c in range(blocks.mu.size):
        i, end = blocks.start[c], blocks.start[c + 1]
        for r in range(i, end):
            out[r] = 0.0
        if blocks.mu[c] > 0.0:
            m = disc_rows(end - i, blocks.mu_r[c])
            out[i] = blocks.mu[c] * length(u, i + 1, i + 1 + m)
            if blocks.mu_r[c] >= 0.0:
                out[i] += blocks.mu_r[c] * length(u, i + 3, i + 5)
