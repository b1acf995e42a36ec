"""`import perp` stays light."""

from __future__ import annotations

import subprocess
import sys

import perp


def test_import_loads_neither_numba_nor_scipy_sparse():
    heavy = "numba", "scipy.sparse", "h5py", "matplotlib", "rich", "cyclopts", "mujoco"
    code = f"import sys, perp; print([name for name in {heavy!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_public_name_exists():
    for name in perp.__all__:
        assert getattr(perp, name) is not None
    assert set(perp.__all__) <= set(dir(perp))
