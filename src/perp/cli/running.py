"""A run on the command line: its steps and their progress bar, what stops it, and its summary."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from perp.bench.timing import duration
from perp.cli.exit_codes import ExitCode
from perp.cli.printing import print_facts, print_json, print_line, visible
from perp.cli.progress import progress
from perp.problems import PerpError, ProblemError
from perp.simulation.recordings.recording import Recording
from perp.simulation.recordings.resuming import OtherVersions, goal_of, simulation_of
from perp.simulation.recordings.summary import Summary, summarise
from perp.view.live import LivePage

if TYPE_CHECKING:
    from perp.simulation.recordings.recorder import Recorder
    from perp.simulation.simulation import Simulation
    from perp.stepping import StepRecord

_BEFORE = "Starting up; in a clone the very first run compiles for about a minute, once"


@dataclass
class CommandRun:
    """A simulation on its way to some time, with its recorder."""

    simulation: Simulation
    recorder: Recorder
    steps: int  # how many steps are still to be taken
    end: float  # simulated time to reach [s]
    path: Path | None  # the file that is written, if any
    problem: str = ""  # why the run ended early, in words
    # what of the scene is not simulated, and what was wrong with its start
    notes: list[str] = field(default_factory=list)
    page: LivePage | None = None  # shows the run while it goes on, or None

    @classmethod
    def begin(cls, simulation: Simulation, time: float, out: Path | None, *, force: bool) -> Self:
        """A new run."""
        from perp.simulation.arguments import step_count
        from perp.simulation.recordings.recorder import Recorder

        count = step_count(time, simulation.step_size)
        notes = [simulation.start_note] if simulation.start_note else []
        notes += [f"ignored: {line}" for line in simulation.report.lines(brief=True)]
        recorder = Recorder(simulation, out, force=force, goal=time)
        return cls(simulation, recorder, count, time, out, notes=notes)

    @classmethod
    def going_on(cls, path: Path, time: float | None) -> Self:
        """Go on with a recording, to `time` or to where it was going."""
        from perp.simulation.recordings.recorder import Recorder

        with warnings.catch_warnings(record=True, action="always", category=OtherVersions) as caught:
            simulation = simulation_of(path)
        start, goal = goal_of(path)
        end = goal if time is None else time
        count = round((end - (simulation.time - start)) / simulation.step_size)
        if count < 0:
            raise ProblemError(f"--time {end:g}: {path} already lasts {simulation.time - start:g} s")
        recorder = Recorder.going_on(simulation, path, goal=end)
        return cls(simulation, recorder, count, end, path, notes=[str(each.message) for each in caught])

    def watch(self, title: str) -> None:
        """Open the local page; the steps to come are shown as they are taken."""
        # what is in a file has been taken down: time does not go back there
        self.page = LivePage(self.simulation, title=title, resettable=self.path is None)
        sys.stderr.write(f"Showing the run at {self.page.url}\n")

    def _start_up(self) -> None:
        """A step of a copy: what is loaded or compiled for the first one is no time of the run."""
        with progress(_BEFORE), warnings.catch_warnings(), suppress(PerpError):
            warnings.simplefilter("ignore")
            if self.steps > 1:
                self.simulation.copy().step()

    def _begin_again(self) -> None:
        from perp.simulation.recordings.recorder import Recorder

        self.recorder = Recorder(self.simulation, goal=self.end)

    def go(self) -> int:
        """Take the steps; what goes wrong is kept in `problem`. Returns the exit code."""
        from perp.stepping import StepFailed, StepInaccurate

        code = int(ExitCode.SOLVED)
        for note in self.notes:  # before a run that may take long: some of them are reasons to stop it
            sys.stderr.write(f"note: {visible(note)}\n")
        try:
            self._start_up()
            with stopping() as stop, _bar(self) as show, warnings.catch_warnings():
                warnings.simplefilter("ignore", StepInaccurate)  # the summary counts them
                taken = 0
                while taken < self.steps:
                    if self.page is not None and self.page.before_step(lambda: stop):
                        self._begin_again()
                        taken = 0
                        continue
                    if stop:
                        code = 128 + stop[0]
                        self.problem = f"stopped at t = {self.simulation.time:g} s"
                        break
                    record = self.simulation.step()
                    taken += 1
                    self.recorder.add(record)
                    show(record)
                    if self.page is not None:
                        self.page.add(record)
        except StepFailed as error:
            step = round(self.simulation.time / self.simulation.step_size) + 1
            self.problem, code = f"step {step} failed: {error}", int(ExitCode.NOT_SOLVED)
        finally:
            self.recorder.close()
            if self.page is not None:
                self.page.finish(self.problem)
        return code

    def again(self) -> None:
        """The page has put the simulation back to its start after the end of the run: make another one."""
        self.problem, self.notes = "", []
        self._begin_again()
        self.go()

    def recording(self) -> Recording:
        """All of the run."""
        return self.recorder.recording() if self.path is None else Recording.open(self.path)


@contextmanager
def stopping() -> Iterator[list[int]]:
    """Ctrl-C and `kill` are put into the list, to be looked at between steps; a second one ends at once."""
    seen: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield seen
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _bar(run: CommandRun) -> Iterator[Any]:
    """A function that shows a step: simulated time, real-time factor, contacts and worst residual."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.fields[clock]}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TextColumn("{task.fields[facts]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as display:
        task = display.add_task("", total=run.steps, clock="", facts="")
        began, start, worst = perf_counter(), run.simulation.time, 0.0

        def show(record: StepRecord) -> None:
            nonlocal worst
            worst = max(worst, record.residual)
            if display.disable:
                return
            factor = (record.time - start) / max(perf_counter() - began, 1e-9)
            facts = f"{factor:.3g}× real time · {record.contact_count} contacts · residual {worst:.0e}"
            display.update(task, advance=1, clock=f"t = {record.time:.3f} of {run.end:g} s", facts=facts)

        yield show


def finish(run: CommandRun, *, html: Path | None, json: bool) -> None:
    """Print the summary, write the page, and serve the local one until Ctrl-C."""
    recording = run.recording()
    summary = summarise(recording)
    if json:
        facts = {**asdict(summary), "real_time_factor": summary.real_time_factor, "problem": run.problem}
        print_json({**facts, "notes": run.notes, "out": None if run.path is None else str(run.path)})
    else:
        headline = run.problem or f"{summary.steps} steps to t = {summary.end:g} s"
        print_facts(headline, "bold red" if run.problem else "bold green", summary_rows(recording, []))
        if run.path is not None:
            how = f"; go on with --resume {run.path}" if run.problem else ""
            print_line(f"Recorded in {run.path}{how}")
    sys.stdout.flush()
    if html is not None:
        recording.to_html(html)
        if not json:
            print_line(f"Page written to {html}")
    if run.page is not None:
        sys.stderr.write(f"Replaying at {run.page.url} until Ctrl-C\n")
        run.page.wait(None if run.path is not None else run.again)


def _relaxation(recording: Recording, s: Summary) -> list[tuple[str, str]]:
    """How far steps by a relaxation are from Coulomb's law; nothing for those that solve that itself."""
    if (recording.coulomb_distance == recording.residual).all():
        return []
    settings = recording.about.get("settings", {})
    name = f"{settings.get('solver')} with {settings.get('formulation')}"
    return [("from Coulomb", f"{s.coulomb_distance:.2g} at worst: {name} approximates it")]


def summary_rows(recording: Recording, notes: list[str]) -> list[tuple[str, str]]:
    """The lines of a summary."""
    s = summarise(recording)
    change = s.energy_end - s.energy_start
    rise = f", rising by {s.energy_gain:.2g} J at most"
    missed = f"{s.missed} missed the tolerance, {s.solves:.2g} solves a step"
    return [
        ("steps", f"{s.steps} of {recording.step:g} s, from t = {s.start:g} to {s.end:g} s; {missed}"),
        ("energy", f"{s.energy_start:.6g} → {s.energy_end:.6g} J ({change:+.3g}){rise}"),
        ("penetration", f"{s.penetration:.2g} m at most"),
        ("creep", f"{s.creep:.2g} m/s at most, of contacts below their friction limit"),
        ("joint error", f"{s.joint_error:.2g} at most"),
        ("residual", f"{s.residual:.2g} at worst, tolerance {recording.tolerance:g}"),
        *_relaxation(recording, s),
        ("contacts", f"{s.contacts} at most; {s.iterations:.2g} iterations a step"),
        ("time", f"{duration(s.wall_time)} ({s.real_time_factor:.3g}× real time)"),
        *(("note", note) for note in notes),
    ]
