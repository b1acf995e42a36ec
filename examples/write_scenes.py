"""Write the scenes of the gallery that are built by `perp.scenes.library`; the others are written by hand.

python examples/write_scenes.py
"""

from __future__ import annotations

import math
from pathlib import Path
from xml.dom import minidom
from xml.etree import ElementTree as ET

from perp.scenes import library

SCENES = Path(__file__).parent / "scenes"

BUILT = {
    "stack": library.stack(10),
    "card-house": library.card_house(),
    "arch": library.arch(15, 0.18),
    "dominoes": library.dominoes(24),
    "chain": library.chain(12, angle=math.radians(60)),
    "rover": library.rover(step_height=0.06, step_length=0.5, speed=3.0),
    "tumbler": library.tumbler(500),
}


def scene_text(name: str) -> str:
    """A scene as the file has it: one element a line, numbers to nine digits."""
    root = ET.fromstring(BUILT[name])  # noqa: S314 - our own text
    root.set("model", name.replace("-", " "))
    for option in root.iter("option"):
        option.set("timestep", "0.01")
    for element in root.iter():
        for key, value in element.attrib.items():
            element.set(key, " ".join(_short(word) for word in value.split(" ")))
    text = minidom.parseString(ET.tostring(root)).toprettyxml(indent="  ")  # noqa: S318 - our own text
    comment = "<!-- Written by examples/write_scenes.py from perp.scenes.library. -->"
    _, first, rest = text.split("\n", 2)  # without the line that says it is XML
    return f"{first}\n  {comment}\n{rest}"


def _short(word: str) -> str:
    try:
        return format(float(word), ".9g")
    except ValueError:
        return word


if __name__ == "__main__":
    for name in BUILT:
        path = SCENES / f"{name}.xml"
        path.write_text(scene_text(name), encoding="utf-8")
        print(f"wrote {path.name}")
