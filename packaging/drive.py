"""Uses perp as its users do and notes which kernels Python calls.

    python packaging/drive.py NOTES.json [--quick]

Writes {"compiled": functions that had to be compiled, "used": {index file: data files that were loaded}}.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from pages import pages

import page_runner
from perp.bench import warm_up
from perp.compilation.cache import KernelCache
from perp.compilation.stopwatch import STOPWATCH
from perp.stepping import ahead


def main(notes: Path, *, quick: bool) -> None:
    """Run the pages, and everything that `perp warm-up` does unless it has to be quick, in this process."""
    ahead.start()
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
    for name in () if quick else warm_up.tasks():
        warm_up.run(name)
    for page in pages(quick=quick):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            page_runner.prepare_folder()
            with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
                page_runner.run_page(page, ("python", "sh"))
            os.chdir(page.parent)
    result = {"compiled": STOPWATCH.names, "used": {name: sorted(files) for name, files in used.items()}}
    notes.write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), quick="--quick" in sys.argv)
