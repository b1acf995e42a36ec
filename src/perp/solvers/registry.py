"""The list of solvers. Registering one is a decorator on its function; nothing else needs editing.

Modules under `perp/solvers/<family>/` are found by themselves when the first solve or listing needs them.
"""

from __future__ import annotations

import dataclasses
import difflib
import dis
import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from perp.compilation.stopwatch import STOPWATCH
from perp.problems import Problem, SolverError, SolverMismatch, SolverMissing, UnknownSolver
from perp.solvers.attempt import Attempt, Control

Algorithm = Callable[[Any, Control, Any], Attempt]
F = TypeVar("F", bound=Algorithm)


@dataclass(frozen=True)
class NoOptions:
    """For solvers without options of their own."""


@dataclass(frozen=True)
class Package:
    """Something outside perp that a solver needs.

    Attributes:
        module: The module that must be importable.
        install: The one command that adds it.
        check: Returns None when usable, else the reason why not; for licences and the like.
    """

    module: str
    install: str
    check: Callable[[], str | None] | None = None

    def missing(self) -> str | None:
        """None when it can be used, else why not and what to run."""
        if importlib.util.find_spec(self.module) is None:
            return f"{self.module} is not installed; add it with: {self.install}"
        return self.check() if self.check is not None else None


@dataclass(frozen=True)
class SolverInfo:
    """What is known of a solver.

    Attributes:
        name: What to pass to `solve`.
        family: pivoting, projection, newton, interior, splitting, external; or "user".
        takes: The problem types that it takes as they are.
        summary: One line.
        options: Dataclass of its options, with defaults.
        refuses: Says why a problem of the right type cannot be taken, or None.
        needs: Package that it needs, or None.
        run: The algorithm.
        memory: Bytes that a problem of the right type would take, or None for a few vectors beside the data.
    """

    name: str
    family: str
    takes: tuple[type, ...]
    summary: str
    options: type
    run: Algorithm
    refuses: Callable[[Any], str | None] | None = None
    needs: Package | None = None
    memory: Callable[[Any], float] | None = None

    @property
    def reason(self) -> str | None:
        """Why it cannot be used on this machine and the command that changes that, or None."""
        return None if self.needs is None else self.needs.missing()

    @property
    def available(self) -> bool:
        """Whether it can be used on this machine."""
        return self.reason is None

    def objection(self, problem: Any) -> str | None:
        """Why this solver does not take `problem` as it is, or None when it does."""
        if not isinstance(problem, self.takes):
            names = " and ".join(kind.__name__ for kind in self.takes)
            return f"it takes {names}, not {type(problem).__name__}"
        if self.memory is not None:
            needed = self.memory(problem)
            if needed > NEGLIGIBLE_MEMORY and needed > free_memory():
                return f"it would need {needed / 1e9:.3g} GB, and {free_memory() / 1e9:.3g} GB are free"
        return None if self.refuses is None else self.refuses(problem)


# Nobody asks the system for less than this.
NEGLIGIBLE_MEMORY = 1e8


def free_memory() -> float:
    """Bytes that this process may still take: what the system has free, or its own limit."""
    import resource

    free = float("inf")
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    free = 1024.0 * float(line.split()[1])
    except OSError:
        free = 0.5 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return free if limit == resource.RLIM_INFINITY else min(free, float(limit))


_solvers: dict[str, SolverInfo] = {}
_loaded: set[str] = set()
_discovered = False


def register(
    name: str,
    *,
    takes: tuple[type, ...] | type,
    summary: str,
    options: type = NoOptions,
    refuses: Callable[[Any], str | None] | None = None,
    needs: Package | None = None,
    memory: Callable[[Any], float] | None = None,
) -> Callable[[F], F]:
    """Make a function available as `perp.solve(problem, name)`.

    The function is called as `algorithm(problem, control, options)` and returns an `Attempt`.

    Args:
        name: The solver's name.
        takes: The problem type or types that it takes.
        summary: One line for listings.
        options: A frozen dataclass with a default for every option.
        refuses: Says why a problem of the right type cannot be taken, or returns None.
        needs: A package that must be present.
        memory: Bytes that a problem would take: one that does not fit is refused before anything is solved.
    """
    if not dataclasses.is_dataclass(options):
        raise SolverError(f"options of solver {name!r} must be a dataclass, not {options!r}")

    def decorate(algorithm: F) -> F:
        existing = _solvers.get(name)
        origin = (algorithm.__module__, algorithm.__qualname__)
        if existing is not None and (existing.run.__module__, existing.run.__qualname__) != origin:
            raise SolverError(f"a solver named {name!r} exists already, in {existing.run.__module__}")
        parts = algorithm.__module__.split(".")
        family = parts[2] if parts[:2] == ["perp", "solvers"] else "user"
        kinds = takes if isinstance(takes, tuple) else (takes,)
        _solvers[name] = SolverInfo(name, family, kinds, summary, options, algorithm, refuses, needs, memory)
        return algorithm

    return decorate


def unregister(name: str) -> None:
    """Forget a solver that was registered by hand."""
    _solvers.pop(name, None)


def _discover() -> None:
    global _discovered
    if _discovered:
        return
    package = importlib.import_module("perp.solvers")
    for family in pkgutil.iter_modules(package.__path__, "perp.solvers."):
        module = importlib.import_module(family.name)
        if family.ispkg:
            for entry in pkgutil.iter_modules(module.__path__, family.name + "."):
                importlib.import_module(entry.name)
    _discovered = True


def all_solvers() -> dict[str, SolverInfo]:
    """Every registered solver by name."""
    _discover()
    return _solvers


def find(name: str) -> SolverInfo:
    """The solver of this name.

    Raises:
        UnknownSolver: There is none; close matches are listed.
    """
    info = _solvers.get(name)
    if info is None:
        info = all_solvers().get(name)
    if info is None:
        raise UnknownSolver(unknown("solver", name, list(_solvers)))
    if name not in _loaded:
        _loaded.add(name)
        _load(info)
    return info


def _load(info: SolverInfo) -> None:
    """Import what an algorithm imports when it is called: that is start-up, and no part of its time."""
    with STOPWATCH.starting_up():
        for instruction in dis.get_instructions(info.run):
            module = str(instruction.argval)
            if instruction.opname == "IMPORT_NAME" and module.startswith(("perp.", "scipy")):
                importlib.import_module(module)


def unknown(what: str, name: str, names: list[str]) -> str:
    """The message for a name that does not exist."""
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    if close:
        return f"no {what} is called {name!r}. Did you mean {' or '.join(map(repr, close))}?"
    return f"no {what} is called {name!r}. There are: {', '.join(sorted(names))}"


def mismatch(
    info: SolverInfo, problem: Problem, objection: str, formulations: Sequence[str] = ()
) -> SolverMismatch:
    """The error for a solver that cannot take a problem: why, what can, and how it could."""
    able = sorted(s.name for s in all_solvers().values() if s.objection(problem) is None and s.available)
    instead = f"These can: {', '.join(able)}." if able else "No installed solver takes it."
    words = f"{info.name} cannot take this {type(problem).__name__}: {objection}. {instead}"
    if formulations:
        words += f" {info.name} can with formulation {', '.join(formulations)}."
    return SolverMismatch(words)


def require_available(info: SolverInfo) -> None:
    """Raises `SolverMissing` with the command to run when the solver's package is absent."""
    reason = info.reason
    if reason is not None:
        raise SolverMissing(f"{info.name}: {reason}")


def read_options(info: SolverInfo, options: Any) -> Any:
    """Options as the solver's dataclass, from an instance, a dict or None."""
    if options is None:
        return info.options()
    if isinstance(options, info.options):
        return options
    if not isinstance(options, dict):
        raise SolverError(
            f"options of {info.name} must be a dict or {info.options.__name__}, not {type(options).__name__}"
        )
    names = [field.name for field in dataclasses.fields(info.options)]
    for name in options:
        if name not in names:
            if not names:
                raise SolverError(f"{info.name} takes no options, and {name!r} was given")
            raise SolverError(f"{info.name} has no option {name!r}; valid names: {', '.join(names)}")
    try:
        return info.options(**options)
    except (TypeError, ValueError) as error:
        raise SolverError(f"options of {info.name}: {error}") from None
