"""Υ and Σ by kind and by joint, and the softness that a file states, against closed forms and mujoco."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.scenes import attach, library, load_scene
from perp.scenes.engine import engine

MUJOCO = engine()

BALL = '<body name="b" pos="0 0 {z}"><freejoint/><geom type="sphere" size="0.1" mass="2" friction="0.5 0 0"/></body>'
PLANE = '<geom type="plane" size="5 5 1" friction="0.5 0 0"/>'
WEIGHT = 2 * library.GRAVITY


def hung(**compliance: float) -> perp.scenes.Model:
    """Two boxes that fixed joints hold in the air."""
    body = '<body name="{n}" pos="{x} 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>'
    model = load_scene(library.scene("".join(body.format(n=n, x=x) for n, x in (("a", 0), ("b", 1)))))
    for name, x in (("a", 0.0), ("b", 1.0)):
        model = attach(model, "fixed", name, anchor=(x, 0, 1), name=f"hold {name}", **compliance)
    return model


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
@pytest.mark.parametrize("level", ["position", "velocity"])
def test_a_soft_contact_sags_by_compliance_times_weight(level: str, coordinates: str) -> None:
    text = library.scene(PLANE + BALL.format(z=0.1))
    sim = perp.Simulation(
        text, step=0.005, level=level, coordinates=coordinates, compliance={"contacts": 1e-4}
    )
    records = [sim.step() for _ in range(400)]
    assert 0.1 - sim.body("b").position[2] == pytest.approx(1e-4 * WEIGHT, rel=1e-6)
    assert all(record.met for record in records)
    assert records[-1].penetration == pytest.approx(1e-4 * WEIGHT, rel=1e-5)


def test_a_sag_beyond_what_recovery_undoes_in_a_step_is_that_of_the_law() -> None:
    """20 mm of sag where a step of 5 ms undoes 5 mm: the part that a step leaves was left for good."""
    sim = perp.Simulation(
        hung(compliance=2e-3), step=0.005, coordinates="maximal", settings=perp.stepping.StepSettings()
    )
    records = [sim.step() for _ in range(3000)]
    assert 1.0 - sim.body("a").position[2] == pytest.approx(2e-3 * 9.81, rel=1e-6)
    assert records[-1].met


@pytest.mark.parametrize("level", ["position", "velocity"])
def test_joints_have_their_own_compliance_by_name(level: str) -> None:
    sim = perp.Simulation(
        hung(), step=0.005, level=level, coordinates="maximal", compliance={"joints": 1e-4, "hold b": 3e-4}
    )
    sim.run(3.0)
    assert 1.0 - sim.body("a").position[2] == pytest.approx(1e-4 * 9.81, rel=1e-6)
    assert 1.0 - sim.body("b").position[2] == pytest.approx(3e-4 * 9.81, rel=1e-6)


def test_one_number_is_for_joints_and_contacts() -> None:
    sim = perp.Simulation(library.scene(PLANE + BALL.format(z=0.1)), step=0.005, compliance=1e-4)
    sim.run(2.0)
    assert 0.1 - sim.body("b").position[2] == pytest.approx(1e-4 * WEIGHT, rel=1e-6)


def test_baumgartes_share_by_kind_and_by_joint() -> None:
    """An open joint closes by its own Υ a step at velocity level: 1 − Υ of the error is left."""
    sim = perp.Simulation(
        hung(), step=0.01, level="velocity", coordinates="maximal",
        correction={"joints": 0.1, "hold b": 0.5, "contacts": 0.0},
    )  # fmt: skip
    sim.state.position[:, 0] += 0.001
    sim.step()
    assert sim.body("a").position[0] == pytest.approx(0.0009, rel=1e-6)
    assert sim.body("b").position[0] - 1.0 == pytest.approx(0.0005, rel=1e-6)


def test_overlap_of_contacts_stays_without_baumgartes_share() -> None:
    text = library.scene(PLANE + BALL.format(z=0.0995))
    for share, left in ((0.0, 5e-4), (0.2, 4e-4), (1.0, 0.0)):
        sim = perp.Simulation(text, step=0.01, level="velocity", correction={"contacts": share})
        sim.reset()
        sim.body("b").set_pose((0, 0, 0.0995))
        sim.step()
        assert 0.1 - sim.body("b").position[2] == pytest.approx(left, abs=1e-9)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"correction": 1.5}, r"correction = 1.5: a share"),
        ({"correction": {"joints": -0.1}}, r"correction\['joints'\] = -0.1"),
        (
            {"correction": {"knee": 0.1}},
            r"correction has 'knee': 'joints', 'contacts' or one of hold a, hold b",
        ),
        ({"compliance": -1e-3}, r"compliance = -0.001"),
        ({"compliance": {"contacts": np.nan}}, r"compliance\['contacts'\] = nan"),
        ({"compliance": {"knee": 0.1}}, r"compliance has 'knee'"),
        ({"softness": "soft"}, r"softness = 'soft': one of 'none', 'file'"),
    ],
)
def test_impossible_values_are_refused(option: dict, message: str) -> None:
    with pytest.raises(perp.ProblemError, match=message):
        perp.Simulation(hung(), coordinates="maximal", **option)


def test_a_coordinate_cannot_give_way() -> None:
    chain = library.chain(2, joint="hinge")
    name = load_scene(chain).joints[0].name
    perp.Simulation(chain, coordinates="maximal", compliance={name: 1e-4})
    with pytest.raises(perp.ProblemError, match="in reduced coordinates this joint is a coordinate"):
        perp.Simulation(chain, coordinates="reduced", compliance={name: 1e-4})


SOFT = [
    "", 'solref="0.05 1"', 'solref="-2000 -100"', 'solref="-500 -50" solimp="0.8 0.95 0.002"',
    'solref="0.02 1" solimp="0.5 0.9 0.01 0.3 3"',
]  # fmt: skip


CONES = [("1", "pyramidal"), ("3", "pyramidal"), ("6", "pyramidal"), ("3", "elliptic"), ("4", "elliptic")]


@pytest.mark.parametrize(
    ("condim", "cone", "soft", "coordinates"),
    [(*CONES[0], soft, coordinates) for soft in SOFT for coordinates in ("maximal", "reduced")]
    + [(*cone, SOFT[1], "maximal") for cone in CONES[1:]],
)
def test_a_contact_as_soft_as_its_file_says_sags_as_in_mujoco(
    condim: str, cone: str, soft: str, coordinates: str
) -> None:
    bodies = (PLANE + BALL.format(z=0.1)).replace("<geom", f'<geom condim="{condim}" {soft}')
    text = library.scene(bodies).replace("<worldbody>", f'<option cone="{cone}"/><worldbody>', 1)
    m = MUJOCO.MjModel.from_xml_string(text)
    d = MUJOCO.MjData(m)
    m.opt.timestep = 0.002
    for _ in range(5000):
        MUJOCO.mj_step(m, d)
    sag = 0.1 - d.qpos[2]
    assert sag > 1e-5
    sim = perp.Simulation(text, step=0.005, coordinates=coordinates, softness="file")
    records = [sim.step() for _ in range(1000)]
    assert 0.1 - sim.body("b").position[2] == pytest.approx(sag, rel=1e-3)
    assert records[-1].met
    hard = perp.Simulation(text, step=0.005, coordinates=coordinates)
    hard.run(0.1)
    assert hard.body("b").position[2] == pytest.approx(0.1, abs=1e-9)


def test_limits_and_equalities_as_soft_as_their_file_says() -> None:
    arm = (
        '<body name="arm" pos="0 1 0"><joint name="hinge" axis="0 1 0" range="-0.35 0.35" solreflimit="-300 -20"/>'
        '<geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02" mass="1"/></body>'
        '<body name="w"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>'
    )
    weld = '<equality><weld name="w0" body1="w" solref="-400 -40" solimp="0.7 0.7 0.001"/></equality>'
    text = library.scene(arm).replace("</mujoco>", weld + "</mujoco>")
    m = MUJOCO.MjModel.from_xml_string(text)
    m.jnt_solimp[0] = [0.8, 0.8, 0.001, 0.5, 2]
    d = MUJOCO.MjData(m)
    m.opt.timestep = 0.001
    for _ in range(8000):
        MUJOCO.mj_step(m, d)
    sim = perp.Simulation(m, step=0.005, coordinates="reduced", softness="file")
    sim.run(5.0)
    assert float(sim.joint("hinge").position) == pytest.approx(d.qpos[0], rel=1e-3)
    assert sim.body("w").position[2] == pytest.approx(d.qpos[3], rel=1e-3)
    assert d.qpos[0] > 0.36
    assert d.qpos[3] < -1e-3
