"""The page of an agent has the colours that figures and reports have."""

import re
from pathlib import Path

from anabranch.page.palette import palette

SOURCE = Path(__file__).parents[1] / "ui/src/agent/palette.ts"


def stops(name: str) -> list[str]:
    """Give the colours of a list in the source of the page."""
    found = re.search(rf"const {name} = \[(.*?)\]", SOURCE.read_text(encoding="utf-8"), re.DOTALL)
    assert found, name
    return re.findall(r"#[0-9a-f]{6}", found[1])


def test_colours_are_those_of_reports():
    known = palette()
    assert stops("LINES") == known["lines"]
    for ours, name in [("UTILISATION", "utilisation"), ("UTILISATION_DARK", "utilisation_dark")]:
        # The ramp goes from the first stop to the last.
        assert (stops(ours)[0], stops(ours)[-1]) == (known[name][0], known[name][-1])
        middle = stops(ours)[len(stops(ours)) // 2]
        assert distance(middle, known[name][len(known[name]) // 2]) <= 3


def distance(one: str, other: str) -> int:
    """Give the greatest difference of red, green and blue."""
    parts = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (one, other)]
    return max(abs(a - b) for a, b in zip(*parts, strict=True))
