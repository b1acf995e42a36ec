"""Kernels as parts of others and as wholes that Python calls: same results, whoever calls, wherever kept."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import config, float64, int64, njit

from compilation import mini_package
from perp.compilation.kernel import Kernel, kernel, part, whole
from perp.compilation.library import PartLibrary

TABLE = np.arange(4.0)


@kernel
def square(x):
    return x * x


@kernel
def guarded(x):
    if x < 0.0:
        raise ValueError("negative")
    return np.sqrt(x) + TABLE[2]


@kernel(error_model="numpy")
def outer(x):
    return square(x) + guarded(x) + square(2.0)


@pytest.fixture(autouse=True, scope="module")
def empty_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is compiled here is looked at: an earlier run of the tests must not have done it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
        for each in (square, guarded, outer):
            each.enable_caching()
        yield


def test_python_calls_a_whole_that_contains_its_parts() -> None:
    assert outer(4.0) == 16.0 + 4.0 + 4.0
    assert isinstance(outer, Kernel)
    assert [type(part.library) for part in square.parts.values()] == [PartLibrary]
    assert not square.overloads  # nobody called it from Python
    assert square(3.0) == 9.0
    assert square(3) == 9
    assert outer(9.0) == 81.0 + 5.0 + 4.0


def test_errors_of_parts_reach_python() -> None:
    with pytest.raises(ValueError, match="negative"):
        outer(-1.0)
    with pytest.raises(ValueError, match="negative"):
        guarded(-1.0)


def test_constants_make_no_variants() -> None:
    @kernel
    def double(x):
        return 2 * x

    @njit
    def constants(x):
        return double(2) + double(3) + double(x)

    assert constants(4) == 18
    assert [*double.parts] == [(int64,)]


def test_functions_of_users_call_kernels() -> None:
    @njit
    def users(x):
        return outer(x) + 1.0

    assert users(4.0) == 25.0
    assert outer(4.0) == 24.0


def test_what_is_not_changed_is_not_typed_again(tmp_path: Path) -> None:
    package = mini_package.make(tmp_path)
    assert mini_package.run(package)[:2] == (21.0, 3)
    caller = package / "caller.py"
    caller.write_text(caller.read_text().replace("+ 1.0", "+ 2.0"))
    # The part `scaled` is found on disk, and linked into the new whole.
    assert mini_package.run(package)[:2] == (22.0, 1)
    assert mini_package.run(package)[:2] == (22.0, 0)


def test_a_part_that_was_kept_can_be_called_from_python(tmp_path: Path) -> None:
    package = mini_package.make(tmp_path)
    mini_package.run(package)
    code = "from perp.callee import scaled\nfrom perp.pairs import Pair\nprint(scaled(Pair(3.0, 0.0)))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == 30.0


class Few(NamedTuple):
    x: np.ndarray
    number: int
    flags: np.ndarray


class Many(NamedTuple):
    matrix: np.ndarray
    few: Few
    factor: float
    words: np.ndarray
    last: tuple[np.ndarray, np.ndarray]


@kernel
def weigh(many, scale, pair):
    if scale < 0.0:
        raise ValueError("negative")
    total = many.matrix[1, 2] * many.factor + many.few.x[1] + many.words[0] + many.few.number
    many.few.x[0] += 1.0
    return (total + many.few.flags[1] + many.last[1][0] + pair[1][1]) * scale


def test_arguments_of_all_kinds_are_taken_and_given_back() -> None:
    few = Few(np.array([1.0, 2.0]), 7, np.array([False, True]))
    words = np.array([3], np.int32)
    last = (np.zeros(1), np.full(1, 1000.0))
    many = Many(np.arange(12.0).reshape(3, 4)[:, ::1], few, 0.5, words, last)
    pair = (np.zeros(2), np.array([0.0, 1e4]))
    given = [many.matrix, few.x, few.flags, words, *last, *pair]
    expected = 3.0 + 2.0 + 3 + 7 + 1 + 1000.0 + 1e4
    assert weigh(many, 2.0, pair) == 2.0 * expected
    before = [sys.getrefcount(each) for each in given]
    for _ in range(3):
        assert weigh(many, 1.0, pair) == expected
        with pytest.raises(ValueError, match="negative"):
            weigh(many, -1.0, pair)
    assert [sys.getrefcount(each) for each in given] == before
    assert few.x[0] == 5.0


def test_kernels_are_found_again_by_module_and_name() -> None:
    module, name, _ = outer.part((float64,)).library.origin
    assert getattr(importlib.import_module(module), name) is outer


@kernel(shared=True)
def cube(x):
    if x > 1e3:
        raise ValueError("large")
    return x * x * x


@kernel
def one_more(x):
    return cube(x) + 1.0


def test_a_shared_kernel_is_translated_once_and_called_as_it_is() -> None:
    for each in (cube, one_more):
        each.enable_caching()
    assert one_more(2.0) == 9.0
    assert [*cube.overloads] == [(float64,)]
    assert not cube.parts
    assert cube(3.0) == 27.0
    with pytest.raises(ValueError, match="large"):
        one_more(1e4)

    @njit
    def users(x):
        return one_more(x) + cube(x)

    assert users(2.0) == 17.0


@part(shared=True)
def fourth(x):
    if x > 1e3:
        raise ValueError("large")
    return x * x * x * x


@kernel
def fourth_and_more(x):
    return fourth(x) + 1.0


def test_a_shared_part_is_translated_once_and_python_cannot_call_it() -> None:
    for each in (fourth, fourth_and_more):
        each.enable_caching()
    assert fourth_and_more(2.0) == 17.0
    with pytest.raises(ValueError, match="large"):
        fourth_and_more(1e4)
    assert [*fourth.overloads] == [(float64,)]
    assert not fourth.parts
    with pytest.raises(TypeError, match="a part of kernels"):
        fourth(2.0)
    assert whole(fourth)(3.0) == 81.0


@pytest.mark.parametrize("decorator", ["@kernel(shared=True)", "@part(shared=True)"])
def test_whoever_calls_a_shared_kernel_finds_it_in_another_process(tmp_path: Path, decorator: str) -> None:
    package = mini_package.make(tmp_path)
    callee, caller = package / "callee.py", package / "caller.py"
    text = callee.read_text().replace("@kernel", decorator).replace("import kernel", "import kernel, part")
    callee.write_text(text)
    assert mini_package.run(package)[:2] == (21.0, 3)
    assert mini_package.run(package)[:2] == (21.0, 0)
    caller.write_text(caller.read_text().replace("+ 1.0", "+ 2.0"))
    assert mini_package.run(package)[:2] == (22.0, 1)
    (package / "lengths.py").write_text("FACTOR = 5.0\n")
    assert mini_package.run(package)[:2] == (12.0, 2)
    assert mini_package.run(package)[:2] == (12.0, 0)


def test_a_shared_kernel_that_was_loaded_for_another_can_be_called_from_python(tmp_path: Path) -> None:
    package = mini_package.make(tmp_path)
    callee, caller = package / "callee.py", package / "caller.py"
    callee.write_text(callee.read_text().replace("@kernel", "@kernel(shared=True)"))
    mini_package.run(package)
    caller.write_text(caller.read_text().replace("+ 1.0", "+ 2.0"))
    code = (
        "from perp.caller import total\nfrom perp.callee import scaled\nfrom perp.pairs import Pair\n"
        "print(total(Pair(2.0, 0.0)), scaled(Pair(3.0, 0.0)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["22.0", "30.0"]
    assert done.stderr == ""
