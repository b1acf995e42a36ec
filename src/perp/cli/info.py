"""`perp info RUN`: what is in a recording."""

from dataclasses import asdict
from pathlib import Path

from perp.cli.exit_codes import ExitCode
from perp.cli.printing import print_facts, print_json
from perp.cli.running import summary_rows
from perp.scenes.model import ImportReport
from perp.simulation.recordings.recording import Recording
from perp.simulation.recordings.summary import summarise

_NAMES_SHOWN = 12


def info(recording: Path, /, *, json: bool = False) -> int:
    """Say what is in a RECORDING.

    Args:
        recording: An .h5 file of `perp simulate`, finished or not.
        json: Print one JSON object in place of the table.
    """
    run = Recording.open(recording)
    if json:
        summary = summarise(run)
        print_json({**run.about, **asdict(summary), "real_time_factor": summary.real_time_factor})
        return ExitCode.SOLVED
    report = ImportReport(tuple((element, why) for element, why in run.about["report"]))
    ignored = [f"ignored: {line}" for line in report.lines(brief=True)]
    print_facts(f"{recording}: {len(run)} steps", "bold", [*_about(run), *summary_rows(run, ignored)])
    return ExitCode.SOLVED


def _about(run: Recording) -> list[tuple[str, str]]:
    settings, versions = run.about["settings"], run.about["versions"]
    solver = settings["solver"] or "the stepper's own Newton method"
    how = f"{settings['level']} level, {run.about['coordinates']} coordinates, solver: {solver}"
    return [
        ("bodies", _listed(run.body_names)),
        ("joints", _listed(run.joint_names)),
        ("motors", _listed(run.motor_names)),
        ("shapes", f"{len(run.geom_names)}"),
        ("method", f"{how}, tolerance {run.tolerance:g}"),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]


def _listed(names: tuple[str, ...]) -> str:
    more = f", … {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"{len(names)}" + (f": {', '.join(names[:_NAMES_SHOWN])}{more}" if names else "")
