"""Gradients of runs, parameters from recorded motions, and a step as an operation of JAX and PyTorch."""
