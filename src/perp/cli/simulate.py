"""`perp simulate SCENE`: run a scene, record it, and say what the run is worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from perp.cli.outputs import check_writable

if TYPE_CHECKING:
    from perp.simulation import Simulation

DEFAULT_TIME = 5.0
DEFAULT_STEP = 0.01

Flag = Annotated[bool, Parameter(negative=())]
Several = Annotated[list[str] | None, Parameter(consume_multiple=False, negative=())]


def simulate(
    scene: Path | None = None,
    /,
    *,
    time: float | None = None,
    step: float | None = None,
    level: Literal["position", "velocity"] | None = None,
    coordinates: Literal["maximal", "reduced"] | None = None,
    solver: str | None = None,
    keyframe: str | None = None,
    free_base: Flag = False,
    ground: Flag = False,
    hold: Literal["servos", "locked"] | None = None,
    pose: Several = None,
    control: Several = None,
    out: Path | None = None,
    force: Flag = False,
    resume: Path | None = None,
    html: Path | None = None,
    view: Flag = False,
    strict: Flag = False,
    json: Flag = False,
) -> int:
    """Run SCENE. Exit code 0: all steps taken, 1: a step failed, 2: bad input.

    Args:
        scene: An MJCF or URDF file; none with --resume.
        time: Simulated time at the end [s]; 5 when not given, or what the resumed run was to reach.
        step: Length of a step [s]; 0.01 when not given.
        level: Where joints and gaps are enforced; position leaves no drift.
        coordinates: maximal has joints as constraints, reduced has joint coordinates.
        solver: Contact solver; `perp solvers` lists them.
        keyframe: Start from this keyframe of the scene.
        free_base: Let the root of the robot move; a URDF's is fixed to the world without this.
        ground: Add a level plane, for robots whose file has none.
        hold: Drive joints without a motor to where they start, or lock them there.
        pose: NAME=VALUE for the start of a joint [rad or m], as often as needed.
        control: NAME=VALUE for a motor, as often as needed; it holds for the whole run.
        out: Record the run in this .h5 file, chunk by chunk.
        force: Replace an existing file.
        resume: Go on with a recording, up to the same bits as a run that was never stopped.
        html: Write the run as one page that plays offline.
        view: Show the run in a local web page while it goes on, and replay it then until Ctrl-C.
        strict: Refuse a scene with anything that is not simulated.
        json: Print one JSON object in place of the table.
    """
    from perp.cli.running import Run, finish
    from perp.problems import ProblemError

    if view:
        from perp.view import web

        web.engine()  # before anything is written, not after the run
    if html is not None:
        check_writable(html, (".html", ".htm"), "a page")
    if out is not None:
        check_writable(out, (".h5", ".hdf5"), "a recording")
    changed = {
        "SCENE": scene, "--step": step, "--level": level, "--coordinates": coordinates, "--solver": solver,
        "--keyframe": keyframe, "--out": out, "--control": control, "--free-base": free_base or None,
        "--ground": ground or None, "--hold": hold, "--pose": pose,
    }  # fmt: skip
    if resume is not None:
        given = [name for name, value in changed.items() if value is not None]
        if given:
            raise ProblemError(f"{given[0]} cannot be changed with --resume: the recording has it all")
        run = Run.going_on(resume, time)
    elif scene is None:
        raise ProblemError("a scene file is needed, or --resume with a recording")
    else:
        options = {
            "level": level, "coordinates": coordinates, "solver": solver, "keyframe": keyframe, "hold": hold,
            "free_base": free_base, "ground": ground,
            "pose": dict(_value("--pose", text) for text in pose) if pose else None,
        }  # fmt: skip
        simulation = _load(scene, DEFAULT_STEP if step is None else step, options, strict=strict)
        if control:
            simulation.set_control(dict(_value("--control", text) for text in control))
        run = Run.begin(simulation, DEFAULT_TIME if time is None else time, out, force=force)
    if view:
        run.watch()
    code = run.go()
    finish(run, html=html, json=json)
    return code


def _load(scene: Path, step: float, options: dict[str, Any], *, strict: bool) -> Simulation:
    from perp.scenes import SceneError
    from perp.simulation import Simulation

    given = {name: value for name, value in options.items() if value is not None}
    simulation = Simulation(scene, step=step, **given)
    if strict and simulation.report.ignored:
        lines = "; ".join(f"{element}: {why}" for element, why in simulation.report.ignored)
        raise SceneError(f"{scene}: not all of it is simulated (--strict): {lines}")
    return simulation


def _value(option: str, text: str) -> tuple[str, float]:
    from perp.problems import ProblemError

    name, equals, value = text.rpartition("=")
    try:
        if not equals:
            raise ValueError
        return name, float(value)
    except ValueError:
        raise ProblemError(f"{option} {text}: NAME=VALUE with a number is needed") from None
