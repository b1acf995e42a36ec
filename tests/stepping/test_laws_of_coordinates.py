"""Tendons, equalities, motors with a state and forces of the air where joints are cut: the laws of trees."""

from __future__ import annotations

import numpy as np
import pytest

import perp

G = 9.81
# Three mechanisms side by side; nothing touches.
SCENE = """<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81" {option}/><default>
  <geom contype="0" conaffinity="0"/></default><worldbody>
  <site name="top" pos="0 0 1.5"/>
  <geom name="pulley" type="cylinder" pos="0.5 0 1.2" size="0.1 0.05" euler="1.5708 0 0"/>
  <body name="free" pos="0 -1 1" {body}><freejoint name="free"/>
   <geom type="box" size="0.1 0.05 0.02" mass="0.2"/><site name="corner" pos="0.1 0 0"/></body>
  <body name="arm" pos="0 0 1"><joint name="ball" type="ball"/>
   <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.5"/><site name="end" pos="0.3 0 0"/>
   <body name="hand" pos="0.3 0 0" {body}><joint name="bend" axis="0 1 0"/><joint name="roll" axis="1 0 0"/><geom type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.02" mass="0.3"/>
    <site name="tip" pos="0.3 0.1 0"/></body></body>
  <body name="swing" pos="0 1 1"><joint name="swing" axis="0 1 0"/>
   <geom type="capsule" fromto="0 0 0 0.2 0 0.1" size="0.02" mass="0.4"/></body>
  <body name="lift" pos="1 0 1"><joint name="lift" type="slide" axis="0 0 1"/><geom size="0.1" mass="0.6"/>
   <site name="hook"/></body></worldbody>{rest}</mujoco>"""
SUM = (
    '<tendon><fixed name="sum" {}><joint joint="bend" coef="1"/><joint joint="swing" coef="2"/>'
    '<joint joint="lift" coef="-3"/></fixed></tendon>'
)
CASES = {
    "an equality of joints": {
        "rest": '<equality><joint joint1="swing" joint2="bend" polycoef="0 -2 0.3 0 0"/></equality>'
    },
    "a joint that is held": {
        "rest": '<equality><joint joint1="swing" polycoef="0 0 0 0 0"/></equality>'
    },
    "an equality of tendons": {
        "rest": SUM.format("") + '<equality><tendon tendon1="sum"/></equality>'
    },
    "a tendon with limits": {"rest": SUM.format('limited="true" range="-0.1 0.05"')},
    "a tendon with a spring": {"rest": SUM.format('stiffness="30" damping="0.5" springlength="0.02"')},
    "a tendon with friction": {"rest": SUM.format('frictionloss="0.3"')},
    "tendons through space": {
        "rest": """<tendon><spatial stiffness="80" damping="1"><site site="corner"/><site site="end"/>
         <site site="tip"/></spatial><spatial limited="true" range="0 1"><site site="tip"/>
         <geom geom="pulley"/><site site="hook"/></spatial></tendon>"""
    },
    "a motor on a tendon": {
        "rest": SUM.format("") + '<actuator><position tendon="sum" kp="40" kv="1"/></actuator>'
    },
    "motors with a state": {
        "rest": """<actuator><general joint="bend" dyntype="filterexact" dynprm="0.1" gainprm="20"
         biastype="affine" biasprm="0 -20 -1"/><intvelocity joint="swing" kp="20" actrange="-1 1"/></actuator>"""
    },
    "a muscle": {
        "rest": """<actuator><muscle joint="bend" lengthrange="-2 2" range="0.5 1.5" force="5"/></actuator>"""
    },
    "motors of all transmissions": {
        "rest": """<actuator><general site="corner" gear="0 0 1 0 0.01 0" gainprm="2"/>
         <motor joint="ball" gear="0.1 0.2 0.3"/><motor joint="free" gear="0.1 0 1 0 0 0.01"/>
         <position site="tip" refsite="top" gear="0 0 1 0 0 0" kp="2"/>
         <velocity joint="lift" kv="5" forcerange="-4 7"/></actuator>"""
    },
    "gravity that is compensated for": {"body": 'gravcomp="0.8"'},
    "a fluid": {"option": 'density="200" viscosity="0.3" wind="1 0 0"'},
}  # fmt: skip


def run(
    text: str, coordinates: str, h: float, seconds: float = 0.12, control: float = 0.4
) -> perp.Simulation:
    sim = perp.Simulation(text, step=h, coordinates=coordinates, strict=True)
    sim.set_control([control * (1 + k) for k in range(len(sim.motor_names))])
    for _ in range(round(seconds / h)):
        assert sim.step().residual <= 1e-9
    return sim


@pytest.mark.parametrize("case", list(CASES))
def test_cut_joints_move_as_trees_do_to_the_order_of_the_step(case: str) -> None:
    text = SCENE.format(**{"option": "", "body": "", "rest": "", **CASES[case]})
    gaps, energies = [], []
    for h in (2e-3, 1e-3):
        cut, whole = (run(text, coordinates, h) for coordinates in ("maximal", "reduced"))
        gaps.append(np.abs(cut.qpos - whole.qpos).max())
        energies.append(abs(cut.stepper.energy(cut.state) - whole.stepper.energy(whole.state)))
        assert np.abs(cut.state.act - whole.state.act).max(initial=0.0) < 2 * gaps[-1] + 1e-12
    plain = run(SCENE.format(option="", body="", rest=""), "reduced", 1e-3)
    assert np.abs(whole.qpos - plain.qpos).max() > 4 * gaps[1]  # it does something
    assert gaps[1] < max(0.7 * gaps[0], 1e-9)
    assert energies[1] < max(0.7 * energies[0], 1e-6)


GEAR = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="driver"><joint name="driver" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 0.2"/></body>
  <body name="wheel" pos="1 0 0"><joint name="wheel" axis="0 0 1"/>
   <inertial pos="0 0 0" mass="1" diaginertia="2 2 0.5"/></body>
  <body name="third" pos="2 0 0"><joint name="third" axis="0 0 1"/>
   <inertial pos="0 0 0" mass="1" diaginertia="2 2 0.7"/></body></worldbody>{}
  <actuator><motor joint="driver"/></actuator></mujoco>"""


@pytest.mark.parametrize("level", ["position", "velocity"])
def test_a_gear_has_the_inertia_of_both_wheels(level: str) -> None:
    text = GEAR.format('<equality><joint joint1="wheel" joint2="driver" polycoef="0 -3 0 0 0"/></equality>')
    sim = perp.Simulation(text, step=0.01, coordinates="maximal", level=level)
    sim.run(1.0, [2.0])
    rate = 2.0 / (0.2 + 9 * 0.5)
    assert sim.joint("driver").velocity == pytest.approx(rate, rel=1e-9)
    assert sim.joint("wheel").velocity == pytest.approx(-3 * rate, rel=1e-9)
    assert sim.joint("wheel").position == pytest.approx(-3 * sim.joint("driver").position, abs=1e-9)


def test_a_gear_counts_turns() -> None:
    text = GEAR.format('<equality><joint joint1="wheel" joint2="driver" polycoef="0 -3 0 0 0"/></equality>')
    sim = perp.Simulation(text, step=0.01, coordinates="maximal")
    sim.run(10.0, [2.0])
    assert sim.joint("driver").position > 6 * np.pi
    assert sim.joint("wheel").position == pytest.approx(-3 * sim.joint("driver").position, abs=1e-7)
    assert sim.joint("third").position == 0.0


def test_a_differential_of_three_wheels_is_one_row_over_three_bodies() -> None:
    tendon = """<tendon><fixed name="sum"><joint joint="driver" coef="1"/><joint joint="wheel" coef="1"/>
     <joint joint="third" coef="-2"/></fixed></tendon><equality><tendon tendon1="sum"/></equality>"""
    sim = perp.Simulation(GEAR.format(tendon), step=0.01, coordinates="maximal")
    problem = sim.contact_problem()
    sim.run(1.0, [2.0])
    # I a = (τ, 0, 0) + λ (1, 1, −2) with a₁ + a₂ = 2 a₃
    inverse, row = 1 / np.array([0.2, 0.5, 0.7]), np.array([1.0, 1.0, -2.0])
    force = np.array([2.0, 0.0, 0.0])
    pull = -(row @ (inverse * force)) / (row @ (inverse * row))
    found = [sim.joint(name).velocity for name in ("driver", "wheel", "third")]
    assert found == pytest.approx(inverse * (force + pull * row), rel=1e-9)
    assert perp.solve(problem).residual <= 1e-9


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
def test_a_filtered_motor_pushes_as_its_activation_grows(coordinates: str) -> None:
    text = """<mujoco><option gravity="0 0 0"/><worldbody><body name="cart"><joint name="x" type="slide"
      axis="1 0 0"/><geom size="0.1" mass="2"/></body></worldbody><actuator><general joint="x"
      dyntype="filterexact" dynprm="0.2" gainprm="6"/></actuator></mujoco>"""
    gaps = []
    for h in (4e-3, 2e-3):
        sim = perp.Simulation(text, step=h, coordinates=coordinates)
        sim.run(0.6, [1.0])
        assert sim.state.act == pytest.approx([1 - np.exp(-3)], rel=1e-9)
        gaps.append(abs(sim.joint("x").velocity - 3.0 * (0.6 - 0.2 * (1 - np.exp(-3)))))
    assert gaps[1] < 0.55 * gaps[0] < 0.01


def test_atwood_s_machine_on_a_tendon() -> None:
    text = """<mujoco><worldbody><site name="a" pos="-0.2 0 2"/><site name="b" pos="0.2 0 2"/>
     <body name="light" pos="-0.2 0 0"><joint type="slide" axis="0 0 1"/><geom size="0.05" mass="1"/>
      <site name="l"/></body>
     <body name="heavy" pos="0.2 0 0"><joint type="slide" axis="0 0 1"/><geom size="0.05" mass="3"/>
      <site name="h"/></body></worldbody><tendon><spatial name="rope"><site site="l"/><site site="a"/>
      <site site="b"/><site site="h"/></spatial></tendon><equality><tendon tendon1="rope"/></equality></mujoco>"""
    sim = perp.Simulation(text, step=0.005, coordinates="maximal")
    sim.run(0.4)
    assert sim.body("light").velocity[2] == pytest.approx(0.4 * G * (3 - 1) / (3 + 1), rel=1e-6)
    assert sim.body("light").velocity[2] == pytest.approx(-sim.body("heavy").velocity[2], rel=1e-9)


def test_a_body_without_weight_floats_and_a_fluid_carries_energy_away() -> None:
    text = SCENE.format(option='density="0"', body='gravcomp="1"', rest="")
    sim = perp.Simulation(text, step=0.005, coordinates="maximal")
    sim.run(0.5)
    assert sim.body("free").position == pytest.approx([0, -1, 1], abs=1e-12)
    wet = perp.Simulation(
        SCENE.format(option='density="300"', body="", rest=""), step=0.005, coordinates="maximal"
    )
    energy = [wet.step().energy for _ in range(60)]
    assert (np.diff(energy) < 0).all()


@pytest.mark.parametrize(
    ("case", "words"),
    [("an equality of joints", "equalities of joints"), ("a tendon with a spring", "tendons"),
     ("motors with a state", "motors with a state"), ("a fluid", "forces of fluids"),
     ("motors of all transmissions", "lever changes")],
)  # fmt: skip
def test_derivatives_that_are_lacking_are_refused_by_name(case: str, words: str) -> None:
    text = SCENE.format(**{"option": "", "body": "", "rest": "", **CASES[case]})
    sim = perp.Simulation(text, step=0.005, coordinates="maximal")
    sim.step()
    with pytest.raises(perp.PerpError, match=words + ".* no derivatives in maximal"):
        sim.derivatives()


def test_copies_and_snapshots_keep_activations_of_cut_joints() -> None:
    text = SCENE.format(**{"option": "", "body": "", **CASES["motors with a state"]})
    sim = perp.Simulation(text, step=0.005, coordinates="maximal")
    sim.run(0.1, [0.3, 0.5])
    other = perp.Simulation(text, step=0.005, coordinates="maximal")
    other.restore(sim.snapshot())
    sim.run(0.05)
    other.run(0.05)
    assert np.array_equal(sim.state.packed, other.state.packed)
    assert sim.state.act[0] != 0.0
