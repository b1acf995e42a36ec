"""`perp bench`: run solvers over test sets, and report, draw or compare what came out."""

import importlib
import shlex
from os.path import relpath
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table
from rich.text import Text

from perp.bench import record as records
from perp.bench import report as reports
from perp.bench import rows as table
from perp.bench import runner
from perp.bench.compare import compare as compared
from perp.bench.figures import draw
from perp.bench.job import Job
from perp.bench.peers import peers as all_peers
from perp.bench.record import RunRecord
from perp.bench.rows import Outcome, Row
from perp.bench.runner import RunSettings, choose_solvers, plan
from perp.bench.sets.catalogue import CATALOGUE, find_set
from perp.bench.summary import SetSummary, summarise
from perp.bench.tolerances import facts
from perp.cli.exit_codes import ExitCode
from perp.cli.printing import print_line, show
from perp.cli.progress import bar, progress
from perp.problems.errors import FileError, ProblemError

bench = App(
    name="bench",
    help="Run solvers over test sets, and report what came out.",
    help_format="markdown",
    result_action="return_value",
    default_parameter=Parameter(negative=()),
)

_USUAL = RunSettings()


@bench.command
def run(
    *,
    set: list[str],  # noqa: A002
    out: Path,
    path: Path | None = None,
    settings: Annotated[RunSettings, Parameter(name="*")] = _USUAL,
) -> int:
    """Run every solver over a test set; a run that was interrupted goes on where it ended.

    Exit code 0: the rows were made, whatever is in them; 2: bad input.

    Args:
        set: A name from `perp bench list`, or module:Class for one of your own; may be given several times.
        out: Folder of the results: rows.csv, run.json, machine.json.
        path: The folder with the files of the set.
        settings: See `RunSettings`.
    """
    _check(settings)
    sets = [find_set(name, path) for name in set]
    names, missing = choose_solvers(settings)
    record = records.load(out)
    record.add(
        command=_command(set, path, out, settings), settings=settings, sets=[s.name for s in sets],
        solvers={name: facts(name, settings.tol) for name in names}, missing=missing,
        peers=[info.name for info in all_peers() if info.name in names],
    )  # fmt: skip
    with progress(f"Reading {', '.join(s.name for s in sets)}"):
        jobs = list(plan(sets, names, settings, record.left_out))
    record.unreadable |= {name: why for s in sets for name, why in getattr(s, "unreadable", {}).items()}
    out.mkdir(parents=True, exist_ok=True)
    record.save(out)
    rows = _run(jobs, out, settings)
    for line in _told(rows, missing, out):
        print_line(line)
    return ExitCode.SOLVED


@bench.command
def report(out: Path, /) -> int:
    """Write OUT/README.md with tables, figures, known issues and limitations.

    Args:
        out: Folder of a run.
    """
    with progress(f"Reporting {out}"):
        record, summaries, figures = _drawn(out)
        path = reports.write(summaries, record, out, figures)
    print_line(str(path))
    return ExitCode.SOLVED


@bench.command
def plot(out: Path, /) -> int:
    """Draw performance profiles and residual against time into OUT, as SVG.

    Args:
        out: Folder of a run.
    """
    with progress(f"Drawing {out}"):
        _, _, figures = _drawn(out)
    for figure in figures:
        print_line(str(figure))
    return ExitCode.SOLVED


@bench.command
def compare(old: Path, new: Path, /) -> int:
    """Compare two runs over the problems that both have.

    Exit code 0: nothing that was solved is lost, and no false claim is new; 1: something is; 2: bad input.

    Args:
        old: Folder of the older run.
        new: Folder of the newer run.
    """
    result = compared(*(table.read(folder / table.FILE_NAME) for folder in (old, new)))
    shown = Table(box=None, pad_edge=False)
    for heading in ("set", "solver", "problems", "solved then", "solved now", "time ratio", "false claims"):
        shown.add_column(heading, overflow="fold")
    for change in result.changes:
        ratio = "" if change.ratio != change.ratio else f"{change.ratio:.2f}"
        claims = f"{change.false_old} → {change.false_new}" if change.false_old or change.false_new else ""
        counts = (change.problems, change.solved_old, change.solved_new)
        shown.add_row(change.set, change.solver, *map(str, counts), ratio, claims)
    show(shown)
    for word, pairs in (("lost", result.lost), ("won", result.won)):
        for then, now in pairs:
            print_line(f"{word}: {now.set} {now.problem} {now.solver}: {then.outcome} → {now.outcome}")
    worse = any(change.false_new > change.false_old for change in result.changes)
    return ExitCode.NOT_SOLVED if result.lost or worse else ExitCode.SOLVED


@bench.command(name="list")
def list_() -> int:
    """List test sets and peers, and the commands that add the peers that are missing."""
    table = Table(title="Test sets", title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("name", no_wrap=True, style="bold")
    table.add_column("what it holds")
    for name, info in CATALOGUE.items():
        where = " (--path DIR)" if info.needs_path else " (or of --path SCENE)" if info.takes_path else ""
        table.add_row(name, info.summary + where)
    show(table)
    table = Table(title="\nPeers", title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("what it is")
    with progress("Looking for peers"):
        found = [(info, info.reason) for info in all_peers()]
    for info, reason in found:
        name = Text(info.name, style="bold green" if reason is None else "yellow")
        table.add_row(name, info.summary if reason is None else f"{info.summary}. Missing: {reason}")
    show(table)
    return ExitCode.SOLVED


def _check(settings: RunSettings) -> None:
    for name in ("tol", "time_limit"):
        if not 0 < getattr(settings, name) < float("inf"):
            option = name.replace("_", "-")
            raise ProblemError(f"--{option} {getattr(settings, name):g}: a positive number is needed")
    for name in ("repeat", "workers"):
        if getattr(settings, name) < 1:
            raise ProblemError(f"--{name} {getattr(settings, name)}: at least 1 is needed")
    for module in settings.imports:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ProblemError(f"--import {module}: {error}") from None


def _command(sets: list[str], path: Path | None, out: Path, settings: RunSettings) -> str:
    """The command line that makes this run again, with folders as seen from here: reports name no machine."""
    words = [word for name in sets for word in ("--set", name)]
    words += [] if path is None else ["--path", relpath(path)]
    words += ["--peers"] if settings.peers else []
    words += [] if settings.solvers is None else ["--solvers", ",".join(settings.solvers)]
    words += ["--tol", f"{settings.tol:g}", "--time-limit", f"{settings.time_limit:g}"]
    words += ["--repeat", str(settings.repeat)]
    words += [] if settings.largest is None else ["--largest", str(settings.largest)]
    words += [word for module in settings.imports for word in ("--import", module)]
    return shlex.join(["perp", "bench", "run", *words, "--out", relpath(out)])


def _run(jobs: list[Job], out: Path, settings: RunSettings) -> list[Row]:
    rows: list[Row] = []
    with bar("Solving", len(jobs)) as show:

        def done(row: Row) -> None:
            rows.append(row)
            show(f"{row.problem} {row.solver}", 1)

        runner.run(jobs, out, settings, done=done)
    return rows


def _told(rows: list[Row], missing: dict[str, str], out: Path) -> list[str]:
    counts = {outcome: sum(row.outcome is outcome for row in rows) for outcome in Outcome}
    lines = [", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count) or "nothing to do"]
    lines += [f"missing: {name}: {reason}" for name, reason in missing.items()]
    return [*lines, f"{len(rows)} rows in {out}; next: perp bench report {out}"]


def _drawn(out: Path) -> tuple[RunRecord, list[SetSummary], list[Path]]:
    rows = table.read(out / table.FILE_NAME)
    if not rows:
        raise FileError(out / table.FILE_NAME, "has no rows yet")
    record = records.load(out)
    summaries = summarise(rows)
    figures = draw(summaries, out, peers=set(record.peers), tol=record.settings.get("tol", rows[0].tol))
    return record, summaries, figures
