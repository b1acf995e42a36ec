"""Pivoting methods: exact answers by moving from basis to basis."""
