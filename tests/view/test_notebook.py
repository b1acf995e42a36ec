"""What a notebook shows in a cell; nothing that a name contains can leave its place."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np

import perp
from perp.scenes import library
from perp.simulation.sweeps.table import Table
from view.looking import wait_until

EVIL = "</td><script>alert(1)</script><img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]


def test_problems_and_solutions() -> None:
    problem = perp.ContactProblem.coulomb(np.eye(3), [-1.0, 0.2, 0.0], 0.5)
    text = problem._repr_html_()
    assert "ContactProblem" in text
    assert "newton" in text
    solution = perp.solve(problem)
    shown = solution._repr_html_()
    assert "SOLVED" in shown
    assert f"{solution.residual:.3g}" in shown
    for each in (perp.LCP([[1.0]], [-1.0]), perp.BoxedLCP([[1.0]], [1.0], [-1.0], [1.0])):
        assert type(each).__name__ in each._repr_html_()


def test_lists_of_solvers_and_tables() -> None:
    listed = perp.solvers(perp.LCP([[1.0]], [-1.0]))
    assert "lemke" in listed._repr_html_()
    assert re.search("^lemke +complementary pivoting", repr(listed), re.MULTILINE)  # at a prompt, too
    rows = Table([{"name": EVIL, "energy": 1.5}] * 70)
    shown = rows._repr_html_()
    assert "and 10 more rows" in shown
    assert set(Tags(shown).found) <= {"div", "table", "thead", "tbody", "tr", "th", "td", "p", "b"}


def test_a_report_at_a_prompt_is_what_is_printed() -> None:
    soft = library.box_on_plane().replace("<geom ", '<geom solref="0.01 1" ', 1)
    report = perp.Simulation(soft, step=0.01).report
    assert repr(report) == str(report)
    assert "solref" in repr(report)


def test_a_recording_plays_in_a_frame_that_can_do_nothing_else() -> None:
    run = perp.Simulation(library.box_on_plane(), step=0.01).run(0.02)
    shown = replace(run, body_names=(EVIL,))._repr_html_()
    assert Tags(shown).found == ["iframe"]
    assert 'sandbox="allow-scripts"' in shown
    assert re.search(r'srcdoc="[^"]+"></iframe>$', shown)
    nothing = perp.Simulation(library.box_on_plane(), step=0.01).run(0.0)
    assert "0 steps" in nothing._repr_html_()


def test_it_plays_in_a_browser(browser) -> None:
    run = perp.Simulation(library.box_on_plane(), step=0.01).run(0.05)
    page = browser.new_page()
    try:
        page.set_content(f"<body>{run._repr_html_()}</body>")
        frame = page.frames[1]
        frame.wait_for_selector("#title")
        assert "5 steps" in frame.inner_text("#title")
        wait_until(frame, "document.querySelector('#subtitle').innerText.includes('from t = 0')")
        assert "5 steps of 0.01 s" in frame.inner_text("#subtitle")
    finally:
        page.close()


def test_simulations() -> None:
    scene = library.box_on_plane().replace('name="box"', f'name="{html.escape(EVIL)}"')
    sim = perp.Simulation(scene, step=0.01)
    shown = sim._repr_html_()
    assert set(Tags(shown).found) <= {"div", "b", "table", "tr", "th", "td"}
    assert "Simulation at t = 0 s, step 0.01 s: bodies 1" in shown
    assert repr(sim).startswith("<Simulation at t = 0 s")
    record = sim.step()
    assert "tolerance met" in repr(record)
    assert repr(sim.body(EVIL)).endswith("m/s>")
