"""A page on this machine: served to its own browser only, asked for frames, and obeyed.

The server listens on the loopback device alone. Any site in the same browser can still send requests there,
and says so in the Origin header; a name can be made to point here, which the Host header tells. Every request
that names another origin or host than the server's own gets 403, and commands need a header that a foreign
page cannot send without asking first.
"""

import json
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from perp.problems import PerpError

_HOSTS = ("localhost", "127.0.0.1", "::1")
_PORTS = 50  # how many are tried
_MOST_BYTES = 1 << 16  # of a command
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; frame-ancestors 'none'"
)


def is_own(headers: Any) -> bool:
    """Whether a request with these headers comes from a page of this server, or from no page at all."""
    try:
        own = urlsplit(f"//{headers.get('Host')}")
        if own.hostname not in _HOSTS:
            return False
        origin = headers.get("Origin")
        if origin is None:  # no browser, or a page that only reads what is its own
            return True
        named = urlsplit(origin)
        return named.scheme == "http" and named.hostname in _HOSTS and named.port == own.port
    except ValueError:
        return False


class PageServer:
    """Serves one page, made anew for every visit, at `url`: a port of this machine, or the next free one.

    `frames` answers what the page asks for with GET /frames: the query in, bytes out; `command` takes what it
    sends with POST /command.
    """

    def __init__(
        self,
        page: Callable[[], str],
        *,
        port: int = 8080,
        frames: Callable[[dict[str, str]], bytes] | None = None,
        command: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        answers = {"page": page, "frames": frames, "obey": command}
        handler = type("Handler", (_Handler,), {name: x and staticmethod(x) for name, x in answers.items()})
        self._server = _open(port, handler)
        self.port = int(self._server.server_address[1])
        self.url = f"http://localhost:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="perp-page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _open(port: int, handler: Any) -> ThreadingHTTPServer:
    for k in range(_PORTS):
        try:
            return ThreadingHTTPServer(("127.0.0.1", port + k if port else 0), handler)
        except OSError:
            continue
    raise PerpError(f"ports {port} to {port + _PORTS - 1} of this machine are all taken: choose another")


class _Handler(BaseHTTPRequestHandler):
    page: Callable[[], str]
    frames: Callable[[dict[str, str]], bytes] | None
    obey: Callable[[dict[str, Any]], None] | None
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if not is_own(self.headers):
            return self._answer(HTTPStatus.FORBIDDEN, b"another site's page\n")
        where = urlsplit(self.path)
        if where.path == "/":
            return self._answer(HTTPStatus.OK, self.page().encode(), "text/html; charset=utf-8")
        if where.path == "/frames" and self.frames is not None:
            try:
                query = {name: values[0] for name, values in parse_qs(where.query).items()}
                return self._answer(HTTPStatus.OK, self.frames(query), "application/octet-stream")
            except (ValueError, LookupError):
                return self._answer(HTTPStatus.BAD_REQUEST, b"not understood\n")
        return self._answer(HTTPStatus.NOT_FOUND, b"no such page\n")

    def do_POST(self) -> None:
        if not is_own(self.headers) or self.headers.get("X-Perp") is None:
            return self._answer(HTTPStatus.FORBIDDEN, b"another site's page\n")
        if urlsplit(self.path).path != "/command" or self.obey is None:
            return self._answer(HTTPStatus.NOT_FOUND, b"no such page\n")
        try:
            size = int(self.headers.get("Content-Length", "0"))
            if not 0 <= size <= _MOST_BYTES:
                raise ValueError
            words = json.loads(self.rfile.read(size))
            if not isinstance(words, dict):
                raise ValueError
            self.obey(words)
        except (ValueError, LookupError, TypeError, RecursionError):
            self.close_connection = True  # what has not been read is no next request
            return self._answer(HTTPStatus.BAD_REQUEST, b"not understood\n")
        return self._answer(HTTPStatus.NO_CONTENT, b"")

    def _answer(self, status: HTTPStatus, content: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
        """Nothing: the terminal belongs to the run."""
