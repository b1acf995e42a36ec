"""Derivatives of steps against central differences, and scenes for it."""

from __future__ import annotations

import numpy as np
import pytest

import perp
from perp.simulation.gradients.parameter_values import parameter_values
from perp.simulation.gradients.step_differences import RELATIVE, differences

PLANE = '<geom name="floor" type="plane" size="5 5 .1" friction="0.5 0.01 0.002"/>'
COORDINATES = pytest.mark.parametrize("coordinates", ["reduced", "maximal"])


def scene(bodies: str, **options) -> perp.Simulation:
    return perp.Simulation(
        f"<mujoco><worldbody>{PLANE}{bodies}</worldbody></mujoco>", **({"step": 0.01} | options)
    )


def body(geom: str, position: str = "0 0 .1", name: str = "b") -> str:
    return f'<body name="{name}" pos="{position}"><freejoint/>{geom}</body>'


def agree(sim, parameters=(), *, rtol=1e-6, step=1e-6):
    """A, B and parameters against differences; the step afterwards has the bits it would have had."""
    twin = sim.copy()
    twin.step()
    found = sim.derivatives(parameters)
    for name, mine in (("A", found.A), ("B", found.B), *found.parameters.items()):
        if mine.size:
            theirs = differences(sim, name, step)
            off, scale = np.abs(mine - theirs).max(), np.abs(theirs).max()
            # what a step leaves of its tolerance shows in its differences
            assert off <= rtol * scale + noise(sim, name, step), (name, off, scale)
    sim.step()
    np.testing.assert_array_equal(sim.state.packed, twin.state.packed)
    return found


def noise(sim, name, step):
    """Round-off of a step over the change of what it is differentiated by."""
    if name in ("A", "B") or name.partition(":")[0] not in ("mass", "inertia"):
        return 1e-11 / step
    return 1e-9 / (RELATIVE * float(parameter_values(sim, (name,))[name].min()))


ARM = """<mujoco><worldbody><body name="upper" pos="0 0 2">
<joint name="j1" axis="0 1 0" range="-60 60" limited="{limited}" damping=".1" armature=".01"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/><body name="lower" pos=".3 0 0">
<joint name="j2" axis="0 1 0" stiffness="2" frictionloss="{rub}"/>
<geom type="capsule" fromto="0 0 0 .3 0 .1" size=".03"/></body></body></worldbody>
<actuator>{motor}<motor name="m" joint="j2"/></actuator></mujoco>"""
SERVO = '<position name="p" joint="j1" kp="20" kv="1"{}/>'
LOOP = """<mujoco><worldbody><body pos="0 0 1"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/><body name="d" pos=".3 0 0"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 -.3" size=".02" contype="0"/></body></body>
<body name="c" pos=".8 0 1"><joint axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 -.2 0 -.3" size=".02" contype="0"/></body></worldbody>
<equality><connect body1="c" body2="d" anchor="-.2 0 -.3"/></equality></mujoco>"""
