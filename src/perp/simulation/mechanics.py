"""What controllers ask of a mechanism where it is: mass matrix, bias force, Jacobians, sensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from perp.scenes.engine import engine
from perp.scenes.frames import from_matrix
from perp.scenes.sensors import not_read
from perp.simulation.generalised import coordinates

if TYPE_CHECKING:
    from perp.simulation.simulation import Simulation


def mass_matrix(simulation: Simulation) -> np.ndarray:
    """M(q) with the inertia of rotors, shape (nv, nv)."""
    m, data = _at(simulation)
    out = np.zeros((m.nv, m.nv))
    if m.nv:
        engine().mj_makeM(m, data)
        engine().mj_fullM(m, data, out)
    return out


def bias_force(simulation: Simulation) -> np.ndarray:
    """Forces of gravity, Coriolis and the centrifuge, shape (nv,): M q̈ + bias = everything else."""
    m, data = _at(simulation)
    mujoco, out = engine(), np.zeros(m.nv)
    if m.nv:
        mujoco.mj_makeM(m, data)
        mujoco.mj_comVel(m, data)
        mujoco.mj_rne(m, data, 0, out)
    return out


def jacobian(simulation: Simulation, body: int, point: np.ndarray) -> np.ndarray:
    """Velocity of a point fixed to a body, and the body's angular velocity, over qvel, shape (6, nv)."""
    m, data = _at(simulation)
    linear, angular = np.zeros((3, m.nv)), np.zeros((3, m.nv))
    if m.nv:
        number = int(np.flatnonzero(m.body_weldid > 0)[body])
        engine().mj_jac(m, data, linear, angular, point, number)
    return np.concatenate([linear, angular])


def site_pose(simulation: Simulation, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Position [m] and quaternion of a site in the world."""
    _, data = _at(simulation)
    site = data.site(name)
    return site.xpos.copy(), from_matrix(site.xmat.reshape(3, 3))


def sensor_data(simulation: Simulation) -> np.ndarray:
    """The values of all sensors of the file, as mujoco evaluates them at the state, shape (values,).

    Forces and accelerations are means over the last step: NaN before the first. Sensors of what perp does not
    tell apart (`perp.scenes.sensors`) are NaN, and in the import report.
    """
    m, data = _at(simulation)
    mujoco = engine()
    if not m.nsensor:
        return np.zeros(0)
    mujoco.mj_camlight(m, data)
    mujoco.mj_tendon(m, data)
    mujoco.mj_makeM(m, data)
    mujoco.mj_transmission(m, data)
    mujoco.mj_sensorPos(m, data)
    mujoco.mj_fwdVelocity(m, data)
    mujoco.mj_sensorVel(m, data)
    mujoco.mj_fwdActuation(m, data)
    before = simulation._before
    if before is not None:
        data.qacc[:] = (data.qvel - coordinates(simulation.stepper, before)[1]) / simulation.step_size
        data.xfrc_applied[:] = _wrenches(simulation, m, data)
    mujoco.mj_sensorAcc(m, data)
    kinds, unread, out = mujoco.mjtSensor, not_read(m), data.sensordata.copy()
    for i in range(m.nsensor):
        at = sensor_slice(m, i)
        if int(m.sensor_type[i]) == int(kinds.mjSENS_TOUCH):
            out[at] = _touch(simulation, m, data, i)
        late = int(m.sensor_needstage[i]) == int(mujoco.mjtStage.mjSTAGE_ACC)
        if i in unread or (late and before is None):
            out[at] = np.nan
    return out


def sensor_slice(m: Any, i: int) -> slice:
    """Where among the values of all sensors those of one are."""
    return slice(int(m.sensor_adr[i]), int(m.sensor_adr[i] + m.sensor_dim[i]))


def _at(simulation: Simulation) -> tuple[Any, Any]:
    """The compiled scene and mujoco's data at the simulation's coordinates."""
    m, data, mujoco = simulation.stepper.mujoco_model, simulation.stepper.aside(), engine()
    data.qpos[:], data.qvel[:] = coordinates(simulation.stepper, simulation.state)
    data.time = simulation.time
    if simulation.stepper.reduced:
        data.act[:], data.ctrl[:] = simulation.state.act, simulation.ctrl
    elif m.nu:
        given = dict(zip(simulation.motor_names, simulation.ctrl, strict=True))
        data.ctrl[:] = [given.get(m.actuator(i).name or f"actuator{i}", 0.0) for i in range(m.nu)]
    mujoco.mj_kinematics(m, data)
    mujoco.mj_comPos(m, data)
    return m, data


def _wrenches(simulation: Simulation, m: Any, data: Any) -> np.ndarray:
    """Of contacts and of the user on mujoco's bodies, at their centres of mass, shape (nbody, 6)."""
    out = np.zeros((m.nbody, 6))
    movable = np.flatnonzero(m.body_weldid > 0)
    out[movable] = simulation.wrench
    for contact in simulation.contacts():
        for name, sign in zip(contact.bodies, (-1.0, 1.0), strict=True):
            if name in simulation.body_names:
                b = movable[simulation.body_names.index(name)]
                force = sign * contact.force
                out[b, :3] += force
                out[b, 3:] += np.cross(contact.point - data.xipos[b], force)
    return out


def _touch(simulation: Simulation, m: Any, data: Any, i: int) -> float:
    """Normal forces on the sensor's body whose line meets the sensor's volume, as mujoco defines it [N]."""
    site = int(m.sensor_objid[i])
    number = int(m.site_bodyid[site])
    body = m.body(number).name or f"body{number}"
    total = 0.0
    for contact in simulation.contacts():
        if body not in contact.bodies or contact.normal_force <= 0:
            continue
        ray = contact.frame[0] * (-1.0 if contact.bodies[0] == body else 1.0)
        place = data.site_xpos[site], data.site_xmat[site], m.site_size[site]
        if engine().mju_rayGeom(*place, contact.point, ray, int(m.site_type[site]), None) >= 0:
            total += contact.normal_force
    cutoff = float(m.sensor_cutoff[i])
    return min(total, cutoff) if cutoff > 0 else total
