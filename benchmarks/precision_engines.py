"""How perp, MuJoCo and Drake run a scene of `precision_scenes`: points of a body, CPU seconds of steps."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from precision_scenes import KP, KV, SAMPLE, PrecisionScene

import perp
from perp.scenes.engine import engine

# Points at the times of the scene, shape (times, points, 3), and CPU seconds.
Outcome = tuple[np.ndarray, float]
Engine = Callable[[PrecisionScene, float], Outcome]


def _loop(scene: PrecisionScene, advance: Callable[[int], None], read: Callable[[], np.ndarray]) -> Outcome:
    """Advance from sample to sample; what is read between does not count."""
    spent, out = 0.0, []
    for k in range(scene.times.size):
        began = time.process_time()
        advance(k)
        spent += time.process_time() - began
        out.append(read())
    return np.array(out), spent


def run_staggered(scene: PrecisionScene, h: float) -> Outcome:
    """perp from velocities half a step back."""
    return run_perp(scene, h, staggered=True)


def run_fourth_order(scene: PrecisionScene, h: float) -> Outcome:
    """perp with steps of fourth order where no row acts."""
    return run_perp(scene, h, integrator="RK4")


def run_perp(scene: PrecisionScene, h: float, *, staggered: bool = False, **options: Any) -> Outcome:
    """perp in the coordinates it chooses."""
    sim = perp.Simulation(scene.text, step=h, **options)
    body, count = sim.body(scene.body), round(SAMPLE / h)
    if any(scene.linear) or any(scene.angular):
        body.set_velocity(scene.linear, scene.angular)
    if scene.controls.size:
        sim.set_control(scene.controls[0])
    if staggered:
        sim.stagger()

    def advance(k: int) -> None:
        if scene.controls.size:
            sim.set_control(scene.controls[k])
        for _ in range(count):
            sim.step()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _loop(scene, advance, lambda: _placed(body.position, body.quaternion, scene.points))


def _placed(position: np.ndarray, quaternion: np.ndarray, points: np.ndarray) -> np.ndarray:
    w, v = quaternion[0], quaternion[1:]
    return position + points + 2 * np.cross(v, np.cross(v, points) + w * points)


def mujoco_with(*, integrator: str = "IMPLICITFAST", hard: bool = False) -> Engine:
    """MuJoCo with its default contacts and the integrator that its manual recommends.

    Args:
        integrator: As mujoco names it.
        hard: The stiffest contact that its step allows, elliptic cones, and its cure against slip.
    """

    def run(scene: PrecisionScene, h: float) -> Outcome:
        mujoco = engine()
        m = mujoco.MjModel.from_xml_string(scene.text)
        m.opt.timestep = h
        m.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
        if hard:
            # a time constant of two steps is the least that its manual allows
            m.geom_solref[:] = (2 * h, 1.0)
            m.geom_solimp[:, :2] = (0.99, 0.9999)
            m.opt.cone, m.opt.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 100.0
            m.opt.noslip_iterations = 20
        d, b = mujoco.MjData(m), m.body(scene.body).id
        if any(scene.linear) or any(scene.angular):
            mujoco.mj_forward(m, d)
            d.qvel[:3] = scene.linear
            # a free joint turns in the body's own frame
            d.qvel[3:6] = d.xmat[b].reshape(3, 3).T @ np.array(scene.angular)
        count = round(SAMPLE / h)

        def advance(k: int) -> None:
            if scene.controls.size:
                d.ctrl[:] = scene.controls[k]
            mujoco.mj_step(m, d, count)

        def read() -> np.ndarray:
            mujoco.mj_kinematics(m, d)
            return _placed(d.xpos[b], d.xquat[b], scene.points)

        return _loop(scene, advance, read)

    return run


def drake_with(approximation: str = "sap", allowance: float = 1e-3) -> Engine:
    """Drake's discrete plant with point contact; `allowance` [m] sets how stiff contact is.

    An approximation of "continuous" integrates with error control in place of steps; h is then its accuracy.
    """

    def run(scene: PrecisionScene, h: float) -> Outcome:
        from pydrake.all import Simulator  # pyright: ignore[reportMissingImports]

        diagram, plant = _drake_diagram(scene, h, approximation, allowance)
        simulator = Simulator(diagram)
        if approximation == "continuous":
            integrator = simulator.get_mutable_integrator()
            integrator.set_maximum_step_size(SAMPLE)
            integrator.set_target_accuracy(h)
        root = simulator.get_mutable_context()
        context = plant.GetMyMutableContextFromRoot(root)
        body = plant.GetBodyByName(scene.body)
        if any(scene.linear) or any(scene.angular):
            _start_drake(plant, context, body, scene)
        simulator.Initialize()

        def advance(k: int) -> None:
            if scene.controls.size:
                wanted = np.concatenate([scene.controls[k], 0 * scene.controls[k]])
                plant.get_desired_state_input_port(plant.GetModelInstanceByName("scene")).FixValue(
                    context, wanted
                )
            simulator.AdvanceTo(SAMPLE * (k + 1))

        def read() -> np.ndarray:
            pose = plant.EvalBodyPoseInWorld(context, body)
            return scene.points @ pose.rotation().matrix().T + pose.translation()

        return _loop(scene, advance, read)

    return run


def _drake_diagram(scene: PrecisionScene, h: float, approximation: str, allowance: float) -> tuple[Any, Any]:
    from pydrake import all as drake  # pyright: ignore[reportMissingImports]

    continuous = approximation == "continuous"
    builder = drake.DiagramBuilder()
    config = drake.MultibodyPlantConfig(time_step=0.0 if continuous else h, penetration_allowance=allowance)
    if not continuous:
        config.discrete_contact_approximation = approximation
    plant, _ = drake.AddMultibodyPlant(config, builder)
    text = scene.text.replace("<mujoco>", '<mujoco model="scene">')
    if scene.spheres is not None:  # the file's own shapes give way to spheres
        text = text.replace("<geom name=", '<geom contype="0" conaffinity="0" name=')
    drake.Parser(plant).AddModelsFromString(text, "xml")
    if scene.spheres is not None:
        _replace_shapes(plant, scene)
    for a in plant.GetJointActuatorIndices():
        plant.get_mutable_joint_actuator(a).set_controller_gains(drake.PdControllerGains(p=KP, d=KV))
    plant.Finalize()
    return builder.Build(), plant


def _replace_shapes(plant: Any, scene: PrecisionScene) -> None:
    """A half space, and spheres that touch it where the body's shape would."""
    from pydrake import all as drake  # pyright: ignore[reportMissingImports]

    mu = 0.5
    friction = drake.CoulombFriction(mu, mu)
    plant.RegisterCollisionGeometry(
        plant.world_body(), drake.RigidTransform(), drake.HalfSpace(), "floor", friction
    )
    body = plant.GetBodyByName(scene.body)
    for i, (x, y, z, r) in enumerate(scene.spheres or ()):
        place = drake.RigidTransform(np.array([x, y, z]))
        plant.RegisterCollisionGeometry(body, place, drake.Sphere(r), f"sphere{i}", friction)


def _start_drake(plant: Any, context: Any, body: Any, scene: PrecisionScene) -> None:
    from pydrake.all import SpatialVelocity  # pyright: ignore[reportMissingImports]

    velocity = SpatialVelocity(w=np.array(scene.angular), v=np.array(scene.linear))
    plant.SetFreeBodySpatialVelocity(context, body, velocity)
