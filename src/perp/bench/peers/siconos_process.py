"""Serves the solvers of Siconos; run by the interpreter that has Siconos, which need not have perp.

Protocol: as of `comparison.processes`, with dicts of plain Python values, arrays as (type, shape, bytes), so
that the two interpreters may have different releases of NumPy. A request has `kind`, `solver`, `options` (by
name of the parameter) and `arrays`; the answer has `z`, `code` (0 is Siconos's claim to have solved it),
`iterations`, `cpu`, `wall` and `memory`. Only the driver is timed.

The binding builds LCPs and reduced friction problems from arrays. It has no such constructor for global and
rolling problems, but reads them from files: those are written to a file first, in Siconos's own text format.
"""

import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np
import siconos.numerics as sn  # pyright: ignore[reportMissingImports]
from scipy.sparse import csc_matrix

PREFIX = {
    "fc2d": "SICONOS_FRICTION_2D_",
    "fc3d": "SICONOS_FRICTION_3D_",
    "gfc3d": "SICONOS_GLOBAL_FRICTION_3D_",
    "rfc3d": "SICONOS_ROLLING_FRICTION_3D_",
    "grfc3d": "SICONOS_GLOBAL_ROLLING_FRICTION_3D_",
    "lcp": "SICONOS_LCP_",
}
# The first line of a print-out of CSparse, which Siconos passes over.
BANNER = "CSparse Version 3.2.0, Sept 12, 2017.  Copyright (c) Timothy A. Davis, 2006-2016"
# Kinds that go through a file: rows of a contact, the function that reads the file, the driver.
FROM_FILE = {
    "gfc3d": (3, "globalFrictionContact_new_from_filename", "gfc3d_driver"),
    "rfc3d": (5, "rollingFrictionContact_new_from_filename", "rolling_fc3d_driver"),
    "grfc3d": (5, "globalRollingFrictionContact_new_from_filename", "g_rolling_fc3d_driver"),
}

# Seconds: a quick call is repeated at once, because a request leaves the processor's caches cold.
QUICK = 0.01
QUICK_REPEATS = 5


def module_of(name: str):
    """A module of perp that needs nothing but Python; perp itself may not be importable here."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / f"{name}.py")
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    sys.modules[name] = module
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
    if kind in FROM_FILE:
        return prepared_from_file(kind, options, arrays)
    W, q, mu = matrix(arrays, "W"), arrays["q"], arrays["mu"]
    r, u = arrays.get("start", np.zeros(q.size)), np.zeros(q.size)
    problem = sn.FrictionContactProblem(2 if kind == "fc2d" else 3, mu.size, W, q, mu)
    driver = sn.fc2d_driver if kind == "fc2d" else sn.fc3d_driver
    return lambda: driver(problem, r, u, options), r, options, (W, q, mu)


def prepared_from_file(kind: str, options, arrays: dict):
    """The same for the kinds that Siconos reads from a file."""
    rows, read, driver = FROM_FILE[kind]
    mu = arrays["mu"]
    with tempfile.NamedTemporaryFile("w", suffix=".dat") as file:
        file.write(as_text(rows, mu.size, arrays))
        file.flush()
        problem = getattr(sn, read)(file.name)
    r, u = arrays.get("start", np.zeros(rows * mu.size)), np.zeros(rows * mu.size)
    v = () if kind == "rfc3d" else (np.zeros(arrays["q"].size),)
    return lambda: getattr(sn, driver)(problem, r, u, *v, options), r, options, (problem, u, v)


def as_text(rows: int, contacts: int, arrays: dict) -> str:
    """A problem in Siconos's text format: matrices first, then q, b, mu, mu_r where there are any."""
    matrices = [name for name in ("W", "M", "H") if f"{name}_data" in arrays]
    parts = [f"{rows}\n{contacts}\n", *(matrix_text(matrix(arrays, name)) for name in matrices)]
    vectors = [arrays[name] for name in ("q", "b", "mu", "mu_r") if name in arrays]
    return "".join(parts) + "".join(" ".join(f"{x:.17e}" for x in vector) + "\n" for vector in vectors)


def matrix_text(columns) -> str:
    """A sparse matrix as triplets, in the words of CSparse that Siconos looks for."""
    triplets = columns.tocoo()
    size = "-by-".join(map(str, columns.shape))
    lines = [f"{i} {j} : {x:.17e}" for i, j, x in zip(triplets.row, triplets.col, triplets.data)]  # noqa: B905
    head = ["2", *map(str, columns.shape), "1", BANNER]
    return "\n".join([*head, f"triplet: {size}, nzmax: {columns.nnz} nnz: {columns.nnz}", *lines]) + "\n"


def answer(request: dict, clock) -> dict:
    """Solve once and say what came out."""
    call, z, options, alive = prepared(request, unpacked(request["arrays"]))
    memory, (spent, code) = clock.peak_memory(lambda: clock.timed(call))
    for _ in range(QUICK_REPEATS if spent.wall < QUICK else 0):
        again, *kept = prepared(request, unpacked(request["arrays"]))
        spent = min(spent, clock.timed(again)[0])
        alive += tuple(kept)  # Siconos does not own what it was given
    return {
        "z": z.tobytes(),
        "code": int(code),
        "iterations": int(options.iparam[sn.SICONOS_IPARAM_ITER_DONE]),
        "cpu": spent.cpu,
        "wall": spent.wall,
        "memory": memory,
    }


def serving():
    """The function that answers: what goes wrong is an answer too."""
    clock = module_of("bench/timing")

    def reply(request: dict) -> dict:
        try:
            return answer(request, clock)
        except Exception as error:  # noqa: BLE001
            return {"error": f"{type(error).__name__}: {error}"}

    return reply


if __name__ == "__main__":
    module_of("comparison/processes").serve(serving)
