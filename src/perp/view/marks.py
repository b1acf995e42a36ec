"""How contacts are drawn: on which side, how long, and where arrows and friction cones point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perp.view.colors import STATE_COLORS, rgb

# Cones of open contacts, and of those that carry next to nothing, have this share of a mark's size.
_LEAST_CONE = 0.12


@dataclass(frozen=True)
class ContactMarks:
    """Contacts of one frame as poses of the meshes `arrow` and `cone`.

    Attributes:
        point: Shape (contacts, 3) [m].
        color: Red, green, blue by state, from 0 to 1, shape (contacts, 3).
        arrow_turn, cone_turn: Quaternions that bring z to the force and to the normal, shape (contacts, 4).
        arrow_scale, cone_scale: Shape (contacts, 3) [m].
    """

    point: np.ndarray
    color: np.ndarray
    arrow_turn: np.ndarray
    arrow_scale: np.ndarray
    cone_turn: np.ndarray
    cone_scale: np.ndarray


def drawn_side(contact_body: np.ndarray) -> np.ndarray:
    """1 where the force on the second body is drawn, −1 where that is the world: forces are on what moves.

    Args:
        contact_body: Both bodies of each contact, −1 for the world, shape (contacts, 2).

    Returns:
        Shape (contacts, 1).
    """
    return np.where(contact_body[:, 1] < 0, -1.0, 1.0)[:, None]


def arrow_unit(force: np.ndarray, radius: float, body_size: float) -> float:
    """Metres per newton: a large force (the 90th percentile) is as long as a few bodies.

    Args:
        force: Some forces, shape (any, 3) [N].
        radius: Of the scene [m].
        body_size: Half the diagonal of a typical body [m].
    """
    size = np.linalg.norm(force, axis=1)
    size = size[size > 1e-3 * size.max()] if size.size else size
    large = float(np.percentile(size, 90)) if size.size else 1.0
    return min(0.4 * radius, 2.5 * body_size) / large


def contact_marks(
    point: np.ndarray,
    normal: np.ndarray,
    force: np.ndarray,
    friction: np.ndarray,
    state: np.ndarray,
    *,
    unit: float,
    size: float,
) -> ContactMarks:
    """Marks of contacts.

    Args:
        point: Shape (contacts, 3) [m].
        normal: Along which contacts push, shape (contacts, 3).
        force: Shape (contacts, 3) [N].
        friction: Sliding coefficients, shape (contacts,).
        state: −1 open, 0 slip, 1 stick, shape (contacts,).
        unit: Metres per newton.
        size: Largest width of an arrow [m].
    """
    length = unit * np.linalg.norm(force, axis=1)
    width = np.minimum(length, size)
    height = np.maximum(unit * np.einsum("ci,ci->c", force, normal), _LEAST_CONE * size)
    return ContactMarks(
        point=point,
        color=np.array([rgb(name) for name in STATE_COLORS])[state + 1],
        arrow_turn=turn_to(force),
        arrow_scale=np.column_stack([width, width, length]),
        cone_turn=turn_to(normal),
        cone_scale=np.column_stack([friction * height, friction * height, height]),
    )


def turn_to(direction: np.ndarray) -> np.ndarray:
    """Quaternions that turn z to the given directions, shapes (n, 3) and (n, 4)."""
    size = np.linalg.norm(direction, axis=1, keepdims=True)
    z = np.where(size > 0, direction / np.where(size > 0, size, 1.0), [0.0, 0.0, 1.0])
    # halfway between z and the direction; downwards there is no half way, and half a turn about x will do
    q = np.column_stack([1.0 + z[:, 2], -z[:, 1], z[:, 0], np.zeros(len(z))])
    norm = np.linalg.norm(q, axis=1, keepdims=True)
    return np.where(norm > 1e-9, q / np.where(norm > 1e-9, norm, 1.0), [0.0, 1.0, 0.0, 0.0])
