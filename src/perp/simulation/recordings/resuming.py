"""A recorded run goes on: the simulation as it was after the last step of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from warnings import warn

from perp.files.reading import PathName
from perp.files.recordings import read_recording
from perp.problems import FileError, PerpError
from perp.scenes.stored import check_complete, compiled_scene
from perp.simulation.recordings.columns import unpack_shapes

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation


class OtherVersions(UserWarning):
    """A run goes on with other versions of perp or its packages: the last bits may differ."""


def simulation_of(path: PathName) -> Simulation:
    """The simulation at the end of a recording, ready to go on.

    Everything is in the recording: the compiled scene, the settings, and the whole state.
    """
    from perp.simulation.simulation import Simulation
    from perp.stepping import StepSettings

    about, groups = read_recording(path, ("scene", "snapshot", "geometry"))
    if not groups.get("scene") or not groups.get("snapshot"):
        raise FileError(path, "holds no scene and state to go on from: it was saved after the run")
    _compare_versions(path, about["versions"])
    scene = groups["scene"]
    names: Any = about["geom_names"]
    try:
        geometry = unpack_shapes(names, groups["geometry"])
        simulation = Simulation(
            compiled_scene(scene, geometry),
            step=about["step"],
            restitution=dict(zip(names, scene["restitution"].tolist(), strict=True)),
            settings=StepSettings(**about["settings"]),
            coordinates=about["coordinates"],
        )
        check_complete(simulation.model, scene)
        simulation.home = about.get("home")
        simulation.restore(groups["snapshot"])
        simulation.geometry = geometry  # the stored scene has no textures and triangles
    except (PerpError, LookupError, TypeError, ValueError) as error:
        raise FileError(path, f"cannot be continued: {error}") from error
    return simulation


def goal_of(path: PathName) -> tuple[float, float]:
    """When a recording begins, and how long its run was to last [s]."""
    _, groups = read_recording(path, ("start", "snapshot"))
    try:
        return float(groups["start"]["time"]), float(groups["snapshot"]["goal"])
    except (LookupError, TypeError) as error:
        raise FileError(path, f"does not say how long the run was to last: {error}") from None


def _compare_versions(path: PathName, then: dict[str, str]) -> None:
    from perp.simulation.recordings.recorder import versions

    now = versions()
    other = [f"{name} {then.get(name)} → {now[name]}" for name in now if then.get(name) != now[name]]
    if other:
        warn(f"{path}: goes on with other versions, so bits may differ: {', '.join(other)}", OtherVersions, 3)
