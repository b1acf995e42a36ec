"""Contacts of shapes without a formula here: how they change with poses, from differences of the detector.

Only the second body of a contact is moved, or the first where the second is the world: moving both together
carries the contact along.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perp.derivatives.contact_slopes import contact_geometry, shape_poses
from perp.derivatives.equations import CONVEX
from perp.scenes.engine import engine

# Steps of differences in radians and shares of a shape's size; convex pairs are known to about 1e-8.
_STEP, _CONVEX_STEP = 1e-6, 1e-4


def contact_tables(stepper: Any, wanted: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(dn, dp, dgap) of some contacts of the last step by the motions of both bodies.

    Returns:
        Line of each of `count` contacts or −1, the tables, shape (n, 7, 12), and what is held of them.
    """
    m, w = stepper.mujoco_model, stepper.world.struct
    line, held, tables = np.full(count, -1, np.int64), np.zeros(count, np.int64), []
    geom, body, point, frame, gap = contact_geometry(w)
    owner = np.where(body[:, 1] >= 0, body[:, 1], body[:, 0])
    detector = Detector(m, stepper.model.geom_body, shape_poses(w), max(0.0, float(gap.max())))
    for b in np.unique(owner[wanted]):
        mine = wanted[owner[wanted] == b]
        pairs = {(int(geom[c, 0]), int(geom[c, 1])) for c in mine}
        found = detector.table(int(b), pairs, float(stepper.model.size))
        for c in mine:
            pair = int(geom[c, 0]), int(geom[c, 1])
            if found[pair] is None:
                continue
            if is_convex(int(m.geom_type[pair[0]]), int(m.geom_type[pair[1]])):
                held[c] = CONVEX
            here, lines = found[pair]
            near = int(np.argmin(np.linalg.norm(here[:, 3:6] - point[c], axis=1)))
            line[c] = len(tables)
            tables.append(_completed(frame[c, 0], point[c], lines[near], second=bool(body[c, 1] >= 0)))
    return line, np.array(tables).reshape(-1, 7, 12), held


def _completed(n: np.ndarray, p: np.ndarray, by_one: np.ndarray, *, second: bool) -> np.ndarray:
    """A table by the motions of one body, completed by those of the other: both together carry all."""
    together = np.zeros((7, 6))
    together[:3, :3] = np.cross(np.eye(3), n).T
    together[3:6, :3] = np.cross(np.eye(3), p).T
    together[3:6, 3:] = np.eye(3)
    G = np.zeros((7, 12))
    mine, other = (6, 0) if second else (0, 6)
    G[:, mine : mine + 6] = by_one
    G[:, other : other + 6] = together - by_one
    return G


def is_convex(first: int, second: int) -> bool:
    """Whether mujoco finds the contact by iterations: their normals have errors that differences amplify."""
    kinds = engine().mjtGeom
    plane, sphere, capsule = int(kinds.mjGEOM_PLANE), int(kinds.mjGEOM_SPHERE), int(kinds.mjGEOM_CAPSULE)
    box, cylinder = int(kinds.mjGEOM_BOX), int(kinds.mjGEOM_CYLINDER)
    exact = {
        (plane, cylinder), (sphere, capsule), (sphere, cylinder), (sphere, box), (capsule, capsule),
        (capsule, box), (box, box), (plane, int(kinds.mjGEOM_ELLIPSOID)),
    }  # fmt: skip
    return (first, second) not in exact


class Detector:
    """Differences of mujoco's collision at the start of a step.

    Args:
        m: mujoco's model of the world.
        geom_body: Movable body of each shape or −1.
        poses: Of shapes and bodies at the start of the step, see `shape_poses`.
        reach: Largest gap of a contact of the step [m].
    """

    def __init__(self, m: Any, geom_body: np.ndarray, poses: Any, reach: float) -> None:
        self.m, self.geom_body, self.reach = m, geom_body, reach
        self.data = engine().MjData(m)
        names = "geom_xpos", "geom_xmat", "xpos", "xmat", "xipos", "ximat", "subtree_com"
        for name, array in zip(names, poses, strict=True):
            getattr(self.data, name)[:] = array

    def table(self, body: int, pairs: set[tuple[int, int]], size: float) -> dict[tuple[int, int], Any]:
        """(dn, dp, dgap) of the contacts of some pairs by six motions of one body about the origin.

        Returns:
            By pair: points (k, 3) and tables (k, 7, 6), or None where the number of contacts changes.
        """
        geoms = np.flatnonzero(self.geom_body == body)
        slots: dict[tuple[int, int], list[Any]] = {pair: [] for pair in pairs}
        base = self._find(pairs)
        for k in range(6):
            convex = any(is_convex(int(self.m.geom_type[a]), int(self.m.geom_type[b])) for a, b in pairs)
            step = _CONVEX_STEP if convex else _STEP
            step *= 1.0 if k < 3 else size
            sides = []
            for sign in (1.0, -1.0):
                kept = self.data.geom_xpos[geoms].copy(), self.data.geom_xmat[geoms].copy()
                self._move(geoms, k, sign * step)
                sides.append(self._find(pairs))
                self.data.geom_xpos[geoms], self.data.geom_xmat[geoms] = kept
            for pair in pairs:
                slots[pair].append((sides[0][pair], sides[1][pair], step))
        out: dict[tuple[int, int], Any] = {}
        for pair in pairs:
            here = base[pair]
            if any(len(a) != len(here) or len(b) != len(here) for a, b, _ in slots[pair]) or not len(here):
                out[pair] = None
                continue
            tables = [(_matched(here, a) - _matched(here, b)) / (2 * step) for a, b, step in slots[pair]]
            out[pair] = here, np.stack(tables, axis=2)
        return out

    def _move(self, geoms: np.ndarray, k: int, step: float) -> None:
        d = self.data
        if k >= 3:
            d.geom_xpos[geoms, k - 3] += step
            return
        c, s = np.cos(step), np.sin(step)
        turn = np.eye(3)
        i, j = (k + 1) % 3, (k + 2) % 3
        turn[i, i] = turn[j, j] = c
        turn[i, j], turn[j, i] = -s, s
        d.geom_xpos[geoms] = d.geom_xpos[geoms] @ turn.T
        d.geom_xmat[geoms] = (turn @ d.geom_xmat[geoms].reshape(-1, 3, 3)).reshape(-1, 9)

    def _find(self, pairs: set[tuple[int, int]]) -> dict[tuple[int, int], np.ndarray]:
        """Normal, point and gap of the contacts of each pair, shape (k, 7)."""
        # margins are those of the end of the step, where things may move more slowly than at its start
        m = self.m
        margins = m.geom_margin, m.body_margin, m.pair_margin
        kept = [margin.copy() for margin in margins]
        for margin in margins:
            margin += self.reach
        engine().mj_collision(m, self.data)
        for margin, before in zip(margins, kept, strict=True):
            margin[:] = before
        contacts = self.data.contact
        found: dict[tuple[int, int], list[np.ndarray]] = {pair: [] for pair in pairs}
        for c in range(self.data.ncon):
            pair = int(contacts.geom[c, 0]), int(contacts.geom[c, 1])
            if pair in found:
                found[pair].append(
                    np.concatenate([contacts.frame[c][:3], contacts.pos[c], [contacts.dist[c]]])
                )
        return {pair: np.array(lines).reshape(-1, 7) for pair, lines in found.items()}


def _matched(here: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Contacts of a moved pair in the order of those where it was: the detector may swap them."""
    left, order = list(range(len(there))), []
    for line in here:
        near = min(left, key=lambda k: float(np.sum((there[k, 3:6] - line[3:6]) ** 2)))
        left.remove(near)
        order.append(near)
    return there[order]
