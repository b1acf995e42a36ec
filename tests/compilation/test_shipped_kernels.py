"""Kernels that came with perp are used where they fit, wherever it is installed; otherwise all is as usual."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compilation.mini_package import MODULES, make, run
from perp.compilation import shipped

FITS = platform.machine() == "x86_64" and not shipped.missing_features()
pytestmark = pytest.mark.skipif(not FITS, reason=f"this machine cannot run code for {shipped.CPU}")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small package with kernels that were compiled for another processor, elsewhere, as a wheel has them."""
    built = make(tmp_path_factory.mktemp("built"))
    target = {"NUMBA_CPU_NAME": shipped.CPU, "NUMBA_CPU_FEATURES": ""}
    assert run(built, **target) == (21.0, 3, "")
    assert run(built, **target) == (21.0, 0, "")
    package = make(tmp_path_factory.mktemp("installed"))
    kernels = package / "compilation" / "kernels"
    # What Python calls is enough: `caller.total` contains `callee.scaled`.
    for path in (built / "__pycache__").glob("*.nb?"):
        if not path.name.startswith("callee"):
            kernels.mkdir(exist_ok=True)
            shutil.copy2(path, kernels / path.name)
    (kernels / "facts.json").write_text(json.dumps(shipped.facts()))
    return package


@pytest.fixture
def package(installed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(installed, tmp_path / "perp"))


def test_nothing_is_compiled_and_nothing_written(package: Path) -> None:
    assert run(package) == (21.0, 0, "")
    assert not list((package / "__pycache__").glob("*.nb?"))


def test_changed_sources_are_compiled(package: Path) -> None:
    (package / "callee.py").write_text(MODULES["callee"].replace("FACTOR *", "5.0 +"))
    assert run(package) == (8.0, 2, "")
    assert run(package) == (8.0, 0, "")


def test_another_version_is_compiled_with_the_reason(package: Path) -> None:
    facts = package / "compilation" / "kernels" / "facts.json"
    facts.write_text(json.dumps({**shipped.facts(), "numba": "0.1"}))
    value, compiled, reason = run(package)
    assert (value, compiled) == (21.0, 3)
    assert reason == f"they are for numba 0.1, here is {shipped.facts()['numba']}"


@pytest.mark.parametrize("name", [*shipped.facts()])
def test_everything_that_has_to_be_equal_is_compared(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "FACTS", tmp_path / "facts.json")
    assert shipped.mismatch.__wrapped__() is None  # none came
    shipped.FACTS.write_text(json.dumps(shipped.facts()))
    assert shipped.mismatch.__wrapped__() is None
    shipped.FACTS.write_text(json.dumps({**shipped.facts(), name: "other"}))
    assert shipped.mismatch.__wrapped__() == f"they are for {name} other, here is {shipped.facts()[name]}"


def test_a_lesser_processor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from llvmlite import binding

    features = {**binding.get_host_cpu_features(), "avx2": False, "fma": False}
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: features)
    assert shipped.missing_features() == ["avx2", "fma"]


def test_where_nothing_can_be_written_kernels_are_compiled_and_not_kept(package: Path) -> None:
    shutil.rmtree(package / "compilation" / "kernels")
    # A file in the place of each folder that numba would write to: no rights are needed to be refused, root or not.
    shutil.rmtree(package / "__pycache__", ignore_errors=True)
    (package / "__pycache__").write_text("")
    home = package.parent / "home"
    home.write_text("")
    nowhere = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    assert run(package, **nowhere) == (21.0, 3, "")
    assert run(package, **nowhere) == (21.0, 3, "")


def test_code_of_users_is_compiled_for_their_machine(package: Path, tmp_path: Path) -> None:
    code = (
        "import perp.caller, numba\nfrom perp.pairs import Pair\nperp.caller.total(Pair(1.0, 2.0))\n"
        "@numba.njit\ndef twice(x):\n    return 2 * x\n"
        "twice(1.0)\nprint(numba.config.CPU_NAME, twice.targetctx.codegen().magic_tuple()[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(package.parent)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    from llvmlite import binding

    assert done.stdout.split() == ["None", binding.get_host_cpu_name()]
