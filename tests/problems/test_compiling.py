"""Who waits for the compiler at a terminal is told why, once; programs are left alone."""

from __future__ import annotations

import io

import pytest
from numba import njit
from numba.core import event

from perp.problems import compiling


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def compile_something() -> None:
    @njit
    def twice(x):
        return 2 * x

    assert twice(3) == 6


def test_the_message_comes_once_and_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PATIENCE", 0.0)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    listener = compiling.announce.__wrapped__()
    assert listener is not None
    try:
        compile_something()
        compile_something()
    finally:
        event.unregister("numba:compile", listener)
    assert terminal.getvalue() == f"\r{compiling.MESSAGE}\n"


def test_quick_compiling_is_not_worth_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "PATIENCE", 1e6)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    listener = compiling.announce.__wrapped__()
    try:
        compile_something()
    finally:
        event.unregister("numba:compile", listener)
    assert terminal.getvalue() == ""


def test_a_stream_that_a_program_reads_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert compiling.announce.__wrapped__() is None
