"""Names cut in the middle, so that any two that differ still do: ``Copenh…Hamburg``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK = "…"
"""What stands for the part that is left out."""

LEAST = 7
"""The least width of a cut name."""

HEADS = (0.5, 0.33, 0.67, 0.0, 1.0)
"""The parts of the room that go to the beginning of a name, tried in this order."""


def least_width(names: Sequence[str]) -> int:
    """Give the least width to which names can be cut and still be told apart."""
    longest = max(map(cell_len, names), default=0)
    return next((width for width in range(min(LEAST, longest), longest) if _cut(names, width) is not None), longest)


def cut(names: Sequence[str], width: int) -> list[str]:
    """Cut names to a width; where it is too small to tell them apart, number those that are cut."""
    found = _cut(names, width)
    if found is not None:
        return found
    number = {name: str(place) for place, name in enumerate(dict.fromkeys(names), 1)}
    return [
        name if cell_len(name) <= width else _shortened(name, width - len(number[name]), 1.0) + number[name]
        for name in names
    ]


def _cut(names: Sequence[str], width: int) -> list[str] | None:
    """Cut names to a width, all in one way; None if no way tells them apart."""
    different = len(set(names))
    for head in HEADS:
        found = [_shortened(name, width, head) for name in names]
        if len(set(found)) == different:
            return found
    return None


def _shortened(name: str, width: int, head: float) -> str:
    """Cut one name to a width in cells of the terminal; some characters take two."""
    text, kept = name, width - len(MARK)
    while cell_len(text) > max(width, len(MARK)):
        begin = round(head * max(kept, 0))
        text = name[:begin] + MARK + name[len(name) - (max(kept, 0) - begin) :]
        kept -= 1
    return text
