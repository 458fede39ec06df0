"""Rocketfuel's ``.intra`` files: a line ``node node value`` for each direction of each link [spring2002].

In a file of latencies the value is the delay in milliseconds; in one of inferred weights it is checked and passed
over. Which of the two it is stands in the name, as Rocketfuel has it: ``AS1221.latencies.intra``. The ``+`` in node
names stands for a blank. There are no capacities. Opposite links become twins, first with first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anabranch.formats.attributes import name_of, number, seconds
from anabranch.formats.format import Format
from anabranch.formats.source import excerpt
from anabranch.model.network import Draft, Edge

if TYPE_CHECKING:
    from anabranch.formats.source import Source


LINE = re.compile(r"\S+[ \t]+\S+[ \t]+\d+(?:\.\d+)?[ \t]*\r?(?:\n|$)")


def read(source: Source) -> Draft:
    """Read the links of one provider."""
    draft = Draft(name=source.stem)
    has_delays = "latenc" in source.path.name.lower()
    number_of: dict[str, int] = {}
    for count, line in enumerate(source.text.split("\n"), start=1):
        fields = line.split(None, 3)
        if not fields or fields[0].startswith("#"):
            continue
        place = source.line(count)
        if len(fields) != 3:
            raise place.error(f"`{excerpt(line)}` is not `node node value`", "correct it")
        value = number(fields[2])
        if value is None or not 0.0 <= value < 1e9:
            raise place.error(f"`{excerpt(fields[2])}` is no weight or latency", "it must be a number, 0 or more")
        ends = [name_of(end.replace("+", " "), place, "a node's name") for end in fields[:2]]
        if ends[0] == ends[1]:
            raise place.error(f"both ends are node `{excerpt(ends[0])}`", "a link must join two different nodes")
        for end in ends:
            if end not in number_of:
                number_of[end] = draft.add_node(end)
        delay_s = seconds(value * 1e-3, place, "latency") if has_delays else None
        draft.edges.append(Edge(number_of[ends[0]], number_of[ends[1]], delay_s=delay_s, two_way=False))
    draft.pair_opposites()
    return draft


def looks_like(source: Source) -> bool:
    """Tell whether the first line of a file is two names and a number."""
    return LINE.match(source.beginning) is not None


FORMAT = Format(
    name="rocketfuel",
    description=".intra, node node value",
    looks_like=looks_like,
    read=read,
    suffixes=(".intra",),
)
