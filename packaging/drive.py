"""Uses perp as its users do and notes which kernels Python calls.

    python packaging/drive.py README.md NOTES.json [--only-page]

Writes {"compiled": functions that had to be compiled, "used": {index file: data files that were loaded}}.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import page_runner
from perp.bench import warm_up
from perp.compilation.cache import KernelCache
from perp.compilation.stopwatch import STOPWATCH


def main(page: Path, notes: Path, *, everything: bool) -> None:
    """Drive the page, and everything else that `perp warm-up` does, once in this process."""
    used: dict[str, set[str]] = {}
    load = KernelCache._load_overload

    def noted(self: Any, sig: Any, context: Any) -> Any:
        found = load(self, sig, context)
        if found is not None:
            file = self._cache_file
            key = self._index_key(sig, context.codegen())
            used.setdefault(file._index_path, set()).add(file._load_index()[key])
        return found

    KernelCache._load_overload = noted
    for name in warm_up.tasks() if everything else ():
        warm_up.run(name)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        page_runner.prepare_folder()
        page_runner.run_page(page, ("python", "sh"))
        os.chdir(page.parent)
    result = {"compiled": STOPWATCH.names, "used": {name: sorted(files) for name, files in used.items()}}
    notes.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), everything="--only-page" not in sys.argv)
