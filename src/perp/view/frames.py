"""Frames of a run that may still be going on: pieces of a recording, one after the other."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from perp.view.colors import STATE_NAMES

if TYPE_CHECKING:
    from perp import Recording

CURVES = ("kinetic", "potential", "total", "residual", *STATE_NAMES)


class Frames:
    """The start and every step of some recordings that follow each other.

    Args:
        first: Its start is frame 0.
    """

    def __init__(self, first: Recording) -> None:
        self._pieces: list[Recording] = []
        self._ends: list[int] = []
        self._curves: dict[str, list[np.ndarray]] = {name: [] for name in ("time", *CURVES)}
        self.times: list[float] = [first.start_time]
        self._zero = float(first.potential_energy[0]) if len(first) else 0.0
        self.start = (first.start_position, first.start_quaternion)
        self.extend(first)

    def extend(self, piece: Recording) -> None:
        """Add the steps of another recording."""
        if not len(piece):
            return
        self._pieces.append(piece)
        self._ends.append(len(self) - 1 + len(piece))
        self.times.extend(piece.time.tolist())
        potential = piece.potential_energy - self._zero
        owner = np.repeat(np.arange(len(piece)), piece.contact_count)
        rows = {
            "time": piece.time,
            "kinetic": piece.kinetic_energy,
            "potential": potential,
            "total": piece.kinetic_energy + potential,
            "residual": piece.residual / piece.tolerance,
            **{
                name: np.bincount(owner[piece.contact_state == k - 1], minlength=len(piece)).astype(float)
                for k, name in enumerate(STATE_NAMES)
            },
        }
        for name, values in rows.items():
            self._curves[name].append(values)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def pieces(self) -> tuple[Recording, ...]:
        return tuple(self._pieces)

    def at(self, time: float) -> int:
        """The last frame at or before a time [s]."""
        return max(bisect_right(self.times, time + 1e-9) - 1, 0)

    def pose(self, frame: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions (bodies, 3) [m] and quaternions (bodies, 4)."""
        if frame == 0:
            return self.start
        piece, row = self._locate(frame)
        return piece.positions[row], piece.quaternions[row]

    def contacts(self, frame: int) -> slice | None:
        """Rows of the frame's contacts in `piece(frame)`; None at the start, which has none."""
        if frame == 0:
            return None
        piece, row = self._locate(frame)
        return slice(int(piece.contact_start[row]), int(piece.contact_start[row + 1]))

    def piece(self, frame: int) -> Recording:
        """The recording that a frame is part of."""
        return self._locate(max(frame, 1))[0]

    def curves(self, most: int) -> dict[str, np.ndarray]:
        """What plots show, thinned to at most `most` points; the residual keeps its peaks."""
        full = {name: np.concatenate(parts or [np.zeros(0)]) for name, parts in self._curves.items()}
        count = full["time"].size
        first = np.arange(0, count, max(1, int(np.ceil(count / most))))
        out = {name: values[first] for name, values in full.items()}
        if count:
            out["residual"] = np.maximum.reduceat(full["residual"], first)
        return out

    def _locate(self, frame: int) -> tuple[Recording, int]:
        k = bisect_right(self._ends, frame - 1)
        before = self._ends[k - 1] if k else 0
        return self._pieces[k], frame - 1 - before
