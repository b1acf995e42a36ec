"""The report of a run as Markdown: machine, tables, figures, what went wrong, what the figures do not say."""

from collections.abc import Callable
from pathlib import Path

from perp.bench.figures import file_name
from perp.bench.known_issues import issues_of
from perp.bench.profiles import SHIFT
from perp.bench.record import RunRecord
from perp.bench.rows import Outcome, Row
from perp.bench.summary import SetSummary, SolverSummary
from perp.bench.timing import duration
from perp.comparison.report import markdown_table

FILE_NAME = "README.md"
# Longer lists are cut, with the number of what is left out.
LONGEST_LIST = 40
HEADINGS = (
    "solver", "solved", "literature only", "false claims", "crashed or no answer", "mean time",
    "relative", "iterations (median)", "memory",
)  # fmt: skip
FIGURES = {
    "profile": "performance profile",
    "residuals": "residual against time, median of its problems",
    "histories": "residual against time on its largest problems",
}
LIMITATIONS = """
- Times of different machines cannot be compared; ratios within one run can, as far as the machine was quiet.
  The load when the run began is in the machine's description.
- A peer is timed inside its own call, on data already in its form; a solver of ours as the whole call of
  `perp.solve`, with validation, choice of formulation and the residual. This favours peers on small problems.
- W of a problem that comes as mass and Jacobian is built once, before the timed calls, for all solvers alike.
- One thread each. Solvers that are made for many cores or for a GPU are not shown at their best.
- The tolerance is mapped to options that mean something else to each solver; a solver may stop far below it
  or just above it. Both residuals are in the rows for that reason.
- An answer counts as solved in either measure, ours or the literature's; those in the literature's alone are
  counted in their own column.
- Residual against time shows a solver of ours while it is watched, without the time of watching, and a peer
  by one call a tolerance, coarse to fine. A history may take a second; what takes longer has fewer points.
- Options are the solvers' defaults. A tuned solver may do better on its favourite set.
- A problem that a solver does not take counts as not solved in profiles and means.
- Problems with several solutions are not told apart: any answer with a small residual counts.
"""


def write(summaries: list[SetSummary], record: RunRecord, out: Path, figures: list[Path]) -> Path:
    """Write the report into the folder of the run and return its path."""
    path = out / FILE_NAME
    path.write_text(as_markdown(summaries, record, [figure.name for figure in figures]), encoding="utf-8")
    return path


def as_markdown(summaries: list[SetSummary], record: RunRecord, figures: list[str]) -> str:
    """The whole report; `figures` are file names of the pictures."""
    parts = ["# Benchmark report", "", *_about(record), ""]
    parts += ["## Results", "", _reading(record), ""]
    for summary in summaries:
        table = markdown_table(HEADINGS, (cells(solver, summary, record) for solver in summary.solvers))
        parts += [f"### {summary.name}: {len(summary.problems)} problems", "", *table, ""]
        for kind, what in FIGURES.items():
            figure = f"{file_name(summary.name)}-{kind}.svg"
            parts += [f"![{summary.name}: {what}]({figure})", ""] if figure in figures else []
    rows = [row for summary in summaries for row in summary.rows]
    ran = dict.fromkeys(row.solver for row in rows)
    parts += ["## Claimed solved, above tolerance", "", *_false_claims(rows), ""]
    parts += ["## Crashes, errors and no answer in time", "", *_breakdowns(rows), ""]
    missing = [f"- **{name}**: {reason}" for name, reason in record.missing.items()]
    parts += ["## Missing solvers", "", *(missing or ["None of those that were asked for."]), ""]
    if record.unreadable:
        parts += ["## Files that hold no problem", ""]
        parts += [f"- `{name}`: {reason}" for name, reason in record.unreadable.items()] + [""]
    if record.left_out:
        parts += ["## Problems left out for their size", ""]
        parts += [f"- `{name}`: {rows} rows" for name, rows in record.left_out.items()] + [""]
    parts += ["## Known issues", ""]
    issues = [f"- **{issue.solver}**: {issue.text}" for issue in issues_of(list(ran))]
    parts += [*(issues or ["None of the solvers that took part."]), ""]
    parts += ["## Solvers, versions and tolerances", "", *_solvers(record, list(ran)), ""]
    parts += ["## Limitations", LIMITATIONS]
    return "\n".join(parts).rstrip() + "\n"


def _about(record: RunRecord) -> list[str]:
    machine, settings = record.machine, record.settings
    load = ", ".join(f"{value:.1f}" for value in machine.get("load") or [])
    asked = (
        f"- Begun {record.begun}; tolerance {settings['tol']:g}, time limit {settings['time_limit']:g} s "
        f"a solve, best of up to {settings['repeat']} calls, one thread, solves in processes of their own."
    )
    where = (
        f"- Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}, {machine['python']}; load {load or 'unknown'}."
    )
    packages = f"- Packages: {', '.join(machine['packages'])}."
    commands = ["```text", *record.commands, "```"]
    return ["Made by `perp bench report` from the rows of:", "", *commands, "", asked, where, packages]


def _reading(record: RunRecord) -> str:
    return (
        "Solved means that our code found the residual of the answer within the tolerance, whatever the "
        f"solver said. Mean time is the shifted geometric mean (shift {1e3 * SHIFT:g} ms) of CPU time over "
        f"all problems of the set, with {record.settings['time_limit']:g} s where a problem is not solved; "
        "the best is 1. Solvers in *italics* are peers."
    )


def cells(solver: SolverSummary, summary: SetSummary, record: RunRecord) -> list[str]:
    """The cells of a solver in the table of a set, one a heading."""
    name = f"*{solver.solver}*" if solver.solver in record.peers else solver.solver
    count = len(summary.problems)
    solved = f"{solver.solved} of {count}" + (f" (takes {solver.tried})" if solver.tried < count else "")
    broken = solver.outcomes[Outcome.CRASHED] + solver.outcomes[Outcome.HUNG]
    claims = solver.outcomes[Outcome.FALSE_CLAIM]
    iterations = "" if solver.iterations is None or solver.iterations < 0 else str(solver.iterations)
    return [
        name,
        solved,
        str(solver.outcomes[Outcome.LITERATURE_ONLY] or ""),
        f"**{claims}**" if claims else "",
        str(broken or ""),
        duration(solver.mean_time) if solver.solved else "",
        f"{solver.relative:.3g}" if solver.solved else "",
        iterations,
        "" if solver.memory is None else f"{solver.memory:.0f} MiB",
    ]


def _false_claims(rows: list[Row]) -> list[str]:
    found = [row for row in rows if row.outcome is Outcome.FALSE_CLAIM]
    if not found:
        return ["None: every answer that was called solved is one."]
    return _listed(
        found, {"residual": lambda r: f"{r.residual:.1e}", "literature": lambda r: f"{r.literature:.1e}"}
    )


def _breakdowns(rows: list[Row]) -> list[str]:
    found = [row for row in rows if row.outcome in (Outcome.CRASHED, Outcome.HUNG, Outcome.ERROR)]
    if not found:
        return ["None."]
    return _listed(found, {"what": lambda r: r.outcome, "why": lambda r: r.message.replace("|", "/")[:160]})


def _listed(rows: list[Row], columns: dict[str, Callable[[Row], str]]) -> list[str]:
    """A table of single rows, cut where it gets long: set, problem, solver and these columns."""
    named: dict[str, Callable[[Row], str]] = {
        "set": lambda r: r.set, "problem": lambda r: r.problem, "solver": lambda r: r.solver, **columns,
    }  # fmt: skip
    lines = markdown_table(named, ((cell(row) for cell in named.values()) for row in rows[:LONGEST_LIST]))
    left = len(rows) - LONGEST_LIST
    return lines + ([f"\nand {left} more in `rows.csv`"] if left > 0 else [])


def _solvers(record: RunRecord, names: list[str]) -> list[str]:
    found = ((name, record.solvers[name]) for name in names if name in record.solvers)
    rows = ((name, facts["version"], facts["tolerance"]) for name, facts in found)
    return markdown_table(("solver", "version", "what the tolerance is to it"), rows)
