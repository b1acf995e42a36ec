"""What notebooks show in a cell: problems, solutions, solvers, tables, simulations and recordings as HTML.

Everything that comes from a file or a user is escaped. A recording plays in a frame of its own that may run
scripts and nothing else.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems import Problem, Solution

if TYPE_CHECKING:
    from perp.simulation.recordings.recording import Recording
    from perp.simulation.simulation import Simulation
    from perp.simulation.sweeps.table import Table
    from perp.solvers import SolverInfo

_MOST_ROWS, _MOST_NAMES = 60, 12
_FRAME_HEIGHT = 520
_LEFT = "style='text-align:left'"


def facts(headline: str, rows: Iterable[tuple[str, str]]) -> str:
    """A headline and a table of names and values."""
    lines = "".join(f"<tr><th {_LEFT}>{_text(a)}</th><td {_LEFT}>{_text(b)}</td></tr>" for a, b in rows)
    return f"<div><b>{_text(headline)}</b><table>{lines}</table></div>"


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """A table with a head; beyond some rows it says how many more there are."""
    head = "".join(f"<th {_LEFT}>{_text(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td {_LEFT}>{_text(_short(x))}</td>" for x in row) + "</tr>"
        for row in rows[:_MOST_ROWS]
    )
    more = f"<p>and {len(rows) - _MOST_ROWS} more rows</p>" if len(rows) > _MOST_ROWS else ""
    title = f"<p><b>{_text(caption)}</b></p>" if caption else ""
    return f"<div>{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"


def problem_html(problem: Problem) -> str:
    """What a problem is."""
    from perp.solvers import solvers

    able = [info.name for info in solvers(problem) if info.available]
    return facts(repr(problem).strip("<>"), [("size", str(problem.size)), ("solvers", ", ".join(able))])


def solution_html(solution: Solution) -> str:
    """What an answer is worth."""
    z = np.asarray(solution.z)
    rows = [
        ("status", solution.status.value),
        ("residual", f"{solution.residual:.3g} (tolerance {solution.tolerance:g})"),
        (
            "solver",
            solution.solver + (f", formulation {solution.formulation}" if solution.formulation else ""),
        ),
        ("iterations", str(solution.iterations)),
        ("time", f"{solution.solve_time:.3g} s to solve, {solution.build_time:.3g} s to build"),
        ("answer", np.array2string(z, precision=6, threshold=12)),
    ]
    return facts(f"{type(solution).__name__}: {solution.status.name}", rows)


def simulation_html(simulation: Simulation) -> str:
    """What a simulation is made of, where it is, and what of its file is not simulated."""
    from perp.scenes.naming import listed_joints

    names = [
        ("bodies", simulation.body_names), ("joints", listed_joints(simulation.stepper.mujoco_model)),
        ("motors", simulation.motor_names), ("sensors", simulation.sensor_names),
        ("keyframes", simulation.keyframe_names),
    ]  # fmt: skip
    rows = [(what, _listed(found)) for what, found in names if found]
    rows += [("start", simulation.start_note)] if simulation.start_note else []
    rows += [("ignored", line) for line in simulation.report.lines()]
    return facts(repr(simulation).strip("<>"), rows)


def solvers_html(found: Sequence[SolverInfo]) -> str:
    """Solvers with what they take, and how to get those that are missing."""
    kinds = [", ".join(kind.__name__ for kind in info.takes) for info in found]
    rows = [
        (info.name, info.family, takes, info.summary, info.reason or "yes")
        for info, takes in zip(found, kinds, strict=True)
    ]
    return table(("name", "family", "takes", "what it is", "available"), rows)


def table_html(found: Table) -> str:
    """The rows of a sweep."""
    return table(found.columns, [[row[name] for name in found.columns] for row in found.rows])


def recording_html(recording: Recording) -> str:
    """The page of a recording, playing in the cell; words where there is nothing to play."""
    if not len(recording):
        return facts(repr(recording).strip("<>"), [])
    page = html.escape(recording.to_html(title=repr(recording).strip("<>")), quote=True)
    style = f"width:100%;height:{_FRAME_HEIGHT}px;border:1px solid #ccc;border-radius:6px"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{len(names)}: {', '.join(names[:_MOST_NAMES])}{more}"


def _text(x: str) -> str:
    return html.escape(x, quote=True)


def _short(x: Any) -> str:
    return f"{x:.6g}" if isinstance(x, float) else str(x)
