"""Poses in, contacts out: mujoco-core behind a small protocol."""

from perp.collision.contacts import ContactFinder, Contacts
from perp.collision.matching import carry_over
from perp.collision.mujoco_finder import MujocoFinder

__all__ = ["ContactFinder", "Contacts", "MujocoFinder", "carry_over"]
