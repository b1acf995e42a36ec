"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# The same examples on every machine and run: a failure can be repeated. First calls compile, so no deadlines.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
