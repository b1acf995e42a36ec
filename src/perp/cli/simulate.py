"""`perp simulate SCENE`: run a scene, record it, and say what the run is worth."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from perp.cli.candidates import Control, Formulation, Keyframe, Pose, Solver
from perp.cli.named_values import read_number, read_options
from perp.cli.running import CommandRun, finish
from perp.files.writing import check_writable
from perp.problems import ProblemError
from perp.scenes import SceneError
from perp.solvers.registry import unknown

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation

DEFAULT_TIME = 5.0


def simulate(
    scene: Path | None = None,
    /,
    *,
    time: float | None = None,
    step: float | None = None,
    level: str | None = None,
    coordinates: Literal["maximal", "reduced"] | None = None,
    solver: Solver | None = None,
    formulation: Formulation = None,
    options: list[str] | None = None,
    restitution: float | None = None,
    keyframe: Keyframe = None,
    free_base: bool = False,
    ground: bool = False,
    hold: Literal["servos", "locked"] | None = None,
    motors: Literal["force", "velocity"] | None = None,
    pose: Pose = None,
    control: Control = None,
    out: Path | None = None,
    force: bool = False,
    resume: Path | None = None,
    html: Path | None = None,
    view: bool = False,
    strict: bool = False,
    json: bool = False,
) -> int:
    """Run SCENE. Exit code 0: all steps taken, 1: a step failed, 2: bad input.

    Args:
        scene: An MJCF or URDF file; none with --resume.
        time: Simulated time at the end [s]; 5 when not given, or what the resumed run was to reach.
        step: Length of a step [s]; that of the file when not given.
        level: Where joints and gaps are enforced: position (no drift) or velocity; for each alone
            joints=position,contacts=velocity.
        coordinates: maximal has joints as constraints, reduced has joint coordinates; when not given,
            reduced for robots (joints with motors or rotors) and for what only they carry, else maximal.
        solver: Contact solver; `perp solvers` lists them. Without one the stepper's own Newton kernel.
        formulation: What the solver is given in place of Coulomb's law: box, stewart-trinkle, dual, …; the
            run tells how far that is from Coulomb.
        options: NAME=VALUE for a setting of the stepper (tolerance, newton_steps, rounds, correction,
            compliance, softness, recovery_speed, sleep, solver_iterations) or an option of the solver, as
            often as needed. By kind and joint: correction='{"joints": 0.1, "knee": 0.5}'.
        restitution: Of all contacts, from 0 (none bounces) to 1; scene files have no such attribute.
        keyframe: Start from this keyframe of the scene.
        free_base: Let the root of the robot move; a URDF's is fixed to the world without this.
        ground: Add a level plane, for robots whose file has none.
        hold: Drive joints without a motor to where they start, or lock them there.
        motors: Give joints without a motor one, named after the joint.
        pose: NAME=VALUE for the start of a joint [rad or m], as often as needed.
        control: NAME=VALUE for a motor, as often as needed; it holds for the whole run.
        out: Record the run in this .h5 file, chunk by chunk.
        force: Replace an existing file.
        resume: Go on with a recording, up to the same bits as a run that was never stopped.
        html: Write the run as one page that plays offline.
        view: Show the run in a page of this machine while it goes on, at real time, to pause, step, reset,
            slow down and push bodies with the mouse; it replays the run then until Ctrl-C.
        strict: Refuse a scene with anything that is not simulated.
        json: Print one JSON object in place of the table.
    """
    if html is not None:
        check_writable(html, (".html", ".htm"), "a page")
    if out is not None:
        check_writable(out, (".h5", ".hdf5"), "a recording")
    changed = {
        "SCENE": scene, "--step": step, "--level": level, "--coordinates": coordinates, "--solver": solver,
        "--formulation": formulation, "--options": options, "--restitution": restitution,
        "--keyframe": keyframe, "--out": out, "--control": control, "--free-base": free_base or None,
        "--ground": ground or None, "--hold": hold, "--motors": motors, "--pose": pose,
    }  # fmt: skip
    if resume is not None:
        given = [name for name, value in changed.items() if value is not None]
        if given:
            raise ProblemError(f"{given[0]} cannot be changed with --resume: the recording has it all")
        run = CommandRun.going_on(resume, time)
    elif scene is None:
        raise ProblemError("a scene file is needed, or --resume with a recording")
    else:
        arguments = {
            "level": read_level(level), "coordinates": coordinates, "solver": solver,
            "formulation": formulation, **read_settings(options, solver), "keyframe": keyframe, "hold": hold,
            "free_base": free_base, "ground": ground, "motors": motors, "restitution": restitution,
            "pose": dict(read_number("--pose", text) for text in pose) if pose else None,
        }  # fmt: skip
        simulation = _load(scene, step, arguments, strict=strict)
        if control:
            simulation.set_control(dict(read_number("--control", text) for text in control))
        run = CommandRun.begin(simulation, DEFAULT_TIME if time is None else time, out, force=force)
    if view:
        run.watch((resume or scene or Path("perp")).stem)
    code = run.go()
    finish(run, html=html, json=json)
    return code


def _load(scene: Path, step: float | None, options: dict[str, Any], *, strict: bool) -> Simulation:
    from perp.simulation.simulation import Simulation

    given = {name: value for name, value in options.items() if value is not None}
    simulation = Simulation(scene, step=step, **given)
    if strict and simulation.report.ignored:
        lines = "; ".join(simulation.report.lines())
        raise SceneError(f"{scene}: not all of it is simulated (--strict): {lines}")
    return simulation


def read_level(text: str | None) -> str | dict[str, str] | None:
    """`position`, `velocity`, or one for each as in `joints=position,contacts=velocity`."""
    if text is None or "=" not in text:
        return text
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)


def read_settings(texts: list[str] | None, solver: str | None) -> dict[str, Any]:
    """NAME=VALUE pairs as fields of `StepSettings`; those that it does not have are options of the solver."""
    from perp.stepping import StepSettings

    own = {field.name for field in fields(StepSettings)}
    own -= {"level", "solver", "formulation", "solver_options"}
    given = read_options(texts)
    settings = {name: value for name, value in given.items() if name in own}
    of_solver = {name: value for name, value in given.items() if name not in own}
    if of_solver and solver is None:
        raise ProblemError(f"--options: {unknown('setting', next(iter(of_solver)), sorted(own))}")
    return settings | ({"solver_options": of_solver} if of_solver else {})
