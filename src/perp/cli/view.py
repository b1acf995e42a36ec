"""`perp view RUN`: replay a recording in the browser, or write it as a page of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from perp.cli.exit_codes import ExitCode


def view(
    run: Path,
    /,
    *,
    html: Annotated[Path | None, Parameter(help="Write one html file that plays offline instead.")] = None,
    port: Annotated[int, Parameter(help="Of the local page; the next free one if it is taken.")] = 8080,
    browser: Annotated[bool, Parameter(help="Whether to open the page in the browser.")] = True,
) -> int:
    """Replay the recording RUN: bodies, contact forces and friction cones, energy and residual.

    Args:
        run: A recording that `perp simulate --out` wrote.
        html: Write one html file that plays offline instead.
        port: Of the local page; the next free one if it is taken.
        browser: Whether to open the page in the browser.
    """
    import perp
    from perp.cli.printing import print_line

    recording = perp.Recording.open(run)
    if html is not None:
        from perp.view.page import write_page

        write_page(recording, html, title=run.stem)
        print_line(f"Wrote {html}: {html.stat().st_size / 1e6:.1f} MB, open it in any browser")
        return ExitCode.SOLVED
    from perp.view.web import show

    viewer = show(recording, port=port, open_browser=browser, wait=False)
    print_line(f"Showing {run} at {viewer.url} until Ctrl-C")
    viewer.wait()
    return ExitCode.SOLVED
