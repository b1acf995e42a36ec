"""Rows of a step between bodies: contacts and joints, gathered for the compiled derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.derivatives.contact_assembly import GAP, RATE, RATE_AT_END, add_contact, add_rate_at_end
from perp.derivatives.contact_changes import (
    CARRIED,
    CENTRES,
    FACE_OF_FIRST,
    TABLE,
    contact_changes,
    geometry_table,
    turned_changes,
)
from perp.derivatives.detector import Detector, formula_of, is_convex
from perp.derivatives.forces import Slopes
from perp.derivatives.joint_changes import add_row, add_value, row_slopes
from perp.derivatives.structure import Structure
from perp.derivatives.tree_dynamics import twists
from perp.derivatives.world_view import WorldView
from perp.dynamics.row_kernels import evaluate_rows
from perp.dynamics.rows import ARMATURE, DRIVE, FORCE, HOLD, LIMIT, TARGET
from perp.stepping.course import FOUND
from perp.stepping.verdict import ROUNDS

# Points that lie further from where they should, as a share of the scene's size, act with arms of their own.
_AWAY = 1e-9


@dataclass
class Ways:
    """Motions and velocities of a step.

    Attributes:
        S, E: Motions of the freedoms at the start and the end, shape (nv, 6).
        T, T_old, T_end: Velocities behind each freedom with zeros for the world: moving velocity, velocity of
            the start, moving velocity at the end.
    """

    S: np.ndarray
    E: np.ndarray
    T: np.ndarray
    T_old: np.ndarray
    T_end: np.ndarray

    @classmethod
    def of(cls, view: WorldView, structure: Structure) -> Ways:
        """Of the last step."""
        S, E = structure.motions(view.start), structure.motions(view.end)
        v = np.array(view.problem.velocity)

        def behind(motions: np.ndarray, rates: np.ndarray) -> np.ndarray:
            out = np.zeros((rates.size + 1, 6))
            twists(motions, structure.parent, rates, out)
            return out

        return cls(S, E, behind(S, v), behind(S, np.array(view.world.v)), behind(E, v))

    @property
    def place(self) -> tuple[np.ndarray, ...]:
        """As `contact_assembly` takes it."""
        return self.S, self.E, self.T, self.T_old, self.T_end


class StepContacts:
    """Derivatives of all contacts of the last step."""

    def __init__(
        self, view: WorldView, structure: Structure, ways: Ways, m: Any, geom_body: np.ndarray
    ) -> None:
        self.view, self.structure, self.ways, self.m = view, structure, ways, m
        self.geom_body = geom_body
        w = view.world
        self.joints, self.count = int(w.count[0]), int(w.count[1])
        self.found = int(w.course[FOUND])

    def add(self, slopes: Slopes) -> None:
        """All contacts into the derivatives."""
        tables = self._tables(slopes)
        out = slopes.Gq, slopes.Gp, slopes.Gv, slopes.Uq, slopes.Up, slopes.Uv, slopes.Uo
        for c in range(self.count):
            if self.touches(c):
                self._add_one(c, tables, slopes, out)

    def touches(self, c: int) -> bool:
        """Whether a contact can have a part in the derivative: what stays open has none."""
        view = self.view
        if view.world.left_out[c]:
            return False
        p = view.problem
        a, b = int(p.start[self.joints + c]), int(p.start[self.joints + c + 1])
        near = 1e-6 * view.numbers["speed"]
        return bool(p.impulse[a:b].any()) or not p.row_velocity[a] > near

    def _tables(self, slopes: Slopes) -> dict[int, np.ndarray]:
        """(dn, dp, dgap) of contacts whose shapes have no formula here, by contact."""
        con = self.view.contacts
        kinds = self.m.geom_type
        asked: dict[int, set[tuple[int, int]]] = {}
        for c in range(self.count):
            pair = int(con.geom[c, 0]), int(con.geom[c, 1])
            if formula_of(int(kinds[pair[0]]), int(kinds[pair[1]])) != TABLE or not self.touches(c):
                continue
            body = int(con.body[c, 1]) if con.body[c, 1] >= 0 else int(con.body[c, 0])
            asked.setdefault(body, set()).add(pair)
        if not asked:
            return {}
        reach = max(0.0, float(np.max(con.gap[: self.count])))
        detector = Detector(self.m, self.geom_body, self.view.start.values, reach)
        size, out = float(self.view.scene.size), {}
        for body, pairs in asked.items():
            found = detector.table(body, pairs, size)
            for c in range(self.count):
                pair = int(con.geom[c, 0]), int(con.geom[c, 1])
                owner = int(con.body[c, 1]) if con.body[c, 1] >= 0 else int(con.body[c, 0])
                if pair not in pairs or owner != body or not self.touches(c):
                    continue
                names = f"{self._name(pair[0])} on {self._name(pair[1])}"
                if found[pair] is None:
                    slopes.frozen.append(f"normal of {names}")
                    continue
                if is_convex(int(kinds[pair[0]]), int(kinds[pair[1]])):
                    slopes.frozen.append(f"normal of {names}, found by iterations: differences to 1e-4")
                here, lines = found[pair]
                near = int(np.argmin(np.linalg.norm(here[:, 3:6] - con.point[c], axis=1)))
                out[c] = self._completed(c, lines[near], second=bool(con.body[c, 1] >= 0))
        return out

    def _completed(self, c: int, by_one: np.ndarray, *, second: bool) -> np.ndarray:
        """A table by the motions of one body, completed by those of the other: both together carry all."""
        con = self.view.contacts
        n, p = con.frame[c, 0], con.point[c]
        together = np.zeros((7, 6))
        together[:3, :3] = -_hat(n)
        together[3:6, :3] = -_hat(p)
        together[3:6, 3:] = np.eye(3)
        G = np.zeros((7, 12))
        mine, other = (6, 0) if second else (0, 6)
        G[:, mine : mine + 6] = by_one
        G[:, other : other + 6] = together - by_one
        return G

    def _name(self, geom: int) -> str:
        return self.m.geom(geom).name or f"geom{geom}"

    def _add_one(self, c: int, tables: dict[int, np.ndarray], slopes: Slopes, out: tuple[Any, ...]) -> None:
        view, structure, ways = self.view, self.structure, self.ways
        w, con, p, h = view.world, view.contacts, view.problem, view.numbers["h"]
        constraint = self.joints + c
        first, end = int(p.start[constraint]), int(p.start[constraint + 1])
        bodies = [int(b) for b in con.body[c]]
        ends = np.array([structure.last_dof[b] for b in bodies])
        stop = structure.common(int(ends[0]), int(ends[1]))
        frame, radius = np.array(con.frame[c]), np.array(con.round[c])
        kinds = [int(self.m.geom_type[g]) for g in con.geom[c]]
        code = formula_of(*kinds)
        late, gap = c >= self.found, float(con.gap[c])
        ended, turns, moving = self._ended(c, bodies)
        carried, acts = np.array(w.carried[c]), np.array(w.acts[c])
        G = np.zeros((7, 12))
        if c in tables and not late:
            G, code = tables[c], TABLE
        elif code == TABLE or late:
            if code != FACE_OF_FIRST:
                slopes.frozen.append(
                    f"normal of {self._name(con.geom[c, 0])} on {self._name(con.geom[c, 1])}"
                )
            geometry_table(FACE_OF_FIRST, frame[0], gap, radius, carried, G)
            code = CARRIED
        else:
            geometry_table(code, frame[0], gap, radius, carried, G)
        F, A, N = np.zeros((3, 24)), np.zeros((2, 3, 24)), np.zeros(24)
        spin = np.zeros((2, 3, 3))
        if w.turned[c] and code == CENTRES:
            turned_changes(frame, radius, carried, ended, F, A, N)
        else:
            if w.turned[c]:
                slopes.frozen.append(f"turned normal of contact {c}")
            axis, body = self._axis(c, slopes)
            contact_changes(
                code, frame, gap, radius, carried, ended, acts, turns, moving, G, axis, body, F, A, N
            )
            self._arms(c, late, bodies, F, A, N, spin, slopes, G, code)
        kind, bounce, share = self.normal(c, gap)
        contact = (frame, acts, np.array(p.impulse[first:end]), end - first, kind, bounce, share, h)
        add_contact(structure.tree, ways.place, ends, stop, contact, (F, A, N, spin, G[6]), first, out)
        if kind == RATE_AT_END:
            points = self._carried_changes(c, code, G, ended, turns, moving)
            add_rate_at_end(structure.tree, ways.place, ends, frame, ended, F, points, first, out)

    def _ended(self, c: int, bodies: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Carried points at the end, rotations of the bodies over the step, and which of them move."""
        view = self.view
        ended, turns = np.array(view.world.carried[c]), np.tile(np.eye(3), (2, 1, 1))
        for side, b in enumerate(bodies):
            if b >= 0:
                ended[side] = view.end.x[b] + view.end.R[b] @ view.world.local[c, side]
                turns[side] = view.end.R[b] @ view.start.R[b].T
        return ended, turns, np.array([b >= 0 for b in bodies])

    def _carried_changes(
        self, c: int, code: int, G: np.ndarray, ended: np.ndarray, turns: np.ndarray, moving: np.ndarray
    ) -> np.ndarray:
        """How the carried points of the end change with the motions of the start, shape (2, 3, 24)."""
        con, w = self.view.contacts, self.view.world
        out, n = np.zeros((2, 3, 24)), np.array(con.frame[c, 0])
        for side in range(2):
            sign, P = -1.0 if side == 0 else 1.0, w.carried[c, side]
            own = np.zeros((3, 12))
            own[:, 6 * side : 6 * side + 3], own[:, 6 * side + 3 : 6 * side + 6] = -_hat(P), np.eye(3)
            moved = (
                own
                if code == CARRIED
                else (
                    G[3:6]
                    + sign * (0.5 * np.outer(n, G[6]) + (0.5 * con.gap[c] + con.round[c, side]) * G[:3])
                )
            )
            out[side, :, :12] = turns[side] @ (moved - own) if moving[side] else moved
        _ = ended
        return out

    def normal(self, c: int, gap: float) -> tuple[int, float, float]:
        """What the normal row is, its restitution, and d(gap − allowed)/d(gap)."""
        view = self.view
        w, con, numbers, h = view.world, view.contacts, view.numbers, view.numbers["h"]
        at_end = bool(numbers["contacts_at_end"])
        row = int(view.problem.start[self.joints + c])
        if con.restitution[c] > 0.0 and self.bounces(c, row):
            ended = at_end and bool(w.info[ROUNDS])
            return (RATE_AT_END if ended else RATE), float(w.bounce[c]), 0.0
        slope = 0.0
        if gap + float(w.sag[c]) < 0.0:
            accuracy, recovery = float(con.accuracy[c]), numbers["recovery"]
            # overlap that cannot be told from none is taken for none
            stays = recovery == 0.0 or gap + h * recovery < -accuracy
            slope = 1.0 if stays else 0.0
        if at_end:
            return GAP, 0.0, 1.0 - slope
        return RATE, 0.0, (1.0 - slope) * (numbers["contact_correction"] if gap < 0.0 else 1.0)

    def bounces(self, c: int, row: int) -> bool:
        """As `contact_rows.bounces`: whether the bias is that of a bounce."""
        view = self.view
        w, p, h = view.world, view.problem, view.numbers["h"]
        speed = -2.0 * h * float(np.linalg.norm(view.scene.gravity))
        if w.approach[c] >= speed:
            return False
        a, b = int(p.row_begin[row]), int(p.row_begin[row + 1])
        free = float(p.value[a:b] @ p.free_velocity[p.column[a:b]])
        gap = float(view.contacts.gap[c])
        return gap + h * free <= 0.0 or gap + h * float(w.approach[c]) <= 0.0

    def _axis(self, c: int, slopes: Slopes) -> tuple[np.ndarray, int]:
        """The vector that tangents stay along, and the side that carries it: only where friction differs."""
        con, view = self.view.contacts, self.view
        if con.dim[c] < 3 or con.friction[c, 0] == con.friction[c, 1]:
            return np.zeros(3), -1
        for side in range(2):
            g = int(con.geom[c, side])
            axis = view.scene.geom_axis[g]
            if axis.any():
                return view.start.geom_xmat[g].reshape(3, 3) @ axis, side if con.body[c, side] >= 0 else -1
        n = con.frame[c, 0]
        axis = np.array([0.0, 1.0, 0.0]) if abs(n[1]) < 0.5 else np.array([0.0, 0.0, 1.0])
        tangent = axis - (axis @ n) * n
        if abs(tangent @ con.frame[c, 1]) < (1 - 1e-9) * np.linalg.norm(tangent):
            slopes.frozen.append(f"tangents of contact {c}")
            return np.zeros(3), -1
        return axis, -1

    def _arms(
        self, c: int, late: bool, bodies: list[int], F: np.ndarray, A: np.ndarray, N: np.ndarray,
        spin: np.ndarray, slopes: Slopes, G: np.ndarray, code: int,
    ) -> None:  # fmt: skip
        """Impulses with the mean arms of the way (`stepping.arms`): points that depend on the spin."""
        view = self.view
        w, con, h = view.world, view.contacts, view.numbers["h"]
        if late:
            return
        away = np.abs(w.acts[c] - con.point[c]).max()
        if away <= _AWAY * float(view.scene.size):
            return
        slopes.frozen.append(f"mean arms of contact {c}")
        for side, b in enumerate(bodies):
            if b < 0:
                continue
            sign = -1.0 if side == 0 else 1.0
            rate = self.ways.T[self.structure.last_dof[b], :3]
            x, P, r = np.array(view.start.x[b]), np.array(w.carried[c, side]), float(con.round[c, side])
            K = _mean_turn(h * rate) - np.eye(3)
            own = np.zeros((3, 12))
            own[:, 6 * side : 6 * side + 3], own[:, 6 * side + 3 : 6 * side + 6] = -_hat(x), np.eye(3)
            moved = G[3:6] + sign * (0.5 * np.outer(con.frame[c, 0], G[6]) + (0.5 * con.gap[c] + r) * G[:3])
            A[side, :, :12] = moved - sign * r * G[:3] + K @ (moved - own)
            for k in range(3):
                e = np.zeros(3)
                e[k] = 1e-6
                change = _mean_turn(h * (rate + e)) - _mean_turn(h * (rate - e))
                spin[side, :, k] = change @ (P - x) / 2e-6
        _ = F, N, code


def _hat(a: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def _mean_turn(w: np.ndarray) -> np.ndarray:
    """∫ exp(s ŵ) ds over [0, 1]: the left Jacobian of rotations."""
    from perp.derivatives.spatial import turn_matrices

    turn, left = np.empty((3, 3)), np.empty((3, 3))
    turn_matrices(w, turn, left)
    return left


def add_joint_rows(view: WorldView, structure: Structure, ways: Ways, slopes: Slopes) -> None:
    """Rows between bodies: joints that are cut or close loops, with their limits, drives and given forces."""
    w, s, p, h = view.world, view.scene, view.problem, view.numbers["h"]
    if not s.law.size:
        return
    at_end = bool(view.numbers["joints_at_end"])
    recovery = 10.0 * view.numbers["recovery"]
    row_of = {int(w.index[k]): k for k in range(int(w.count[0])) if w.group[k] == 0}
    x, quat, R = (np.array(a) for a in (view.start.x, view.start.quat, view.start.R))
    value, row = np.empty(s.law.size), np.empty((s.law.size, 12))
    evaluate_rows(
        s.links, s.geometry, view.end.x, view.end.quat, view.end.R, np.array(w.table_value), value, row
    )
    both = np.stack([ways.T, ways.T_old])
    rates = np.zeros_like(slopes.Uq)
    for i in range(s.law.size):
        law, par = int(s.law[i]), s.parameters[i]
        links, geometry = s.links[i : i + 1], s.geometry[i : i + 1]
        bodies = [int(b) for b in s.links[i, 1:3]]
        ends = np.array([structure.last_dof[b] for b in bodies])
        centres = np.array([view.start.x[b] if b >= 0 else np.zeros(3) for b in bodies])
        k = row_of.get(i, -1)
        if k < 0 and law != FORCE:
            continue
        impulse = h * float(par[TARGET]) if law == FORCE else float(p.impulse[k])
        bent = np.empty((12, 12))
        row_slopes(links, geometry, x, quat, R, w.table_value[i : i + 1], float(s.size), bent)
        scratch = np.zeros_like(slopes.Uq), np.zeros_like(slopes.Uq), np.zeros_like(slopes.Uq)
        add_row(
            structure.tree, ways.S, both, ends, centres, np.array(w.table_row[i]), bent, impulse, k,
            (slopes.Gq, *scratch),
        )  # fmt: skip
        if k < 0:
            continue
        by_q, old_q, by_v = (a[k] for a in scratch)
        here = np.zeros((1, view.freedoms))
        add_value(ways.S, structure.parent, ends, centres, np.array(w.table_row[i]), 0, here)
        c, correction = float(w.value[k]), view.correction(k)
        if law == DRIVE:
            slopes.Uq[k] += by_q
            slopes.Uv[k] += by_v
            gain, stiffness = float(w.gain[k]), float(w.row_stiffness[k])
            if gain < 1e300:
                slopes.Uq[k] += h * stiffness * here[0] / gain
                if par[ARMATURE] > 0.0:
                    damping = par[ARMATURE] / h
                    slopes.Uq[k] -= h * damping * old_q / gain
                    slopes.Uo[k] -= h * damping * by_v / gain
                if stiffness and at_end:
                    _bent_spring(structure, ways, view, i, ends, row, (h * stiffness / gain, h), slopes, k)
                    slopes.Uq[k] -= h * stiffness / gain * (here[0] + h * by_q)
                    slopes.Uv[k] -= h * stiffness / gain * h * by_v
            continue
        if at_end:
            centres_end = np.array([view.end.x[b] if b >= 0 else np.zeros(3) for b in bodies])
            final = np.zeros((1, view.freedoms))
            add_value(ways.E, structure.parent, ends, centres_end, row[i], 0, final)
            slopes.Up[k] += final[0] / h
            by_value = -1.0
        else:
            slopes.Uq[k] += by_q
            slopes.Uv[k] += by_v
            by_value = 0.0
        if law == HOLD:
            kept = 0.0 if abs(c) < h * recovery or view.is_soft(k) else 1.0
            slopes.Uq[k] += ((0.0 if at_end else correction) - correction * kept) * here[0] / h
        elif law == LIMIT:
            allowed = 1.0 if c + h * recovery < 0.0 else 0.0
            if c < 0.0:
                allowed += (1.0 - correction) * (1.0 - allowed)
            slopes.Uq[k] += (1.0 + by_value - allowed) * here[0] / h
    _ = rates


def _bent_spring(
    structure: Structure, ways: Ways, view: WorldView, i: int, ends: np.ndarray, row: np.ndarray,
    scales: tuple[float, float], slopes: Slopes, k: int,
) -> None:  # fmt: skip
    """A spring between bodies feels the value at the end, not only its rate: k (c⁺ − h J v̄ − c)."""
    bodies = [int(b) for b in view.scene.links[i, 1:3]]
    centres = np.array([view.end.x[b] if b >= 0 else np.zeros(3) for b in bodies])
    final = np.zeros((1, view.freedoms))
    add_value(ways.E, structure.parent, ends, centres, row[i], 0, final)
    slopes.Up[k] += scales[0] * final[0]
