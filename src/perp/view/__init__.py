"""Plots and the web viewer."""
