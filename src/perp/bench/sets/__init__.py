"""Test sets, one a module; `catalogue` has their names."""

from perp.bench.sets.base import NamedProblem, TestSet

__all__ = ["NamedProblem", "TestSet"]
