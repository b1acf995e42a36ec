"""What a test set is: a name, a line about it, and problems with names."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from perp.problems import Problem
from perp.problems.validation import Vector


@dataclass(frozen=True)
class NamedProblem:
    """A problem of a test set."""

    name: str  # the only one of its name in the set
    problem: Problem
    start: Vector | None = None  # where every solver begins, shape (size,), or None for a cold start


class TestSet(Protocol):
    """A set of problems. A class with these members, anywhere, is one: `--set my_module:MySet`."""

    @property
    def name(self) -> str:
        """What results are filed under."""
        ...

    def problems(self) -> Iterator[NamedProblem]:
        """The problems, always in the same order."""
        ...


@dataclass(frozen=True)
class MadeSet:
    """A set whose problems a function makes."""

    name: str
    problems: Callable[[], Iterator[NamedProblem]]
