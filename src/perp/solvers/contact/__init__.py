"""Compiled pieces that the contact solvers share: blocks, local solves, linearisation, factorisation."""
