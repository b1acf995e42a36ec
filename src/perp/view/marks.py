"""On which side of a contact its force is drawn."""

from __future__ import annotations

import numpy as np


def drawn_side(contact_body: np.ndarray) -> np.ndarray:
    """1 where the force on the second body is drawn, −1 where that is the world: forces are on what moves.

    Args:
        contact_body: Both bodies of each contact, −1 for the world, shape (contacts, 2).

    Returns:
        Shape (contacts, 1).
    """
    return np.where(contact_body[:, 1] < 0, -1.0, 1.0)[:, None]
