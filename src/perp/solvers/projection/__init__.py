"""Projection methods: sweeps of small local solves, each projected onto its set."""
