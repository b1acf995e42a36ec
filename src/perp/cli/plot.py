"""`perp plot RUN`: a recording as a picture."""

from pathlib import Path

from perp.cli.exit_codes import ExitCode
from perp.cli.printing import print_line
from perp.cli.progress import progress
from perp.files.writing import PICTURE_SUFFIXES, check_writable, replacing
from perp.simulation.recordings.recording import Recording
from perp.view.run_plot import plot_run


def plot(recording: Path, /, *, out: Path | None = None) -> int:
    """Draw a RECORDING: energy, momentum, errors, residual, contacts, work, time, joints and control.

    Args:
        recording: An .h5 file of `perp simulate`, finished or not.
        out: A .png, .svg or .pdf file; beside the recording when not given.
    """
    path = recording.with_suffix(".png") if out is None else out
    check_writable(path, PICTURE_SUFFIXES, "a picture")
    with progress(f"Reading {recording}"):
        run = Recording.open(recording)
    end = float(run.time[-1]) if len(run) else run.start_time
    title = (
        f"{recording.name}: {len(run)} steps of {run.step:g} s to t = {end:g} s, {len(run.body_names)} bodies"
    )
    with progress(f"Drawing {path}"), replacing(path) as temporary:
        named = temporary.with_suffix(path.suffix)
        plot_run(run, named, title=title)
        named.replace(temporary)
    print_line(f"Drawn in {path}")
    return ExitCode.SOLVED
