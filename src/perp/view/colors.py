"""Colours of bodies and contacts, the same in both viewers."""

import numpy as np

# Contact states as in a recording: −1 open, 0 slipping, 1 sticking. Told apart by colour-blind readers too.
STATE_NAMES = ("open", "slip", "stick")
STATE_COLORS = ("#8b97a8", "#ff7a1a", "#12b5a5")

_BODIES = ("#4f83cc", "#e0a458", "#6bab6e", "#c9697b", "#8f7cc3", "#52a9b5", "#b58a6a", "#93a658")
_FIXED = "#a9b0ba"
# What MuJoCo gives to a shape without a colour of its own.
_UNSET = np.array([0.5, 0.5, 0.5, 1.0])


def rgb(name: str) -> tuple[float, float, float]:
    """`#rrggbb` as three numbers from 0 to 1."""
    red, green, blue = (int(name[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def shape_color(rgba: np.ndarray, body: int) -> np.ndarray:
    """The colour of a shape: its own, or one from a palette that goes round over the bodies, shape (4,)."""
    if not np.allclose(rgba, _UNSET, atol=1e-6):
        return np.asarray(rgba, dtype=np.float64)
    return np.array([*rgb(_FIXED if body < 0 else _BODIES[body % len(_BODIES)]), 1.0])
