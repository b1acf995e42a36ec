"""A scene as arrays that can be kept in a file, so that a run can go on without the files it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from perp.problems.validation import freeze
from perp.scenes.engine import engine
from perp.scenes.mjcf import load_scene
from perp.scenes.model import ImportReport, Model, SceneError

_NAME = "stored.mjb"


def store_scene(model: Model) -> dict[str, np.ndarray]:
    """The compiled scene, in mujoco's own binary form, and what perp has added to it."""
    mujoco = engine()

    compiled = np.zeros(mujoco.mj_sizeModel(model.shapes), dtype=np.uint8)
    mujoco.mj_saveModel(model.shapes, buffer=compiled)
    return {
        "compiled": compiled,
        "restitution": model.geom_restitution,
        "friction_axis": model.friction_axis,
        "counts": np.array([model.body_count, len(model.joints), len(model.motors)]),
    }


def stored_scene(arrays: Mapping[str, np.ndarray], report: ImportReport) -> Model:
    """The model that `store_scene` stored.

    Raises:
        SceneError: mujoco cannot read it (another version wrote it), or parts were added in Python.
    """
    mujoco = engine()

    try:
        content = {_NAME: arrays["compiled"].tobytes()}
        shapes = mujoco.MjModel.from_binary_path(_NAME, assets=content)
    except ValueError as error:
        raise SceneError(f"the stored scene cannot be read by mujoco {mujoco.__version__}: {error}") from None
    model = load_scene(shapes)
    if [model.body_count, len(model.joints), len(model.motors)] != arrays["counts"].tolist():
        raise SceneError("joints or motors were added to the scene in Python: build it again and use restore")
    return replace(
        model,
        geom_restitution=freeze(arrays["restitution"]),
        friction_axis=freeze(arrays["friction_axis"]),
        report=report,
    )
