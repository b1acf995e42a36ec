"""Steps of fourth order against closed forms and fine integrations, and what they become where rows act."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import perp
from perp.derivatives import DerivativeError
from perp.problems import ProblemError
from perp.scenes import SceneError, library
from perp.scenes.engine import engine

PENDULUM = library.chain(2, length=0.5, joint="hinge")
STICK = """<mujoco><option gravity="0 0 {g}"/><worldbody><body pos="0 0 1">{joint}
 <geom type="box" size="0.3 0.2 0.05" mass="1" contype="0" conaffinity="0"/></body></worldbody>{more}</mujoco>"""


TIMES = (0.1, 0.2, 0.3, 0.4)


def run(text: str, h: float, seconds: float, start: Any = None, **options: Any) -> perp.Simulation:
    """The simulation after some time; `start` sets it up."""
    sim = perp.Simulation(text, step=h, integrator="RK4", **options)
    if start is not None:
        start(sim)
    for _ in range(round(seconds / h)):
        assert sim.step().met
    return sim


def order(text: str, start: Any) -> float:
    """How the largest error of coordinates and velocities at some times falls with the step."""
    truth, errors = integrated(text, start), []
    for h in (0.01, 0.005):
        ends = [run(text, h, seconds, start) for seconds in TIMES]
        errors.append(np.abs([np.concatenate([sim.qpos, sim.qvel]) for sim in ends] - truth).max())
    assert errors[1] > 1e-11, "round-off says nothing of the order"
    return math.log2(errors[0] / errors[1])


def integrated(text: str, start: Any) -> np.ndarray:
    """Coordinates and velocities at these times by mujoco's own accelerations, integrated to 1e-12."""
    mujoco = engine()
    m = mujoco.MjModel.from_xml_string(text)
    d, sim = mujoco.MjData(m), perp.Simulation(text, step=0.01, coordinates="reduced")
    start(sim)

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        d.qpos[:], d.qvel[:] = y[: m.nq], y[m.nq :]
        mujoco.mj_forward(m, d)
        # q̇ by a difference: the map is odd in the turn, and its cubic term is round-off here
        ahead, behind = d.qpos.copy(), d.qpos.copy()
        mujoco.mj_integratePos(m, ahead, d.qvel, 1e-5)
        mujoco.mj_integratePos(m, behind, d.qvel, -1e-5)
        return np.concatenate([(ahead - behind) / 2e-5, d.qacc])

    y = np.concatenate([sim.qpos, sim.qvel])
    return solve_ivp(rates, (0, TIMES[-1]), y, "DOP853", TIMES, rtol=1e-12, atol=1e-12).y.T


def swing(sim: perp.Simulation) -> None:
    sim.qvel = np.linspace(1.0, 3.0, sim.qvel.size)


@pytest.mark.parametrize(
    "text",
    [
        PENDULUM,
        library.chain(3, length=0.4, joint="ball"),
        STICK.format(g=-9.81, joint="<freejoint/>", more=""),
        STICK.format(g=-9.81, joint='<joint type="ball" damping="0.05" pos="0.2 0.1 0"/>', more=""),
        STICK.format(
            g=-9.81, joint='<joint name="turn" axis="1 0.3 0" stiffness="2" damping="0.1" springref="30"/>',
            more='<actuator><position joint="turn" kp="0.5" kv="0.02"/></actuator>',
        ),
    ],
    ids=["double pendulum", "chain of balls", "tumbling box", "damped ball joint", "spring and servo"],
)  # fmt: skip
def test_errors_fall_with_the_fourth_power_of_the_step(text: str) -> None:
    assert order(text, swing) > 3.7


def test_a_damped_oscillator_is_that_of_its_formula() -> None:
    text = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint type="slide" axis="1 0 0" stiffness="40"
     damping="0.5"/><geom size="0.1" mass="1" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""

    def start(sim: perp.Simulation) -> None:
        sim.qvel = [1.0]

    rate = math.sqrt(40 - 0.25**2)
    exact = math.exp(-0.25) * math.sin(rate) / rate
    assert run(text, 0.01, 1.0, start).qpos[0] == pytest.approx(exact, abs=1e-7)


def test_a_constant_wrench_moves_a_body_exactly() -> None:
    text = STICK.format(g=-9.81, joint="<freejoint/>", more="")

    def start(sim: perp.Simulation) -> None:
        sim.wrench = [[1.0, 2.0, 3.0, 0.0, 0.0, 0.0]]
        sim.qvel = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]

    moved = run(text, 0.05, 1.0, start).qpos[:3] - np.array([0.0, 0.0, 1.0])
    assert moved == pytest.approx([1.5, 1.0, 0.5 * (3 - 9.81)], abs=1e-13)


def test_energy_of_a_double_pendulum_and_the_spin_of_a_free_body_stay() -> None:
    sim = perp.Simulation(PENDULUM, step=2e-3, integrator="RK4")
    energies = [sim.step().energy for _ in range(2500)]
    assert np.ptp(energies) < 1e-6 * 9.81
    body = perp.Simulation(STICK.format(g=0, joint="<freejoint/>", more=""), step=0.01, integrator="RK4")
    body.qvel = [0, 0, 0, 1.0, 4.0, 2.0]
    first = body.step().angular_momentum
    for _ in range(200):
        body.step()
    assert np.linalg.norm(body.last.angular_momentum - first) < 2e-6 * np.linalg.norm(first)


def test_the_bits_are_those_of_a_batch_of_one_of_a_copy_and_after_a_snapshot() -> None:
    sim = run(PENDULUM, 0.01, 0.2)
    batch = perp.Batch(PENDULUM, 1, step=0.01, integrator="RK4")
    batch.step(20)
    assert np.array_equal(batch.qpos[0], sim.qpos)
    kept, other = sim.snapshot(), sim.copy()
    for _ in range(30):
        sim.step()
        other.step()
    assert np.array_equal(other.qvel, sim.qvel)
    end = sim.qpos.copy()
    sim.restore(kept)
    sim.run(0.3)
    assert np.array_equal(sim.qpos, end)


def test_a_recorded_run_goes_on_to_the_same_bits(tmp_path: Any) -> None:
    file = PENDULUM.replace("<option", '<option integrator="RK4" timestep="0.01"')
    sim = perp.Simulation(file)
    sim.run(0.2, out=tmp_path / "run.h5")
    other = perp.Simulation.resume(tmp_path / "run.h5")
    sim.run(0.2)
    other.run(0.2)
    assert np.array_equal(sim.qpos, other.qpos)


def test_a_fall_is_exact_until_contact_is_in_reach_and_then_the_usual_step() -> None:
    text = library.scene(
        library.plane(0.5) + '<body name="ball" pos="0 0 1"><freejoint/>'
        '<geom type="sphere" size="0.1" mass="1"/></body>'
    )
    sim, usual = (
        perp.Simulation(text, step=0.01, integrator=name, coordinates="reduced")
        for name in ("RK4", "leapfrog")
    )
    while sim.qpos[2] > 0.5:
        assert sim.step().contact_count == 0
        assert sim.qpos[2] == pytest.approx(1 - 0.5 * 9.81 * sim.time**2, abs=1e-12)
    kept = sim.snapshot()
    while not sim.step().contact_count:
        kept = sim.snapshot()
    # the step with a contact in reach, and all that follow, have the bits of the usual one
    sim.restore(kept)
    usual.restore(kept)
    for _ in range(50):
        assert sim.step().met
        usual.step()
        assert np.array_equal(sim.qpos, usual.qpos)
    assert sim.qpos[2] == pytest.approx(0.1, abs=1e-6)
    assert abs(sim.qvel[2]) < 1e-9


def test_a_limit_is_never_passed() -> None:
    text = PENDULUM.replace(
        'name="joint0" type="hinge"', 'name="joint0" type="hinge" range="-1 2" limited="true"'
    )
    sim = perp.Simulation(text, step=0.01, integrator="RK4")
    lowest = math.inf
    for _ in range(200):
        assert sim.step().met
        lowest = min(lowest, sim.qpos[0] + 1, 2 - sim.qpos[0])
    assert -1e-9 < lowest < 1e-6


def test_what_a_step_does_not_resolve_is_the_usual_step() -> None:
    text = STICK.format(g=-9.81, joint='<joint type="ball" pos="0 0 0.2"/>', more="")
    sims = [
        perp.Simulation(text, step=0.01, integrator=name, coordinates="reduced")
        for name in ("RK4", "leapfrog")
    ]
    for sim in sims:
        sim.qvel = [1.0, 0.3, 150.0]
        sim.step()
    assert np.array_equal(sims[0].qpos, sims[1].qpos)


def test_the_file_asks_for_it_and_reduced_coordinates_carry_it() -> None:
    file = PENDULUM.replace("<option", '<option integrator="RK4"')
    sim = perp.Simulation(file, step=0.01, strict=True)
    assert sim.coordinates == "reduced"
    other = perp.Simulation(PENDULUM, step=0.01, integrator="RK4")
    for _ in range(20):
        sim.step()
        other.step()
    assert np.array_equal(sim.qpos, other.qpos)
    usual = perp.Simulation(file, step=0.01, integrator="leapfrog")
    usual.run(0.2)
    assert not np.array_equal(sim.qpos, usual.qpos)
    with pytest.raises(SceneError, match="integrator"):
        perp.Simulation(PENDULUM.replace("<option", '<option integrator="implicit"'), strict=True)
    with pytest.raises(SceneError, match="RK4 in reduced coordinates"):
        perp.Simulation(file, coordinates="maximal", strict=True)


def test_what_it_does_not_go_with_is_refused_by_name() -> None:
    with pytest.raises(ProblemError, match=r"integrator='RK4' needs coordinates='reduced'"):
        perp.Simulation(PENDULUM, integrator="RK4", coordinates="maximal")
    with pytest.raises(ProblemError, match="one of 'leapfrog', 'RK4'"):
        perp.Simulation(PENDULUM, integrator="Euler")
    sim = run(PENDULUM, 0.01, 0.1)
    with pytest.raises(DerivativeError, match="integrator='RK4'"):
        sim.derivatives()
    with pytest.raises(ProblemError, match="stagger"):
        sim.stagger()
