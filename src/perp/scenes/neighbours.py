"""Bodies that overlap where they are joined: which ones, and that they do not collide.

mujoco lets a body overlap the one that carries it, unless that is fixed to the world: so that things rest on
the ground. A gripper whose palm is mounted on nothing would squeeze its own knuckles, and not on an arm.
"""

from typing import Any

from perp.scenes.engine import engine

Lines = list[tuple[str, str]]


def overlapping(m: Any) -> list[tuple[int, int]]:
    """Pairs of bodies whose shapes overlap at the reference position of a compiled scene."""
    mujoco = engine()
    data = mujoco.MjData(m)
    mujoco.mj_kinematics(m, data)
    mujoco.mj_comPos(m, data)
    mujoco.mj_collision(m, data)
    pairs = {
        tuple(sorted(int(m.geom_bodyid[g]) for g in geoms))
        for geoms, gap in zip(data.contact.geom, data.contact.dist, strict=True)
        if gap < 0
    }
    return sorted((first, second) for first, second in pairs)


def exclude_mounted(spec: Any, m: Any) -> Lines:
    """Exclude bodies that overlap what they are joined to, where that is fixed, other than the world itself.

    As mujoco does where it moves: all bodies that are fixed to each other count as one. Exclusions are added
    to the spec, of which m is the compiled scene; returns lines for the import report.
    """
    lines: Lines = []
    fixed = m.body_weldid == 0
    for pair in overlapping(m):
        mount, body = pair if fixed[pair[0]] else pair[::-1]
        carried = fixed[mount] and fixed[m.body_parentid[m.body_weldid[body]]] and not fixed[body]
        a, b = m.body(mount).name, m.body(body).name
        if mount > 0 and carried and m.body_rootid[mount] == m.body_rootid[body] and a and b:
            spec.add_exclude(bodyname1=a, bodyname2=b)
            lines.append(
                (f"contact of {a} and {b}", "they share a joint and overlap at the reference position")
            )
    return lines
