"""SNDlib's native format: sections of nodes, links, demands and admissible paths [orlowski2010].

Coordinates are kept if those of all nodes can be degrees; some instances have a plane's. A link's capacity is its
pre-installed one if that is positive, else its smallest module's, else it has none: of several
modules only the smallest is used, once, however many could be installed. Where every link has an opposite
one of its own, links are one-way and these are twins; otherwise each link is two-way. Capacities and demands count in
the unit that META states, in Mbit/s where it states none. Admissible paths come with the demands if the network has
all the links that they name (see `sndlib_paths`). Costs and the longest paths allowed are passed over.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anabranch.formats.attributes import MEGABIT, is_on_globe, name_of, number, unit_bps
from anabranch.formats.demand_rows import DemandRow, build
from anabranch.formats.format import Format
from anabranch.formats.sndlib_paths import attach_paths
from anabranch.formats.source import excerpt
from anabranch.model.network import Draft, Edge

if TYPE_CHECKING:
    from anabranch.formats.source import Source
    from anabranch.model.demands import Demands
    from anabranch.model.network import Network

SECTION = re.compile(r"^[ \t]*(?:\?SNDlib native|(?:META|NODES|LINKS|DEMANDS)[ \t]*\()", re.MULTILINE)
HEADER = re.compile(r"([A-Z_]{1,40})\s*\(\s*")
LINE_START = {"NODES": 1, "LINKS": 5, "DEMANDS": 5}
"""The sections whose lines are read, and the least words (with brackets) that a line of each has."""

LONGEST_LINE = 100_000


@dataclass
class Sections:
    """The lines of each section, in words, with their numbers; and the unit of rates."""

    unit_bps: float = MEGABIT
    lines: dict[str, list[tuple[int, list[str]]]] = field(default_factory=dict)


def read(source: Source) -> Draft:
    """Read the nodes and links."""
    sections = _sections(source)
    draft = Draft(name=source.stem)
    number_of = _read_nodes(sections, draft, source)
    for line, words in sections.lines.get("LINKS", []):
        draft.edges.append(_edge(words, line, number_of, sections.unit_bps, source))
    count = Counter((e.source, e.target) for e in draft.edges)
    if all(count[target, start] == n for (start, target), n in count.items()):
        for edge in draft.edges:
            edge.two_way = False
        draft.pair_opposites()
    return draft


def read_demands(source: Source, network: Network) -> Demands:
    """Read the demands, each as the file lists it."""
    sections = _sections(source)
    rows = []
    for line, words in sections.lines.get("DEMANDS", []):
        place = source.line(line)
        # D1 ( A B ) 1 3.00 UNLIMITED: each unit of demand takes this many units of capacity, then the demand.
        if len(words) < 8 or words[1] != "(" or words[4] != ")":
            raise place.error("it is not `name ( source target ) unit value length`", "correct it")
        per_unit, value = number(words[5]), number(words[6])
        if per_unit is None or value is None or not (0.0 < per_unit < 1e300 and 0.0 <= value * per_unit < 1e300):
            raise place.error(f"demand is `{excerpt(' '.join(words[5:7]))}`", "both must be numbers, 0 or more")
        name = name_of(words[0], place, "its name")
        rows.append(DemandRow(place, words[2], words[3], name, value * per_unit * sections.unit_bps))
    if not rows:
        raise source.whole.error("it holds no demands", "name a file with a section DEMANDS")
    found = build(rows, network)
    attach_paths(found, sections.lines.get("ADMISSIBLE_PATHS", []), source)
    return found


def _sections(source: Source) -> Sections:
    """Cut the file into sections, and their lines into words with brackets apart."""
    sections = Sections()
    section = ""
    depth = 0
    for count, text in enumerate(source.text.split("\n"), start=1):
        line = text.strip()
        if not line or line[0] in "#?":
            continue
        if len(line) > LONGEST_LINE:
            raise source.line(count).error(f"it is {len(line)} characters long", "check that it is SNDlib native")
        if not section:
            header = HEADER.fullmatch(line)
            if header is None:
                raise source.line(count).error(f"`{excerpt(line)}` begins no section", "write `NODES (` or the like")
            section, depth = header[1], 1
            sections.lines.setdefault(section, [])
            continue
        if section == "META":
            section = "" if line == ")" else section
            key, _, value = line.partition("=")
            if key.strip() == "unit":
                sections.unit_bps = unit_bps(value, source.line(count))
            continue
        words = line.replace("(", " ( ").replace(")", " ) ").split()
        depth += words.count("(") - words.count(")")
        if depth < 0 or (depth == 0 and line != ")"):
            raise source.line(count).error("a bracket closes that never opened", "correct it")
        if depth == 0:
            section = ""
        elif section == "ADMISSIBLE_PATHS":
            sections.lines[section].append((count, words))
        elif section in LINE_START:
            if depth != 1 or len(words) < LINE_START[section]:
                raise source.line(count).error(f"`{excerpt(line)}` is not a line of {section}", "complete it")
            sections.lines[section].append((count, words))
    if section:
        raise source.whole.error(f"section {section} never ends", "fetch the file again or complete it")
    return sections


def _read_nodes(sections: Sections, draft: Draft, source: Source) -> dict[str, int]:
    number_of: dict[str, int] = {}
    positions: list[tuple[float, float] | None] = []
    for line, words in sections.lines.get("NODES", []):
        place = source.line(line)
        name = name_of(words[0], place, "its name")
        if name in number_of:
            raise place.error(f"node `{excerpt(name)}` is there twice", "names must be unique")
        position = None
        if len(words) > 1:
            x, y = (number(words[2]), number(words[3])) if len(words) == 5 else (None, None)
            if x is None or y is None or words[1] != "(" or words[4] != ")":
                raise place.error(f"`{excerpt(' '.join(words))}` is not `name ( longitude latitude )`", "correct it")
            position = (x, y)
        number_of[name] = draft.add_node(name)
        positions.append(position)
    if not number_of:
        raise source.whole.error("it has no nodes", "name a file with a section NODES")
    if all(p is None or is_on_globe(*p) for p in positions):
        draft.positions = positions
    return number_of


def _edge(words: list[str], line: int, number_of: dict[str, int], unit: float, source: Source) -> Edge:
    place = source.line(line)
    # L1 ( A B ) 0.00 0.00 0.00 0.00 ( 155.00 156.00 622.00 468.00 ): pre-installed capacity and its cost, routing and
    # setup cost, then modules: capacity and cost of each.
    if words[1] != "(" or words[4] != ")" or len(words) < 6:
        raise place.error("it is not `name ( source target ) capacity ...`", "correct it")
    for end in words[2:4]:
        if end not in number_of:
            raise place.error(f"there is no node `{excerpt(end)}`", "declare it or correct the name")
    if words[2] == words[3]:
        raise place.error(f"both ends are node `{excerpt(words[2])}`", "a link must join two different nodes")
    modules = words[words.index("(", 5) + 1 : -1 : 2] if "(" in words[5:] else []
    found = [number(word) for word in [words[5], *modules]]
    if any(value is None or not 0.0 <= value < 1e300 for value in found):
        raise place.error("a capacity of it is not a number of 0 or more", "correct it")
    installed, *sizes = [value for value in found if value is not None]
    smallest = min((size for size in sizes if size > 0.0), default=None)
    capacity = installed if installed > 0.0 else smallest
    name = name_of(words[0], place, "its name")
    bps = None if capacity is None else capacity * unit
    return Edge(number_of[words[2]], number_of[words[3]], name, bps)


def looks_like(source: Source) -> bool:
    """Tell whether a line of a file begins a section."""
    return SECTION.search(source.beginning) is not None


FORMAT = Format(
    name="sndlib",
    description=".txt, SNDlib native",
    looks_like=looks_like,
    read=read,
    has_own_demands=True,
    read_demands=read_demands,
)
