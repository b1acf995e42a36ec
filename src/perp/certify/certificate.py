"""What a proof attempt found out."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

PROVED = "proved"
ENCLOSED = "enclosed"


@dataclass(frozen=True)
class Certificate:
    """The outcome of `perp.certify`.

    Attributes:
        status: "proved" (exact rational arithmetic), "enclosed" (ball arithmetic: a solution lies within
            `radius` of `center`, entry by entry), or "not proved: " and why.
        claim: "solution" or "no solution".
        z: The exact solution, or the exact vector that proves that there is none; None unless proved. Where
            the answer is too far from it to be proved, it is here all the same.
        w: M z + q of the exact solution; None where there is no z.
        active_set: Rows whose w is zero by construction.
        center: Midpoints of the enclosure, shape (n,); None unless enclosed.
        radius: Radii of the enclosure, shape (n,); None unless enclosed.
        failures: What fails, one sentence each; empty when nothing does.
        distance: Largest difference between the exact solution and the answer that was certified.
    """

    status: str
    claim: str
    z: tuple[Fraction, ...] | None = None
    w: tuple[Fraction, ...] | None = None
    active_set: tuple[int, ...] = ()
    center: np.ndarray | None = None
    radius: np.ndarray | None = None
    failures: tuple[str, ...] = field(default=())
    distance: float | None = None

    @property
    def proved(self) -> bool:
        """Whether the claim holds beyond doubt: exactly, or by an enclosure."""
        return self.status in (PROVED, ENCLOSED)

    def __bool__(self) -> bool:
        return self.proved

    def __repr__(self) -> str:
        return f"Certificate({self.claim}, {self.status!r})"


def not_proved(claim: str, failures: list[str], active_set: tuple[int, ...] = ()) -> Certificate:
    """A certificate that says why there is no proof."""
    why = failures[0] if len(failures) == 1 else f"{failures[0]} (and {len(failures) - 1} more)"
    return Certificate(f"not proved: {why}", claim, active_set=active_set, failures=tuple(failures))
