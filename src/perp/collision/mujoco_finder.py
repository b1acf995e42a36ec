"""Contacts from mujoco-core: poses are written straight into its data, one collision call for the scene."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from perp.collision.contacts import Contacts
from perp.problems import PerpError
from perp.scenes import Model
from perp.scenes.engine import engine

# mujoco stops convex pairs at 1e-6 m; contact that is exact in everything else deserves better.
_CONVEX_TOLERANCE = 1e-12
_CONVEX_ITERATIONS = 200
# Normals of convex pairs come out to about 1e-8; times the size of the shape that is an error of the gap.
_CONVEX_ACCURACY = 1e-7
# A cylinder counts as rolling on its side when its axis is this close to the contact plane.
_ROLLING_COSINE = 1e-3


class CollisionError(PerpError, RuntimeError):
    """The collision detector could not hold all contacts."""


@njit(cache=True)
def _place(
    ids,
    position,
    R,
    origin,
    frame,
    geom_ids,
    geom_slot,
    geom_pos,
    geom_R,
    reach,
    xpos,
    xmat,
    xipos,
    ximat,
    gpos,
    gmat,
    body_margin,
    geom_margin,
):
    """Poses of movable bodies and of their shapes, and how far they reach, into mujoco's arrays."""
    for i in range(ids.size):
        b = ids[i]
        # bodies are sorted out by their own margin before their shapes are looked at
        body_margin[b] = reach[i]
        for r in range(3):
            xipos[b, r] = position[i, r]
            xpos[b, r] = position[i, r]
            for k in range(3):
                ximat[b, 3 * r + k] = R[i, r, k]
                xpos[b, r] += R[i, r, k] * origin[i, k]
                total = 0.0
                for m in range(3):
                    total += R[i, r, m] * frame[i, m, k]
                xmat[b, 3 * r + k] = total
    for j in range(geom_ids.size):
        g, b = geom_ids[j], ids[geom_slot[j]]
        geom_margin[g] = reach[geom_slot[j]]
        for r in range(3):
            gpos[g, r] = xpos[b, r]
            for k in range(3):
                gpos[g, r] += xmat[b, 3 * r + k] * geom_pos[j, k]
                total = 0.0
                for m in range(3):
                    total += xmat[b, 3 * r + m] * geom_R[j, m, k]
                gmat[g, 3 * r + k] = total


@njit(cache=True)
def _describe(
    pair, dim, coefficients, point, frame, gap, geom_body, geom_restitution, geom_radius, geom_cylinder,
    geom_accuracy, gmat, geom, body, rows, friction, restitution, roundness, accuracy,
):  # fmt: skip
    """Contacts with a movable body from mujoco's numbers, in order and without gaps; returns how many.

    `point`, `frame` and `gap` are closed up in place; the arrays after `gmat` are filled.
    """
    kept = 0
    for c in range(dim.size):
        if geom_body[pair[c, 0]] < 0 and geom_body[pair[c, 1]] < 0:
            continue
        k = kept
        kept += 1
        gap[k] = gap[c]
        for i in range(3):
            point[k, i] = point[c, i]
            for j in range(3):
                frame[k, i, j] = frame[c, i, j]
        rows[k] = 1 if dim[c] == 1 else (5 if dim[c] == 6 else 3)
        friction[k, 0], friction[k, 1] = coefficients[c, 0], coefficients[c, 1]
        friction[k, 2] = coefficients[c, 3]
        restitution[k] = accuracy[k] = -np.inf
        for side in range(2):
            g = pair[c, side]
            geom[k, side], body[k, side] = g, geom_body[g]
            restitution[k] = max(restitution[k], geom_restitution[g])
            accuracy[k] = max(accuracy[k], geom_accuracy[g])
            roundness[k, side] = geom_radius[g]
            if geom_cylinder[g] > 0.0:
                cosine = 0.0
                for i in range(3):
                    cosine += gmat[g, 3 * i + 2] * frame[k, 0, i]
                if abs(cosine) < _ROLLING_COSINE:
                    roundness[k, side] = max(geom_radius[g], geom_cylinder[g])
    return kept


class MujocoFinder:
    """Contact finder of a model; holds its own copy of mujoco's model and data."""

    def __init__(self, model: Model) -> None:
        mujoco = engine()

        self._mujoco = mujoco
        self._model = model
        self._compile(model.shapes)
        self._movable = np.flatnonzero(model.shapes.body_weldid > 0)
        self._frame = _matrices(model.frame)
        self._geoms = np.flatnonzero(model.geom_body >= 0)
        self._slots = model.geom_body[self._geoms].astype(np.int64)
        self._geom_pos = np.ascontiguousarray(self._shapes.geom_pos[self._geoms])
        self._geom_R = _matrices(self._shapes.geom_quat[self._geoms])
        kinds = mujoco.mjtGeom
        type_, size = self._shapes.geom_type, self._shapes.geom_size[:, 0]
        round_ = (type_ == int(kinds.mjGEOM_SPHERE)) | (type_ == int(kinds.mjGEOM_CAPSULE))
        self._radius = np.where(round_, size, 0.0)
        self._cylinder = np.where(type_ == int(kinds.mjGEOM_CYLINDER), size, 0.0)
        self._bound = _reach_of_shapes(self._shapes, model)
        formulas = ("PLANE", "SPHERE", "CAPSULE", "BOX")
        exact = np.isin(type_, [int(getattr(kinds, f"mjGEOM_{name}")) for name in formulas])
        self._accuracy = np.where(exact, 0.0, _CONVEX_ACCURACY * self._shapes.geom_rbound)
        self._has_axes = bool(model.friction_axis.any())

    def _compile(self, shapes: Any) -> None:
        import copy

        self._shapes = copy.copy(shapes)
        self._shapes.opt.ccd_tolerance = _CONVEX_TOLERANCE
        self._shapes.opt.ccd_iterations = _CONVEX_ITERATIONS
        self._shapes.geom_gap[:] = 0.0
        self._data = self._mujoco.MjData(self._shapes)
        # a view of how often mujoco warned of anything
        self._overflows = self._data.warning.number
        self._full = int(self._mujoco.mjtWarning.mjWARN_CONTACTFULL)
        self._mujoco.mj_kinematics(self._shapes, self._data)

    @property
    def bound(self) -> np.ndarray:
        """Radius of each body's surface about its centre of mass, shape (bodies,) [m]."""
        return self._bound

    def find(self, position: np.ndarray, rotation: np.ndarray, reach: np.ndarray) -> Contacts:
        """All contacts within reach; see `ContactFinder`.

        Raises:
            CollisionError: There are more contacts than mujoco's arena holds; none is dropped silently.
        """
        m, d, model = self._shapes, self._data, self._model
        if self._movable.size:
            _place(
                self._movable, position, rotation, model.origin, self._frame, self._geoms, self._slots,
                self._geom_pos, self._geom_R, reach, d.xpos, d.xmat, d.xipos, d.ximat, d.geom_xpos,
                d.geom_xmat, m.body_margin, m.geom_margin,
            )  # fmt: skip
            if m.npair:
                m.pair_margin[:] = m.geom_margin[m.pair_geom1] + m.geom_margin[m.pair_geom2]
        before = self._overflows[self._full]
        try:
            self._mujoco.mj_collision(m, d)
        except self._mujoco.FatalError as error:
            raise CollisionError(f"mujoco could not find the contacts: {error}") from None
        if self._overflows[self._full] > before:
            raise CollisionError(
                f'{d.ncon} contacts fill the memory of this MjModel: compile it with <size memory="…"/>, '
                "or pass the XML or the MjSpec"
            )
        return self._read()

    def _read(self) -> Contacts:
        model, data = self._model, self._data
        found, n = data.contact, data.ncon
        if not n:
            return Contacts.none()
        # copies: mujoco writes the contacts of the next step to the same memory
        point, frame, gap = np.array(found.pos), np.array(found.frame).reshape(n, 3, 3), np.array(found.dist)
        geom, body = np.empty((n, 2), np.int64), np.empty((n, 2), np.int64)
        rows, friction, restitution = np.empty(n, np.int64), np.empty((n, 3)), np.empty(n)
        roundness, accuracy = np.empty((n, 2)), np.empty(n)
        kept = _describe(
            np.array(found.geom), np.array(found.dim), np.array(found.friction), point, frame, gap,
            model.geom_body, model.geom_restitution, self._radius, self._cylinder, self._accuracy,
            data.geom_xmat, geom, body, rows, friction, restitution, roundness, accuracy,
        )  # fmt: skip
        columns = (geom, body, point, frame, gap, rows, friction, restitution, roundness, accuracy)
        if kept < n:
            columns = tuple(column[:kept].copy() for column in columns)
        contacts = Contacts(*columns)
        if self._has_axes:
            self._align(contacts.geom, contacts.frame)
        return contacts

    def _align(self, geom: np.ndarray, frame: np.ndarray) -> None:
        """Turn the tangents along the friction axis of the first shape that has one."""
        axes, poses = self._model.friction_axis, self._data.geom_xmat.reshape(-1, 3, 3)
        has: np.ndarray = np.any(axes, axis=1)[geom]
        chosen = np.where(has[:, 0], geom[:, 0], geom[:, 1])
        direction = np.einsum("cij,cj->ci", poses[chosen], axes[chosen])
        normal = frame[:, 0]
        direction -= (direction * normal).sum(axis=1, keepdims=True) * normal
        length = np.linalg.norm(direction, axis=1)
        rows = has.any(axis=1) & (length > 1e-9)
        frame[rows, 1] = direction[rows] / length[rows, None]
        frame[rows, 2] = np.cross(normal[rows], frame[rows, 1])


def _matrices(quaternion: np.ndarray) -> np.ndarray:
    from perp.scenes.frames import rotate

    return (
        np.array([[rotate(q, e) for e in np.eye(3)] for q in quaternion])
        .reshape(-1, 3, 3)
        .swapaxes(1, 2)
        .copy()
    )


def _reach_of_shapes(shapes: Any, model: Model) -> np.ndarray:
    """Radius of each body's surface about its centre of mass, shape (bodies,)."""
    out = np.zeros(model.body_count)
    ids = np.flatnonzero(model.geom_body >= 0)
    centre = np.zeros((ids.size, 3))
    for j, g in enumerate(ids):
        body = shapes.geom_bodyid[g]
        centre[j] = shapes.geom_pos[g] - shapes.body_ipos[body]
    np.maximum.at(out, model.geom_body[ids], np.linalg.norm(centre, axis=1) + shapes.geom_rbound[ids])
    return out
