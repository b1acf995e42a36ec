"""State, mass, joints, motors and the kinematic map, as arrays over bodies and constraint rows."""

from perp.dynamics.rows import JointRows
from perp.dynamics.state import State

__all__ = ["JointRows", "State"]
