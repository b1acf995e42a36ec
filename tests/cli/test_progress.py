"""The progress display: on terminals, for slow work."""

from __future__ import annotations

import io
import threading

from rich.console import Console

from perp.cli.progress import THREAD_NAME, bar, progress


class Screen(io.StringIO):
    """Tells when something was drawn on it."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = threading.Event()

    def write(self, text: str) -> int:
        if text.strip():
            self.drawn.set()
        return super().write(text)


def test_slow_work_shows_what_is_done() -> None:
    screen = Screen()
    with progress("Solving [this]", delay=0.0, console=Console(file=screen, force_terminal=True, width=80)):
        assert screen.drawn.wait()
    assert "Solving [this]" in screen.getvalue()


def test_what_is_said_meanwhile_is_shown() -> None:
    screen = Screen()
    console = Console(file=screen, force_terminal=True, width=80)
    with progress("Solving", delay=0.0, console=console) as say:
        assert say is not None
        say("newton, residual 1e-3")
        while "newton, residual 1e-3" not in screen.getvalue():
            screen.drawn.clear()
            assert screen.drawn.wait(60.0)


def test_quick_work_shows_nothing() -> None:
    screen = Screen()
    with progress("Solving", delay=3600.0, console=Console(file=screen, force_terminal=True)):
        pass
    assert screen.getvalue() == ""


def test_nothing_is_shown_where_there_is_no_terminal() -> None:
    screen = Screen()
    with progress("Solving", delay=0.0, console=Console(file=screen, force_terminal=False)):
        assert THREAD_NAME not in {thread.name for thread in threading.enumerate()}
    assert screen.getvalue() == ""


def test_an_error_in_the_work_passes_through_and_the_display_ends() -> None:
    try:
        with progress("Solving", delay=0.0, console=Console(file=Screen(), force_terminal=True)):
            raise ZeroDivisionError
    except ZeroDivisionError:
        assert THREAD_NAME not in {thread.name for thread in threading.enumerate()}
    else:
        raise AssertionError("the error was swallowed")


def test_counted_work_shows_what_it_is_at() -> None:
    screen = Screen()
    console = Console(file=screen, force_terminal=True, width=80)
    with bar("Running", 2, console=console) as show:
        show("newton", 1)
        show("admm", 1)
    assert "Running admm" in screen.getvalue()
    assert "2/2" in screen.getvalue()
