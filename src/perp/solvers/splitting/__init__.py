"""Splitting methods: a linear solve and a projection in turn."""
