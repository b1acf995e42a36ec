"""Mujoco's coordinates of a simulation, whatever it is stepped in: qpos and qvel, read and set.

In reduced coordinates they are the state itself. Of cut bodies they are measured, joint by joint, and set
through mujoco's kinematics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perp.dynamics.state import State
from perp.problems import ProblemError
from perp.problems.validation import vector
from perp.scenes import SceneError
from perp.scenes.engine import enabled, engine
from perp.scenes.frames import conjugate, multiply, rotate
from perp.scenes.naming import element_name, joint_names
from perp.stepping import Stepper
from perp.stepping.start import contradiction

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation

# Numbers of positions and of velocities of mujoco's joints: free, ball, slide, hinge.
SIZES = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}
_FREE, _BALL = 0, 1
# A position this far beyond a limit is still at it [m, rad].
_AT_LIMIT = 1e-9
# Errors of joints, as shares of the size of the largest body: those below the first are left to the next
# step, those below the second are put right, larger ones are another pose than the user can have meant.
_NEGLIGIBLE, _BROKEN = 1e-5, 0.05


def addresses(m: Any, j: int) -> tuple[slice, slice]:
    """Where in qpos and in qvel a joint is."""
    q, v = int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
    sizes = SIZES[int(m.jnt_type[j])]
    return slice(q, q + sizes[0]), slice(v, v + sizes[1])


def coordinates(stepper: Stepper, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Qpos and qvel of a state, shapes (nq,) and (nv,)."""
    if stepper.reduced:
        return state.qpos.copy(), state.qvel.copy()
    m, model = stepper.mujoco_model, stepper.model
    qpos, qvel = np.empty(m.nq), np.empty(m.nv)
    lines = np.cumsum(m.body_weldid > 0) - 1
    for j, name in enumerate(joint_names(m)):
        q, v = addresses(m, j)
        if int(m.jnt_type[j]) == _FREE:
            b = int(lines[m.jnt_bodyid[j]])
            arm = rotate(state.quaternion[b], model.origin[b])
            turn = multiply(state.quaternion[b], model.frame[b])
            linear, angular = state.velocity[b, :3], state.velocity[b, 3:]
            qpos[q] = np.concatenate([state.position[b] + arm, turn])
            qvel[v] = np.concatenate([linear + np.cross(angular, arm), rotate(conjugate(turn), angular)])
        else:
            law = stepper.joint_law(name)
            qpos[q], qvel[v] = law.position(state), law.velocity(state)
    return qpos, qvel


def state_at(simulation: Simulation, qpos: np.ndarray, qvel: np.ndarray) -> State:
    """The state with these coordinates and velocities, at the time and with the motors' states there are."""
    stepper, now = simulation.stepper, simulation.state
    if stepper.reduced:
        return stepper.state_of(qpos, qvel, now.act.copy(), now.time)
    data = stepper.aside()
    data.qpos[:], data.qvel[:], data.act[:], data.time = qpos, qvel, now.act, now.time
    return cut_state(stepper, data)


def cut_state(stepper: Stepper, data: Any) -> State:
    """Poses and velocities of the bodies at mujoco's coordinates, as a state of cut bodies."""
    m, mujoco = stepper.mujoco_model, engine()
    mujoco.mj_kinematics(m, data)
    mujoco.mj_comPos(m, data)
    mujoco.mj_comVel(m, data)
    movable = np.flatnonzero(m.body_weldid > 0)
    lines, velocity, quat = np.empty((movable.size, 7)), np.empty((movable.size, 6)), np.empty(4)
    for i, b in enumerate(movable):
        mujoco.mju_mulQuat(quat, data.xquat[b], m.body_iquat[b])
        lines[i, :3], lines[i, 3:] = data.xipos[b], quat
        angular, linear = data.cvel[b, :3], data.cvel[b, 3:]
        velocity[i, :3] = linear + np.cross(angular, data.xipos[b] - data.subtree_com[m.body_rootid[b]])
        velocity[i, 3:] = angular
    return stepper.state_of(lines.ravel(), velocity.ravel(), data.act.copy(), float(data.time))


def read_positions(m: Any, value: Any) -> np.ndarray:
    """A user's qpos, with quaternions normalised; joints must be within their limits."""
    qpos = np.array(vector("qpos", value, m.nq), dtype=np.float64)
    names, beyond = joint_names(m), []
    for j, name in enumerate(names):
        at, _ = addresses(m, j)
        kind = int(m.jnt_type[j])
        if kind in (_FREE, _BALL):
            turn = qpos[at][-4:]
            length = float(np.linalg.norm(turn))
            if length < 1e-150:
                raise ProblemError(
                    f"{element_name(m, 'jnt', j)!r}: a quaternion of length zero is not a rotation"
                )
            turn /= length
            angle = 2.0 * np.arctan2(np.linalg.norm(turn[1:]), abs(turn[0]))
            if kind == _BALL and _limited(m, j) and angle > m.jnt_range[j].max() + _AT_LIMIT:
                beyond.append(f"{name} turned by {angle:.6g} (limit {m.jnt_range[j].max():g})")
        elif _limited(m, j):
            low, high = m.jnt_range[j]
            if not low - _AT_LIMIT <= qpos[at.start] <= high + _AT_LIMIT:
                beyond.append(f"{name} at {qpos[at.start]:.6g} (limits {low:g} and {high:g})")
    if beyond:
        raise SceneError(f"beyond the limits of joints: {', '.join(beyond)}; nothing was moved")
    return qpos


def _limited(m: Any, j: int) -> bool:
    return bool(m.jnt_limited[j]) and enabled(m, "LIMIT", "CONSTRAINT")


def go_to(simulation: Simulation, state: State, what: str) -> None:
    """Bring a simulation to a state that a user has asked for, unless it breaks joints.

    Small errors of joints, as of a pose with six digits, are put right and noted in `start_note`. `what` is
    how a message begins that refuses the state; nothing was moved then.
    """
    stepper, note = simulation.stepper, ""
    stepper.begin(state, simulation.step_size, np.zeros((simulation.model.body_count, 6)))
    size = simulation.model.size if np.isfinite(simulation.model.size) else 1.0
    wrong = float(contradiction(stepper.world.struct)[0])
    if wrong > _BROKEN * size:
        stepper.forget()
        raise SceneError(f"{what} opens joints by {wrong:.2g} [m or rad]; nothing was moved")
    if wrong > _NEGLIGIBLE * size:
        state, note = stepper.consistent(state, simulation.step_size)
    simulation.state = state
    if note:
        simulation.start_note = note
    stepper.forget()
