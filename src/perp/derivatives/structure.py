"""The freedoms of a scene as derivatives see them: joints, paths, inertia, the kinematic map of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.compilation.kernel import kernel
from perp.derivatives.spatial import motions_about_origin, turn_matrices
from perp.derivatives.world_view import Group, WorldView


@dataclass
class Structure:
    """What does not change from step to step.

    Attributes:
        parent: Freedom before each freedom or −1, shape (nv,).
        before: Freedom before the joint of each freedom or −1.
        last: Last freedom of the joint of each freedom.
        carry: Whether a freedom carries the rates behind it: rates of a rotation in the world do not.
        siblings: Whether rates of a rotation turn their own axes.
        last_dof: Last freedom of each movable body or −1, with −1 for the world at the end.
        bodies: Of trees: last freedom, mass and moments of mujoco's bodies.
        line: Reference point of each freedom.
        triples: First freedom of every rotation.
        cut: Whether bodies are cut.
    """

    parent: np.ndarray
    before: np.ndarray
    last: np.ndarray
    carry: np.ndarray
    siblings: bool
    last_dof: np.ndarray
    bodies: tuple[np.ndarray, np.ndarray, np.ndarray]
    line: np.ndarray
    triples: np.ndarray
    cut: bool

    def path(self, j: int) -> list[int]:
        """Freedom j and all before it, from it to the root; none of −1."""
        out = []
        while j >= 0:
            out.append(j)
            j = int(self.parent[j])
        return out

    @classmethod
    def of(cls, view: WorldView, m: Any) -> Structure:
        """Of a world and its mujoco model."""
        s = view.scene
        cut = bool(s.cut)
        nv = view.freedoms
        parent = np.array(s.dof_parent, dtype=np.int64)
        triples = np.flatnonzero(s.triple)
        before, last, carry = parent.copy(), np.arange(nv), np.ones(nv, np.int64)
        for j in triples:
            before[j : j + 3], last[j : j + 3] = parent[j], j + 2
            carry[j : j + 3] = 0 if cut else 1
        last_dof = np.append(np.array(s.last_dof, dtype=np.int64), -1)
        if cut:
            bodies = last_dof[:-1], np.array(s.mass), np.array(s.inertia)
        else:
            end = np.full(m.nbody, -1, dtype=np.int64)
            for b in range(1, m.nbody):
                n = int(m.body_dofnum[b])
                end[b] = m.body_dofadr[b] + n - 1 if n else end[m.body_parentid[b]]
            bodies = end, np.array(m.body_mass), np.array(m.body_inertia)
        line = np.array(s.dof_reference, dtype=np.int64)
        return cls(parent, before, last, carry, not cut, last_dof, bodies, line, triples, cut)

    @property
    def tree(self) -> tuple[Any, ...]:
        """As `contact_assembly` takes it."""
        return self.parent, self.before, self.last, self.carry, self.siblings

    def motions(self, place: Group) -> np.ndarray:
        """Motions of the freedoms about the origin, shape (nv, 6)."""
        out = np.empty((self.parent.size, 6))
        motions_about_origin(np.ascontiguousarray(place.cdof), place.reference, self.line, out)
        return out

    def common(self, a: int, b: int) -> int:
        """First freedom on the way to the root that two last freedoms share, or −1."""
        while a != b:
            if a > b:
                a = int(self.parent[a]) if a >= 0 else -1
            else:
                b = int(self.parent[b]) if b >= 0 else -1
        return a

    def kinematic_map(self, v: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """P and Q of dq⁺ = P dq + h Q dv, in the tangent space, for a step with velocities v."""
        P, Q = np.eye(v.size), np.eye(v.size)
        _kinematic_map(self.triples, v, h, self.cut, P, Q)
        return P, Q


@kernel(error_model="numpy")
def _kinematic_map(triples, v, h, world, P, Q):
    turn, left, w = np.empty((3, 3)), np.empty((3, 3)), np.empty(3)
    for j in triples:
        for k in range(3):
            w[k] = h * v[j + k]
        turn_matrices(w, turn, left)
        for a in range(3):
            for b in range(3):
                # rotations of trees are composed from the right, those of cut bodies from the left
                P[j + a, j + b] = turn[a, b] if world else turn[b, a]
                Q[j + a, j + b] = left[a, b] if world else left[b, a]


@kernel(error_model="numpy")
def dense_mass(begin, count, column, M, extra):
    """mujoco's M and what is added to its diagonal as one matrix."""
    n = begin.size
    out = np.zeros((n, n))
    for i in range(n):
        for e in range(begin[i], begin[i] + count[i]):
            out[i, column[e]] = out[column[e], i] = M[e]
    for i in range(n):
        out[i, i] += extra[i]
    return out
