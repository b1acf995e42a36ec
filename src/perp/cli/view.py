"""`perp view RUN`: replay a recording in the browser, or write it as a page of its own."""

import sys
import time
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import perp
from perp.cli.exit_codes import ExitCode
from perp.cli.printing import print_line
from perp.files.writing import check_writable
from perp.view.server import PageServer


def view(
    run: Path,
    /,
    *,
    html: Path | None = None,
    port: int = 8080,
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
) -> int:
    """Replay the recording RUN: bodies, contact forces and friction cones, energy and residual.

    Args:
        run: A recording that `perp simulate --out` wrote.
        html: Write one html file that plays offline instead.
        port: Of the local page; the next free one if it is taken.
        browser: Whether to open the page in the browser.
    """
    if html is not None:
        check_writable(html, (".html", ".htm"), "a page")
    text = perp.Recording.open(run).to_html(html, title=run.stem)
    if html is not None:
        print_line(f"Wrote {html}: {html.stat().st_size / 1e6:.1f} MB, open it in any browser")
        return ExitCode.SOLVED

    server = PageServer(lambda: text, port=port)
    print_line(f"Showing {run} at {server.url} until Ctrl-C")
    sys.stdout.flush()
    if browser:
        webbrowser.open(server.url)
    try:
        while True:
            time.sleep(3600.0)
    except KeyboardInterrupt:
        server.close()
    return ExitCode.SOLVED
