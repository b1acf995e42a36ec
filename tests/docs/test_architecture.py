"""docs/architecture.md is true: the layers hold, and a solver is one new file."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "perp"
LAYERS = re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE)
# methods that users expect on the objects: `save`, what notebooks call, pages and films of a recording
UPWARD = {
    ("problems/saving.py", "files"), ("problems/solution.py", "files"), ("problems/saving.py", "view"),
    ("problems/solution.py", "view"), ("solvers/listing.py", "view"), ("simulation/simulation.py", "view"),
    ("simulation/recordings/recording.py", "view"), ("simulation/sweeps/table.py", "view"),
    ("simulation/access.py", "view"),
}  # fmt: skip


def imported_layers(module: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("perp.")}


def test_the_page_lists_the_folders_that_exist() -> None:
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert set(LAYERS) == folders


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_those_above_it(layer: str) -> None:
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    modules = sorted((SOURCE / layer).glob("**/*.py"))
    assert modules
    for module in modules:
        name = module.relative_to(SOURCE).as_posix()
        wrong = {found for found in imported_layers(module) - allowed if (name, found) not in UPWARD}
        assert not wrong, f"{name} imports {wrong}"


def test_a_solver_is_one_new_file_that_is_found_by_itself(tmp_path: Path) -> None:
    solver, usage = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    family = tmp_path / "projection"
    family.mkdir()
    (family / "damped_jacobi.py").write_text(solver, encoding="utf-8")
    in_family = f"import perp.solvers.projection as family\nfamily.__path__.append({str(family)!r})\n"
    check = "[info] = [info for info in perp.solvers() if info.name == 'damped-jacobi']\nprint(info.family)"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", in_family + usage + check],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "projection"
