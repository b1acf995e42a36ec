"""`perp warm-up`: compile everything now, so that nobody waits later."""

from multiprocessing import forkserver
from time import perf_counter

from perp.cli.printing import print_line
from perp.cli.progress import bar
from perp.problems import ProblemError


def warm_up(*, workers: int | None = None, list: bool = False) -> int:  # noqa: A002
    """Compile everything that perp can use and keep it for later runs.

    Args:
        workers: Processes side by side; one per core when not given.
        list: Only say what would be done.
    """
    if workers is not None and workers < 1:
        raise ProblemError(f"--workers {workers}: at least 1 is needed")
    if not list:
        # The process that the workers are copies of loads its modules while this one does: a second less.
        forkserver.set_forkserver_preload(["perp.bench.warm_up"])
        forkserver.ensure_running()
    from perp.bench.warm_up import run_all, tasks

    names = [*tasks()]
    if list:
        for name in names:
            print_line(name)
        return 0
    began, compiled = perf_counter(), 0
    with bar("Compiling", len(names)) as show:
        for done in run_all(names, workers):
            compiled += done.compiled
            show(f"{compiled} functions so far, last for {done.name}", 1)
    print_line(f"{compiled} functions compiled in {perf_counter() - began:.0f} s")
    return 0
