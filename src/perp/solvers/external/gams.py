"""GAMS with its demo licence: CONOPT, CPLEX, Gurobi, Ipopt, KNITRO, MINOS, SNOPT, PATHNLP; PATH, MILES; EMP.

The package `gamspy_base` brings the GAMS executable, a demo licence that needs no network, and some solvers;
the others are add-ons. A model is written as text (`gams_models`) into a temporary folder and run there as a
process of its own. The licence allows 1000 rows and columns, less for some solvers, and ends with the release
that it came with.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from perp.formulations.equations_of_motion import MotionMCP
from perp.problems import Status
from perp.problems.cone_program import ConeProgram
from perp.problems.validation import Vector
from perp.solvers.external.adapter import Reply, Request, begin, vendor
from perp.solvers.external.gams_models import (
    ANSWER,
    cone_program_model,
    equilibrium_model,
    motion_model,
    optimality_model,
)
from perp.solvers.registry import Package

# GAMS takes about 0.1 s to start: a limit on the solve is not a limit on that.
START_UP = 5.0
DEFAULT_TIME_LIMIT = 60.0

# https://www.gams.com/latest/docs/UG_GAMSOutput.html
MODEL_STATUS = {
    1: "optimal", 2: "locally optimal", 3: "unbounded", 4: "infeasible", 5: "locally infeasible",
    6: "intermediate infeasible", 7: "feasible, not proved optimal", 12: "error unknown",
    13: "error, no solution", 14: "no solution", 15: "solved", 16: "solved",
}  # fmt: skip
SOLVER_STATUS = {
    1: "normal completion", 2: "iteration limit", 3: "time limit", 4: "terminated by solver",
    5: "evaluation errors", 6: "capability problems", 7: "licence problem", 8: "user interrupt",
    9: "set-up failure", 10: "solver failure", 11: "internal error", 13: "system failure",
}  # fmt: skip


@dataclass(frozen=True)
class GamsSolver:
    """How one solver of GAMS is called.

    Attributes:
        name: As GAMS calls it.
        options: Lines of its option file; {tol} is the tolerance.
        add_on: Package to install with `gamspy install solver`, or None when it comes with GAMS.
    """

    name: str
    options: str
    add_on: str | None = None


@dataclass(frozen=True)
class GamsOptions:
    """Options of the optimisers of GAMS.

    Attributes:
        model: The model type that the squared cones are given as.
        defaults: Leave the solver's tolerances as they are: for comparing with published digits.
    """

    model: Literal["qcp", "nlp"] = "qcp"
    defaults: bool = False


@dataclass(frozen=True)
class GamsMcpOptions:
    """Options of the complementarity solvers of GAMS.

    Attributes:
        defaults: As in `GamsOptions`.
    """

    defaults: bool = False


# CPLEX's default barrier gives up on a box at rest before its first iteration ("numerical difficulties") and
# hands out the point where it began: a block that rises at 3.4 m/s under 23.7 N. Its third one does not.
OPTIMISERS = {
    "gams-conopt": GamsSolver("conopt4", "Tol_Optimality {tol}\nTol_Feas_Min {tol}\nTol_Feas_Max {tol}"),
    "gams-cplex": GamsSolver("cplex", "barqcpepcomp {tol}\nbarepcomp {tol}\nbaralg 3"),
    "gams-gurobi": GamsSolver(
        "gurobi", "barqcpconvtol {tol}\nbarconvtol {tol}\nfeasibilitytol 1e-9\noptimalitytol 1e-9", "gurobi"
    ),
    "gams-ipopt": GamsSolver("ipopt", "tol {tol}\nacceptable_tol {tol}\nbound_relax_factor 0", "ipopt"),
    "gams-knitro": GamsSolver(
        "knitro", "feastol {tol}\nfeastolabs {tol}\nopttol {tol}\nopttolabs {tol}", "knitro"
    ),
    "gams-minos": GamsSolver(
        "minos", "optimality tolerance {tol}\nfeasibility tolerance {tol}\nrow tolerance {tol}", "minos"
    ),
    "gams-pathnlp": GamsSolver("pathnlp", "convergence_tolerance {tol}", "pathnlp"),
    "gams-snopt": GamsSolver(
        "snopt", "major optimality tolerance {tol}\nmajor feasibility tolerance {tol}", "snopt"
    ),
}
COMPLEMENTARITY = {
    "gams-path": GamsSolver("path", "convergence_tolerance {tol}"),
    "gams-miles": GamsSolver("miles", "contol {tol}", "miles"),
}
EQUILIBRIUM = {"gams-reshop": GamsSolver("reshop", "subsolveropt 1", "reshop")}
PRETTY = {
    "gams-conopt": "CONOPT", "gams-cplex": "CPLEX", "gams-gurobi": "Gurobi", "gams-ipopt": "Ipopt",
    "gams-knitro": "KNITRO", "gams-minos": "MINOS", "gams-pathnlp": "PATHNLP", "gams-snopt": "SNOPT",
    "gams-path": "PATH", "gams-miles": "MILES",
}  # fmt: skip

NO_LINDO = "Lindo has no add-on package for GAMSPy, and its own needs a licence"


def run(text: str, solver: GamsSolver, request: Request, size: int, *, defaults: bool) -> Reply:
    """Run a model and read back the first `size` unknowns."""
    system = _system()
    limit = DEFAULT_TIME_LIMIT if request.time_limit is None else request.time_limit
    with tempfile.TemporaryDirectory(prefix="perp-gams-") as folder:
        place = Path(folder)
        (place / "model.gms").write_text(text, encoding="ascii")
        if not defaults:
            content = solver.options.format(tol=f"{request.tolerance:.1e}")
            (place / f"{solver.name}.opt").write_text(content + "\n", encoding="ascii")
        command = [
            str(system / "gams"), "model.gms", f"license={system / 'gamslice.txt'}", "logoption=2",
            "limrow=0", "limcol=0", "solprint=off", f"reslim={max(limit, 0.01):.3f}",
            f"optfile={0 if defaults else 1}",
        ]  # fmt: skip
        if not _finishes(command, place, limit + START_UP):
            return Reply(None, words=f"no answer within {limit:.3g} s", reason=Status.TIME_LIMIT)
        answer = place / ANSWER
        if not answer.exists():
            return Reply(None, words=_complaint(place), reason=Status.FAILED)
        return _read(answer.read_text(encoding="ascii"), size, place)


def _finishes(command: list[str], place: Path, seconds: float) -> bool:
    """Whether a GAMS run ends in time; if not, it is ended together with the solver that it started."""
    process = subprocess.Popen(
        command, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        process_group=0,
    )  # fmt: skip
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    finally:
        # some solvers ignore the limit that GAMS gives them, and would outlive it
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return True


def _read(text: str, size: int, place: Path) -> Reply:
    model, state, iterations, *values = (float(word) for word in text.split())
    words = f"{MODEL_STATUS.get(int(model), f'model status {model:.0f}')}, " + SOLVER_STATUS.get(
        int(state), f"solver status {state:.0f}"
    )
    reason = None
    if model not in (1, 2, 7, 8, 15, 16) or state != 1:
        limits = {2.0: Status.ITERATION_LIMIT, 3.0: Status.TIME_LIMIT}
        reason = limits.get(state, Status.STALLED)
    if state in (6, 7, 9, 10, 11, 13) or model in (12, 13, 14):
        return Reply(None, words=f"{words}: {_complaint(place)}", reason=Status.FAILED)
    return Reply(np.array(values[:size]), None, words, reason, int(iterations))


def _complaint(place: Path) -> str:
    """What GAMS or the solver said went wrong: the first telling lines of the listing or the log."""
    for name, marks in (("model.lst", ("****",)), ("model.log", ("***", "error", "exceed"))):
        file = place / name
        if file.exists():
            lines = file.read_text(errors="replace").splitlines()
            told = [line.strip(" *-") for line in lines if any(mark in line.lower() for mark in marks)]
            told = [line for line in told if line and not line.endswith("SUMMARY")]
            if told:
                return " / ".join(dict.fromkeys(told[:3]))[:250]
    return "no answer and no explanation"


def _system() -> Path:
    spec = importlib.util.find_spec("gamspy_base")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("gamspy_base is not installed")
    return Path(spec.submodule_search_locations[0])


def _package(solver: GamsSolver) -> Package:
    install = "make setup-gams (or: pip install gamspy"
    install += f"; gamspy install solver {solver.add_on})" if solver.add_on else ")"

    def check() -> str | None:
        if solver.add_on is None or importlib.util.find_spec(f"gamspy_{solver.add_on}") is not None:
            return None
        return f"the GAMS solver {solver.name} is not installed; add it with: {install}"

    return Package("gamspy_base", install, check)


def model_text(name: str, program: ConeProgram | MotionMCP, start: Vector, kind: str = "qcp") -> str:
    """The model that a solver of GAMS is given, complete: it can be run with `gams FILE` anywhere.

    Args:
        name: The solver's name here.
        program: A cone program, or the equations of motion.
        start: Where it begins.
        kind: "qcp" or "nlp" for the optimisers.
    """
    if isinstance(program, ConeProgram):
        if name in COMPLEMENTARITY:
            return optimality_model(program, start, f"option mcp = {COMPLEMENTARITY[name].name};")
        solver = OPTIMISERS[name].name if name in OPTIMISERS else name.removeprefix("gams-")
        return cone_program_model(program, start, kind, f"option {kind} = {solver};")
    if name in EQUILIBRIUM:
        return equilibrium_model(program, start, "option emp = reshop;")
    solver = COMPLEMENTARITY[name].name
    return motion_model(program, start, f"option mcp = {solver};", proximal=solver == "miles")


def _register_optimiser(name: str, solver: GamsSolver) -> None:
    @vendor(
        name, takes=ConeProgram, needs=_package(solver), options=GamsOptions, finest=1e-12,
        summary=f"squared cones as QCP or NLP, {PRETTY[name]} through GAMS (demo licence)",
    )  # fmt: skip
    def call(request: Request) -> Reply:
        text = model_text(name, request.program, begin(request), request.options.model)
        return run(text, solver, request, request.program.variable_count, defaults=request.options.defaults)

    call.__qualname__ = name


def _register_complementarity(name: str, solver: GamsSolver) -> None:
    @vendor(
        name, takes=(MotionMCP, ConeProgram), needs=_package(solver), options=GamsMcpOptions, finest=1e-12,
        summary=f"equations of motion or conditions of an NLP, {PRETTY[name]} through GAMS (demo licence)",
    )  # fmt: skip
    def call(request: Request) -> Reply:
        program, defaults = request.program, request.options.defaults
        if isinstance(program, ConeProgram):
            text = model_text(name, program, begin(request))
            return run(text, solver, request, program.variable_count, defaults=defaults)
        return run(
            model_text(name, program, _first(request)), solver, request, program.size, defaults=defaults
        )

    call.__qualname__ = name


@vendor(
    "gams-reshop", takes=MotionMCP, needs=_package(EQUILIBRIUM["gams-reshop"]), finest=1e-12,
    summary="equations of motion as EMP, RESHOP and PATH through GAMS (demo licence)",
)  # fmt: skip
def reshop(request: Request) -> Reply:
    """Solve the equations of motion as an extended mathematical program."""
    solver = EQUILIBRIUM["gams-reshop"]
    text = model_text("gams-reshop", request.program, _first(request))
    return run(text, solver, request, request.program.size, defaults=True)


@vendor(
    "gams-lindo", takes=ConeProgram,
    needs=Package("perp", "nothing", lambda: NO_LINDO), finest=1e-9,
    summary="Lindo, one of the ten solvers of the published table",
)  # fmt: skip
def lindo(request: Request) -> Reply:
    """Listed so that the published table has all its rows."""
    return Reply(None, words=NO_LINDO, reason=Status.FAILED)


def _first(request: Request) -> Vector:
    return request.program.first_point if request.start is None else request.start


for _name, _solver in OPTIMISERS.items():
    _register_optimiser(_name, _solver)
for _name, _solver in COMPLEMENTARITY.items():
    _register_complementarity(_name, _solver)
