"""Dense data as problems by trees, and their solution by the kernel of the time step."""

from __future__ import annotations

import numpy as np

from perp.kernels.tree_newton import EXACT, solve_trees
from perp.kernels.tree_problem import TreeProblem
from perp.kernels.tree_workspace import tree_workspace


def packed(masses, J, momentum_velocity, bias, sets, compliance, unit=1e-12):
    """A TreeProblem of dense data; `sets` are (kind, rows, parameters)."""
    size = np.array([m.shape[0] for m in masses])
    start = np.concatenate([[0], np.cumsum([rows for _, rows, _ in sets])])
    columns = []
    for c in range(len(sets)):
        used = np.abs(J[start[c] : start[c + 1]]).sum(axis=0) > 0
        columns.append(np.flatnonzero(used))
    entries = sum(rows * columns[c].size for c, (_, rows, _) in enumerate(sets))
    p = TreeProblem(size, len(sets), int(start[-1]), entries)
    p.count[:2] = len(sets), start[-1]
    p.mass[:] = np.concatenate([m.ravel() for m in masses])
    p.free_velocity[:] = momentum_velocity
    p.start[:], p.kind[:] = start, [kind for kind, _, _ in sets]
    at = 0
    for c, (_, _, parameters) in enumerate(sets):
        p.parameter[c, : len(parameters)] = parameters
        for i in range(start[c], start[c + 1]):
            p.row_begin[i] = at
            p.column[at : at + columns[c].size] = columns[c]
            p.value[at : at + columns[c].size] = J[i, columns[c]]
            at += columns[c].size
    p.row_begin[start[-1]] = at
    p.left[:] = p.value
    p.bias[:], p.compliance[:], p.unit[:] = bias, compliance, unit
    return p


def solved(p, limit=100):
    """What the kernel says of its steps, and the worst row in its units; the answer is in p."""
    info, worst = np.zeros(4, np.int64), np.zeros(1)
    solve_trees(p.struct, tree_workspace(p), limit, EXACT, info, worst)
    return info, float(worst[0])
