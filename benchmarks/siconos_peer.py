"""Times one solver of Siconos on one npz contact problem; run by the interpreter that has Siconos.

Called by `friction.py` as `python siconos_peer.py FILE.npz SOLVER`: one thread, zero start, tolerance 1e-8 in
Siconos's own error measure. Prints the mean CPU seconds of a solve (or null where it does not converge) and
the error as JSON. The system ends the process by SIGXCPU after `CAP` CPU seconds in a solve that does not end
by itself. Such a limit makes the process's clock of CPU time tick every few milliseconds: the thread's clock
is read instead.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import siconos.numerics as sn
from scipy.sparse import csc_matrix

TOLERANCE = 1e-8
ITERATIONS = 100_000
# A solver that needs more CPU seconds than this for one solve is counted as not converging.
CAP = 3
# Solves are repeated until a batch has taken this many CPU seconds: the clock is coarse for microseconds.
BATCH = 0.1
BATCHES = 3


def problem_of(path: Path):
    """The problem of a file as Siconos takes it, with its W and q."""
    data = np.load(path, allow_pickle=False)
    W = csc_matrix((data["W_data"], data["W_indices"], data["W_indptr"]), shape=tuple(data["W_shape"]))
    q, mu = np.array(data["q"]), np.array(data["mu"])
    return sn.FrictionContactProblem(3, mu.size, W, q, mu), W, q, mu


def options_of(name: str):
    """Solver options by name, with generous limits."""
    identifier = {
        "NSGS": sn.SICONOS_FRICTION_3D_NSGS,
        "NSGS-full": sn.SICONOS_FRICTION_3D_NSGS,
        "NSN_AC": sn.SICONOS_FRICTION_3D_NSN_AC,
        "ADMM": sn.SICONOS_FRICTION_3D_ADMM,
        "PROX": sn.SICONOS_FRICTION_3D_PROX,
    }[name]
    options = sn.SolverOptions(identifier)
    options.dparam[sn.SICONOS_DPARAM_TOL] = TOLERANCE
    options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = 5000 if name in ("PROX", "NSN_AC") else ITERATIONS
    if name == "NSGS-full":
        options.iparam[sn.SICONOS_FRICTION_3D_IPARAM_ERROR_EVALUATION] = (
            sn.SICONOS_FRICTION_3D_NSGS_ERROR_EVALUATION_FULL
        )
    return options


def error_of(W, q, mu, r) -> float:
    """Siconos's error: ‖r − P_K(r − u − Γ)‖ over the largest of ‖q‖, ‖r‖, ‖u‖."""
    u = W @ r + q
    x = (r - u).reshape(-1, 3)
    x[:, 0] -= mu * np.hypot(u[1::3], u[2::3])
    length = np.hypot(x[:, 1], x[:, 2])
    normal = (mu * length + x[:, 0]) / (1 + mu * mu)
    y = np.column_stack([normal, x[:, 1:] * (mu * normal / np.where(length > 0, length, 1.0))[:, None]])
    y[length <= mu * x[:, 0]] = x[length <= mu * x[:, 0]]
    y[mu * length <= -x[:, 0]] = 0.0
    size = max(np.linalg.norm(q), np.linalg.norm(r), np.linalg.norm(u)) or 1.0
    return float(np.linalg.norm(r - y.ravel()) / size)


def solve(problem, name: str, size: int):
    """One solve from zero: the impulses and the CPU seconds of the driver's call."""
    options = options_of(name)
    r, u = np.zeros(size), np.zeros(size)
    before = time.thread_time()
    sn.fc3d_driver(problem, r, u, options)
    return r, time.thread_time() - before


def mean_time(problem, name: str, size: int, count: int) -> float:
    """Mean CPU seconds of `count` solves in a row; options and starts are made beforehand."""
    options = [options_of(name) for _ in range(count)]
    r, u = np.zeros((count, size)), np.zeros((count, size))
    before = time.thread_time()
    for k in range(count):
        sn.fc3d_driver(problem, r[k], u[k], options[k])
    return (time.thread_time() - before) / count


def run(path: Path, name: str) -> tuple[float | None, float]:
    """CPU seconds of a solve (the least mean of some batches; None when 1.1 times tolerance is missed)."""
    problem, W, q, mu = problem_of(path)
    r, first = solve(problem, name, q.size)
    error = error_of(W, q, mu, r)
    if not error <= 1.1 * TOLERANCE:
        return None, error
    if first > BATCH:
        return first, error
    count = max(1, min(2000, int(BATCH / max(first, 1e-6))))
    return min(mean_time(problem, name, q.size, count) for _ in range(BATCHES)), error


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (CAP + 1, CAP + 2))
    # the drivers print: what they say goes elsewhere
    answer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.write(answer, json.dumps(run(Path(sys.argv[1]), sys.argv[2])).encode())
