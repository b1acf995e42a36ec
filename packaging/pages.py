"""The pages whose examples show what a wheel is used for; all of them have to run without a compilation."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
QUICK = ("README.md",)
EVERYDAY = (
    *QUICK,
    "docs/start.md",
    "docs/command.md",  # perp solve
    "docs/gallery.md",  # perp simulate
    "docs/how-to.md",  # a robot in a loop of one's own
    "docs/batches.md",
    "docs/derivatives.md",
)


def pages(*, quick: bool) -> list[Path]:
    """The pages that a wheel is made and tried with."""
    return [ROOT / name for name in (QUICK if quick else EVERYDAY)]
