"""A process that runs jobs: a solver that prints, hangs or brings its interpreter down does so here."""

from __future__ import annotations

from collections.abc import Callable

from perp.bench.job import Job
from perp.bench.rows import Row
from perp.comparison.processes import serve


def main() -> None:
    """Serve jobs until the input ends."""

    def prepare() -> Callable[[Job], Row]:
        from perp.bench.job import run_job
        from perp.bench.peers import load_peers

        load_peers()
        return run_job

    serve(prepare)


if __name__ == "__main__":
    main()
