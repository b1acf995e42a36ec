"""A progress display for work that may take long: on a terminal only, on stderr, and not for quick work."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

DELAY = 0.4
"""Work that ends within this time [s] shows nothing: a display that only flickers tells nobody anything."""

THREAD_NAME = "perp-progress"


@contextmanager
def progress(
    description: str, *, delay: float = DELAY, console: Console | None = None
) -> Iterator[Callable[[str], None] | None]:
    """Show `description`, a spinner and the elapsed time while the block runs, after a delay [s].

    The block gets a function that shows some words behind the description; None where nobody looks on.
    """
    from rich.console import Console

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    display = Progress(*columns, console=console, transient=True)
    task, begin = display.add_task(description, total=None), threading.Timer(delay, display.start)
    begin.name, begin.daemon = THREAD_NAME, True
    begin.start()
    try:
        yield lambda words: display.update(task, description=f"{description}: {words}")
    finally:
        begin.cancel()
        begin.join()
        display.stop()


@contextmanager
def bar(
    description: str, total: int, *, console: Console | None = None
) -> Iterator[Callable[[str, int], None]]:
    """A bar over `total` pieces of work; the block gets a function that shows some words and moves it on."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = console or Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as display:
        task = display.add_task(description, total=total)
        yield lambda words, done: display.update(
            task, advance=done, description=f"{description} {words}".rstrip()
        )
