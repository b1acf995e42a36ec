"""Compiled: which freedoms and constraints of a step depend on each other, from its equations."""

from __future__ import annotations

import numpy as np

from perp.compilation.kernel import kernel
from perp.derivatives.laws import OPEN, REST
from perp.problems.set_kernels import BOX, NONNEGATIVE


@kernel(nogil=True, error_model="numpy")
def _root(above, i):
    while above[i] != i:
        above[i] = above[above[i]]
        i = above[i]
    return i


@kernel(nogil=True, error_model="numpy")
def _join(above, i, j):
    a, b = _root(above, i), _root(above, j)
    above[max(a, b)] = min(a, b)


@kernel(nogil=True, error_model="numpy")
def islands(e):
    """Island of each freedom, and of each constraint that can move or −1; the number of islands."""
    nv, count = e.Gq.shape[0], e.mode.size
    above = np.arange(nv)
    for j in e.triples:
        # the rates of a rotation stay together, also where nothing joins them
        _join(above, j, j + 1)
        _join(above, j, j + 2)
    for i in range(nv):
        for j in range(nv):
            if i != j and (
                e.Gv[i, j] != 0.0 or e.Gq[i, j] != 0.0 or e.Gp[i, j] != 0.0 or e.Go[i, j] != 0.0
                or e.end_mass[i, j] != 0.0 or e.end_p[i, j] != 0.0 or e.Q[i, j] != 0.0
            ):  # fmt: skip
                _join(above, i, j)
    first = np.full(count, -1)
    for c in range(count):
        if e.left_out[c] or _surely_open(e, c):
            continue
        for i in range(e.start[c], e.start[c + 1]):
            for j in range(nv):
                if (
                    e.J[i, j] != 0.0 or e.Uv[i, j] != 0.0 or e.Uq[i, j] != 0.0 or e.Up[i, j] != 0.0
                    or e.Uo[i, j] != 0.0
                ):  # fmt: skip
                    if first[c] < 0:
                        first[c] = j
                    _join(above, first[c], j)
    number, of, n = np.full(nv, -1), np.empty(nv, np.int64), 0
    for j in range(nv):
        root = _root(above, j)
        if number[root] < 0:
            number[root] = n
            n += 1
        of[j] = number[root]
    for c in range(count):
        if first[c] >= 0:
            first[c] = of[first[c]]
    return of, first, n


@kernel(nogil=True, error_model="numpy")
def _surely_open(e, c):
    """Whether a constraint carries nothing and parts; its mode is set."""
    if e.all_contacts or e.kind[c] == BOX or (e.kind[c] != NONNEGATIVE and e.kind[c] < BOX):
        return False
    a = e.start[c]
    if e.parameter[c, 5] != 0.0 and e.kind[c] > BOX:
        return False
    for i in range(a, e.start[c + 1]):
        if e.impulse[i] != 0.0:
            return False
    if not e.velocity[a] > e.near[c]:
        return False
    e.mode[c], e.margin[c] = REST if e.kind[c] == NONNEGATIVE else OPEN, e.velocity[a]
    return True
