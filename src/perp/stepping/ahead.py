"""Compile half of the simulator's step in another process, while this one is busy with the other half.

What is compiled is kept on disk as parts, and whoever needs a part finds it there. Nothing waits for the
other process: a part that is not there yet is compiled where it is needed.
"""

from __future__ import annotations

import os
import subprocess
import sys


def start(*words: str) -> subprocess.Popen[bytes] | None:
    """Begin, unless the step is compiled already or there is no second core.

    Args:
        words: What Python is to run instead of this module; it calls `main` and may compile more.
    """
    from perp.stepping.tasks import run

    if (os.cpu_count() or 1) < 2 or run.is_kept():
        return None
    return subprocess.Popen(
        [sys.executable, *(words or ("-m", "perp.stepping.ahead"))],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def main() -> None:
    """The kernels of trees, then the end of a step backwards: whoever steps begins at its beginning."""
    from perp.stepping.course import SECOND_HALF
    from perp.stepping.world import WorldType

    for kernel in SECOND_HALF:
        kernel.part((WorldType,))


if __name__ == "__main__":
    main()
