"""A progress display for work that may take long: on a terminal only, on stderr, and not for quick work."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

DELAY = 0.4
"""Work that ends within this time [s] shows nothing: a display that only flickers tells nobody anything."""

_REFRESH = 0.1

THREAD_NAME = "perp-progress"


@contextmanager
def progress(
    description: str, *, delay: float = DELAY, console: Console | None = None
) -> Iterator[Callable[[str], None] | None]:
    """Show `description`, a spinner and the elapsed time while the block runs.

    The block gets a function that shows some words behind the description; None where nobody looks on.

    Args:
        description: What is being done, for example "Solving with lemke".
        delay: Time [s] before anything is shown.
        console: Where to show it; stderr when None.
    """
    if console is None:
        from rich.console import Console

        console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    done, shown = threading.Event(), [description]
    display = threading.Thread(
        target=_show, args=(console, shown, done, delay), name=THREAD_NAME, daemon=True
    )
    display.start()

    def say(words: str) -> None:
        shown[0] = f"{description}: {words}"

    try:
        yield say
    finally:
        done.set()
        display.join()


@contextmanager
def bar(
    description: str, total: int, *, console: Console | None = None
) -> Iterator[Callable[[str, int], None]]:
    """A bar over `total` pieces of work; the block gets a function that shows some words and moves it on.

    Args:
        description: What is being done; also shown before the words.
        total: Pieces of work.
        console: Where to show it; stderr when None.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    if console is None:
        from rich.console import Console

        console = Console(stderr=True)
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


def counted(names: Sequence[str], verb: str, *, console: Console | None = None) -> Iterator[str]:
    """Yield the names one by one, with a bar that says which one is being worked on.

    Args:
        names: What is worked on.
        verb: What is done with each, for example "Running".
        console: Where to show it; stderr when None.
    """
    with bar(verb, len(names), console=console) as show:
        for name in names:
            show(name, 0)
            yield name
            show(name, 1)


def _show(console: Console, shown: list[str], done: threading.Event, delay: float) -> None:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    if done.wait(delay):
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as display:
        task = display.add_task(shown[0], total=None)
        while not done.wait(_REFRESH):
            display.update(task, description=shown[0])
