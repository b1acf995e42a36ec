"""Compiled pieces that solvers and the time step share, each once."""
