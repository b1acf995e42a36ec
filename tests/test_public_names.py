"""`perp.solvers` is a function to users and a package to Python; both must work in any order."""

from __future__ import annotations

import subprocess
import sys

import pytest

ORDERS = [
    "import perp; assert perp.solvers(); perp.solve",
    "import perp; perp.solve; assert perp.solvers()",
    "import perp, perp.solvers.registry; assert perp.solvers(); perp.solvers.registry.find",
    "import perp; perp.solvers(); import perp.solvers.registry as registry; registry.find",
    "import perp; perp.load; perp.solvers(); from perp.solvers import solvers; assert solvers()",
]


@pytest.mark.parametrize("code", ORDERS)
def test_solvers_can_be_called_and_imported_from(code: str) -> None:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_every_error_that_a_user_may_catch_is_public() -> None:
    import perp

    for name in perp.__all__:
        getattr(perp, name)  # what is imported on first use
    kinds = {kind.__name__ for kind in _below(perp.PerpError) if kind.__module__.startswith("perp.")}
    assert {"DerivativeError", "SceneError", "StepFailed"} <= kinds
    assert kinds - {"CollisionError"} <= set(perp.__all__)


def _below(kind: type) -> set[type]:
    return {kind}.union(*(_below(child) for child in kind.__subclasses__()))
