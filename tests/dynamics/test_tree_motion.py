"""Kinematics of trees against mujoco's."""

import numpy as np
import pytest

from perp.dynamics.tree_motion import links_of, moved, place
from perp.scenes.engine import engine

TREES = """<mujoco><worldbody><body pos="0.1 .2 .3"><freejoint/><geom size=".1"/>
 <body pos=".2 0 .1" quat=".9 .1 .2 .3"><joint type="hinge" axis="1 2 3" pos=".1 .05 0" ref="20"/>
  <joint type="slide" axis="0 1 1" ref="0.1"/><geom size=".1" pos=".1 0 .2"/>
  <body pos="0 .3 0"><joint type="ball" pos="0 .1 .1"/><geom size=".1" pos=".05 .1 .1"/></body></body></body>
 <body pos="1 0 0" mocap="true"><geom size=".1"/><body pos="0 0 1"><joint type="hinge" axis="0 1 0"/>
  <geom size=".1" pos=".3 0 0"/></body></body>
 <body pos="1 0 0"><joint axis="0 0 1" pos=".1 .05 0"/><joint axis="0 1 0" pos=".1 .05 .2"/>
  <geom size=".1" pos=".3 0 0"/><body><geom size=".1"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("seed", range(5))
def test_poses_and_motions_are_those_of_mujoco(seed: int) -> None:
    mujoco = engine()
    m = mujoco.MjModel.from_xml_string(TREES)
    d, links, rng = mujoco.MjData(m), links_of(m), np.random.default_rng(seed)
    q, v, h = m.qpos0.copy(), 3.0 * rng.normal(size=m.nv), 0.1
    mujoco.mj_integratePos(m, q, rng.normal(size=m.nv), 0.3)
    d.mocap_pos[:] = rng.normal(size=3)
    expected, end = q.copy(), np.empty(m.nq)
    mujoco.mj_integratePos(m, expected, v, h)
    moved(links, q, v, h, end)
    assert end == pytest.approx(expected, abs=1e-14)
    d.qpos[:] = expected
    mujoco.mj_kinematics(m, d)
    mujoco.mj_comPos(m, d)
    x, quat, motion = d.xpos.copy(), d.xquat.copy(), np.full((m.nv, 6), np.nan)
    x[links.moves] = quat[links.moves] = np.nan
    place(links, end, x, quat, motion)
    assert x == pytest.approx(d.xpos, abs=1e-14)
    assert quat == pytest.approx(d.xquat, abs=1e-14)
    for j in range(m.nv):
        root = m.body_rootid[m.dof_bodyid[j]]
        given = d.cdof[j].copy()
        given[3:] += np.cross(given[:3], x[root] - d.subtree_com[root])
        assert motion[j] == pytest.approx(given, abs=1e-13)
