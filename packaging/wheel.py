"""Builds a wheel that carries its compiled kernels.

    python packaging/wheel.py [--out dist] [--quick] [--work FOLDER]

The package is copied into an empty folder, driven through its public face by `perp warm-up` and the pages of
`pages.py` until a whole pass compiles nothing, and what such a pass loads is what Python calls: those
kernels, which contain the ones that they call, go into the wheel. Nothing here names a kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("src", "packaging", "pyproject.toml", "README.md", "LICENSE")
LARGEST = 15 * 2**20  # bytes of a wheel: everybody downloads it
PASSES = 4


def environment(tree: Path, cpu: str) -> dict[str, str]:
    """Numba compiles for `cpu`, for no feature of this machine beyond it, and keeps kernels in the tree."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    target = {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""}
    return kept | threads | target | {"PYTHONPATH": os.pathsep.join([str(tree / "src"), str(ROOT / "tests")])}


def copy_sources(tree: Path) -> None:
    """The package as a clone has it, without anything that was compiled in the checkout."""
    tree.mkdir(parents=True, exist_ok=True)
    for path in tree.rglob("*"):
        if path.is_file() and path.parent.name != "__pycache__":
            path.unlink()  # of an earlier build; what has been compiled since is stamped with its sources
    for name in PARTS:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
            shutil.copytree(source, tree / name, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copy2(source, tree / name)
    shutil.rmtree(tree / "src" / "perp" / "compilation" / "kernels", ignore_errors=True)


def collect(tree: Path, used: dict[str, list[int]]) -> int:
    """Put the kernels that were used into the folder that goes into the wheel; returns their bytes."""
    total = 0
    package = tree / "src" / "perp"
    folder = package / "compilation" / "kernels"
    for index, names in used.items():
        path = Path(index)
        place = folder / path.parent.parent.relative_to(package)
        place.mkdir(parents=True, exist_ok=True)
        for name in (path.name, *names):
            total += shutil.copy2(path.parent / name, place / name).stat().st_size
    return total


def main() -> int:
    """Build the wheel and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--quick", action="store_true", help="only what the README needs")
    parser.add_argument("--work", type=Path, help="keep what is compiled here, for the next build")
    options = parser.parse_args()
    out = options.out.resolve()
    sys.path.insert(0, str(ROOT / "src"))
    from perp.compilation import shipped

    with ExitStack() as stack:
        name = str(options.work or stack.enter_context(tempfile.TemporaryDirectory()))
        tree = Path(name).resolve() / "perp"
        copy_sources(tree)
        around = environment(tree, shipped.CPU)
        if not options.quick:
            # On all cores; what the processes have compiled is loaded by the passes that follow.
            subprocess.run([sys.executable, "-m", "perp.cli", "warm-up"], env=around, cwd=name, check=True)
        notes = Path(name) / "used.json"
        work = ["--quick"] if options.quick else []
        for number in range(1, PASSES + 1):
            subprocess.run(
                [sys.executable, ROOT / "packaging" / "drive.py", notes, *work],
                env=around, cwd=name, check=True,
            )  # fmt: skip
            result = json.loads(notes.read_text(encoding="utf-8"))
            print(f"pass {number}: {len(result['compiled'])} compiled, {len(result['used'])} kernels loaded")
            if not result["compiled"]:
                break
        else:
            print(f"passes never end: still compiled: {result['compiled']}", file=sys.stderr)
            return 1
        size = collect(tree, result["used"])
        facts = tree / "src" / "perp" / "compilation" / "kernels" / "facts.json"
        facts.write_text(json.dumps(shipped.facts(), indent=1), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
        subprocess.run([*command, "--wheel-dir", out, tree], check=True)
    [wheel] = sorted(out.glob("perp-*-cp*.whl"), key=lambda path: path.stat().st_mtime)[-1:]
    packed = wheel.stat().st_size
    print(f"{wheel}: {packed / 2**20:.1f} MB, kernels {size / 2**20:.1f} MB unpacked")
    if packed > LARGEST:
        print(f"more than {LARGEST / 2**20:.0f} MB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
