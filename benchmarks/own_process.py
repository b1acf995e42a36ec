"""A worker in a process of its own with a time limit: what hangs or crashes leaves its last words."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from typing import Any

# A process that waits in place of working is stopped after so many times its CPU time; machines are shared.
_PATIENCE = 30.0


def last_line(words: list[str], limit: float) -> tuple[dict[str, Any], str]:
    """Run `python words…`, which prints lines of JSON, and take the last.

    Args:
        words: Script and arguments.
        limit: Seconds of CPU time.

    Returns:
        The last whole line, and how the process ended: "" where it ended well.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    ending = ""

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (round(limit), round(limit) + 5))

    try:
        done = subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE * limit,
            env=environment,
            preexec_fn=confine,
        )
        text = done.stdout
        if done.returncode == -signal.SIGXCPU:
            ending = f"stopped after {limit:g} s of CPU time"
        elif done.returncode:
            ending = f"ended with code {done.returncode}: {' '.join(done.stderr.split())[-200:]}"
    except subprocess.TimeoutExpired as error:
        text = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        ending = f"stopped after {_PATIENCE * limit:g} s"
    # a line that was cut off is not one
    lines = [line for line in text.splitlines() if line.startswith("{") and line.endswith("}")]
    if not lines:
        raise RuntimeError(f"{words[0]} said nothing: {ending}")
    return json.loads(lines[-1]), ending
