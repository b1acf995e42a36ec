"""A step as a pure function of arrays with a gradient: what `perp.jax.step` and `perp.torch.step` call.

States are x = (qpos, qvel, act) as mujoco has them, in reduced coordinates. Gradients by quaternions are
those of rotations: without a part along the quaternion, whose length means nothing. Steps begin without the
impulses of earlier ones, so that the same x has the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perp.derivatives.parameters import width_of
from perp.problems import ProblemError
from perp.simulation.gradients.parameter_values import with_parameters

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation


class StepOp:
    """The step of a copy of a simulation as a function with a gradient; parameters are one number each."""

    def __init__(self, sim: Simulation, parameters: Sequence[str] = ()) -> None:
        if not sim.stepper.reduced:
            raise ProblemError('steps as operations need reduced coordinates: coordinates="reduced"')
        self.base, self.sim = sim.copy(), sim.copy()
        self.parameters = tuple(parameters)
        for name in self.parameters:
            if width_of(sim.model.shapes, sim.model, name) > 1:
                raise ProblemError(f"{name} has several numbers: steps as operations take one a parameter")
        self._theta: np.ndarray | None = None
        self._batch: Any = None
        self._fresh: Any = None
        self.nq, self.nv, self.na, _, _ = sim.stepper.sizes
        self.size = self.nq + self.nv + self.na
        self.motors = len(sim.stepper.motor_names)

    def check(self, x: Any, u: Any, theta: Any) -> None:
        """Check shapes: x (size,), u (motors,), or a leading axis of both; theta (parameters,)."""
        found = tuple(x.shape), tuple(u.shape), tuple(theta.shape)
        lead = found[0][:-1]
        wanted = (*lead, self.size), (*lead, self.motors), (len(self.parameters),)
        if len(lead) > 1 or found != wanted:
            raise ProblemError(
                f"x, u and theta have shapes {found}: ({self.size},), ({self.motors},), {wanted[2]} are "
                "needed, or one leading axis of x and u"
            )

    def __call__(self, x: np.ndarray, u: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """The state after a step, shape (nq + nv + na,)."""
        self._take(x, u, theta)
        return self.sim.state.packed[: self.size].copy()

    def many(self, x: np.ndarray, u: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """States of many worlds after a step, on all cores, shape (worlds, nq + nv + na).

        A world whose step fails has no numbers.
        """
        from perp.simulation.batches.batch import Batch

        self._change(theta)
        n = len(x)
        if self._batch is None or self._batch.worlds != n:
            start = self.sim.copy()
            start.stepper.forget()
            self._batch = Batch(start, n)
            self._fresh = self._batch.snapshot()
        batch = self._batch
        batch.restore(self._fresh)
        parts = np.split(np.array(x, dtype=np.float64), [self.nq, self.nq + self.nv], axis=1)
        self._normalise(parts[0])
        batch.qpos[:], batch.qvel[:], batch.act[:] = parts
        if self.motors:
            batch.ctrl[:] = u
        batch.step()
        out = np.hstack([batch.qpos, batch.qvel, batch.act])
        out[batch.failed] = np.nan
        return out

    def gradients(
        self, x: np.ndarray, u: np.ndarray, theta: np.ndarray, by_end: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `gradient`, of many worlds: a line each."""
        found = [self.gradient(a, b, theta, g) for a, b, g in zip(x, u, by_end, strict=True)]
        by_x, by_u, by_theta = (np.array(part) for part in zip(*found, strict=True))
        return by_x, by_u, by_theta

    def gradient(
        self, x: np.ndarray, u: np.ndarray, theta: np.ndarray, by_end: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gradients by state, controls and parameters, from that by the state after the step."""
        self._take(x, u, theta)
        found = self.sim.derivatives(self.parameters, last=True)
        end = np.array(self.sim.state.packed[: self.nq])
        g = np.concatenate([self._turned(end).T @ by_end[: self.nq], by_end[self.nq :]])
        by_state, by_control, by_parameter = found.vjp(g)
        # G⁺ᵀ: G has orthogonal columns of length 1, or 1/2 for quaternions
        G = self._turned(x[: self.nq])
        ambient = (G / (G**2).sum(axis=0)) @ by_state[: self.nv]
        named = [by_parameter[name].sum() for name in self.parameters]
        return np.concatenate([ambient, by_state[self.nv :]]), by_control, np.array(named)

    def _change(self, theta: np.ndarray) -> None:
        theta = np.array(theta, dtype=np.float64)
        if self.parameters and (self._theta is None or (theta != self._theta).any()):
            self.sim = with_parameters(self.base, dict(zip(self.parameters, theta, strict=True)))
            self._theta, self._batch = theta, None

    def _take(self, x: np.ndarray, u: np.ndarray, theta: np.ndarray) -> None:
        self._change(theta)
        sim, q = self.sim, np.array(x[: self.nq], dtype=np.float64)
        self._normalise(q)
        if not np.isfinite(q).all() or not np.isfinite(x).all():
            raise ProblemError("x has numbers that are not finite, or a quaternion of length 0")
        sim.stepper.forget()
        v, act = x[self.nq : self.nq + self.nv], x[self.nq + self.nv : self.size]
        sim.state = sim.stepper.state_of(q, np.array(v, float), np.array(act, float), 0.0)
        sim.step(np.array(u, dtype=np.float64) if self.motors else None)

    def _normalise(self, q: np.ndarray) -> None:
        """Quaternions of coordinates, shape (…, nq), to unit length."""
        m = self.base.stepper.mujoco_model
        with np.errstate(invalid="ignore"):
            for at in m.jnt_qposadr[m.jnt_type <= 1] + np.where(m.jnt_type[m.jnt_type <= 1] == 0, 3, 0):
                q[..., at : at + 4] /= np.linalg.norm(q[..., at : at + 4], axis=-1, keepdims=True)

    def _turned(self, q: np.ndarray) -> np.ndarray:
        """G with dqpos = G dq, shape (nq, nv): rates of a rotation turn its quaternion."""
        m = self.base.stepper.mujoco_model
        G = np.zeros((self.nq, self.nv))
        for kind, at, dof in zip(m.jnt_type, m.jnt_qposadr, m.jnt_dofadr, strict=True):
            straight = 3 if kind == 0 else (0 if kind == 1 else 1)
            for k in range(straight):
                G[at + k, dof + k] = 1.0
            if kind <= 1:
                w, x, y, z = q[at + straight : at + straight + 4]
                block = 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
                G[at + straight : at + straight + 4, dof + straight : dof + straight + 3] = block
        return G
