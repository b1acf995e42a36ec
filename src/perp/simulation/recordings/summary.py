"""What a run comes to in a few numbers: is it finished, accurate, free of drift, and how fast was it."""

from dataclasses import dataclass

import numpy as np

from perp.simulation.recordings.recording import Recording


@dataclass(frozen=True)
class Summary:
    """The figures of a run."""

    steps: int
    start: float  # simulated time [s]
    end: float  # [s]
    energy_start: float  # [J]
    energy_end: float  # [J]
    energy_gain: float  # largest rise of the energy above any earlier value [J]: passive scenes have none
    penetration: float  # largest overlap [m]
    joint_error: float  # largest [m or rad]
    creep: float  # fastest slip of a contact whose friction is below its limit [m/s]
    residual: float  # worst, over its scale; of its own problem where a relaxation made the steps
    coulomb_distance: float  # the same of Coulomb's law
    missed: int  # steps that missed their tolerance
    solves: float  # solves per step, on average
    contacts: int  # most contacts of a step
    iterations: float  # Newton steps per step, on average
    wall_time: float  # of all steps [s]

    @property
    def real_time_factor(self) -> float:
        """Simulated time per wall time."""
        return (self.end - self.start) / self.wall_time if self.wall_time > 0 else 0.0


_WORST = ("penetration", "joint_error", "residual", "coulomb_distance")


def summarise(recording: Recording) -> Summary:
    """The summary of a recording."""
    energy = np.concatenate([[recording.start_energy], recording.energy])
    return Summary(
        steps=len(recording),
        start=recording.start_time,
        end=float(recording.time[-1]) if len(recording) else recording.start_time,
        energy_start=recording.start_energy,
        energy_end=float(energy[-1]),
        energy_gain=float((energy - np.minimum.accumulate(energy)).max()),
        **{name: _largest(recording.of(name)) for name in _WORST},
        creep=_largest(recording.creep()),
        missed=int((~recording.met).sum()),
        solves=float(recording.solves.mean()) if len(recording) else 0.0,
        contacts=int(recording.contact_count.max(initial=0)),
        iterations=float(recording.iterations.mean()) if len(recording) else 0.0,
        wall_time=float(recording.seconds.sum()),
    )


def _largest(x: np.ndarray) -> float:
    return float(x.max(initial=0.0)) + 0.0  # no negative zero
