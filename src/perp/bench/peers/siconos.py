"""Siconos: friction in the plane and in space, rolling friction, global problems, and LCPs.

It lives in the system's interpreter (a Debian package) and is asked through `siconos_process.py`. Solvers of
reduced problems take global ones reduced; those called `global` take mass and Jacobian as they are.
"""

import os
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from perp.bench.peers.adapter import PeerReply, PeerRequest, Tolerance, dense, peer
from perp.bench.timing import Timing
from perp.comparison.processes import WorkerProcess
from perp.problems import LCP, ContactProblem, SolverError
from perp.problems.sets import COULOMB, ROLLING
from perp.problems.validation import is_sparse
from perp.solvers.registry import Package

VARIABLE = "PERP_SICONOS_PYTHON"
SYSTEM_PYTHON = "/usr/bin/python3"
# Neither the modules of this process nor those beside the script are the other interpreter's.
ISOLATED = "-I"
# Seconds on top of a solve's limit before the process is replaced.
GRACE = 1.0
# A process that is asked without a time limit is given this many seconds.
NO_LIMIT = 3600.0


def interpreter() -> str:
    """The interpreter that has Siconos: the one named in PERP_SICONOS_PYTHON, or the system's."""
    return os.environ.get(VARIABLE, SYSTEM_PYTHON)


@lru_cache
def _version(python: str) -> str | None:
    """What Siconos says its version is; None when this interpreter does not have it."""
    code = "import siconos, siconos.numerics; print(getattr(siconos, 'version', ''))"
    try:
        run = subprocess.run(
            [python, ISOLATED, "-c", code], capture_output=True, text=True, timeout=600, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip()


@dataclass(frozen=True)
class SystemPackage(Package):
    """A package of another interpreter."""

    def missing(self) -> str | None:
        if _version(interpreter()) is not None:
            return None
        return f"{interpreter()} cannot import siconos; add it with: {self.install}"

    def version(self) -> str:
        """Name and version."""
        return f"siconos {_version(interpreter()) or ''}".strip()


SICONOS = SystemPackage(
    "siconos", f"apt install python3-siconos (or name an interpreter that has it in {VARIABLE})"
)

_worker: WorkerProcess | None = None


def ask(request: dict[str, Any], seconds: float) -> dict[str, Any]:
    """One request to the process that serves Siconos, which is started when it is needed."""
    global _worker
    if _worker is None:
        script = Path(__file__).with_name("siconos_process.py")
        _worker = WorkerProcess([interpreter(), ISOLATED, str(script)])
    return _worker.ask(request, seconds)


def _tolerance(iterations: int, **more: object) -> Tolerance:
    table: dict[str, Any] = {
        "SICONOS_DPARAM_TOL": lambda tol: tol,
        "SICONOS_IPARAM_MAX_ITER": lambda _: iterations,
    }
    return table | {name: (lambda _, value=value: value) for name, value in more.items()}


# Sweeps are cheap and many, Newton steps and proximal points few.
SWEEPS, STEPS = 100_000, 5_000
FULL_ERROR = {"SICONOS_FRICTION_3D_IPARAM_ERROR_EVALUATION": "SICONOS_FRICTION_3D_NSGS_ERROR_EVALUATION_FULL"}
# Name, what it is, identifier by kind of problem, options from the tolerance.
FRICTION: tuple[tuple[str, str, dict[str, str], Tolerance], ...] = (
    ("nsgs", "nonsmooth Gauss–Seidel", {"fc2d": "NSGS", "fc3d": "NSGS"}, _tolerance(SWEEPS)),
    ("nsgs-full", "the same with its error evaluated in full at every sweep", {"fc3d": "NSGS"},
     _tolerance(SWEEPS, **FULL_ERROR)),
    ("nsn-ac", "nonsmooth Newton, Alart–Curnier", {"fc3d": "NSN_AC"}, _tolerance(STEPS)),
    ("admm", "ADMM", {"fc3d": "ADMM"}, _tolerance(SWEEPS)),
    ("prox", "proximal point", {"fc3d": "PROX"}, _tolerance(STEPS)),
    ("global-nsgs", "Gauss–Seidel on global problems, which it reduces itself",
     {"gfc3d": "NSGS_WR", "grfc3d": "NSGS_WR"}, _tolerance(SWEEPS)),
    ("global-nsn-ac", "Newton on global problems, Alart–Curnier", {"gfc3d": "NSN_AC"}, _tolerance(STEPS)),
    ("global-admm", "ADMM on global problems", {"gfc3d": "ADMM"}, _tolerance(SWEEPS)),
    ("rolling-nsgs", "Gauss–Seidel with rolling friction", {"rfc3d": "NSGS"}, _tolerance(SWEEPS)),
    ("lemke-2d", "Lemke on friction in the plane", {"fc2d": "LEMKE"}, _tolerance(SWEEPS)),
)  # fmt: skip
LINEAR: tuple[tuple[str, str, str, Tolerance], ...] = (
    ("lemke", "Lemke", "LEMKE", _tolerance(SWEEPS)),
    ("pivot", "Bard-type pivoting", "PIVOT", _tolerance(SWEEPS)),
    ("newton-min", "Newton on the minimum map", "NEWTONMIN", _tolerance(1000)),
    ("newton-fb", "Newton on Fischer–Burmeister", "NEWTON_FB_FBLSA", _tolerance(1000)),
    ("pgs", "projected Gauss–Seidel", "PGS", _tolerance(SWEEPS)),
)


def kind_of(problem: ContactProblem, kinds: dict[str, str]) -> str | None:
    """What Siconos calls a problem, among the kinds that a solver takes; None when it has no name for it."""
    sets, dynamics = problem.sets, problem.dynamics
    rows = np.diff(sets.start)
    if problem.relaxed or not sets.count or not (rows == rows[0]).all():
        return None
    if (sets.kind == ROLLING).all():
        reduced = "rfc3d"
    elif (sets.kind == COULOMB).all():
        reduced = f"fc{rows[0]}d"
    else:
        return None
    whole = f"g{reduced}" if dynamics is not None and not dynamics.compliance.any() else reduced
    return next((kind for kind in (whole, reduced) if kind in kinds), None)


def _packed(**arrays: Any) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Arrays as (type, shape, bytes); sparse matrices in compressed columns."""
    plain: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        if is_sparse(array):
            columns = array.tocsc()
            plain |= {
                f"{name}_data": columns.data,
                f"{name}_indices": columns.indices.astype(np.int32),
                f"{name}_indptr": columns.indptr.astype(np.int32),
                f"{name}_shape": np.array(columns.shape),
            }
        elif array is not None:
            plain[name] = np.asarray(array)
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in plain.items()}


def _columns(matrix: Any) -> Any:
    """Compressed columns; a stack of blocks, shape (bodies, k, k), is a block diagonal."""
    from scipy.sparse import block_diag, csc_array

    return csc_array(block_diag(matrix) if matrix.ndim == 3 else matrix)


def _reply(request: PeerRequest, kind: str, solver: str, arrays: dict[str, Any]) -> PeerReply:
    limit = NO_LIMIT if request.time_limit is None else request.time_limit
    message = {"kind": kind, "solver": solver, "options": request.options, "arrays": _packed(**arrays)}
    said = ask(message, limit + GRACE)
    if "error" in said:
        raise SolverError(f"Siconos: {said['error']}")
    return PeerReply(
        np.frombuffer(said["z"]).copy(), claimed=said["code"] == 0, time=Timing(said["cpu"], said["wall"]),
        iterations=said["iterations"], words=f"Siconos returned {said['code']}", memory=said["memory"],
    )  # fmt: skip


def _register_friction(name: str, summary: str, kinds: dict[str, str], tolerance: Tolerance) -> None:
    def refuses(problem: ContactProblem) -> str | None:
        words = f"it takes {' or '.join(kinds)} problems of Siconos, exact and of one kind of set"
        return words if kind_of(problem, kinds) is None else None

    @peer(name, takes=ContactProblem, needs=SICONOS, summary=summary, tolerance=tolerance, refuses=refuses)
    def solve(request: PeerRequest) -> PeerReply:
        problem: ContactProblem = request.problem
        kind = kind_of(problem, kinds) or ""
        return _reply(request, kind, kinds[kind], _arrays(problem, kind) | {"start": request.start})


def _arrays(problem: ContactProblem, kind: str) -> dict[str, Any]:
    """What Siconos calls the parts of a problem: M v = H r + q, u = Hᵀ v + b, or u = W r + q."""
    friction = {"mu": problem.sets.a} | ({"mu_r": problem.sets.b} if "rfc" in kind else {})
    dynamics = problem.dynamics
    if kind.startswith("g") and dynamics is not None:
        mass, jacobian = _columns(dynamics.mass), _columns(dynamics.jacobian.T)
        return {"M": mass, "H": jacobian, "q": dynamics.momentum, "b": dynamics.bias} | friction
    # its solvers in the plane take dense matrices only
    return {"W": dense(problem.W) if kind == "fc2d" else _columns(problem.W), "q": problem.q} | friction


def _register_linear(name: str, summary: str, solver: str, tolerance: Tolerance) -> None:
    @peer(name, takes=LCP, needs=SICONOS, summary=summary, tolerance=tolerance)
    def solve(request: PeerRequest) -> PeerReply:
        problem: LCP = request.problem
        return _reply(request, "lcp", solver, {"M": dense(problem.M), "q": problem.q})


for _name, _summary, _kinds, _options in FRICTION:
    _register_friction(f"siconos-{_name}", f"{_summary}, Siconos", _kinds, _options)
for _name, _summary, _solver, _options in LINEAR:
    _register_linear(f"siconos-lcp-{_name}", f"{_summary}, Siconos", _solver, _options)
