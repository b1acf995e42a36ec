"""What controllers ask of a mechanism where it is: mass matrix, bias force, Jacobians, sensors."""

from typing import Any

import numpy as np

from perp.scenes.engine import engine
from perp.scenes.frames import from_matrix
from perp.scenes.model import find
from perp.scenes.sensors import not_read
from perp.simulation.access import Access
from perp.simulation.arguments import triple
from perp.simulation.generalised import coordinates


class Mechanics(Access):
    """The part of `Simulation` that controllers and observers ask."""

    def mass_matrix(self) -> np.ndarray:
        """M(q) over `qvel`, with the inertia of rotors, shape (nv, nv)."""
        m, data = self._at()
        out = np.zeros((m.nv, m.nv))
        if m.nv:
            engine().mj_makeM(m, data)
            engine().mj_fullM(m, data, out)
        return out

    def bias_force(self) -> np.ndarray:
        """Gravity, Coriolis and centrifugal forces over `qvel`, shape (nv,): what holds a robot still."""
        m, data = self._at()
        mujoco, out = engine(), np.zeros(m.nv)
        if m.nv:
            mujoco.mj_makeM(m, data)
            mujoco.mj_comVel(m, data)
            mujoco.mj_rne(m, data, 0, out)
        return out

    def jacobian(self, body: str, point: Any = None) -> np.ndarray:
        """Velocity of a point that moves with a body, and angular velocity, over `qvel`, shape (6, nv).

        Args:
            body: Its name.
            point: In the world [m]; the origin of the body's frame without one.
        """
        view = self.body(body)
        there = view.position if point is None else triple("point", point)
        m, data = self._at()
        linear, angular = np.zeros((3, m.nv)), np.zeros((3, m.nv))
        if m.nv:
            number = int(np.flatnonzero(m.body_weldid > 0)[view.index])
            engine().mj_jac(m, data, linear, angular, there, number)
        return np.concatenate([linear, angular])

    def _site_pose(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Position [m] and quaternion of a site in the world."""
        site = self._at()[1].site(name)
        return site.xpos.copy(), from_matrix(site.xmat.reshape(3, 3))

    def sensor(self, name: str) -> np.ndarray:
        """The values of one sensor."""
        i = find(name, self.sensor_names, "sensor")
        return self.sensordata[_slice(self.stepper.mujoco_model, i)]

    @property
    def sensordata(self) -> np.ndarray:
        """Values of the file's sensors one after the other, as mujoco evaluates them, shape (values,).

        Forces and accelerations are means over the last step, NaN before the first. A sensor that is not
        read (`report` tells which) is NaN.
        """
        m, data = self._at()
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
        before = self._whole._before
        if before is not None:
            data.qacc[:] = (data.qvel - coordinates(self.stepper, before)[1]) / self._whole.step_size
            data.xfrc_applied[:] = _wrenches(self, m, data)
        mujoco.mj_sensorAcc(m, data)
        kinds, unread, out = mujoco.mjtSensor, not_read(m), data.sensordata.copy()
        for i in range(m.nsensor):
            at = _slice(m, i)
            if int(m.sensor_type[i]) == int(kinds.mjSENS_TOUCH):
                out[at] = _touch(self, m, data, i)
            late = int(m.sensor_needstage[i]) == int(mujoco.mjtStage.mjSTAGE_ACC)
            if i in unread or (late and before is None):
                out[at] = np.nan
        return out

    def _at(self) -> tuple[Any, Any]:
        """The compiled scene and mujoco's data at the simulation's coordinates."""
        m, data, mujoco = self.stepper.mujoco_model, self.stepper.aside(), engine()
        data.qpos[:], data.qvel[:] = coordinates(self.stepper, self.state)
        data.time = self.state.time
        data.act[:], data.ctrl[:] = self.state.act, self.ctrl[: m.nu]
        mujoco.mj_kinematics(m, data)
        mujoco.mj_comPos(m, data)
        return m, data


def _slice(m: Any, i: int) -> slice:
    """Where among the values of all sensors those of one are."""
    return slice(int(m.sensor_adr[i]), int(m.sensor_adr[i] + m.sensor_dim[i]))


def _wrenches(sim: Mechanics, m: Any, data: Any) -> np.ndarray:
    """Of contacts and of the user on mujoco's bodies, at their centres of mass, shape (nbody, 6)."""
    out = np.zeros((m.nbody, 6))
    movable = np.flatnonzero(m.body_weldid > 0)
    out[movable] = sim._whole.wrench
    for contact in sim.contacts():
        for name, sign in zip(contact.bodies, (-1.0, 1.0), strict=True):
            if name in sim.body_names:
                b = movable[sim.body_names.index(name)]
                force = sign * contact.force
                out[b, :3] += force
                out[b, 3:] += np.cross(contact.point - data.xipos[b], force)
    return out


def _touch(sim: Mechanics, m: Any, data: Any, i: int) -> float:
    """Normal forces on the sensor's body whose line meets the sensor's volume, as mujoco defines it [N]."""
    site = int(m.sensor_objid[i])
    number = int(m.site_bodyid[site])
    body = m.body(number).name or f"body{number}"
    total = 0.0
    for contact in sim.contacts():
        if body not in contact.bodies or contact.normal_force <= 0:
            continue
        ray = contact.frame[0] * (-1.0 if contact.bodies[0] == body else 1.0)
        place = data.site_xpos[site], data.site_xmat[site], m.site_size[site]
        if engine().mju_rayGeom(*place, contact.point, ray, int(m.site_type[site]), None) >= 0:
            total += contact.normal_force
    cutoff = float(m.sensor_cutoff[i])
    return min(total, cutoff) if cutoff > 0 else total
