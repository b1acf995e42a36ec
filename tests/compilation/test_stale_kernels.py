"""A developer's edit is always seen: kernels are compiled anew when something changes that they are made of."""

from __future__ import annotations

import ast
import pkgutil
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from numba import njit
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

import perp
from compilation import mini_package
from compilation.mini_package import MODULES
from perp.compilation import sources
from perp.compilation.cache import KernelCache


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return mini_package.make(tmp_path)


def run(package: Path) -> tuple[float, int]:
    return mini_package.run(package)[:2]


@pytest.mark.parametrize(
    ("file", "old", "new", "result"),
    [
        ("callee", "FACTOR * pair", "5.0 + pair", 8.0),
        ("lengths", "10.0", "20.0", 41.0),
        ("pairs", "first: float\n    second", "second: float\n    first", 31.0),
    ],
    ids=["a kernel in another file", "a constant in a file without kernels", "the order of a tuple's fields"],
)
def test_an_edit_elsewhere_is_seen(package: Path, file: str, old: str, new: str, result: float) -> None:
    assert run(package) == (21.0, 3)
    assert run(package) == (21.0, 0)
    path = package / f"{file}.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    found, compiled = run(package)
    assert found == result
    assert compiled >= 2
    assert run(package) == (result, 0)


def test_an_edit_of_something_else_compiles_nothing(package: Path) -> None:
    run(package)
    (package / "bystander.py").write_text("import perp.caller\n")
    assert run(package) == (21.0, 0)
    # Only what depends on it is compiled again, and it replaces its old files.
    before = sorted(path.name for path in package.rglob("*.nb?"))
    (package / "apart.py").write_text("# moved down a line\n" + MODULES["apart"])
    assert run(package) == (21.0, 1)
    assert sorted(path.name for path in package.rglob("*.nb?")) == before


def test_a_type_whose_module_has_gone_is_no_obstacle(package: Path) -> None:
    # what is kept names the types of arguments by their modules
    home, pairs = package / "home.py", package / "pairs.py"
    home.write_text(MODULES["pairs"])
    pairs.write_text("from perp.home import Pair\n")
    assert run(package)[0] == 21.0
    home.unlink()
    pairs.write_text(MODULES["pairs"])
    assert run(package)[0] == 21.0


def test_kernels_of_a_file_share_its_stamp_until_it_is_loaded_again(tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    file.write_text("one = 1\n")
    old = sources.stamp(file, "first")
    file.write_text("one = 1.0\n")  # while the module is loaded: its kernels are made of what was read before
    assert sources.stamp(file, "second") == old
    new = sources.stamp(file, "first")
    assert new == sources.stamp(file, "second") == sources.digest(file) != old


def test_functions_of_others_keep_the_cache_of_numba(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "users.py"
    path.write_text("def twice(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    dispatcher = njit(cache=True)(import_module("users").twice)
    assert type(vars(dispatcher)["_cache"]) is FunctionCache
    assert dispatcher(2) == 4


def kernels() -> list[Dispatcher]:
    """Every cached kernel of the package."""
    for info in pkgutil.walk_packages(perp.__path__, "perp."):
        base = sources.PACKAGE.joinpath(*info.name.split(".")[1:])
        file = base / "__init__.py" if info.ispkg else base.with_suffix(".py")
        if "compilation.kernel" in file.read_text(encoding="utf-8"):
            import_module(info.name)
    found = {}
    for module in [module for name, module in sys.modules.items() if name.startswith("perp.")]:
        for value in vars(module).values():
            if isinstance(value, Dispatcher) and isinstance(vars(value)["_cache"], KernelCache):
                found[id(value)] = value
    return list(found.values())


def names(code: CodeType) -> set[str]:
    return {
        *code.co_names,
        *(name for inner in code.co_consts if isinstance(inner, CodeType) for name in names(inner)),
    }


def origin(value: Any) -> Path | None:
    """The file of the package that defines what a kernel refers to, if it tells."""
    if isinstance(value, Dispatcher):
        value = value.py_func
    if isinstance(value, FunctionType):
        return Path(value.__code__.co_filename)
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
    if isinstance(value, type | ModuleType) and re.match(r"perp(\.|$)", name):
        return Path(sys.modules[name].__file__ or "")
    return None


@cache
def constants_from_elsewhere(file: Path) -> dict[str, Path]:
    """Names that a file imports from modules of the package which do not define them."""
    found = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("perp"):
            module = Path(import_module(node.module or "").__file__ or "")
            text = module.read_text(encoding="utf-8")
            for alias in node.names:
                if not re.search(rf"^(?:[^\s#=][^#=\n]*\b)?{alias.name}\b", text, re.MULTILINE):
                    found[alias.asname or alias.name] = module
    return found


def test_the_stamp_covers_everything_that_a_kernel_refers_to() -> None:
    found = kernels()
    assert len(found) > 50
    files, covered = {}, cache(sources.parts)
    for kernel in found:
        function = kernel.py_func
        file = Path(function.__code__.co_filename)
        for name in names(function.__code__) & function.__globals__.keys():
            where = origin(function.__globals__[name])
            if where is not None and where.is_relative_to(sources.PACKAGE):
                said = f"{file.name}: {function.__name__} refers to {name} in {where.name}"
                assert where in covered(file), said
            if isinstance(function.__globals__[name], bool | int | float | str | tuple):
                assert name not in constants_from_elsewhere(file), (
                    f"{file.name}: import {name} from its own module"
                )
        # Entries are told apart by module and name alone.
        files.setdefault((file, function.__qualname__), set()).add(id(kernel))
    assert all(len(same) == 1 for same in files.values())


def test_kernel_modules_import_by_full_name() -> None:
    for path in sources.PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*from\s+\.", text, re.MULTILINE), (
            f"{path}: relative imports are not followed"
        )
