"""Kernels that a wheel carries: compiled for x86-64-v3 (Haswell, 2013, and later), which keeps AVX2 and FMA.

Machine code for an older target runs on every newer processor. So nothing is asked of numba's own target,
which users' code is compiled for; only the entries are looked up under the name of the target that they were
made for. They are used only where numba, llvmlite and Python are the ones that made them, and where the
processor has what the target promises. Changed sources of perp are seen by the stamp of each kernel.
"""

from __future__ import annotations

import json
import platform
import sys
from functools import cache

from perp.compilation.sources import PACKAGE

FOLDER = PACKAGE / "compilation" / "kernels"
FACTS = FOLDER / "facts.json"
CPU = "x86-64-v3"
# What x86-64-v3 adds to the first 64-bit processors, in LLVM's words (x86-64 psABI, micro-architecture
# levels).
FEATURES = (
    "cx16", "sahf", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3",
    "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe",
)  # fmt: skip


def facts() -> dict[str, str]:
    """What has to be equal where kernels are compiled and where they are used."""
    import llvmlite
    import numba

    return {
        "python": f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}",
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }


@cache
def mismatch() -> str | None:
    """Why the kernels that came with perp cannot be used here; None where they can, or where none came."""
    if not FACTS.is_file():
        return None
    here = facts()
    for name, wanted in json.loads(FACTS.read_text(encoding="utf-8")).items():
        if here.get(name) != wanted:
            return f"they are for {name} {wanted}, here is {here.get(name)}"
    missing = missing_features()
    return f"this processor lacks {', '.join(missing)}" if missing else None


def missing_features() -> list[str]:
    """What the target promises and this processor does not have."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    return [name for name in FEATURES if not features.get(name)]


@cache
def fits() -> bool:
    """Whether there are kernels that came with perp, and this machine can use them."""
    return FACTS.is_file() and mismatch() is None
