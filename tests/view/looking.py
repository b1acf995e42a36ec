"""What tests ask of a page in a browser."""

from __future__ import annotations

import io
import time
from contextlib import contextmanager
from typing import Any

import numpy as np
from matplotlib.image import imread


@contextmanager
def opened(browser: Any, address: str, *, width: int = 1000, height: int = 640):
    """A page at an address, and the list of what it asks for and of what goes wrong on it."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(300_000)  # milliseconds; the machine may have much else to do
    page.requests, page.errors = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    try:
        page.goto(address)
        yield page
        assert page.errors == []
    finally:
        page.close()


def picture(page: Any, selector: str) -> np.ndarray:
    """An element as it looks, shape (height, width, 3), from 0 to 1."""
    return imread(io.BytesIO(page.locator(selector).first.screenshot()))[..., :3]


def settled(page: Any, expression: str, seconds: float = 300.0) -> Any:
    """The value of a JavaScript expression once it stays the same; what is under way may still arrive before."""
    deadline = time.monotonic() + seconds
    before, same = page.evaluate(expression), 0
    while same < 10:
        assert time.monotonic() < deadline, f"always changing: {expression}"
        page.wait_for_timeout(50)
        now = page.evaluate(expression)
        before, same = now, same + 1 if now == before else 0
    return before


def wait_until(page: Any, condition: str, seconds: float = 300.0) -> None:
    """Wait for a JavaScript condition; unlike playwright's own way this works under a strict content policy."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"never true: {condition}"
        page.wait_for_timeout(30)
