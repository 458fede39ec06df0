"""Tell a file's format: by the end of its name, else by how it begins."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anabranch.formats import json_text

if TYPE_CHECKING:
    from collections.abc import Collection

    from anabranch.formats.source import Source

SUFFIXES = {".graphml": "graphml", ".gml": "gml", ".csv": "csv", ".intra": "rocketfuel"}
"""Suffixes that say all; .json, .xml, .txt and others are looked into."""

DESCRIPTIONS = {
    "graphml": ".graphml, as in the Topology Zoo",
    "gml": ".gml, as in the Topology Zoo",
    "node-link": ".json, as networkx writes it",
    "rfc8345": ".json, ietf-network-topology",
    "csv": ".csv, source,target,...",
    "sndlib": ".txt, SNDlib native",
    "sndlib-xml": ".xml, SNDlib dynamic traffic",
    "rocketfuel": ".intra, node node value",
}

BEGINNING = 20_000
"""How many characters are looked at."""

SNDLIB = re.compile(r"^[ \t]*(?:\?SNDlib native|(?:META|NODES|LINKS|DEMANDS)[ \t]*\()", re.MULTILINE)
GML = re.compile(r"^[ \t]*graph[ \t]*\[", re.MULTILINE)
ROCKETFUEL = re.compile(r"\S+[ \t]+\S+[ \t]+\d+(?:\.\d+)?[ \t]*\r?(?:\n|$)")


def find_format(source: Source, wanted: str | None, known: Collection[str]) -> str:
    """Give the name of the file's format.

    Parameters
    ----------
    wanted : str or None
        What the caller says it is; None to look.
    known : collection of str
        The formats that can be read for this purpose.
    """
    if wanted is not None:
        if wanted not in known:
            raise source.whole.error(f"there is no format `{wanted}`", f"choose one of {', '.join(known)}")
        return wanted
    found = SUFFIXES.get(source.suffix) or _look(source)
    if found is None or found not in known:
        reason = "its format is not known" if found is None else f"a file of format {found} does not hold this"
        kinds = "; ".join(f"{name} ({DESCRIPTIONS[name]})" for name in known)
        raise source.whole.error(reason, f"name the format, or use one of: {kinds}")
    return found


def _look(source: Source) -> str | None:
    text = source.text[:BEGINNING].lstrip("\ufeff \t\r\n")
    if text.startswith("<"):
        if "<graphml" in text:
            return "graphml"
        return "sndlib-xml" if "<network" in text else None
    if source.suffix == ".json" or text.startswith("{"):
        keys = {key.rpartition(":")[2] for key in json_text.parse(source)}
        return "rfc8345" if keys & {"networks", "network"} else "node-link"
    if SNDLIB.search(text):
        return "sndlib"
    if GML.search(text):
        return "gml"
    header = {cell.strip(' "\r').lower() for cell in text.partition("\n")[0].split(",")}
    if header >= {"source", "target"}:
        return "csv"
    return "rocketfuel" if ROCKETFUEL.match(text) else None
