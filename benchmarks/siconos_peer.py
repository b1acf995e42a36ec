"""Times the solvers of Siconos on npz contact problems; run by the interpreter that has Siconos.

Called by `friction.py` as `python siconos_peer.py OUT.json FILE.npz …`: one process, one thread, CPU seconds,
zero start, tolerance 1e-8 in Siconos's own error measure. Writes {problem: {solver: [CPU seconds or null,
error]}}. Each solver runs in a child process, ended after `CAP` CPU seconds.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import time
from pathlib import Path

import numpy as np
import siconos.numerics as sn
from scipy.sparse import csc_matrix

TOLERANCE = 1e-8
ITERATIONS = 100_000
# A run that takes longer than this is not repeated.
LONG = 0.2
REPEATS = 5
# A solver that needs more CPU seconds than this is counted as not converging.
CAP = 3


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


def run(path: Path, name: str) -> tuple[float | None, float]:
    """Best CPU seconds of a few runs, None when the tolerance is missed by more than a tenth."""
    problem, W, q, mu = problem_of(path)
    best, error = None, float("inf")
    begun = time.process_time()
    for _ in range(1000):
        options = options_of(name)
        r, u = np.zeros(q.size), np.zeros(q.size)
        before = time.perf_counter(), time.process_time()
        sn.fc3d_driver(problem, r, u, options)
        spent = time.process_time() - before[1] or time.perf_counter() - before[0]
        error = error_of(W, q, mu, r)
        if not error <= 1.1 * TOLERANCE:
            return None, error
        best = spent if best is None else min(best, spent)
        if time.process_time() - begun > LONG * (1 if spent > LONG else REPEATS / 5):
            break
    return best, error


def _run_capped(path: Path, name: str, results) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CAP, CAP))
    results.send(run(path, name))


def run_capped(path: Path, name: str) -> tuple[float | None, float]:
    """`run` in a child process; (None, inf) when it was ended for its time."""
    processes = multiprocessing.get_context("fork")
    receiver, sender = processes.Pipe(duplex=False)
    child = processes.Process(target=_run_capped, args=(path, name, sender))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return None, float("inf")
    finally:
        child.join()


def main(out: str, files: list[str]) -> None:
    """Time every solver on every file."""
    table = {}
    for file in files:
        path = Path(file)
        table[path.stem] = {}
        for name in ("NSGS", "NSGS-full", "NSN_AC", "ADMM", "PROX"):
            table[path.stem][name] = run_capped(path, name)
            print(path.stem, name, *table[path.stem][name], file=sys.stderr, flush=True)
    Path(out).write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
