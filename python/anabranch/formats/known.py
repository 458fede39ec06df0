"""The formats that are known, each declared in its module."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.formats.format import Format

MODULES = (
    "graphml",
    "gml",
    "rfc8345",
    "node_link",
    "sndlib",
    "sndlib_xml",
    "csv_links",
    "rocketfuel",
)
"""The modules of the formats, in the order in which a file is compared with them. A new format adds a line."""

FORMATS: dict[str, Format] = {
    found.name: found for found in (import_module(f"anabranch.formats.{module}").FORMAT for module in MODULES)
}
"""The formats by name."""

DEMAND_FORMATS = {name: found for name, found in FORMATS.items() if found.read_demands is not None}
"""The formats that hold demands."""

WRITTEN_FORMATS = {name: found for name, found in FORMATS.items() if found.write is not None}
"""The formats that can be written."""

WRITTEN_SUFFIXES = {
    suffix: name for name, found in WRITTEN_FORMATS.items() for suffix in (*found.suffixes, *found.writes_to)
}
"""The formats that are written to files of these endings."""
