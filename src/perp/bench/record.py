"""What a run was: its settings, sets, missing solvers and machine, in JSON beside the rows."""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from perp.bench import machine
from perp.bench.runner import RunSettings
from perp.problems.errors import FileError, ProblemError

FILE_NAME = "run.json"
MACHINE_FILE = "machine.json"
# Rows measured with different values of these cannot stand in one table.
_FIXED = ("tol", "time_limit", "repeat")


@dataclass
class RunRecord:
    """Everything about a run that is not a row."""

    commands: list[str] = field(default_factory=list)  # the command lines that made the rows, oldest first
    begun: str = ""  # when, in UTC
    settings: dict[str, Any] = field(default_factory=dict)  # tolerance, limits and repeats
    sets: list[str] = field(default_factory=list)  # the test sets that were asked for
    # the solvers that ran: version, options, and what the tolerance means to each
    solvers: dict[str, dict[str, Any]] = field(default_factory=dict)
    peers: list[str] = field(default_factory=list)  # which of those are not ours
    # solvers that would have run, with the command that adds each
    missing: dict[str, str] = field(default_factory=dict)
    # files of the sets that hold no problem, with the reason
    unreadable: dict[str, str] = field(default_factory=dict)
    # problems with more rows than were asked for, with that number
    left_out: dict[str, int] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)  # see `machine.describe`

    def add(
        self, *, command: str, settings: RunSettings, sets: list[str],
        solvers: dict[str, dict[str, Any]], peers: list[str], missing: dict[str, str],
    ) -> None:  # fmt: skip
        """Note another run into the same folder.

        Raises:
            ProblemError: It asks for another tolerance, limit or number of repeats than the rows there.
        """
        wanted = {name: asdict(settings)[name] for name in _FIXED}
        for name, value in wanted.items():
            if self.settings and self.settings[name] != value:
                raise ProblemError(
                    f"the rows that are there were made with {name} = {self.settings[name]:g}, "
                    f"not {value:g}: use another --out"
                )
        self.settings = wanted
        self.begun = self.begun or datetime.now(UTC).isoformat(timespec="seconds")
        self.commands = _merged(self.commands, [command])
        self.sets, self.solvers = _merged(self.sets, sets), {**self.solvers, **solvers}
        self.peers = _merged(self.peers, peers)
        self.missing = {**self.missing, **missing}
        for name in solvers:
            self.missing.pop(name, None)
        self.machine = self.machine or machine.describe()

    def save(self, out: Path) -> None:
        """Write both JSON files."""
        facts = asdict(self)
        (out / MACHINE_FILE).write_text(_json(facts.pop("machine")), encoding="utf-8")
        (out / FILE_NAME).write_text(_json(facts), encoding="utf-8")


def load(out: Path) -> RunRecord:
    """The record of a folder; a new one when nothing has run there yet."""
    if not (out / FILE_NAME).exists():
        return RunRecord()
    try:
        facts = json.loads((out / FILE_NAME).read_text(encoding="utf-8"))
        return RunRecord(**facts, machine=json.loads((out / MACHINE_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise FileError(out / FILE_NAME, f"is damaged: {error}") from None


def _json(facts: dict[str, Any]) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


def _merged(old: list[str], new: list[str]) -> list[str]:
    return list(dict.fromkeys([*old, *new]))
