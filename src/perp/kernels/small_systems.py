"""Small dense systems: one elimination for all kernels."""

from __future__ import annotations

from perp.compilation.kernel import part


@part(fastmath={"contract"})
def solve_small(A, size, columns, floor):
    """Gauss–Jordan with row pivoting on [A | right sides], in place.

    Args:
        A: Shape (size, size + columns) at least.
        size: Unknowns.
        columns: Right sides.
        floor: Pivots that are not larger are replaced by it; 0 for an end there.

    Returns:
        Whether all pivots were larger.
    """
    healthy = True
    for k in range(size):
        best = k
        for r in range(k + 1, size):
            if abs(A[r, k]) > abs(A[best, k]):
                best = r
        if best != k:
            for s in range(k, size + columns):
                A[k, s], A[best, s] = A[best, s], A[k, s]
        if abs(A[k, k]) <= floor:
            healthy = False
            if floor == 0.0:
                return False
            A[k, k] = floor if A[k, k] >= 0.0 else -floor
        pivot = 1.0 / A[k, k]
        for s in range(k, size + columns):
            A[k, s] *= pivot
        for r in range(size):
            factor = A[r, k]
            if r != k and factor != 0.0:
                for s in range(k, size + columns):
                    A[r, s] -= factor * A[k, s]
    return healthy
