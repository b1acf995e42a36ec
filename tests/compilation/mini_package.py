"""A package called perp with two kernels and perp's own way to keep them, and fresh processes that use it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import perp

MODULES = {
    "__init__": "",
    "lengths": "FACTOR = 10.0\n",
    "callee": (
        "from perp.compilation.kernel import kernel\nfrom perp.lengths import FACTOR\n"
        "@kernel\ndef scaled(pair):\n    return FACTOR * pair.first\n"
    ),
    "pairs": "from typing import NamedTuple\nclass Pair(NamedTuple):\n    first: float\n    second: float\n",
    "caller": (
        "from perp.compilation.kernel import kernel\nfrom perp.callee import scaled\n"
        "@kernel\ndef total(pair):\n    return scaled(pair) + 1.0\n"
    ),
    "apart": "from perp.compilation.kernel import kernel\n@kernel\ndef other(x):\n    return x\n",
}
RUN = (
    "from perp.compilation import shipped\nfrom perp.compilation.stopwatch import STOPWATCH\n"
    "from perp.pairs import Pair\nfrom perp.caller import total\nfrom perp.apart import other\n"
    "other(1.0)\nprint(total(Pair(2.0, 3.0)), len(STOPWATCH.names), shipped.mismatch())\n"
)


def make(folder: Path) -> Path:
    """Write the package into `folder / "perp"`."""
    package = folder / "perp"
    package.mkdir(parents=True)
    for name, text in MODULES.items():
        (package / f"{name}.py").write_text(text)
    ours = Path(perp.__file__).parent / "compilation"
    ignored = shutil.ignore_patterns("__pycache__", "kernels")
    shutil.copytree(ours, package / "compilation", ignore=ignored)
    return package


def run(package: Path, **variables: str) -> tuple[float, int, str]:
    """What a fresh process finds, how many functions it compiled, why it did not use shipped kernels."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    # Python takes a module of the same size and second for the one whose bytecode it has kept.
    ours = {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN], env=kept | ours | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    value, count, reason = done.stdout.strip().split(" ", 2)
    return float(value), int(count), "" if reason == "None" else reason
