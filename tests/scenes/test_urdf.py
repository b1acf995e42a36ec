"""URDF: mesh paths, COLLADA, glTF, links without mass, neighbours, errors that name file and link."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import perp
from perp.scenes import SceneError, load_scene
from perp.scenes.gltf import glb_points
from perp.scenes.meshes import collada_points

ROBOT = """<?xml version="1.0"?><!-- an arm --><robot name="arm">
 <link name="base"><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
 <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0"
  iyy="0.01" iyz="0" izz="0.01"/></inertial><visual><geometry><mesh filename="package://nowhere/gone.dae"/>
  </geometry></visual><collision><geometry><mesh filename="{mesh}"/></geometry></collision></link>
 <link name="frame"/>
 <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="5" velocity="2"/><dynamics damping="0.5"/></joint>
 <joint name="wrist" type="continuous"><parent link="upper"/><child link="frame"/><origin xyz="0.4 0 0"/>
  <axis xyz="1 0 0"/></joint></robot>"""
COLLADA = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
 <asset><unit meter="0.01"/></asset><library_geometries><geometry id="g"><mesh><source id="p"><float_array
 count="12">0 0 0 10 0 0 0 10 0 0 0 10</float_array></source><vertices id="v"><input semantic="POSITION"
 source="#p"/></vertices></mesh></geometry></library_geometries><library_visual_scenes><visual_scene><node>
 <translate>1 2 3</translate><rotate>0 0 1 90</rotate><instance_geometry url="#g"/></node></visual_scene>
 </library_visual_scenes></COLLADA>"""


def test_collada_points_follow_units_and_nodes() -> None:
    points = collada_points(COLLADA.encode())
    expected = np.array([[1, 2, 3], [1, 12, 3], [-9, 2, 3], [1, 2, 13]]) * 0.01
    assert points == pytest.approx(expected)


@pytest.mark.parametrize(
    "mesh", ["package://arm_description/meshes/link.dae", "../meshes/link.dae", "package://meshes/link.dae"]
)
def test_meshes_are_found_and_the_arm_falls_to_its_limit(tmp_path: Path, mesh: str) -> None:
    folder = tmp_path / "arm_description"
    for name in ("urdf", "meshes"):
        (folder / name).mkdir(parents=True)
    (folder / "meshes" / "link.dae").write_text(COLLADA, encoding="utf-8")
    path = folder / "urdf" / "arm.urdf"
    path.write_text(ROBOT.format(mesh=mesh), encoding="utf-8")
    sim = perp.Simulation(path, step=0.01)
    report = str(sim.report)
    for line in (
        "visual package://nowhere/gone.dae",
        "limit velocity",
        "inertial of link frame",
        "of links",
    ):
        assert line in report
    for _ in range(150):
        sim.step()
    assert sim.joint("shoulder").position == pytest.approx(1.0, abs=1e-8)
    assert not sim.contacts()


def test_errors_name_the_file_and_the_link(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"'gone.stl' of link 'upper' is not found"):
        load_scene(ROBOT.format(mesh="gone.stl"))
    (tmp_path / "flat.dae").write_text(COLLADA.replace("0 0 10<", "5 5 0<"), encoding="utf-8")
    with pytest.raises(
        SceneError, match=r"flat.dae: the mesh of link 'upper' cannot be read: its points lie in"
    ):
        load_scene(ROBOT.format(mesh=f"file://{tmp_path}/flat.dae"))
    (tmp_path / "shape.ply").write_text("ply", encoding="utf-8")
    with pytest.raises(SceneError, match=r"shape.ply: the mesh of link 'upper' is .ply: STL, OBJ"):
        load_scene(ROBOT.format(mesh=f"file://{tmp_path}/shape.ply"))
    with pytest.raises(SceneError, match=r"URDF text: mismatched tag"):
        load_scene("<robot><link></robot>")


def test_links_that_overlap_at_the_reference_position_do_not_collide_and_the_report_says_so() -> None:
    shape = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    inertial = '<inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
    links = "".join(f'<link name="{name}">{inertial}{shape}</link>' for name in "abc")
    joints = "".join(
        f'<joint name="{a}{b}" type="continuous"><parent link="{a}"/><child link="{b}"/>'
        f'<origin xyz="0.05 0 0"/><axis xyz="0 1 0"/></joint>'
        for a, b in ("ab", "bc")
    )
    model = load_scene(f"<robot name='r'>{links}{joints}</robot>", reduced=True)
    assert ("contact of a and c", "they overlap at the reference position") in model.report.ignored


def test_a_link_without_inertial_has_no_mass_whatever_its_shapes() -> None:
    inertial = '<inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
    shape = '<collision><geometry><sphere radius="0.2"/></geometry></collision>'
    robot = (
        f'<robot name="r"><link name="a"/><link name="b">{inertial}</link><link name="hull">{shape}</link>'
        f'<link name="c">{shape}</link>'
        '<joint name="ab" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>'
        '<joint name="bh" type="fixed"><parent link="b"/><child link="hull"/><origin xyz="1 0 0"/></joint>'
        '<joint name="bc" type="continuous"><parent link="b"/><child link="c"/><origin xyz="2 0 0"/></joint></robot>'
    )
    model = load_scene(robot, reduced=True)
    assert model.shapes.body_mass.sum() == pytest.approx(1.001)
    assert "inertial of link c: without mass or inertia: it gets a gram" in str(model.report)
    assert "hull" not in "".join(line for line, _ in model.report.ignored if line.startswith("inertial"))


def test_visuals_are_drawn_weigh_nothing_and_never_stop_a_robot(tmp_path: Path) -> None:
    from perp.scenes.geometry import read_geometry
    from perp.view.drawing import not_drawn

    text = """<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
    <link name="base"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><geometry><box size="0.4 0.4 0.4"/></geometry><material name="red"/></visual>
      <visual><geometry><mesh filename="package://nowhere/shell.dae"/></geometry></visual>
      <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
    <link name="bare"><visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual></link>
    <joint name="fix" type="fixed"><parent link="base"/><child link="bare"/></joint></robot>"""
    sim = perp.Simulation(text, free_base=True, ground=True, step=0.01)
    assert sim.model.mass.sum() == pytest.approx(2.0)
    assert [line for line in sim.report.ignored if "shell.dae" in line[0] and "not drawn" in line[1]]
    shapes = {(shape.kind, shape.visual): shape for shape in read_geometry(sim.model)}
    assert shapes["box", True].group == 1
    assert shapes["sphere", False].group == 3  # behind its visual
    assert [s for s in read_geometry(sim.model) if s.visual and s.rgba.tolist() == [1, 0, 0, 1]]
    assert "1 shape of groups 3 and up: not drawn" in not_drawn(read_geometry(sim.model))
    sim.run(0.1)
    assert sim.body("base").position[2] == pytest.approx(
        0.1, abs=1e-6
    )  # the sphere carries it, not the picture


def test_a_texture_becomes_its_mean_colour() -> None:
    from perp.scenes.geometry import read_geometry

    scene = """<mujoco><asset><texture name="t" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="64" height="64"/>
    <material name="m" texture="t"/></asset><worldbody><geom type="plane" size="1 1 1" material="m"/></worldbody></mujoco>"""
    [plane] = read_geometry(perp.Simulation(scene, step=0.01).model)
    assert plane.textured
    assert plane.rgba == pytest.approx([0.5, 0.0, 0.5, 1.0], abs=0.01)


def test_shapes_without_extent_and_bytes_around_the_xml_are_left_out() -> None:
    text = """
<?xml version="1.0"?>
<robot name="arm"><link name="base"><visual><geometry><box size="0 0 0"/></geometry></visual></link>
 <link name="link"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/>
  </inertial><collision><geometry><cylinder length=".2" radius="0"/></geometry></collision>
  <collision><geometry><sphere radius=".1"/></geometry></collision></link>
 <joint name="hinge" type="continuous"><parent link="base"/><child link="link"/><axis xyz="0 1 0"/></joint>
</robot>\0\n"""
    model = load_scene(text, reduced=True)
    assert model.shapes.ngeom == 1
    told = dict(model.report.ignored)
    assert "no extent" in told["visual of link base"]
    assert "no extent" in told["collision of link link"]


def _glb(points: np.ndarray, node: dict[str, object]) -> bytes:
    """A mesh of these points below a node."""
    data = points.astype("<f4").tobytes()
    scene = {
        "scenes": [{"nodes": [0]}], "nodes": [{**node, "children": [1]}, {"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": len(points), "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": len(data)}], "buffers": [{"byteLength": len(data)}],
    }  # fmt: skip
    text = json.dumps(scene).encode()
    text += b" " * (-len(text) % 4)
    parts = [len(text).to_bytes(4, "little"), b"JSON", text, len(data).to_bytes(4, "little"), b"BIN\0", data]
    body = b"".join(parts)
    return b"glTF" + (2).to_bytes(4, "little") + (12 + len(body)).to_bytes(4, "little") + body


def test_gltf_points_follow_their_nodes() -> None:
    """Hands and arms of packages that have nothing but `.glb` did not load."""
    corners = np.array([[x, y, z] for x in (0, 0.1) for y in (0, 0.2) for z in (0, 0.3)])
    half = np.sqrt(0.5)
    node: dict[str, object] = {"translation": [1, 0, 0], "rotation": [half, 0, 0, half], "scale": [2, 1, 1]}
    points = glb_points(_glb(corners, node))
    np.testing.assert_allclose(points.min(axis=0), [1, -0.3, 0], atol=1e-6)
    np.testing.assert_allclose(points.max(axis=0), [1.2, 0, 0.2], atol=1e-6)


@pytest.mark.parametrize("content", [b"glTF", b"no", _glb(np.zeros((4, 3)), {"children": 3})[:-20]])
def test_a_gltf_mesh_that_is_broken_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "part.glb").write_bytes(content)
    with pytest.raises(SceneError, match=r"part.glb: the mesh of link 'upper' cannot be read"):
        load_scene(ROBOT.format(mesh=f"file://{tmp_path}/part.glb"))
