"""Scenes in, an immutable `Model` out, with a report of what was used and what was ignored."""

from perp.scenes.joints import Coordinate, Freedom, Joint, JointKind, attach
from perp.scenes.mjcf import load_scene, read_spec
from perp.scenes.model import WORLD, ImportReport, Model, SceneError
from perp.scenes.motors import Motor, MotorKind

__all__ = [
    "WORLD",
    "Coordinate",
    "Freedom",
    "ImportReport",
    "Joint",
    "JointKind",
    "Model",
    "Motor",
    "MotorKind",
    "SceneError",
    "attach",
    "load_scene",
    "read_spec",
]
