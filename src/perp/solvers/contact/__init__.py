"""Compiled pieces that the contact solvers share: canonical form, local solves, linearisation, factorisation."""
