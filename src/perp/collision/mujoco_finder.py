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
    xpos,
    xmat,
    xipos,
    ximat,
    gpos,
    gmat,
):
    """Poses of movable bodies and of their shapes into mujoco's arrays."""
    for i in range(ids.size):
        b = ids[i]
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
        for r in range(3):
            gpos[g, r] = xpos[b, r]
            for k in range(3):
                gpos[g, r] += xmat[b, 3 * r + k] * geom_pos[j, k]
                total = 0.0
                for m in range(3):
                    total += xmat[b, 3 * r + m] * geom_R[j, m, k]
                gmat[g, 3 * r + k] = total


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
        self._data = self._mujoco.MjData(self._shapes)
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
                self._geom_pos, self._geom_R, d.xpos, d.xmat, d.xipos, d.ximat, d.geom_xpos, d.geom_xmat,
            )  # fmt: skip
            # bodies are sorted out by their own margin before their shapes are looked at
            m.geom_margin[self._geoms] = reach[self._slots]
            m.body_margin[self._movable] = reach
            if m.npair:
                m.pair_margin[:] = m.geom_margin[m.pair_geom1] + m.geom_margin[m.pair_geom2]
            m.geom_gap[:] = 0.0
        full = self._mujoco.mjtWarning.mjWARN_CONTACTFULL
        before = d.warning[full].number
        try:
            self._mujoco.mj_collision(m, d)
        except self._mujoco.FatalError as error:
            raise CollisionError(f"mujoco could not find the contacts: {error}") from None
        if d.warning[full].number > before:
            raise CollisionError(
                f'{d.ncon} contacts fill the memory of this MjModel: compile it with <size memory="…"/>, '
                "or pass the XML or the MjSpec"
            )
        return self._read()

    def _read(self) -> Contacts:
        model, found = self._model, self._data.contact
        geom = found.geom.astype(np.int64).reshape(-1, 2)
        body = model.geom_body[geom]
        keep = (body >= 0).any(axis=1)
        if not keep.all():
            geom, body = geom[keep], body[keep]
        else:
            keep = slice(None)
        # copies: mujoco writes the contacts of the next step to the same memory
        frame = np.array(found.frame[keep]).reshape(-1, 3, 3)
        dim = found.dim[keep]
        friction = found.friction[keep][:, [0, 1, 3]]
        if self._has_axes:
            self._align(geom, frame)
        radius = self._radius[geom]
        if self._cylinder.any():
            axis = self._data.geom_xmat.reshape(-1, 3, 3)[geom][:, :, :, 2]
            on_side = np.abs(np.einsum("cgk,ck->cg", axis, frame[:, 0])) < _ROLLING_COSINE
            radius = np.where(on_side, np.maximum(radius, self._cylinder[geom]), radius)
        return Contacts(
            geom=geom,
            body=body,
            point=np.array(found.pos[keep]),
            frame=frame,
            gap=np.array(found.dist[keep]),
            rows=np.where(dim == 1, 1, np.where(dim == 6, 5, 3)),
            friction=np.ascontiguousarray(friction),
            restitution=model.geom_restitution[geom].max(axis=1) if geom.size else np.zeros(0),
            roundness=radius,
            accuracy=self._accuracy[geom].max(axis=1) if geom.size else np.zeros(0),
        )

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
