"""A scene that runs: state, stepper, controls and bodies by name.

sim = perp.Simulation("scene.xml", step=0.01)
sim.run(2.0)
sim.body("box").position
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self
from warnings import warn

import numpy as np

from perp.dynamics.state import State
from perp.problems import ContactProblem, ProblemError
from perp.problems.validation import check_finite, to_float
from perp.scenes import ImportReport, SceneError
from perp.scenes.engine import engine
from perp.scenes.geometry import Shape
from perp.scenes.staging import START, Staging, stage
from perp.simulation.arguments import Coordinates, positive, read_only, step_count, step_settings
from perp.simulation.mechanics import Mechanics
from perp.simulation.modifying import Changes, modify
from perp.simulation.start import (
    go_to_keyframe,
    load_for,
    mocap_of_file,
    overlaps,
    words_about_fixed_overlaps,
    words_about_start,
)
from perp.stepping import Level, StepFailed, StepInaccurate, Stepper, StepRecord, StepSettings
from perp.stepping.solving import check_pair

if TYPE_CHECKING:
    from perp.derivatives.step import StepDerivative, StepDifferentiator
    from perp.files.reading import PathName
    from perp.simulation.impacts import Substep
    from perp.simulation.recordings.recorder import Recorder
    from perp.simulation.recordings.recording import Recording
    from perp.view.live import LivePage


class Simulation(Mechanics):
    """A scene, its state, and how it is stepped.

    Args:
        scene: MJCF text, a path, an MjSpec, an MjModel or a Model.
        step: Length of a step [s]; that of the file by default.
        level: "position" (no drift) or "velocity", or a mapping with "joints" and "contacts".
        coordinates: "maximal" (bodies, with joints as constraints) or "reduced" (joint coordinates; the
            better choice for robots). By default reduced for robots, whose joints have motors or rotors, for
            `integrator="RK4"` and for scenes that only reduced ones carry wholly; else maximal.
        solver: Contact solver, a name from `perp.solvers()`; None is the stepper's own Newton kernel.
        formulation: What the solver is given in place of Coulomb's law, as in `perp.solve`: "box", "dual", ….
            Steps of a relaxation are judged as what they are; `record.coulomb_distance` tells the rest.
        strict: Raise `SceneError` where the scene asks for something that is not simulated.
        keyframe: Name or number of the keyframe to start from.
        restitution: For all shapes, or by geom name; scenes have no such attribute.
        free_base: Let the roots that the file fixes to the world move. A URDF does not say whether its root
            does: without this it is fixed.
        ground: Add a level plane, for robots whose file has none; a freed robot is put onto it.
        hold: "servos" drives joints without a motor to where they start, "locked" fixes them there.
        motors: "force" or "velocity" gives joints without a motor (those of a URDF) one that is named after
            the joint.
        pose: Where joints start, by name [rad or m].
        impacts: Divide steps where a contact bounces, so that impacts, and derivatives of what follows them,
            have their own time; see `perp.simulation.impacts`.
        settings: All options of the stepper; the arguments above take precedence where given.
        options: Single fields of `StepSettings`, by name.

    Attributes:
        start_note: What the start contradicted (joints, limits, shapes that overlap), what was moved so that
            it does not, and the keyframes there are; empty for nothing.
    """

    def __init__(
        self,
        scene: Any,
        *,
        step: float | None = None,
        level: str | Level | Mapping[str, str] | None = None,
        coordinates: str | Coordinates | None = None,
        solver: str | None = None,
        formulation: str | None = None,
        strict: bool = False,
        keyframe: str | int | None = None,
        restitution: float | Mapping[str, float] = 0.0,
        free_base: bool = False,
        ground: bool = False,
        hold: str | None = None,
        motors: str | None = None,
        pose: Mapping[str, float] | None = None,
        impacts: bool = False,
        settings: StepSettings | None = None,
        **options: Any,
    ) -> None:
        chosen = step_settings(settings, level, solver, formulation, options)
        staging, lines = Staging(free_base, ground, hold, pose, motors), []
        if staging:
            scene, lines = stage(scene, staging, keyframe)
            keyframe = START
        self.home = keyframe  # what `reset` goes back to
        self.model, self.coordinates = load_for(scene, coordinates, restitution, lines, chosen.integrator)
        length = float(self.model.shapes.opt.timestep) if step is None else step
        self.step_size, self._own_step = positive("step", length, "seconds"), step is not None
        if strict and self.model.report.ignored:
            raise SceneError(f"strict: the scene asks for what is not simulated:\n{self.model.report}")
        self.strict, self._warned = strict, False
        self._loaded, self._changes = self.model.shapes, Changes()
        self.stepper = Stepper(self.model, chosen, reduced=self.coordinates is Coordinates.REDUCED)
        self.state = self.stepper.initial_state()
        self._last: StepRecord | None = None
        self._before: State | None = None
        self._recorders: list[Recorder] = []
        self._geometry: tuple[Shape, ...] | None = None
        self._differentiator: StepDifferentiator | None = None
        self._parts: list[Substep] | None = None
        self.impacts = impacts
        self._wrench = np.zeros((self.model.body_count, 6))
        self._control = self.stepper.initial_control()
        self.start_note = ""
        check_pair(self.stepper, self.state, self.step_size)
        if keyframe is not None:
            self.reset(keyframe=keyframe)
        else:
            self._start(self.state)
        if "overlapping" not in self.start_note:
            fixed = words_about_fixed_overlaps(self.stepper, self.state)
            self.start_note = "; ".join(part for part in (self.start_note, fixed) if part)

    def _start(self, state: State) -> None:
        """Begin at a state whose positions are made to agree with joints, limits and shapes."""
        moved, note = self.stepper.consistent(state, self.step_size)
        words = words_about_start(self.stepper, state) if note else ""
        self.state, self.start_note = moved, "; ".join(part for part in (note, words) if part)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.state.time

    @property
    def report(self) -> ImportReport:
        """What the scene file asked for and is not simulated, with reasons."""
        report, of_file = self.model.report, float(self.model.shapes.opt.timestep)
        if self._own_step and of_file not in (self.step_size, engine().MjOption().timestep):
            line = ("option timestep", f"the simulation was given another step, {self.step_size:g} s")
            return replace(report, ignored=(*report.ignored, line))
        return report

    @property
    def last(self) -> StepRecord:
        """The record of the last step."""
        if self._last is None:
            raise ProblemError("no step has been taken yet")
        return self._last

    def step(self, control: Any = None) -> StepRecord:
        """One step; `control` holds one value per motor and stays until it is changed.

        Raises:
            StepFailed: The step could not be solved to its tolerance; the state is that before the step.
        """
        if control is not None:
            self.set_control(control)
        if self.impacts:
            from perp.simulation.impacts import step_with_impacts

            state, record, self._parts = step_with_impacts(
                self.stepper, self.state, self.step_size, self._wrench
            )
        else:
            state, record = self.stepper.step(self.state, self.step_size, self._wrench)
        if record.cause:
            self._doubt(record, state)
        self.state, self._last, self._before = state, record, self.state
        for recorder in self._recorders:
            recorder.add(record)
        return record

    def _doubt(self, record: StepRecord, after: State) -> None:
        """A step that misses its tolerance: an error if the simulation is strict, else one warning a run."""
        if not self.strict and self._warned:
            return
        message = f"the step to t = {record.time:g} s misses its tolerance: {record.cause}"
        if record.penetration > 0:
            message += "".join(f"; {pair} overlap" for pair, _ in overlaps(self.stepper, after)[:1])
        if self.strict:
            self.stepper.forget()
            raise StepFailed(message, record)
        self._warned = True
        warn(f"{message}; records of further steps say so without a warning", StepInaccurate, stacklevel=3)

    def run(
        self, seconds: float, control: Any = None, *, out: PathName | None = None, force: bool = False
    ) -> Recording:
        """Go on for some simulated time, from where the simulation is.

        Args:
            seconds: How long [s].
            control: For the motors, as `step` takes it; or a function that is given the simulation before
                each step and returns that, or None to leave the motors as they are.
            out: An HDF5 file to write to while running, in place of memory.
            force: Replace an existing file.

        Raises:
            StepFailed: A step could not be solved; the steps before it are in `out`.
            FileError: `out` exists or cannot be written.
        """
        count = step_count(seconds, self.step_size)
        with self.record(out, force=force, goal=seconds) as recorder:
            for _ in range(count):
                self.step(control(self) if callable(control) else control)
        return recorder.recording()

    def record(self, out: PathName | None = None, *, force: bool = False, goal: float = 0.0) -> Recorder:
        """Record every step that is taken inside of a `with` block.

            with sim.record() as recorder:
                while sim.time < 2.0:
                    sim.step(policy(sim))
            recording = recorder.recording()

        Args:
            out: An HDF5 file to write to while running, in place of memory.
            force: Replace an existing file.
            goal: How long the run is to last, for `perp simulate --resume` [s].

        Raises:
            FileError: `out` exists or cannot be written.
        """
        from perp.simulation.recordings.recorder import Recorder

        return Recorder(self, out, force=force, goal=goal)

    def modify(
        self,
        *,
        friction: Any = None,
        mass: Any = None,
        size: Any = None,
        gain: Any = None,
        gravity: Any = None,
        restitution: Any = None,
    ) -> None:
        """Change the scene where it is, without loading it again: the state and the controls stay.

        What is not named keeps the value of an earlier call or of the file. Bodies that overlap after a
        change of size are moved apart (`start_note`).

        Args:
            friction: Sliding coefficient of all shapes, or by name of a shape or of a body. Of two shapes
                that touch the larger one counts, unless the file gives them priorities.
            mass: By body [kg]; the inertia goes with it.
            size: Factor of the lengths in the file by body, for all of its shapes, its centre of mass and
                its inertia at the same mass.
            gain: Factor of the force of a motor in the file, by motor.
            gravity: Shape (3,) [m/s²].
            restitution: Of all shapes, or by name of a shape.

        Raises:
            SceneError: There is no such body, shape or motor, or the body has meshes; nothing was changed.
            ProblemError: A value makes no sense, or a recording is being made.
        """
        if self._recorders:
            raise ProblemError("the scene is being recorded: modify it before")
        modify(
            self, friction=friction, mass=mass, size=size, gain=gain, gravity=gravity, restitution=restitution
        )

    def contact_problem(self) -> ContactProblem:
        """The problem of the next step, in dynamics form: the very one that the step solves first.

        At position level the step takes its rows again at its end and solves what is then a slightly
        different problem; `save` writes it to a file, `perp.solve` solves it by any solver and formulation.
        """
        self.stepper.begin(self.state, self.step_size, self._wrench)
        return self.stepper.contact_problem()

    def derivatives(
        self,
        parameters: Sequence[str] = (),
        *,
        last: bool = False,
        verify: bool = False,
        smoothing: float = 0.0,
    ) -> StepDerivative:
        """How a step changes with its state, its controls and parameters of the scene.

        Nothing of the simulation changes: the next step has the same bits with and without this call.

        Args:
            parameters: Names such as "friction", "mass:torso", "kp:knee", "gravity"; see
                `perp.derivatives.parameters`.
            last: Of the step just taken, which costs no further step; nothing may have been changed since.
                By default of the next step, from where the simulation is.
            verify: Compare with central differences of the step, and raise where they differ.
            smoothing: κ > 0 for the derivative of the central path, where contacts push before they close:
                not that of the step, but one that a planner can follow to a contact. The impulse of a contact
                times its velocity is κ of what (the step's speed)² over its mobility is.

        Raises:
            DerivativeError: The step has no derivative, or `verify` found another one.
            ProblemError: There is no such parameter.
        """
        if self._differentiator is None or self._differentiator.stepper is not self.stepper:
            from perp.derivatives.step import StepDifferentiator

            self._differentiator = StepDifferentiator(self.stepper)
        if last and self._last is None:
            raise ProblemError("no step has been taken yet")
        if last and verify:
            raise ProblemError("verify: steps are compared before they are taken, without last=True")
        if self.impacts:
            from perp.simulation.impacts import derivative_of

            found = derivative_of(self, self._differentiator, parameters, last, smoothing)
        elif last:
            return self._differentiator.last(parameters, smoothing)
        else:
            found = self._differentiator.next(self.state, self.step_size, self._wrench, parameters, smoothing)
        if verify:
            from perp.simulation.gradients.step_differences import verify_step

            verify_step(self, found)
        return found

    @property
    def wrench(self) -> np.ndarray:
        """External force [N] and torque [N m] on each body, shape (bodies, 6)."""
        return read_only(self._wrench.copy())

    @wrench.setter
    def wrench(self, value: Any) -> None:
        given = to_float("wrench", value)
        if given.shape != self._wrench.shape:
            raise ProblemError(f"wrench has shape {given.shape}: {self._wrench.shape} is needed")
        check_finite("wrench", given)
        self._wrench[:] = given

    def copy(self) -> Self:
        """An independent simulation in the same state."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._seat = self._seat.fork()
        other.state = self.stepper.unpacked(self.state.time, self.state.packed.copy())
        other._wrench, other._control = self._wrench.copy(), self._control.copy()
        other._recorders = []
        other._last = other._before = other._differentiator = None
        return other

    def __getstate__(self) -> dict[str, Any]:
        stepper = self.stepper
        kept = {
            name: x
            for name, x in vars(self).items()
            if name not in ("_seat", "_recorders", "_differentiator")
        }
        return kept | {"_stepping": (stepper.settings, stepper.reduced, stepper.inputs(), stepper.memory())}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        settings, reduced, inputs, memory = kept.pop("_stepping")
        vars(self).update(kept, _recorders=[], _differentiator=None)
        self.stepper = stepper = Stepper(self.model, settings, reduced=reduced)
        self.state = stepper.unpacked(self.state.time, self.state.packed)
        stepper.set_inputs(inputs)
        stepper.set_memory(memory)

    @classmethod
    def resume(cls, path: PathName) -> Simulation:
        """The simulation at the end of a recording: it goes on to the same bits as one never stopped.

        Raises:
            FileError: The file is not a recording, or its scene was built in Python.
        """
        from perp.simulation.recordings.resuming import simulation_of

        return simulation_of(path)

    def reset(self, *, keyframe: str | int | None = None) -> None:
        """Back to the start, or to one of the scene's keyframes, with no memory of earlier steps.

        The start is the keyframe that the simulation was made with, where there is one.

        Controls, forces and mocap bodies too; what `modify` has changed stays.

        Args:
            keyframe: Name or number; it gives positions, velocities and controls.
        """
        keyframe = self.home if keyframe is None else keyframe
        self.stepper.forget()
        if keyframe is None:
            self.stepper.set_mocap(*mocap_of_file(self.stepper.mujoco_model))
            self.set_control(self.stepper.initial_control())
            self._start(self.stepper.initial_state())
        else:
            state, control = go_to_keyframe(self.stepper, keyframe)
            self.set_control(control)
            self._start(state)
        self.stepper.forget()
        self._wrench[:] = 0.0
        self._last = self._before = None

    def view(self, seconds: float = 10.0, control: Any = None, **options: Any) -> LivePage:
        """Run, and show the run on a page of this machine while it goes on; the page stays until closed.

        The page pauses, steps, resets, slows down, and pushes bodies with the mouse.

        Args:
            seconds: How long [s].
            control: As `run` takes it.
            options: title, port, open_browser.
        """
        from perp.view.live import show

        return show(self, seconds, control, **options)
