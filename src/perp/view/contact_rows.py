"""The contacts of a run as lines over time: by pair of shapes, and by contact within a pair."""

from dataclasses import dataclass

import numpy as np

from perp.simulation.recordings.recording import Recording

_LARGEST_RASTER = 60
_ABSENT = -2


@dataclass(frozen=True, eq=False)
class Pairs:
    """Contacts over the steps."""

    names: list[str]  # one per pair of shapes
    normal_force: np.ndarray  # sum over the contacts of each pair, shape (pairs, n) [N]
    raster: np.ndarray  # −2 no contact, −1 open, 0 slip, 1 stick, for the busiest contacts, shape (lines, n)
    raster_names: list[str]  # the pair of each line
    contact_rows: int  # how many lines there would be without a limit


def pair_rows(recording: Recording) -> Pairs:
    """Bring the contacts of all steps into lines; contacts of a pair keep their order within a step."""
    n = len(recording)
    step = np.repeat(np.arange(n), recording.contact_count)
    keys, pair = np.unique(recording.contact_geom, axis=0, return_inverse=True)
    pair = pair.reshape(-1)
    names = [f"{_short(recording, a)} – {_short(recording, b)}" for a, b in keys]
    normal = np.einsum("ck,ck->c", recording.contact_force, recording.contact_frame[:, 0])
    force = np.zeros((len(names), n))
    np.add.at(force, (pair, step), normal)
    order = np.lexsort((np.arange(step.size), pair, step))
    rank = np.zeros(step.size, dtype=np.int64)
    if step.size:
        run = np.concatenate([[True], (np.diff(step[order]) != 0) | (np.diff(pair[order]) != 0)])
        first = np.maximum.accumulate(np.where(run, np.arange(step.size), 0))
        rank[order] = np.arange(step.size) - first
    lines, line = np.unique(np.column_stack([pair, rank]), axis=0, return_inverse=True)
    line = line.reshape(-1)
    raster = np.full((len(lines), n), _ABSENT, dtype=np.int64)
    raster[line, step] = recording.contact_state
    busiest = np.argsort(-(raster >= 0).sum(axis=1), kind="stable")[:_LARGEST_RASTER]
    shown = np.sort(busiest)
    return Pairs(names, force, raster[shown], [names[lines[i, 0]] for i in shown], len(lines))


def _short(recording: Recording, geom: int) -> str:
    name = recording.geom_names[geom]
    return name if len(name) <= 16 else f"{name[:7]}…{name[-7:]}"
