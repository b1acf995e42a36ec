"""A page's server that answers only pages of its own: a foreign site in the same browser is refused.

A browser lets any site open a websocket to this machine and says so in the Origin header alone; viser does
not look at it. Every request that names another origin than localhost at the server's own port, or another
host (a name that was made to point here), gets 403.
"""

from __future__ import annotations

import http
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

_HOSTS = ("localhost", "127.0.0.1", "::1")
_lock = threading.Lock()


def is_own(headers: Any) -> bool:
    """Whether a request comes from a page of this server, or from no page at all.

    Args:
        headers: Of the request, by name.
    """
    try:
        own = urlsplit(f"//{headers.get('Host')}")
        if own.hostname not in _HOSTS:
            return False
        origin = headers.get("Origin")
        if origin is None:  # no browser: a program of this machine's user
            return True
        named = urlsplit(origin)
        return named.scheme == "http" and named.hostname in _HOSTS and named.port == own.port
    except ValueError:
        return False


@contextmanager
def only_own_pages() -> Iterator[None]:
    """Servers that viser starts meanwhile refuse what `is_own` does."""
    server: Any = import_module("websockets.asyncio.server")
    original = server.serve

    def serve(*args: Any, process_request: Any = None, **options: Any) -> Any:
        def guarded(connection: Any, request: Any) -> Any:
            if not is_own(request.headers):
                return connection.respond(http.HTTPStatus.FORBIDDEN, "another site's page\n")
            return None if process_request is None else process_request(connection, request)

        return original(*args, process_request=guarded, **options)

    with _lock:
        server.serve = serve
        try:
            yield
        finally:
            server.serve = original
