"""Installs a wheel into an empty environment and runs the README there: nothing may be compiled.

    python packaging/check.py dist/perp-….whl [README.md]

The environment lies outside the checkout and nothing in it can be written to; its dependencies are those of
the interpreter that runs this. Exit code 1 where a kernel was compiled, a file written, or something failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

# Runs what it is given and tells on the last line what was compiled, and where perp came from.
REPORT = """
import perp
from perp.compilation.stopwatch import STOPWATCH
print("\\ncompiled:", perp.__file__, len(STOPWATCH.names), *STOPWATCH.names[:9])
"""
COMMANDS = """
import sys
sys.path.append({tests!r})
from pathlib import Path
import page_runner
page_runner.prepare_folder()
page_runner.run_page(Path({page!r}), ("sh",))
"""


def install(wheel: Path, folder: Path) -> Path:
    """The interpreter of an environment that has the wheel, and the dependencies of this interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--no-index",
        "--no-deps",
        wheel,
    ]
    subprocess.run(command, check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    for path in sorted(folder.rglob("*"), reverse=True):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)
    return python


def run(python: Path, title: str, code: str, folder: Path) -> bool:
    """Whether code that is run in a fresh process takes perp from the wheel and compiles nothing."""
    home = folder / "home"  # does not exist: numba's cache of the user cannot be made
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON"))}
    began = time.perf_counter()
    done = subprocess.run(
        [python, "-c", code + REPORT], cwd=folder, capture_output=True, text=True, check=False,
        env=kept | {"HOME": str(home), "XDG_CACHE_HOME": str(home), "MPLCONFIGDIR": str(folder / "mpl")},
    )  # fmt: skip
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        print(f"{title}: failed\n{done.stderr}")
        return False
    _, where, count, *names = done.stdout.strip().splitlines()[-1].split()
    print(f"{title}: {count} compiled, {seconds:.2f} s from the start of the process  {' '.join(names)}")
    return count == "0" and Path(where).is_relative_to(python.parents[1])


def main() -> int:
    """Check one wheel."""
    from page_runner import blocks

    wheel = Path(sys.argv[1]).resolve()
    page = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else ROOT / "README.md"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        python = install(wheel, folder / "environment")
        snippets = [text for language, text in blocks(page) if language == "python"]
        good = [run(python, f"README, snippet {k}", code, folder) for k, code in enumerate(snippets, 1)]
        commands = COMMANDS.format(tests=str(ROOT / "tests"), page=str(page))
        good.append(run(python, "README, commands", commands, folder))
        written = [path for path in folder.rglob("*.nb?") if "kernels" not in path.parts]
        for path in written:
            print(f"written: {path}")
        for path in (folder / "environment").rglob("*"):  # so that the folder can be removed
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
    return 0 if all(good) and not written else 1


if __name__ == "__main__":
    sys.exit(main())
