"""Meshes are closed and face outwards, copies stand where MuJoCo puts the shapes, marks point the right way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import perp
from perp.scenes import load_scene
from perp.scenes.engine import engine
from perp.scenes.frames import multiply, rotate
from perp.scenes.geometry import read_geometry
from perp.view import meshes
from perp.view.drawing import copies_of, drawn_side, extent, placed
from perp.view.page import packed

SHAPES = """<mujoco><asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
<hfield name="hills" nrow="3" ncol="3" size="1 1 0.5 0.1" elevation="0 0 0 0 1 0 0 0 0"/></asset><worldbody>
<geom type="plane" size="0 0 1"/><geom type="hfield" hfield="hills" pos="4 0 0"/>
<body name="a" pos="1 2 3" euler="10 20 30"><freejoint/>
<geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0" euler="0 0 45"/><geom type="sphere" size="0.2"/>
<geom type="capsule" size="0.1 0.3" pos="0 1 0"/><geom type="cylinder" size="0.1 0.3" pos="0 2 0"/></body>
<body name="b" pos="-1 0 2"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.3"/><geom type="mesh" mesh="wedge"/>
<geom type="box" size="1 1 1" group="3" mass="0"/></body></worldbody></mujoco>"""


def volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return float(np.einsum("fi,fi->f", a, np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize(
    ("mesh", "exact"),
    [
        (meshes.box(), 8.0),
        (meshes.sphere(), 4 / 3 * np.pi),
        (meshes.cylinder(), 2 * np.pi),
        (meshes.capsule(2.0), 4 * np.pi + 4 / 3 * np.pi),
    ],
)
def test_meshes_enclose_the_volume_of_their_shape(mesh: meshes.Mesh, exact: float) -> None:
    assert volume(*mesh) == pytest.approx(exact, rel=0.02)


def test_normals_are_flat_on_boxes_and_round_on_spheres() -> None:
    _, normals, _ = meshes.with_normals(*meshes.box())
    assert np.sort(np.abs(normals), axis=1) == pytest.approx(np.tile([0.0, 0.0, 1.0], (24, 1)))
    vertices, normals, faces = meshes.with_normals(*meshes.sphere())
    assert np.abs(normals - vertices).max() < 0.12
    assert faces.max() < len(vertices)


def test_a_mesh_with_too_many_faces_is_made_coarser_and_keeps_its_volume() -> None:
    vertices, faces = meshes.sphere(64)
    coarse = meshes.coarsened(vertices, faces, 1000)
    assert len(coarse[1]) <= 1000
    assert volume(*coarse) == pytest.approx(volume(vertices, faces), rel=0.1)


def test_copies_stand_where_mujoco_puts_the_shapes() -> None:
    model = load_scene(SHAPES)
    mujoco = engine()
    data = mujoco.MjData(model.shapes)
    mujoco.mj_kinematics(model.shapes, data)
    sim = perp.Simulation(model, step=0.01)
    position = np.array([sim.body(name).position for name in model.body_names])
    quaternion = np.array([sim.body(name).quaternion for name in model.body_names])
    found = {}
    for group in copies_of(read_geometry(model)):
        x, q = placed(group, position, quaternion)
        for k in range(len(x)):
            corners = rotate(np.tile(q[k], (3, 1)), np.eye(3))
            found[group.kind, tuple(np.round(x[k], 9))] = corners.T
    shown = [g for g in range(model.shapes.ngeom) if model.shapes.geom_group[g] < 3]
    assert len(found) == len(shown)
    for g in shown:
        kind = mujoco.mjtGeom(int(model.shapes.geom_type[g])).name.removeprefix("mjGEOM_").lower()
        kind = "sphere" if kind == "ellipsoid" else kind
        turn = found.get((kind, tuple(np.round(data.geom_xpos[g], 9))))
        assert turn is not None, kind
        assert turn == pytest.approx(data.geom_xmat[g].reshape(3, 3), abs=1e-9)


def test_a_tendon_through_space_is_noted_as_not_drawn(tmp_path: Path) -> None:
    sim = perp.Simulation("""<mujoco><worldbody><site name="a" pos="0 0 1"/>
      <body><freejoint/><geom size="0.1"/><site name="b"/></body></worldbody>
      <tendon><spatial range="0 2"><site site="a"/><site site="b"/></spatial></tendon></mujoco>""")
    sim.run(0.01, out=tmp_path / "run.h5")
    for run in (sim.run(0.01), perp.Recording.open(tmp_path / "run.h5")):
        assert packed(run)[0]["notes"] == ["1 tendon: not drawn"]


def test_what_there_is_to_see_does_not_depend_on_a_body_that_falls_off_the_world() -> None:
    copies = [group for group in copies_of(read_geometry(load_scene(SHAPES))) if group.kind == "sphere"]
    stay = np.array([[1.0, 2.0, 3.0], [-1.0, 0.0, 2.0]])
    positions = np.array([stay, stay + 0.1, [[1.0, 2.0, -1e6], [-1.0, 0.0, 2.0]]])
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (3, 2, 1))
    _, radius = extent(copies, positions, turns)
    assert 1.5 < radius < 3.0


def test_forces_are_drawn_on_what_moves() -> None:
    assert drawn_side(np.array([[-1, 0], [0, -1], [0, 1]])).ravel().tolist() == [1, -1, 1]


def test_products_of_quaternions_turn_one_after_the_other() -> None:
    rng = np.random.default_rng(1)
    p, q = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in rng.normal(size=(2, 5, 4)))
    x = rng.normal(size=(5, 3))
    assert rotate(multiply(p, q), x) == pytest.approx(rotate(p, rotate(q, x)))
