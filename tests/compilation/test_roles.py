"""`@kernel` marks what Python calls, `@part` what only compiled code calls: the former are few."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from perp.compilation.kernel import Kernel, Part, kernel, part, whole
from perp.compilation.sources import PACKAGE


@part
def square(x):
    return x * x


@kernel
def shifted(x):
    return square(x) + 1.0


def test_python_calls_kernels_and_not_their_parts() -> None:
    assert shifted(3.0) == 10.0
    with pytest.raises(TypeError, match="square is a part of kernels, which Python does not call"):
        square(3.0)
    assert isinstance(square, Part)
    assert whole(square)(3.0) == 9.0
    assert type(whole(square)) is Kernel
    assert whole(square) is whole(square)


def decorator(function: ast.FunctionDef) -> str:
    """`kernel`, `part`, or nothing where a function is not compiled."""
    for each in function.decorator_list:
        name = each.func if isinstance(each, ast.Call) else each
        if isinstance(name, ast.Name):
            return name.id.removeprefix("pivot_")
    return ""


def names_in_python(node: ast.AST) -> Iterator[str]:
    """What code that is not compiled names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and decorator(child) in ("kernel", "part"):
            continue
        if isinstance(child, ast.Name):
            yield child.id
        elif isinstance(child, ast.Attribute):
            yield child.attr
        yield from names_in_python(child)


def is_shared(function: ast.FunctionDef) -> bool:
    return any("shared=True" in ast.unparse(each) for each in function.decorator_list)


def test_whatever_is_marked_as_a_kernel_is_called_by_python() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    named = {name for tree in trees for name in names_in_python(tree)}
    functions = [each for tree in trees for each in tree.body if isinstance(each, ast.FunctionDef)]
    kernels = [each for each in functions if decorator(each) == "kernel"]
    # other kernels call the machine code of those that are shared
    assert [each.name for each in kernels if each.name not in named and not is_shared(each)] == []
    assert 50 < len(kernels) < 150
