"""The command `perp`: one command a module, imported only when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Args:
        tokens: The words after `perp`; those of the process when None.
    """
    from perp.cli.app import run

    return run(tokens)
