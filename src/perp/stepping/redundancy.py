"""Joint rows that follow from others: left out of the problem, and checked at the end like all others.

A loop is closed by more rows than its rank as a rule: twelve rows of rank ten hold the rods of a leg. At
positions that miss their joints by a little, rows that depend on each other contradict each other by as
much, and no motion can satisfy them. A Cholesky factorisation of their W with pivoting finds a set that is
independent; when that holds at the end of the step, so does the rest.
"""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import part
from perp.dynamics.row_kernels import DISTANCE, LATERAL, POINT
from perp.dynamics.rows import HOLD
from perp.dynamics.scalar_tables import TABLE
from perp.kernels.arrays import fill
from perp.problems.sets import BOX
from perp.stepping.smooth import mass_solve
from perp.stepping.world import JOINTS

# A row whose share of W that others do not explain is below this follows from them.
_DEPENDENT = 1e-4
# … and one whose W is below this share of the largest has no freedom to move it.
_IMMOBILE = 1e-9


@part
def _mobilities(w, rows, n, W, scale):
    """What the W of each row is held against: the largest of the rows of its joint that have its unit.

    A row across the plane of a loop hardly moves at all. Held against its own W it would pass for one that
    closes the loop, by a lever that no length tolerance can be met with.
    """
    largest = 0.0
    for a in range(n):
        largest = max(largest, W[a, a])
    first = 0
    while first < n:
        end, most = first, _IMMOBILE * largest
        while end < n and _together(w, rows[first], rows[end]):
            most = max(most, W[end, end])
            end += 1
        for a in range(first, end):
            scale[a] = most
        first = end


@part
def _together(w, k, other):
    """Whether two rows belong to one joint, and are both lengths or both angles."""
    if k == other:
        return True
    if w.group[k] != TABLE or w.group[other] != TABLE:
        return False
    one, two = w.scene.links[w.index[k]], w.scene.links[w.index[other]]
    return one[1] == two[1] and one[2] == two[2] and _is_length(one[0]) == _is_length(two[0])


@part
def _is_length(kind):
    return kind == POINT or kind == LATERAL or kind == DISTANCE


@part
def leave_out_dependent(w):
    """Bilateral rows that depend on others become rows whose impulse is zero; returns how many."""
    p, nv = w.problem, w.kick.size
    rows = np.empty(w.count[JOINTS], np.int64)
    n = 0
    for k in range(w.count[JOINTS]):
        if w.law[k] == HOLD and p.compliance[k] == 0.0:
            rows[n] = k
            n += 1
    if n < 2:
        return 0
    W, x = np.empty((n, n)), np.empty(nv)
    for a in range(n):
        fill(x, 0.0)
        for e in range(p.row_begin[rows[a]], p.row_begin[rows[a] + 1]):
            x[p.column[e]] = p.value[e]
        mass_solve(w, x)
        for b in range(n):
            total = 0.0
            for e in range(p.row_begin[rows[b]], p.row_begin[rows[b] + 1]):
                total += p.value[e] * x[p.column[e]]
            W[b, a] = total
    scale = np.empty(n)
    _mobilities(w, rows, n, W, scale)
    used, out = np.zeros(n, np.bool_), 0
    for _ in range(n):
        best, size = -1, 0.0
        for a in range(n):
            # rows that pushed in the last step are preferred where several would do
            share = W[a, a] / scale[a] * (1.0 if p.impulse[rows[a]] != 0.0 else 0.5)
            if not used[a] and share > size:
                best, size = a, share
        if best < 0 or W[best, best] <= _DEPENDENT * scale[best]:
            break
        used[best] = True
        for a in range(n):
            if used[a]:
                continue
            weight = W[a, best] / W[best, best]
            for b in range(n):
                if not used[b]:
                    W[a, b] -= weight * W[best, b]
    for a in range(n):
        if not used[a]:
            k = rows[a]
            p.kind[k], p.parameter[k, 0], p.parameter[k, 1], p.impulse[k] = BOX, 0.0, 0.0, 0.0
            out += 1
    return out
