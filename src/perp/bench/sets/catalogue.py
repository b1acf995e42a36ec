"""The test sets by name, and how a name, a folder or a class of the user's own becomes one."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from perp.bench.sets.base import MadeSet, TestSet
from perp.bench.sets.folder import FolderSet
from perp.bench.sets.frames import FrameSet
from perp.bench.sets.generated import contacts, generated_lcps, mixtures, motors
from perp.bench.sets.large import large_lcps
from perp.bench.sets.literature import literature
from perp.bench.sets.mcp.literature import mcp_literature
from perp.problems.errors import ProblemError
from perp.solvers.registry import unknown


@dataclass(frozen=True)
class SetInfo:
    """What is known of a test set."""

    summary: str
    build: Callable[..., TestSet]  # makes the set; from a path when `needs_path` or `takes_path`
    needs_path: bool = False  # whether `--path` must say where its files are
    takes_path: bool = False  # whether `--path` may name something in place of what is built in


def _files(name: str, summary: str, *patterns: str, **options: object) -> SetInfo:
    def build(path: Path) -> TestSet:
        return FolderSet(path, name=name, patterns=patterns or ("*",), **options)  # type: ignore[arg-type]

    return SetInfo(summary, build, needs_path=True)


CATALOGUE: dict[str, SetInfo] = {
    **{
        name: SetInfo(summary, partial(MadeSet, name, make))
        for name, summary, make in (
            ("lcp-literature", "LCPs of the literature, with the exponential families", literature),
            ("lcp-large", "large sparse LCPs: obstacles, bearings, options; up to 10⁵ unknowns", large_lcps),
            ("mcp-literature", "MCPs of the literature, each from several starts", mcp_literature),
            ("lcp-generated", "LCPs: definite, nonsymmetric, rank-deficient, contact", generated_lcps),
            ("boxed", "boxed LCPs: motors with torque limits", motors),
            ("friction-index", "boxed LCPs of rank-deficient contacts with friction index", contacts),
            ("random-contacts", "random mixtures of all sets, meant to be nasty", mixtures),
        )
    },
    "frames": SetInfo("contact problems of simulated scenes, cold", FrameSet, takes_path=True),
    "frames-warm": SetInfo(
        "the same from the impulses of the step before", partial(FrameSet, warm=True), takes_path=True
    ),
    "fclib": _files("fclib", "a folder of FCLib files (.hdf5)", suffixes=(".hdf5", ".h5")),
    "folder": SetInfo("every problem file below a folder", FolderSet, needs_path=True),
    "fc3d": _files("fc3d", "Siconos's reduced problems, exact Coulomb friction", "fc3d__*"),
    "fc2d": _files("fc2d", "Siconos's reduced problems in the plane", "fc2d__*"),
    "rolling": _files("rolling", "Siconos's problems with rolling friction", "rfc3d__*", "grfc3d__*"),
    "global": _files("global", "Siconos's global problems, with mass and Jacobian", "gfc3d__*", "gfc2d__*"),
    "lcp-files": _files(
        "lcp-files", "Siconos's LCPs, mixed LCPs and relays", "lcp__*", "mlcp__*", "relay__*"
    ),
    "relaxed": _files(
        "relaxed", "the convex relaxation of reduced contact problems", "fc3d__*", relaxed=True
    ),
    "guesses": _files("guesses", "contact problems that come with a warm start, from it", guesses=True),
}


def find_set(name: str, path: Path | None = None) -> TestSet:
    """A test set by name, or by `module:Class`; `path` is the folder of sets that are files."""
    module, colon, attribute = name.partition(":")
    if colon:
        return _imported(module, attribute, path)
    info = CATALOGUE.get(name)
    if info is None:
        raise ProblemError(unknown("test set", name, list(CATALOGUE)))
    if info.needs_path and path is None:
        raise ProblemError(f"the test set {name} is read from files: say where with --path DIR")
    if path is not None and (info.needs_path or info.takes_path):
        return info.build(path)
    if path is not None:
        raise ProblemError(f"the test set {name} is not read from files: leave out --path")
    return info.build()


def _imported(module: str, attribute: str, path: Path | None) -> TestSet:
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ProblemError(f"the test set {module}:{attribute} cannot be imported: {error}") from None
    built = found(path) if path is not None else found()
    if not (hasattr(built, "name") and hasattr(built, "problems")):
        raise ProblemError(f"{module}:{attribute} is not a test set: it needs a name and problems()")
    return cast(TestSet, built)
