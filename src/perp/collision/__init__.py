"""Poses in, contacts out: mujoco-core in one call for the whole scene."""

from perp.collision.contacts import Contacts
from perp.collision.errors import CollisionError

__all__ = ["CollisionError", "Contacts"]
