"""Serves the solvers of Siconos; run by the interpreter that has Siconos, which need not have perp.

Protocol: pickled dicts of plain Python values on standard input and output, arrays as (type, shape, bytes),
so that the two interpreters may have different releases of NumPy. The first message out is the version. A
request has `kind`, `solver`, `options` (by name of the parameter) and `arrays`; the answer has `z`, `code` (0
is Siconos's claim to have solved it), `iterations`, `cpu`, `wall` and `memory`. Only the driver is timed.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pickle
import signal
import sys
from pathlib import Path

import numpy as np
import siconos  # pyright: ignore[reportMissingImports]
import siconos.numerics as sn  # pyright: ignore[reportMissingImports]
from scipy.sparse import csc_matrix

PREFIX = {"fc2d": "SICONOS_FRICTION_2D_", "fc3d": "SICONOS_FRICTION_3D_", "lcp": "SICONOS_LCP_"}


# Seconds: a quick call is repeated at once, because a request leaves the processor's caches cold.
QUICK = 0.01
QUICK_REPEATS = 5


def timing():
    """The module that measures for the whole harness; perp itself may not be importable here."""
    path = Path(__file__).parents[1] / "timing.py"
    spec = importlib.util.spec_from_file_location("timing", path)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules["timing"] = module
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def unpacked(arrays: dict) -> dict:
    """Arrays from (type, shape, bytes)."""
    return {
        name: np.frombuffer(data, dtype=kind).reshape(shape).copy()
        for name, (kind, shape, data) in arrays.items()
    }


def matrix(arrays: dict, name: str):
    """A matrix: dense as it is, sparse in compressed columns."""
    if name in arrays:
        return arrays[name]
    parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return csc_matrix(parts, shape=tuple(arrays[f"{name}_shape"]))


def options_of(request: dict):
    """Solver options with the request's parameters set."""
    options = sn.SolverOptions(getattr(sn, PREFIX[request["kind"]] + request["solver"]))
    for name, value in request["options"].items():
        table = options.dparam if "DPARAM" in name else options.iparam
        table[getattr(sn, name)] = getattr(sn, value) if isinstance(value, str) else value
    return options


def prepared(request: dict, arrays: dict):
    """The driver's call on fresh arrays, and the arrays that it fills."""
    kind, options = request["kind"], options_of(request)
    if kind == "lcp":
        M, q = matrix(arrays, "M"), arrays["q"]
        problem, z, w = sn.LCP(M, q), np.zeros(q.size), np.zeros(q.size)
        return lambda: sn.linearComplementarity_driver(problem, z, w, options), z, options, (M, q)
    W, q, mu = matrix(arrays, "W"), arrays["q"], arrays["mu"]
    r, u = arrays.get("start", np.zeros(q.size)), np.zeros(q.size)
    problem = sn.FrictionContactProblem(2 if kind == "fc2d" else 3, mu.size, W, q, mu)
    driver = sn.fc2d_driver if kind == "fc2d" else sn.fc3d_driver
    return lambda: driver(problem, r, u, options), r, options, (W, q, mu)


def answer(request: dict, clock) -> dict:
    """Solve once and say what came out."""
    call, z, options, alive = prepared(request, unpacked(request["arrays"]))
    memory, (spent, code) = clock.peak_memory(lambda: clock.timed(call))
    for _ in range(QUICK_REPEATS if spent.wall < QUICK else 0):
        again, *rest = prepared(request, unpacked(request["arrays"]))
        spent = min(spent, clock.timed(again)[0])
        alive += tuple(rest)  # Siconos does not own what it was given
    return {
        "z": z.tobytes(),
        "code": int(code),
        "iterations": int(options.iparam[sn.SICONOS_IPARAM_ITER_DONE]),
        "cpu": spent.cpu,
        "wall": spent.wall,
        "memory": memory,
    }


def main() -> None:
    """Answer until the input ends or the process that started this one does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    answers = os.fdopen(os.dup(1), "wb")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    clock = timing()
    pickle.dump(str(getattr(siconos, "version", "")), answers)
    answers.flush()
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)  # noqa: S301
        except EOFError:
            return
        try:
            reply = answer(request, clock)
        except Exception as error:  # noqa: BLE001
            reply = {"error": f"{type(error).__name__}: {error}"}
        pickle.dump(reply, answers)
        answers.flush()


if __name__ == "__main__":
    main()
