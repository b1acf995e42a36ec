"""Solvers that lie, crash, hang and raise: imported by the harness with --import."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from perp.problems import LCP
from perp.solvers import Attempt, Control, register


@register("liar", takes=LCP, summary="says that zero is the answer")
def liar(problem: LCP, control: Control, options: object) -> Attempt:
    return Attempt(np.zeros(problem.size), 1)


@register("crasher", takes=LCP, summary="ends its process")
def crasher(problem: LCP, control: Control, options: object) -> Attempt:
    os.kill(os.getpid(), signal.SIGSEGV)
    return Attempt(np.zeros(problem.size), 1)


@register("sleeper", takes=LCP, summary="never ends")
def sleeper(problem: LCP, control: Control, options: object) -> Attempt:
    with suppress(KeyError):
        Path(os.environ["SLEEPER"]).touch()  # for a test that waits until it sleeps
    while True:
        time.sleep(60.0)


@register("raiser", takes=LCP, summary="has a bug")
def raiser(problem: LCP, control: Control, options: object) -> Attempt:
    raise ZeroDivisionError("by design")
