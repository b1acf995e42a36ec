"""Half of the step is compiled in another process: it is on disk then, and found there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perp.stepping import ahead
from perp.stepping.course import SECOND_HALF
from perp.stepping.tasks import run
from perp.stepping.world import WorldType


def test_the_other_process_leaves_its_parts_on_disk() -> None:
    subprocess.run([sys.executable, "-m", "perp.stepping.ahead"], check=True)
    for kernel in SECOND_HALF:
        assert kernel._cache.load_part((WorldType,), kernel.targetctx) is not None, kernel.__name__


def test_nothing_is_started_where_the_step_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr(ahead.subprocess, "Popen", lambda *a, **k: started.append(a))
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(type(run), "is_kept", lambda _: True)
    assert ahead.start() is None
    monkeypatch.setattr(type(run), "is_kept", lambda _: False)
    ahead.start()
    assert len(started) == 1
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: 1)
    assert ahead.start() is None
    assert len(started) == 1
