"""Network topologies of RFC 8345 (module ``ietf-network-topology``) as JSON, also as RFC 8795 and RFC 8944 extend them.

A file may hold several networks, layers for example; the one with links is read, or the one that is asked for. Links
are one-way; opposite ones become twins, first with first, unless ``anabranch:twin`` says which. Termination points and
supporting networks are passed over. The first of these that is there is the capacity of a link:

- ``anabranch:capacity-bps`` in bit/s (`write` gives it);
- ``max-link-bandwidth`` of the TE attributes of RFC 8795. For packet networks its ``te-bandwidth`` is text that holds a
  number of bytes a second, commonly in the hexadecimal form of IEEE 754 such as ``0x1p30`` (RFC 8776, RFC 8294). A list
  with commas, as optical networks have it, is no packet capacity and counts as none;
- ``rate`` of the attributes of RFC 8944, in Mbit/s.

The delay is ``anabranch:delay-s``, or ``te-delay-metric`` of RFC 8795 or ``delay`` of RFC 8944, both in microseconds.
Other metrics have no place in a network here, and are passed over. A position is ``anabranch:longitude``
and ``anabranch:latitude`` of a node.
"""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any

from anabranch.formats import json_text
from anabranch.formats.attributes import is_missing, name_of, number, position_of, rate_bps, seconds
from anabranch.formats.format import Format
from anabranch.formats.node_link import finite_or_text
from anabranch.formats.source import excerpt
from anabranch.formats.twins import pair_stated
from anabranch.model.network import Draft, Edge

if TYPE_CHECKING:
    from anabranch.formats.source import Place, Source
    from anabranch.model.network import Network

MOST_METRIC = 2**32 - 1


def read(source: Source, network_id: str | None = None) -> Draft:
    """Read one of the file's networks."""
    networks = _networks(source)
    chosen = _choose(networks, network_id, source)
    network = networks[chosen]
    draft = Draft(name=chosen)
    number_of: dict[str, int] = {}
    for item in json_text.as_list(network.get("node"), source.whole, "`node`"):
        node = _plain(item, source.element(f"network `{excerpt(chosen)}`"), "a node")
        place = source.element(f"a node of network `{excerpt(chosen)}`")
        name = name_of(node.get("node-id"), place, "its node-id")
        if name in number_of:
            raise source.element(f"node `{excerpt(name)}`").error("another node has the same node-id", "rename one")
        number_of[name] = draft.add_node(name, position_of(node))
    twins: list[str | None] = []
    stated = False
    for item in json_text.as_list(network.get("link"), source.whole, "`link`"):
        link = _plain(item, source.element(f"network `{excerpt(chosen)}`"), "a link")
        draft.edges.append(_edge(link, number_of, source))
        stated = stated or "twin" in link
        twins.append(None if is_missing(link.get("twin")) else str(link["twin"]).strip())
    if stated:
        pair_stated(draft, twins, source)
    else:
        draft.pair_opposites()
    return draft


def _networks(source: Source) -> dict[str, dict[str, Any]]:
    """Give the file's networks by their ids."""
    whole = source.whole
    top = _plain(json_text.parse(source), whole, "the file")
    if "networks" in top:
        top = _plain(top["networks"], whole, "`networks`")
    items = json_text.as_list(top.get("network"), whole, "`network`")
    if not items:
        raise whole.error("it holds no `ietf-network:networks` with a `network`", "check that it is RFC 8345 JSON")
    networks: dict[str, dict[str, Any]] = {}
    for item in items:
        network = _plain(item, whole, "a network")
        identity = name_of(network.get("network-id"), whole, "a network-id")
        if identity in networks:
            raise whole.error(f"network `{excerpt(identity)}` is there twice", "network-ids must be unique")
        networks[identity] = network
    return networks


def _choose(networks: dict[str, dict[str, Any]], wanted: str | None, source: Source) -> str:
    ids = ", ".join(f"`{excerpt(n)}`" for n in list(networks)[:20])
    if wanted is not None:
        if wanted not in networks:
            raise source.whole.error(f"there is no network `{excerpt(wanted)}`", f"it holds {ids}")
        return wanted
    linked = [n for n, network in networks.items() if network.get("link")]
    if len(linked) == 1:
        return linked[0]
    if len(networks) == 1:
        return next(iter(networks))
    reason = f"{len(linked)} of its {len(networks)} networks have links"
    raise source.whole.error(reason, f"choose one with --network-id (in Python: network_id=...) among {ids}")


def _edge(link: dict[str, Any], number_of: dict[str, int], source: Source) -> Edge:
    name = name_of(link.get("link-id"), source.element("a link"), "its link-id")
    place = source.element(f"link `{excerpt(name)}`")
    ends = []
    for side, key in (("source", "source-node"), ("destination", "dest-node")):
        end = name_of(_plain(link.get(side), place, f"its {side}").get(key), place, f"its {key}")
        if end not in number_of:
            raise place.error(f"there is no node `{excerpt(end)}`", "declare it or correct the name")
        ends.append(number_of[end])
    return Edge(ends[0], ends[1], name, _capacity(link, place), _delay(link, place), two_way=False)


def _capacity(link: dict[str, Any], place: Place) -> float | None:
    if not is_missing(link.get("capacity-bps")):
        return rate_bps(link["capacity-bps"], place, "capacity-bps")
    bandwidth = _inner(link, place, "te", "te-link-attributes").get("max-link-bandwidth")
    for key in ("te-bandwidth", "generic"):
        if isinstance(bandwidth, dict):
            bandwidth = _plain(bandwidth, place, "max-link-bandwidth").get(key)
    if not is_missing(bandwidth):
        return _te_bandwidth(bandwidth, place)
    rate = _inner(link, place, "l2-link-attributes").get("rate")
    if is_missing(rate):
        return None
    megabits = number(rate)
    return rate_bps(rate if megabits is None else megabits * 1e6, place, "rate")


def _te_bandwidth(value: object, place: Place) -> float | None:
    """Read bytes a second, in hexadecimal or not, in bit/s."""
    text = str(value).strip()
    if "," in text:
        return None
    given: object = value
    if text[:2].lower() == "0x":
        try:
            given = float.fromhex(text)
        except (ValueError, OverflowError):
            given = None
    found = number(given)
    if found is None or found < 0.0:
        reason = f"max-link-bandwidth is `{excerpt(value)}`"
        raise place.error(reason, "it must be a number of bytes a second such as `0x1p30`, 0 or more")
    return found * 8.0


def _delay(link: dict[str, Any], place: Place) -> float | None:
    if not is_missing(link.get("delay-s")):
        return seconds(link["delay-s"], place, "delay-s")
    for key, *places in (("te-delay-metric", "te", "te-link-attributes"), ("delay", "l2-link-attributes")):
        delay = _inner(link, place, *places).get(key)
        if not is_missing(delay):
            microseconds = number(delay)
            return seconds(delay if microseconds is None else microseconds * 1e-6, place, key)
    return None


def _inner(value: dict[str, Any], place: Place, *keys: str) -> dict[str, Any]:
    """Give what lies under these keys, one in the other; nothing if one is not there."""
    for key in keys:
        value = _plain(value.get(key) or {}, place, f"`{key}`")
    return value


def _plain(value: object, place: Place, what: str) -> dict[str, Any]:
    """Check that a value is an object, and drop the modules' names from its keys."""
    return {key.rpartition(":")[2]: item for key, item in json_text.as_object(value, place, what).items()}


def _te_attributes(capacity_bps: float, delay_s: float) -> dict[str, object]:
    """Give the attributes of RFC 8795: a capacity as a float of 32 bits, if it is one, and a delay in microseconds."""
    attributes: dict[str, object] = {"te-delay-metric": min(round(delay_s * 1e6), MOST_METRIC)}
    capacity = _hexadecimal(capacity_bps / 8.0)
    return (
        attributes
        if capacity is None
        else {"max-link-bandwidth": {"te-bandwidth": {"generic": capacity}}, **attributes}
    )


def _hexadecimal(value: float) -> str | None:
    """Give a float of 32 bits as RFC 8294 has it, such as ``0x1.8p20``; None for one that is too large."""
    if value < 1.0:
        return "0x0p0"
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    except OverflowError:
        return None
    if math.isinf(rounded):
        return None
    digits, _, exponent = rounded.hex().removeprefix("0x1.").partition("p+")
    digits = digits.rstrip("0")
    return f"0x1{'.' if digits else ''}{digits}p{exponent}"


def write(network: Network) -> str:
    """Give a network as RFC 8345 and RFC 8795 have it; what has no place there goes under ``anabranch:``."""
    nodes: list[dict[str, object]] = []
    for name, longitude, latitude in network.nodes.iter_rows():
        position = {} if longitude is None else {"anabranch:longitude": longitude, "anabranch:latitude": latitude}
        nodes.append({"node-id": name, **position})
    links = [
        {
            "link-id": row["name"],
            "source": {"source-node": row["source"]},
            "destination": {"dest-node": row["target"]},
            "ietf-te-topology:te": {"te-link-attributes": _te_attributes(row["capacity_bps"], row["delay_s"])},
            "anabranch:capacity-bps": finite_or_text(row["capacity_bps"]),
            "anabranch:delay-s": row["delay_s"],
            "anabranch:twin": row["twin"] or "",
        }
        for row in network.links.iter_rows(named=True)
    ]
    found = {
        "network-id": network.name or "network",
        "network-types": {"ietf-te-topology:te-topology": {}},
        "node": nodes,
        "ietf-network-topology:link": links,
    }
    return json.dumps({"ietf-network:networks": {"network": [found]}}, indent=1) + "\n"


def looks_like(source: Source) -> bool:
    """Tell whether a file is JSON with networks at its top."""
    if not json_text.looks_like(source):
        return False
    keys = {key.rpartition(":")[2] for key in json_text.parse(source)}
    return bool(keys & {"networks", "network"})


FORMAT = Format(
    name="rfc8345",
    description=".json, ietf-network-topology",
    looks_like=looks_like,
    read=read,
    begins="{",
    takes=("network_id",),
    write=write,
)
