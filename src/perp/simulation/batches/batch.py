"""Many worlds of one scene, stepped on all cores.

batch = perp.Batch("robot.xml", worlds=1000, threads=2)
batch.ctrl[:] = policy(batch.qpos, batch.qvel)
batch.step(10)
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.problems import ProblemError
from perp.problems.validation import check_finite, to_float
from perp.simulation.arguments import whole
from perp.simulation.batches.status import BatchContacts, Rollout, WorldStatus
from perp.simulation.batches.values import OwnValues, set_values
from perp.simulation.batches.worker import Arrays, Call, Worker
from perp.simulation.simulation import Simulation
from perp.stepping.memory import PER_CONTACT

if TYPE_CHECKING:
    from perp.simulation.batches.derivatives import BatchDerivatives

# Contacts that lines of memory have room for at first.
_CONTACTS = 16
# Chunks a thread: more even out worlds that take long, and each costs some microseconds.
_CHUNKS = 4


class _Live:
    """An attribute of a batch that is a view of its arrays, and is filled where it is set."""

    def __init__(self, doc: str, of: Callable[[Batch], np.ndarray]) -> None:
        self.__doc__, self.of = doc, of

    def __get__(self, batch: Batch | None, owner: type) -> Any:
        return self if batch is None else self.of(batch)

    def __set__(self, batch: Batch, value: Any) -> None:
        array = self.of(batch)
        given = to_float("value", value)
        try:
            array[:] = given
        except ValueError:
            raise ProblemError(f"a value of shape {given.shape}: {array.shape} is needed") from None


class Batch:
    """Worlds of one scene: the same bodies and shapes, each with a state, controls and values of its own.

    Results do not depend on the number of threads, nor on the other worlds, and are to the bit those of a
    `Simulation` with the same coordinates. A step that misses its tolerance is marked in `status`; a world
    whose numbers overflow, or whose controls are no numbers, stays where it was until it is reset, and the
    others go on.

    Args:
        scene: As `Simulation` takes it; or a simulation, whose state and memory all worlds start with.
        worlds: How many.
        threads: How many, each with a copy of the model; one per processor by default.
        options: As of `Simulation`. Coordinates are "reduced" by default: mujoco's.

    Attributes:
        qpos, qvel, act: Live arrays, shape (worlds, …), as of `Simulation.state`: quaternions are of unit
            length. With maximal coordinates poses and velocities of bodies about their centres of mass.
        ctrl: Control values, live, shape (worlds, motors).
        wrench: External force [N] and torque [N m] on each body, live, shape (worlds, bodies, 6).
        time: Simulated time, live, shape (worlds,) [s].
        status: The worst `WorldStatus` of the last call, shape (worlds,).
        residual: The largest of the last call, shape (worlds,).
    """

    def __init__(self, scene: Any, worlds: int, *, threads: int | None = None, **options: Any) -> None:
        n = whole("worlds", worlds)
        count = len(os.sched_getaffinity(0)) if threads is None else whole("threads", threads)
        if isinstance(scene, Simulation):
            if options:
                raise ProblemError(f"{next(iter(options))}: a simulation has its options already")
            start = scene.copy()
        else:
            options.setdefault("coordinates", "reduced")
            start = Simulation(scene, **options)
        if start.impacts:
            raise ProblemError("impacts: batches take impacts within their steps")
        if start.stepper.settings.solver is not None:
            raise ProblemError("solver: batches are stepped by the stepper's own kernel")
        self._start, self.worlds, self.threads = start, n, count
        self._workers: list[Worker] = []
        self._pool: ThreadPoolExecutor | None = None
        stepper = start.stepper
        line = np.concatenate([stepper.memory(), np.zeros(_CONTACTS * PER_CONTACT)])
        self._arrays = Arrays(
            np.tile(start.state.packed, (n, 1)), np.tile(line, (n, 1)),
            np.full(n, start.time), np.repeat(start.ctrl[None], n, axis=0),
            np.repeat(start.wrench[None], n, axis=0), np.zeros(n, np.int64),
        )  # fmt: skip
        self._own = OwnValues(np.zeros((n, 0)))
        self.status, self.residual = np.zeros(n, np.int64), np.zeros(n)

    @property
    def model(self) -> Any:
        """The scene."""
        return self._start.model

    @property
    def step_size(self) -> float:
        """Length of a step [s]."""
        return self._start.step_size

    @property
    def motor_names(self) -> tuple[str, ...]:
        """One name per control value."""
        return self._start.stepper.motor_names

    @property
    def _columns(self) -> tuple[slice, slice, slice]:
        """Where coordinates, velocities and activations are in a packed state."""
        nq, nv, na, _, _ = self._start.stepper.sizes
        return slice(nq), slice(nq, nq + nv), slice(nq + nv, nq + nv + na)

    qpos = _Live("Coordinates, live, shape (worlds, nq).", lambda b: b._arrays.state[:, b._columns[0]])
    qvel = _Live("Velocities, live, shape (worlds, nv).", lambda b: b._arrays.state[:, b._columns[1]])
    act = _Live("Activations, live, shape (worlds, na).", lambda b: b._arrays.state[:, b._columns[2]])
    ctrl = _Live("Control values, live, shape (worlds, motors).", lambda b: b._arrays.control)
    wrench = _Live(
        "External force [N] and torque [N m] on each body, live, shape (worlds, bodies, 6).",
        lambda b: b._arrays.wrench,
    )

    time = _Live("Simulated time, live, shape (worlds,) [s].", lambda b: b._arrays.time)

    @property
    def failed(self) -> np.ndarray:
        """Worlds that take no further step until they are reset, shape (worlds,)."""
        return self._arrays.failed != 0

    def step(self, steps: int = 1) -> np.ndarray:
        """Take steps in every world; returns `status`."""
        n = self.worlds
        call = Call(
            whole("steps", steps), np.zeros((n, 0, 0)), np.zeros((n, 1), np.int64), np.zeros((n, 1)),
            np.zeros((n, 0, 0)), False,
        )  # fmt: skip
        self._run(call)
        self.status, self.residual = call.status[:, 0], call.residual[:, 0]
        return self.status

    def rollout(self, controls: Any = None, *, steps: int | None = None, contacts: bool = False) -> Rollout:
        """Steps of all worlds, with every state on the way.

        Args:
            controls: Of every step, shape (worlds, steps, motors), or (steps, motors) for all worlds alike.
                The last ones stay in `ctrl`.
            steps: How many, where `controls` does not say.
            contacts: Whether contacts of all steps are returned.
        """
        n, motors = self.worlds, self.ctrl.shape[1]
        given = np.zeros((n, 0, 0))
        if controls is not None:
            found = to_float("controls", controls)
            check_finite("controls", found)
            if found.ndim not in (2, 3) or found.shape[-1] != motors or found.shape[:-2] not in ((), (n,)):
                raise ProblemError(
                    f"controls has shape {found.shape}: ({n}, steps, {motors}) or (steps, {motors}) is needed"
                )
            if steps is not None and steps != found.shape[-2]:
                raise ProblemError(f"steps = {steps}: controls has {found.shape[-2]}")
            steps = int(found.shape[-2])
            given = np.ascontiguousarray(np.broadcast_to(found, (n, steps, motors)))
        if steps is None:
            raise ProblemError("a rollout needs controls, or a number of steps")
        steps = whole("steps", steps)
        nq, nv, na, _, _ = self._start.stepper.sizes
        began = self.time.copy()
        call = Call(
            steps, given, np.zeros((n, steps), np.int64), np.zeros((n, steps)),
            np.zeros((n, steps, nq + nv + na)), contacts,
        )  # fmt: skip
        if given.size:
            self.ctrl[:] = given[:, -1]
        lines = self._run(call)
        self.status, self.residual = call.status.max(axis=1), call.residual.max(axis=1)
        gone = np.cumsum(call.status < WorldStatus.FAILED, axis=1)
        q, v, a = np.split(call.states, [nq, nq + nv], axis=2)
        return Rollout(
            began[:, None] + self.step_size * gone, q, v, a, call.status, call.residual,
            BatchContacts.of_lines(lines) if contacts else None,
        )  # fmt: skip

    def _run(self, call: Call) -> np.ndarray:
        """Do a call on all threads; returns lines of contacts."""
        count = min(self.threads, self.worlds)
        while len(self._workers) < count:
            self._workers.append(Worker(self._start.stepper, self.step_size))
        if not call.controls.size:
            # mujoco takes a control that is no number for zero, without a word
            self._arrays.failed[~np.isfinite(self.ctrl).all(axis=1)] = WorldStatus.FAILED
        edges = np.linspace(0, self.worlds, min(self.worlds, _CHUNKS * count if count > 1 else 1) + 1)
        edges = edges.astype(int)
        chunks = deque((int(a), int(b)) for a, b in pairwise(edges))
        while not self._work(self._workers[:count], chunks, call):
            memory = self._arrays.memory
            more = max(_CONTACTS * PER_CONTACT, memory.shape[1])
            self._arrays.memory = np.concatenate([memory, np.zeros((self.worlds, more))], axis=1)
        if not call.logging:
            return np.zeros((0, 0))
        return np.concatenate([worker.contacts() for worker in self._workers[:count]])

    def _work(self, workers: list[Worker], chunks: deque[tuple[int, int]], call: Call) -> bool:
        for worker in workers:
            worker.prepare(self._arrays, call, self._own)
        if len(workers) == 1:
            return workers[0].work(chunks)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="perp-batch")
        return all(list(self._pool.map(lambda worker: worker.work(chunks), workers)))

    def modify(
        self,
        *,
        friction: Any = None,
        mass: Any = None,
        gain: Any = None,
        gravity: Any = None,
        restitution: Any = None,
    ) -> None:
        """Values that every world has for itself; what is not named keeps what it has.

        Args:
            friction: Sliding coefficient of all shapes, shape (worlds,), or a mapping to it from names of
                shapes or bodies.
            mass: Mapping from bodies to one value a world [kg]; the inertia goes with it.
            gain: Mapping from motors to a factor of their force in the file, one a world.
            gravity: Shape (worlds, 3) [m/s²].
            restitution: Of all shapes, shape (worlds,), or a mapping to it from names of shapes.

        Raises:
            ProblemError: A value makes no sense.
            SceneError: There is no such body, shape or motor.
        """
        set_values(
            self._own, self._start.stepper, friction=friction, mass=mass, gain=gain, gravity=gravity,
            restitution=restitution,
        )  # fmt: skip

    def reset(self, mask: Any = None, *, keyframe: str | int | None = None) -> None:
        """Bring worlds back to the start of the scene or to a keyframe, without memory of earlier steps.

        Controls stay, and so do values that worlds have for themselves; forces do not.

        Args:
            mask: Which, as an index of the first axis (booleans, numbers, a slice); all by default.
            keyframe: Name or number; it gives controls as well.
        """
        which = slice(None) if mask is None else mask if isinstance(mask, slice) else np.asarray(mask)
        start, a = self._start, self._arrays
        try:
            a.failed[which]
        except IndexError:
            raise ProblemError(f"mask = {mask!r}: booleans or numbers of {self.worlds} worlds") from None
        start.reset(keyframe=keyframe)
        a.state[which], a.time[which], a.wrench[which] = start.state.packed, start.time, 0.0
        if keyframe is not None or start.home is not None:
            a.control[which] = start.ctrl
        line = start.stepper.memory()
        a.memory[which] = 0.0
        a.memory[which, : line.size] = line
        a.failed[which] = 0
        self.status[which], self.residual[which] = 0, 0.0

    def snapshot(self) -> dict[str, np.ndarray]:
        """The state of all worlds with what they remember: steps from it give the same bits."""
        own = {"value": self._own.value.copy()}
        return {name: array.copy() for name, array in vars(self._arrays).items()} | own

    def restore(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Go back to a snapshot of this batch.

        Raises:
            ProblemError: It belongs to another batch; nothing is changed.
        """
        for name, array in vars(self._arrays).items():
            if name not in snapshot or (snapshot[name].shape != array.shape and name != "memory"):
                raise ProblemError(f"snapshot[{name!r}] is missing or has another shape than {array.shape}")
        if snapshot["value"].shape != self._own.value.shape:
            raise ProblemError("the snapshot is of a time when worlds had other values of their own")
        for name, array in vars(self._arrays).items():
            if name == "memory":
                self._arrays.memory = np.array(snapshot[name])
            else:
                array[:] = snapshot[name]
        self._own.value[:] = snapshot["value"]

    def derivatives(self, parameters: Sequence[str] = ()) -> BatchDerivatives:
        """How the next step of every world changes with its state, its controls and parameters.

        Args:
            parameters: As of `Simulation.derivatives`.

        Raises:
            DerivativeError: No world has a step with a derivative.
        """
        from perp.simulation.batches.derivatives import batch_derivatives

        return batch_derivatives(self, parameters)

    def simulation(self, world: int) -> Simulation:
        """One world as a simulation: to look at it, to record it, to go on with it to the same bits."""
        if not isinstance(world, int | np.integer) or not -self.worlds <= world < self.worlds:
            raise ProblemError(f"world = {world!r}: there are {self.worlds}")
        sim, a = self._start.copy(), self._arrays
        own = self._own.of_world(world)
        if own:
            sim.modify(**own)
        sim.state = sim.stepper.unpacked(float(a.time[world]), a.state[world].copy())
        sim.set_control(a.control[world])
        sim.wrench = a.wrench[world]
        sim.stepper.set_memory(a.memory[world])
        return sim

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_workers": [], "_pool": None}

    def __repr__(self) -> str:
        return f"Batch({self.worlds} worlds, {self.threads} threads, step {self.step_size:g} s)"
