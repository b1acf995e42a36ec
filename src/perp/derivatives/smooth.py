"""Smooth part of a step: derivatives of its momentum balance and of the velocity of its end.

Trees:   G = M (v̄ − v) + E v̄ − h f + (h/2) c(q, v̄) − Jᵀ λ = 0,      E what is added to the diagonal of M
         M⁺ (v⁺ − v̄) + E (v⁺ − v̄) + (h/2) c(q⁺, v̄) = 0
Both are inverse dynamics with the velocity √(h/2) v̄, whose derivatives are exact (`tree_dynamics`).

Cut bodies: with L(a) = I x, (1 + I⁻¹ exp(−h â) I) x = 2 a, the spin part is
         R L(Rᵀ ω̄) − R I Rᵀ ω − h τ − (Jᵀ λ) = 0,   ω⁺ = R⁺ I⁻¹ R⁺ᵀ R L(Rᵀ ω̄)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from perp.compilation.kernel import kernel
from perp.derivatives.spatial import turn_matrices
from perp.derivatives.structure import Structure, dense_mass
from perp.derivatives.tree_dynamics import inverse_dynamics
from perp.derivatives.world_view import WorldView


@dataclass
class Smooth:
    """Derivatives of the smooth part.

    Attributes:
        by_q, by_v, by_old: Of G by q, v̄ and v, without other forces and constraints, shape (nv, nv).
        end_mass, end_v, end_q, end_p: end_mass dv⁺ = end_v dv̄ + end_q dq + end_p dq⁺.
    """

    by_q: np.ndarray
    by_v: np.ndarray
    by_old: np.ndarray
    end_mass: np.ndarray
    end_v: np.ndarray
    end_q: np.ndarray
    end_p: np.ndarray


def smooth_part(view: WorldView, structure: Structure, m: Any, S: np.ndarray, E: np.ndarray) -> Smooth:
    """Of the last step of a world; S and E are the motions of its start and end."""
    return _cut(view, structure) if structure.cut else _trees(view, structure, m, S, E)


def _trees(view: WorldView, structure: Structure, m: Any, S: np.ndarray, E: np.ndarray) -> Smooth:
    w, h, nv = view.world, view.numbers["h"], view.freedoms
    v, scale = np.array(view.problem.velocity), math.sqrt(0.5 * view.numbers["h"])
    layout = m.M_rowadr, m.M_rownnz, m.M_colind
    zero = np.zeros(nv)
    mass, end = dense_mass(*layout, view.start.M, zero), dense_mass(*layout, view.end.M, w.extra)
    out = [np.empty((nv, nv)) for _ in range(4)]
    last, weight, moments = structure.bodies
    joints = structure.parent, structure.before, structure.last
    for motions, place, a, gravity, by in (
        (S, view.start, v - w.v, h * view.scene.gravity, out[:2]),
        (E, view.end, w.v_end - v, np.zeros(3), out[2:]),
    ):
        bodies = last, weight, moments, place.ximat, place.xipos
        inverse_dynamics(motions, *joints, bodies, scale * v, a, gravity, *by)
    return Smooth(
        out[0], mass + np.diag(w.extra) + scale * out[1], -mass, end, end - scale * out[3],
        np.zeros((nv, nv)), -out[2],
    )  # fmt: skip


def _cut(view: WorldView, structure: Structure) -> Smooth:
    w, nv = view.world, view.freedoms
    out = [np.zeros((nv, nv)) for _ in range(7)]
    _cut_bodies(
        view.scene.mass, view.scene.inertia, view.start.R, view.end.R, np.array(view.problem.velocity),
        np.array(w.v), view.numbers["h"], tuple(out),
    )  # fmt: skip
    return Smooth(*out)


@kernel(error_model="numpy")
def _hat(a):
    out = np.zeros((3, 3))
    out[0, 1], out[0, 2], out[1, 2] = -a[2], a[1], -a[0]
    out[1, 0], out[2, 0], out[2, 1] = a[2], -a[1], a[0]
    return out


@kernel(error_model="numpy")
def _cut_bodies(mass, inertia, R_start, R_end, v, old, h, out):
    by_q, by_v, by_old, end_mass, end_v, end_q, end_p = out
    turn, left = np.empty((3, 3)), np.empty((3, 3))
    for b in range(mass.size):
        at, i = 6 * b, 6 * b + 3
        for k in range(3):
            by_v[at + k, at + k] = mass[b]
            by_old[at + k, at + k] = -mass[b]
            end_mass[at + k, at + k] = 1.0
            end_v[at + k, at + k] = 1.0
            end_mass[i + k, i + k] = 1.0
        R, Re = R_start[b].copy(), R_end[b].copy()
        moments = np.diag(inertia[b])
        inverse = np.diag(1.0 / inertia[b])
        a = R.T @ v[i : i + 3]
        turn_matrices(-h * a, turn, left)
        X = np.eye(3) + inverse @ turn @ moments
        x = np.linalg.solve(X, 2.0 * a)
        L = moments @ x
        # X dx + I⁻¹ d(exp) L = 2 da with d(exp(φ) L) = −(exp(φ) L)^ J dφ, φ = −h a
        bent = h * inverse @ _hat(turn @ L) @ left
        dL = moments @ np.linalg.solve(X, 2.0 * np.eye(3) - bent)
        spin = R @ moments @ R.T
        momentum = R @ L
        by_v[i : i + 3, i : i + 3] = R @ dL @ R.T
        by_old[i : i + 3, i : i + 3] = -spin
        # a rotation of R by δ: R L(Rᵀ ω̄) turns as a whole, less what ω̄ does not
        carried = -_hat(momentum) + R @ dL @ R.T @ _hat(v[i : i + 3])
        by_q[i : i + 3, i : i + 3] = carried + _hat(spin @ old[i : i + 3]) - spin @ _hat(old[i : i + 3])
        spread = Re @ inverse @ Re.T
        end_v[i : i + 3, i : i + 3] = spread @ R @ dL @ R.T
        end_q[i : i + 3, i : i + 3] = spread @ carried
        end_p[i : i + 3, i : i + 3] = -_hat(spread @ momentum) + spread @ _hat(momentum)
