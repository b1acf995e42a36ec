"""Solvers of others, for `--peers`: registered like ours, in the processes of the harness only."""

import importlib
import pkgutil

from perp.solvers.registry import SolverInfo, all_solvers

# Those of our own vendor adapters that count as peers; the others can be named with --solvers.
VENDORS = ("clarabel", "scs")


def load_peers() -> None:
    """Make the peers known to `perp.solve` in this process."""
    for entry in pkgutil.iter_modules(__path__, __name__ + "."):
        if not entry.name.endswith("_process"):  # those are run by other interpreters
            importlib.import_module(entry.name)


def peers() -> list[SolverInfo]:
    """All peers, installed or not."""
    load_peers()
    known = all_solvers()
    ours = [known[name] for name in VENDORS]
    return ours + [info for info in known.values() if info.run.__module__.startswith("perp.bench.peers.")]
