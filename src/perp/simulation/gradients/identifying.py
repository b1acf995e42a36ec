"""Parameters of a scene from recorded motions, by Gauss–Newton on the derivatives of its steps.

A recording is cut into windows. Each begins at a recorded state and is simulated; what is measured is how far
the simulated coordinates are from the recorded ones, in the tangent space. Steps of Levenberg and Marquardt
reduce Huber's loss of these distances: a bounce that happens one sample too late is not worth more than its
share.

Windows do not depend on each other: they can be shared out to an executor or a Dask cluster, with the same
bits.

Reference: Huber, Robust Statistics (1981), chapter 7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.derivatives.tangent import between
from perp.problems import PerpError, ProblemError
from perp.simulation.gradients.parameter_values import parameter_values, with_parameters
from perp.simulation.gradients.rollouts import sensitivities
from perp.simulation.simulation import Simulation
from perp.simulation.sweeps.running import Job, Place, Results, SweepProgress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ITERATIONS = 30
# A step that changes parameters by less than this share of their own uncertainty is the last one.
_CLOSE = 0.02
_FIRST_DAMPING = 1e-3
# Parts into which windows are shared out: enough for some dozen workers, and few enough not to matter.
_PARTS = 32


@dataclass(frozen=True)
class Motion:
    """A recorded motion of a scene.

    Attributes:
        qpos: Coordinates as mujoco has them, shape (samples, nq).
        qvel: Velocities, shape (samples, nv).
        dt: Time between samples [s].
    """

    qpos: np.ndarray
    qvel: np.ndarray
    dt: float


@dataclass(frozen=True)
class Identification:
    """What was identified.

    Attributes:
        names: One per number: the parameter, with an index where it has several.
        values: Shape (n,).
        covariance: Shape (n, n): of the values, from the spread of the distances.
        loss: Of each iteration, the first at the start.
        history: Values of each iteration, shape (iterations, n).
        residual: Root mean square of the distances at the end.
        windows: How many windows were used.
    """

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    loss: np.ndarray
    history: np.ndarray
    residual: float
    windows: int

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviations of the values, shape (n,)."""
        return np.sqrt(np.diag(self.covariance))

    def __str__(self) -> str:
        pairs = zip(self.names, self.values, self.deviation, strict=True)
        return "\n".join(f"{name} = {value:.4g} ± {off:.2g}" for name, value, off in pairs)

    def plot(self) -> Figure:
        """Values over the iterations with their uncertainty, and the loss."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 2.2 + 1.4 * len(self.names)), layout="constrained")
        axes: Any = figure.subplots(len(self.names) + 1, 1, sharex=True, squeeze=False)[:, 0]
        for k, name in enumerate(self.names):
            axes[k].plot(self.history[:, k], "o-", color="C0")
            low, high = self.values[k] - 2 * self.deviation[k], self.values[k] + 2 * self.deviation[k]
            axes[k].axhspan(low, high, color="C0", alpha=0.2)
            axes[k].set_ylabel(name)
        axes[-1].semilogy(self.loss, "s-", color="C1")
        axes[-1].set_ylabel("loss")
        axes[-1].set_xlabel("iteration")
        return figure


def identify(
    scene: Any,
    recordings: Sequence[Motion],
    parameters: Sequence[str],
    *,
    start: Mapping[str, Any] | None = None,
    window: int = 12,
    scale: Any = 1.0,
    huber: float = 1.5,
    scheduler: str | None = None,
    executor: Executor | None = None,
    progress: bool | Callable[[SweepProgress], Any] = False,
    **options: Any,
) -> Identification:
    """Parameters with which a scene moves as it was recorded to.

    Args:
        scene: As `Simulation` takes it; it is stepped in reduced coordinates.
        recordings: Recorded motions.
        parameters: Names, as `sim.derivatives` takes them.
        start: Where to begin, by name; the scene's own values by default.
        window: Samples that are predicted from one recorded state.
        scale: What a distance of each coordinate is divided by, shape (nv,) or a number.
        huber: Distances beyond so many times their median count linearly.
        scheduler: Address of a Dask scheduler, for example "tcp://host:8786".
        executor: Any executor of `concurrent.futures`, for example of processes; it stays open.
        progress: As in `sweep`, where a run is a part of the windows: they are simulated once or more in
            every iteration.
        options: Of the simulation; `step` is the recordings' by default and divides it evenly.

    Raises:
        ProblemError: Recordings do not fit the scene, or no window is there.
        PerpError: A worker failed.
    """
    if not recordings:
        raise ProblemError("recordings is empty: there is nothing to identify parameters from")
    dt = float(recordings[0].dt)
    sim = Simulation(scene, **({"step": dt, "coordinates": "reduced"} | options))
    every = round(dt / sim.step_size)
    if abs(every * sim.step_size - dt) > 1e-9 * dt:
        raise ProblemError(
            f"step = {sim.step_size}: recordings have {dt} s between samples, no multiple of it"
        )
    if start:
        sim = with_parameters(sim, start)
    nq, nv, _, _, _ = sim.stepper.sizes
    for r, motion in enumerate(recordings):
        if motion.qpos.shape[1:] != (nq,) or motion.qvel.shape[1:] != (nv,):
            raise ProblemError(f"recordings[{r}] has {motion.qpos.shape[1:]} coordinates: it needs {nq}")
    weights = 1.0 / np.broadcast_to(np.asarray(scale, dtype=np.float64), (nv,))
    windows = [
        Motion(motion.qpos[i : i + window + 1], motion.qvel[i : i + 1], dt)
        for motion in recordings
        for i in range(0, motion.qpos.shape[0] - window, window)
    ]
    if not windows:
        raise ProblemError(f"window = {window}: no recording is that long")
    return _Fit(sim, windows, every, weights, tuple(parameters), Place(0, scheduler, executor), progress).run(
        huber
    )


@dataclass
class _Fit:
    sim: Simulation
    windows: list[Motion]
    every: int
    weights: np.ndarray
    parameters: tuple[str, ...]
    place: Place
    progress: bool | Callable[[SweepProgress], Any]

    def __post_init__(self) -> None:
        values = parameter_values(self.sim, self.parameters)
        self.sizes = [values[name].size for name in self.parameters]
        self.first = np.concatenate([values[name] for name in self.parameters])

    def distances(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighed distances of all samples, shape (m, nv), and derivatives, shape (m, nv, n)."""
        count, cuts = min(_PARTS, len(self.windows)), np.split(theta, np.cumsum(self.sizes)[:-1])
        named = dict(zip(self.parameters, cuts, strict=True))
        ends = [len(self.windows) * k // count for k in range(count + 1)]
        jobs: dict[int, Job] = {
            k: (self.sim, named, self.windows[ends[k] : ends[k + 1]], self.every) for k in range(count)
        }
        results = Results([{"part": k} for k in jobs], "", None, self.progress)
        self.place.do(_compare, jobs, results.keep)
        parts = results.listed()
        for part in parts:
            if part.get("error"):
                raise PerpError(f"windows could not be simulated: {part['error']}")
        off = np.concatenate([part["distances"] for part in parts])
        slopes = np.concatenate([part["slopes"] for part in parts])
        return self.weights * off, self.weights[:, None] * slopes

    def run(self, huber: float) -> Identification:
        theta, damping = self.first.copy(), _FIRST_DAMPING
        off, slopes = self.distances(theta)
        # half of the samples are better than this: what is far beyond it is an outlier
        limit = huber * max(float(np.median(np.linalg.norm(off, axis=1))), 1e-300)
        loss = _huber(off, limit)
        losses, history = [loss], [theta.copy()]
        for _ in range(_ITERATIONS):
            H, g, spread = _normal(off, slopes, limit)
            step = -np.linalg.solve(H + damping * np.diag(np.diag(H) + 1e-300), g)
            trial = np.maximum(theta + step, self._least())
            new, new_slopes = self.distances(trial)
            new_loss = _huber(new, limit)
            if new_loss < loss:
                small = np.abs(trial - theta) <= _CLOSE * np.sqrt(np.diag(spread))
                theta, off, slopes, loss = trial, new, new_slopes, new_loss
                damping = max(damping / 10, 1e-12)
                losses.append(loss)
                history.append(theta.copy())
                if small.all():
                    break
            else:
                damping *= 10
                if damping > 1e6:
                    break
        _, _, spread = _normal(off, slopes, limit)
        names = [
            name if n == 1 else f"{name}[{k}]"
            for name, n in zip(self.parameters, self.sizes, strict=True)
            for k in range(n)
        ]
        return Identification(
            tuple(names), theta, spread, np.array(losses), np.array(history),
            float(np.sqrt(np.mean(off**2))), len(self.windows),
        )  # fmt: skip

    def _least(self) -> np.ndarray:
        """Least values: only directions and places may be negative; without restitution nothing bounces."""
        least = {"gravity": -np.inf, "com": -np.inf, "restitution": 1e-3}
        return np.repeat([least.get(name.partition(":")[0], 0.0) for name in self.parameters], self.sizes)


def _compare(job: Job) -> dict[str, Any]:
    """Distances and their derivatives of some windows."""
    first, values, windows, every = job
    sim = with_parameters(first, values)
    stepper = sim.stepper
    nq, nv, na, _, _ = stepper.sizes
    out, slopes = [], []
    for motion in windows:
        stepper.forget()
        sim.state = stepper.state_of(
            np.array(motion.qpos[0], float), np.array(motion.qvel[0], float), np.zeros(na), 0.0
        )
        steps = (motion.qpos.shape[0] - 1) * every
        states, changes = sensitivities(sim, steps, tuple(values), every)
        for k, (state, change) in enumerate(zip(states, changes, strict=True), 1):
            measured = state.copy()
            measured[:nq] = motion.qpos[k]
            out.append(between(stepper, state, measured)[:nv])
            slopes.append(change[:nv])
    return {"distances": np.array(out), "slopes": np.array(slopes)}


def _huber(off: np.ndarray, limit: float) -> float:
    size = np.linalg.norm(off, axis=1)
    return float(np.where(size <= limit, 0.5 * size**2, limit * (size - 0.5 * limit)).sum())


def _normal(off: np.ndarray, slopes: np.ndarray, limit: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal matrix, gradient and covariance of the weighed distances."""
    size = np.linalg.norm(off, axis=1)
    weight = np.where(size <= limit, 1.0, limit / np.maximum(size, 1e-300))
    J = slopes.reshape(-1, slopes.shape[-1]) * np.repeat(np.sqrt(weight), off.shape[1])[:, None]
    r = (off * np.sqrt(weight)[:, None]).ravel()
    H, g = J.T @ J, J.T @ r
    freedom = max(1, r.size - H.shape[0])
    return H, g, float(r @ r) / freedom * np.linalg.pinv(H)
