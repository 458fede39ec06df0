"""SNDlib's dynamic traffic in XML: demands between named nodes at one time; no links.

Demands count in the unit that ``meta`` states, in Mbit/s where it states none. They are matched to a network by the
names of the nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.formats import markup
from anabranch.formats.attributes import MEGABIT, name_of, number, unit_bps
from anabranch.formats.demand_rows import DemandRow, build
from anabranch.formats.format import Format
from anabranch.formats.source import excerpt

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from anabranch.formats.source import Source
    from anabranch.model.demands import Demands
    from anabranch.model.network import Draft, Network


def read(source: Source) -> Draft:
    """Refuse: there are no links to read."""
    reason = "it is SNDlib's XML, which is read for its demands"
    raise source.whole.error(reason, "read the network from SNDlib's native file and give this one as the demands")


def read_demands(source: Source, network: Network) -> Demands:
    """Read the demands of one time."""
    root = markup.parse(source)
    scale = MEGABIT
    for meta in markup.children(root, "meta"):
        unit = markup.child_text(meta, "unit")
        scale = unit_bps(unit, source.whole) if unit else scale
    items = [item for demands in markup.children(root, "demands") for item in markup.children(demands, "demand")]
    if markup.local(root) != "network" or not items:
        raise source.whole.error("it is XML but holds no SNDlib <demands>", "name a file with demands")
    return build([_row(item, scale, source) for item in items], network)


def _row(item: Element, scale: float, source: Source) -> DemandRow:
    name = name_of(markup.attribute(item, "id", source, "a demand"), source.whole, "a demand's id")
    place = source.element(f"demand `{excerpt(name)}`")
    texts = {key: markup.child_text(item, key) for key in ("source", "target", "demandValue")}
    for key, text in texts.items():
        if not text:
            raise place.error(f"it has no <{key}>", "add it")
    value = number(texts["demandValue"])
    if value is None or not 0.0 <= value < 1e300:
        raise place.error(f"its value is `{excerpt(texts['demandValue'])}`", "it must be a number, 0 or more")
    return DemandRow(place, texts["source"] or "", texts["target"] or "", name, value * scale)


def looks_like(source: Source) -> bool:
    """Tell whether a file is XML with an element of SNDlib."""
    return source.beginning.startswith("<") and "<network" in source.beginning


FORMAT = Format(
    name="sndlib-xml",
    description=".xml, SNDlib dynamic traffic",
    looks_like=looks_like,
    read=read,
    begins="<",
    has_network=False,
    read_demands=read_demands,
)
