"""Many runs over parameters, on local processes or on a Dask cluster, as one table.

table = perp.sweep("scene.xml", {"step": [0.01, 0.02], "level": ["position", "velocity"]}, seconds=2.0)
table["penetration"], table.to_csv("sweep.csv")

A parameter with the name of an argument of `Simulation` (step, level, solver, …) is given to it, and
"friction" sets the sliding friction of every shape. Everything else goes to `edit(spec, **parameters)`, which
changes the scene. A run that fails is a row with its error.
"""

import itertools
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from perp.files.reading import PathName
from perp.problems import PerpError, ProblemError
from perp.scenes import read_spec
from perp.scenes.engine import engine
from perp.scenes.mjcf import compile_scene
from perp.scenes.stored import pack_compiled, unpack_compiled
from perp.simulation.recordings.recording import Recording
from perp.simulation.recordings.summary import summarise
from perp.simulation.sweeps.running import Job, Place, Results, SweepProgress
from perp.simulation.sweeps.table import Table

__all__ = ["sweep"]

Edit = Callable[..., None]
Measure = Callable[["Recording"], Mapping[str, Any]]
_SETTINGS = (
    "step", "level", "coordinates", "solver", "restitution", "keyframe", "free_base", "ground", "hold",
    "pose", "motors",
)  # fmt: skip


def sweep(
    scene: Any,
    parameters: Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Any]],
    *,
    seconds: float,
    step: float | None = None,
    control: Any = None,
    edit: Edit | None = None,
    measure: Measure | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    executor: Executor | None = None,
    out: PathName | None = None,
    progress: bool | Callable[[SweepProgress], Any] = False,
    **options: Any,
) -> Table:
    """Run a scene for every combination of parameters.

    Args:
        scene: A path (that the workers can read), XML text, an MjSpec or an MjModel (which cannot be edited).
        parameters: Values by name, of which all combinations are run; or the combinations themselves.
        seconds: Simulated time of each run [s].
        step: Length of a step, unless it is a parameter [s]; that of the file by default.
        control: For the motors, unless it is a parameter.
        edit: Called as `edit(spec, **others)` with the MjSpec and the parameters that are no settings; a
            function of a module, as other processes must find it.
        measure: More columns from each recording; such a function too.
        workers: Local processes; one for each processor when None, none of them (this process) when 0.
        scheduler: Address of a Dask scheduler, for example "tcp://host:8786".
        executor: Any executor of `concurrent.futures`, also of other packages, in place of
            both; it stays open.
        out: A file to keep results in, one JSON line a run: a sweep that was interrupted goes on with it.
        progress: True for a line on stderr with rate and remaining time, or a function that is given a
            `SweepProgress` after every run.
        options: Further arguments of every `Simulation`.

    Returns:
        One row per combination, in order: the parameters, the figures of a `Summary`,
        what `measure` returned, and `error`, which is empty where all went well.

    Raises:
        ProblemError: The parameters make no sense, before anything is run.
    """
    rows = _combinations(parameters)
    others = sorted({name for row in rows for name in row} - {*_SETTINGS, "control", "friction", *_options()})
    if others and edit is None:
        known = ", ".join((*_SETTINGS, "control", "friction", *_options()))
        raise ProblemError(f"parameter {others[0]!r} is not a setting ({known}): pass edit= to use it")
    fixed = {"step": step, **options}
    text = _text(scene)
    jobs = [(text, row, fixed, seconds, control, edit, measure) for row in rows]
    driver = _name(control) if callable(control) else control
    about = repr((_content(text), sorted(fixed.items()), seconds, driver, _name(edit), _name(measure)))
    results = Results(rows, about, out, progress)
    todo = {i: jobs[i] for i in results.missing}
    Place(workers, scheduler, executor).do(_run, todo, results.keep)
    return Table([{**row, **result} for row, result in zip(rows, results.listed(), strict=True)])


def _content(scene: str | bytes) -> str | bytes:
    """What tells a scene from another: the text of a file, not its name, as files are edited."""
    if isinstance(scene, str) and "<" not in scene and Path(scene).is_file():
        return Path(scene).read_bytes()
    return scene


def _name(function: Any) -> str:
    return "" if function is None else f"{function.__module__}.{function.__qualname__}"


def _combinations(parameters: Any) -> list[dict[str, Any]]:
    if isinstance(parameters, Mapping):
        for name, values in parameters.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise ProblemError(f"parameters[{name!r}] = {values!r}: a list of values is needed")
        names, lists = list(parameters), [list(values) for values in parameters.values()]
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*lists)]
    rows = [dict(row) for row in parameters]
    reserved = {name for row in rows for name in row} & {"error"}
    if reserved:
        raise ProblemError("a parameter cannot be called 'error': the table has a column of that name")
    return rows


def _options() -> tuple[str, ...]:
    from perp.stepping import StepSettings

    return tuple(part.name for part in fields(StepSettings) if part.name not in _SETTINGS)


def _text(scene: Any) -> Any:
    """The scene in a form that another process, perhaps on another machine, can read: with its assets."""
    mujoco = engine()
    if isinstance(scene, mujoco.MjModel):
        return pack_compiled(scene)
    if isinstance(scene, mujoco.MjSpec):
        compile_scene(scene)  # a spec is written as XML once it has been compiled
        done = scene.copy()
        done.compile()
        return done.to_xml()
    return scene if isinstance(scene, str) else str(scene)


def _run(job: Job) -> dict[str, Any]:
    """One run; whatever goes wrong is its result."""
    scene, row, fixed, seconds, control, edit, measure = job
    began = time.perf_counter()
    try:
        recording = _simulate(scene, dict(row), fixed, seconds, control, edit)
        out = {
            **asdict(summarise(recording)),
            **(measure(recording) if measure is not None else {}),
            "error": "",
        }
    except Exception as error:  # noqa: BLE001 the other runs must go on, whatever a user's function raises
        kind = "" if isinstance(error, PerpError) else f"{type(error).__name__}: "
        out = {"error": f"{kind}{error}"}
    return {**out, "seconds": time.perf_counter() - began}


def _simulate(
    scene: Any, row: dict[str, Any], fixed: dict[str, Any], seconds: float, control: Any, edit: Edit | None
) -> Recording:
    from perp.simulation.simulation import Simulation
    from perp.stepping import StepInaccurate

    control = row.pop("control", control)
    friction = row.pop("friction", None)
    known = {*_SETTINGS, *_options()}
    settings = {**fixed, **{name: value for name, value in row.items() if name in known}}
    others = {name: value for name, value in row.items() if name not in known}
    simulation = Simulation(_edited(scene, friction, others, edit), **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepInaccurate)  # the column `missed` counts them
        return simulation.run(seconds, control)


def _edited(scene: Any, friction: float | None, others: dict[str, Any], edit: Edit | None) -> Any:
    if isinstance(scene, bytes):
        if friction is not None or others:
            raise ProblemError("an MjModel cannot be edited: pass the XML or the MjSpec")
        return unpack_compiled(scene)
    if friction is None and edit is None:
        return scene
    spec = read_spec(scene)
    if friction is not None:
        for geom in spec.geoms:
            geom.friction[0] = friction
        for pair in spec.pairs:
            pair.friction[:2] = friction
    if edit is not None:
        edit(spec, **others)
    return spec
