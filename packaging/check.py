"""Installs a wheel into an empty environment and uses it there: nothing may be compiled.

    python packaging/check.py dist/perp-….whl [--quick]

Run are the pages of `pages.py`, with `--quick` only the README, each snippet of which stands alone. The
environment lies outside the checkout, on a file system that can only be read where the system lets one be
mounted, and without rights to write elsewhere; its dependencies are those of the interpreter that runs this.
Exit code 1 where a kernel was compiled, a file written, or something failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from pages import ROOT, pages

sys.path.insert(0, str(ROOT / "tests"))

# Every process of the environment, those that others start too, tells at its end where perp came from and
# what was compiled.
REPORT = """
import atexit, os, sys


def tell():
    watch = sys.modules.get("perp.compilation.stopwatch")
    if "perp" in sys.modules:
        names = watch.STOPWATCH.names if watch else []
        with open(os.environ["COMPILED"], "a") as file:
            print(sys.modules["perp"].__file__, len(names), *names[:9], file=file)


atexit.register(tell)
"""
COMMANDS = """
import sys
sys.path.append({tests!r})
from pathlib import Path
import page_runner
page_runner.prepare_folder()
page_runner.run_page(Path({page!r}), {languages!r})
"""
# What the first answer costs, from the start of the process.
FIRST = {
    "first solve": """
import perp
perp.solve(perp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]))
""",
    "first contact": """
import perp
perp.solve(perp.ContactProblem.coulomb([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [-1, 0.2, 0], 0.5))
""",
    "first step": """
import perp
from perp.scenes.library import box_on_plane
perp.Simulation(box_on_plane()).step()
""",
}
# A name space of its own, in which the folder is mounted a second time, without the right to write.
READ_ONLY = ["unshare", "--map-root-user", "--mount", "sh", "-c",
             'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"']  # fmt: skip


def install(wheel: Path, folder: Path) -> Path:
    """The interpreter of an environment that has the wheel, and the dependencies of this interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps"]
    subprocess.run([*pip, wheel], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    (site / "sitecustomize.py").write_text(REPORT, encoding="utf-8")
    for path in sorted(folder.rglob("*"), reverse=True):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)
    return python


def read_only(folder: Path) -> list[str]:
    """What to put before a command so that the folder can only be read; nothing where that is not allowed."""
    prefix = [*READ_ONLY, str(folder)]
    probe = folder / "probe"
    try:
        done = subprocess.run(
            [*prefix, "touch", probe], capture_output=True, text=True, check=False,
            env=os.environ | {"LC_ALL": "C"},
        )  # fmt: skip
    except OSError:
        return []
    if "Read-only file system" in done.stderr and not probe.exists():
        return prefix
    probe.unlink(missing_ok=True)
    return []


class Trial:
    """An installed wheel, and how it did.

    Attributes:
        python: The interpreter that has the wheel.
        folder: Where commands may write.
        prefix: Put before every command.
        good: Whether all of it was well so far.
    """

    def __init__(self, python: Path, folder: Path, prefix: list[str]) -> None:
        self.python, self.folder, self.prefix, self.good = python, folder, prefix, True

    def run(self, title: str, code: str) -> None:
        """Run code in a fresh process: it has to take perp from the wheel and to compile nothing."""
        home = self.folder / "home"  # does not exist: numba's cache of the user cannot be made
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON"))}
        place = Path(tempfile.mkdtemp(dir=self.folder))
        notes = place / "compiled"
        folders = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "MPLCONFIGDIR": str(self.folder / "mpl")}
        began, used = time.perf_counter(), os.times()
        done = subprocess.run(
            [*self.prefix, self.python, "-c", code], cwd=place, capture_output=True, text=True, check=False,
            env=kept | folders | {"COMPILED": str(notes)},
        )  # fmt: skip
        seconds, now = time.perf_counter() - began, os.times()
        cpu = now.children_user + now.children_system - used.children_user - used.children_system
        if done.returncode != 0:
            print(f"{title}: failed\n{done.stderr}")
            self.good = False
            return
        lines = [line.split() for line in notes.read_text(encoding="utf-8").splitlines()]
        count, names = sum(int(line[1]) for line in lines), [name for line in lines for name in line[2:]]
        print(
            f"{title}: {count} compiled, {seconds:.2f} s, {cpu:.2f} s of them computing {' '.join(names)}",
            flush=True,
        )
        home_of_perp = {Path(line[0]).is_relative_to(self.python.parents[1]) for line in lines}
        self.good &= count == 0 and home_of_perp == {True}


def try_pages(trial: Trial, *, quick: bool) -> None:
    """All pages; the snippets of the README stand alone."""
    from page_runner import blocks

    for page in pages(quick=quick):
        alone = page.name == "README.md"
        if alone:
            snippets = [text for language, text in blocks(page) if language == "python"]
            for number, code in enumerate(snippets, 1):
                trial.run(f"{page.name}, snippet {number}", code)
        languages = ("sh",) if alone else ("python", "sh")
        code = COMMANDS.format(tests=str(ROOT / "tests"), page=str(page), languages=languages)
        trial.run(f"{page.name}, commands" if alone else page.name, code)


def main() -> int:
    """Check one wheel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--quick", action="store_true", help="only the README")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        environment = folder / "environment"
        python = install(options.wheel.resolve(), environment)
        prefix = read_only(environment)
        print("on a file system that can only be read" if prefix else "without rights to write")
        trial = Trial(python, folder, prefix)
        trial.run("import", "import perp")
        for title, code in FIRST.items():
            trial.run(title, code)
        try_pages(trial, quick=options.quick)
        written = [path for path in folder.rglob("*.nb?") if "kernels" not in path.parts]
        for path in written:
            print(f"written: {path}")
        for path in environment.rglob("*"):  # so that the folder can be removed
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
    return 0 if trial.good and not written else 1


if __name__ == "__main__":
    sys.exit(main())
