"""Robots that nobody tuned for: each at rest and under random controls, beside `mj_step`, as one table.

    python benchmarks/robots.py                                # all that are installed (robot_scenes.py)
    python benchmarks/robots.py beside known                   # groups
    python benchmarks/robots.py scene.xml other.urdf cassie    # files, or parts of names
    python benchmarks/robots.py --csv robots.csv --page docs/robots.md

Every robot runs in its own process (shaking.py) with a time limit, so that one that hangs, or that ends its
process, is a row like the others. `ratio` is the mean CPU time of a step over that of `mj_step` in the same
run; `tail` the largest step over the median of its phase.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from own_process import last_line
from robot_scenes import RobotScene, robot_scenes

Table = list[dict[str, Any]]
HERE = Path(__file__).parent
# What lies between these on a page is written here.
BEGIN, END = "<!-- written by benchmarks/robots.py -->", "<!-- end -->"


def chosen(words: list[str]) -> list[RobotScene]:
    """The robots that the command line asks for: groups, files, parts of names; all by default."""
    found = list(robot_scenes())
    out = [] if words else found
    for word in words:
        path = Path(word)
        if path.is_file():
            out.append(RobotScene("given", "given", path.resolve()))
            continue
        matching = [scene for scene in found if word in (scene.group, scene.source) or word in scene.name]
        if not matching:
            raise SystemExit(f"{word!r} is no file, no group and in no name of: {[s.name for s in found]}")
        out += matching
    return list(dict.fromkeys(out))


def run(scene: RobotScene, words: list[str], limit: float) -> dict[str, Any]:
    """One robot in a process of its own; what it wrote last counts."""
    row, ending = last_line([str(HERE / "shaking.py"), str(scene.path), *words], limit)
    if ending:
        row["problem"] = f"{ending} in {row['doing']}; {row['problem']}".rstrip("; ")
    return flat(scene, row)


def flat(scene: RobotScene, row: dict[str, Any]) -> dict[str, Any]:
    """One level of columns, rounded, with the two ratios of each phase."""
    out: dict[str, Any] = {"robot": scene.name, "group": scene.group}
    phases = {name: row.pop(name) for name in ("rest", "move")}
    row.pop("doing")
    problem = row.pop("problem")
    out |= row
    for name, phase in phases.items():
        mean, median, peer = phase["mean"], phase["median"], phase["mj_step"]
        out |= {f"{name}_{key}": value for key, value in phase.items()}
        out[f"{name}_ratio"] = mean / peer if peer else math.nan
        out[f"{name}_tail"] = phase["largest"] / median if median else math.nan
    out["problem"] = problem
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in out.items()}


def ran(row: dict[str, Any]) -> bool:
    """Whether a robot went through without a failed or an inaccurate step."""
    return not row["problem"] and not row["failed"] and not row["inaccurate"]


def geometric_mean(values: Iterable[float]) -> float:
    """Of those that are numbers."""
    logs = [math.log(value) for value in values if value > 0 and math.isfinite(value)]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def summary(table: Table) -> list[str]:
    """What the table comes to, in sentences."""
    whole = [row for row in table if ran(row)]
    moved = [row for row in table if row["move_steps"]]
    tails = [row["robot"] for row in moved if max(row["rest_tail"], row["move_tail"]) > 20]
    return [
        f"{len(whole)} of {len(table)} robots without a failed or inaccurate step.",
        (
            f"Step / mj_step, geometric mean over the {len(moved)} that moved: "
            f"{geometric_mean(row['rest_ratio'] for row in moved):.3g} at rest, "
            f"{geometric_mean(row['move_ratio'] for row in moved):.3g} in motion."
        ),
        f"Largest step above 20 times the median: {len(tails)} of {len(moved)}.",
    ]


def markdown(table: Table) -> str:
    """The table of the documentation."""
    lines = [
        "| robot | dof | contacts | failed | inaccurate | rest [ms] | × `mj_step` | moving [ms] | × | tail |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in table:
        numbers = [row[key] for key in ("rest_mean", "rest_ratio", "move_mean", "move_ratio")]
        numbers.append(max(row["rest_tail"], row["move_tail"]))
        contacts = max(row["rest_contacts"], row["move_contacts"])
        cells = [row["robot"].removeprefix("beside "), row["dof"], contacts, row["failed"], row["inaccurate"]]
        lines.append(f"| {' | '.join(map(str, cells))} | {' | '.join(map(short, numbers))} |")
    # a page names files, not where they lie on the machine that wrote it
    folders = re.compile(r"(?<![\w.])(/[^/ ]+)+/")
    told = [f"- {row['robot']}: {folders.sub('', row['problem'])[:200]}" for row in table if row["problem"]]
    return "\n".join([*lines, "", *summary(table), *(["", *told] if told else [])]) + "\n"


def short(value: float) -> str:
    """Two digits; a dash where nothing was measured."""
    if not value > 0:
        return "–"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def main() -> None:
    """Parse the command line, run the robots, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scenes", nargs="*", help="groups, files, parts of names")
    parser.add_argument("--step", default="0.005", help="seconds")
    parser.add_argument("--rest", default="200", help="steps at rest")
    parser.add_argument("--move", default="300", help="steps under random controls")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of CPU time for a robot")
    parser.add_argument("--csv", type=Path, help="a file for all columns, written row by row")
    parser.add_argument("--page", type=Path, help="a page of the documentation, whose table is replaced")
    parser.add_argument("--note", default="", help="a sentence for the page, above the table")
    given = parser.parse_args()
    words = ["--step", given.step, "--rest", given.rest, "--move", given.move]
    table: Table = []
    for scene in chosen(given.scenes):
        row = run(scene, words, given.limit)
        table.append(row)
        print(line(row), flush=True)
        if given.csv:
            write_csv(given.csv, table)
    print("\n".join(summary(table)))
    if given.page:
        write_page(given.page, table, given.note)


def line(row: dict[str, Any]) -> str:
    """A row for the terminal."""
    out = f"{row['robot'][:44]:44} dof {row['dof']:3d} failed {row['failed']} inacc. {row['inaccurate']:3d}"
    for name in ("rest", "move"):
        mean, ratio, tail = (row[f"{name}_{key}"] for key in ("mean", "ratio", "tail"))
        out += f" | {name} {mean:8.3f} ms, {ratio:6.1f} x, tail {tail:6.1f}"
    return f"{out} | {row['problem'][:100]}"


def write_page(path: Path, table: Table, note: str) -> None:
    """The table and how it came about, between the two marks of the page."""
    text = path.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    load, cores = os.getloadavg()[1], os.cpu_count()
    rest, move = (max(row[f"{name}_steps"] for row in table) for name in ("rest", "move"))
    about = f"{rest} steps at rest and {move} in motion, at a load of {load:.1f} on {cores} cores. {note}"
    path.write_text(
        pattern.sub(lambda _: f"{BEGIN}\n{about.rstrip()}\n\n{markdown(table)}{END}", text), encoding="utf-8"
    )


def write_csv(path: Path, table: Table) -> None:
    """All columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, table[0])
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    main()
