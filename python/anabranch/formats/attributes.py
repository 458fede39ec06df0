"""Numbers with units, positions and names, as files give them beside a node or a link.

A capacity comes as ``capacity_bps`` (bit/s), as ``capacity`` (text with a unit; where a format allows a bare number,
its unit is the format's), or as the Topology Zoo's ``LinkSpeedRaw`` (bit/s, 0 if unknown). A delay comes as ``delay_s``
or as ``delay`` with a unit. A position comes as ``longitude`` and ``latitude`` in degrees, also with capitals; what
is not on the globe counts as unknown.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.formats.source import excerpt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.formats.source import Place

MEGABIT = 1e6
"""The unit, in bit/s, of capacities without a stated unit, in formats that leave the unit open."""

LONGEST_S = 18_446_744.0
"""The longest delay or time that a file may give, in seconds: what 64 bits of picoseconds hold, 213 days."""

SNDLIB_UNIT = re.compile(r"([KMGT]?)BITS?PERSEC")
PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def number(value: object) -> float | None:
    """Give a number, or the number that text holds; None for anything else, NaN too."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(found) else found


def is_missing(value: object) -> bool:
    """Tell whether a value stands for none: null, or blank text."""
    return value is None or (isinstance(value, str) and not value.strip())


def rate_bps(value: object, place: Place, what: str = "capacity_bps") -> float:
    """Check a number of bit/s: 0 or more, perhaps infinite."""
    found = number(value)
    if found is None or found < 0.0:
        raise place.error(f"{what} is `{excerpt(value)}`", "it must be a number of bit/s, 0 or more")
    return found


def seconds(value: object, place: Place, what: str = "delay_s") -> float:
    """Check a number of seconds: 0 or more, at most 213 days."""
    found = number(value)
    if found is None or not 0.0 <= found <= LONGEST_S:
        raise place.error(f"{what} is `{excerpt(value)}`", "it must be a number of seconds, 0 to 213 days")
    return found


def rate_text(value: object, place: Place, what: str = "capacity") -> float:
    """Read a rate with its unit."""
    try:
        return _core.parse_rate(str(value)[:200])
    except ValueError as error:
        raise place.error(f"{what}: {error}", f"or give bit/s as `{what}_bps`") from error


def span_text(value: object, place: Place, what: str = "delay") -> float:
    """Read a length of time with its unit."""
    try:
        found = _core.parse_span(str(value)[:200])
    except ValueError as error:
        raise place.error(f"{what}: {error}", f"or give seconds as `{what}_s`") from error
    return seconds(found, place, what)


def capacity_of(data: Mapping[str, Any], place: Place, unit_bps: float = MEGABIT) -> float | None:
    """Find the capacity among the attributes of a link, in bit/s; None where there is none."""
    if not is_missing(data.get("capacity_bps")):
        return rate_bps(data["capacity_bps"], place)
    given = data.get("capacity")
    if not is_missing(given):
        bare = number(given)
        if bare is None:
            return rate_text(given, place)
        return rate_bps(bare * unit_bps, place, "capacity")
    raw = data.get("LinkSpeedRaw")
    return None if is_missing(raw) else rate_bps(raw, place, "LinkSpeedRaw") or None


def delay_of(data: Mapping[str, Any], place: Place) -> float | None:
    """Find the delay among the attributes of a link, in seconds; None where there is none."""
    if not is_missing(data.get("delay_s")):
        return seconds(data["delay_s"], place)
    given = data.get("delay")
    return None if is_missing(given) else span_text(given, place)


def position_of(data: Mapping[str, Any]) -> tuple[float, float] | None:
    """Find the longitude and latitude of a node, in degrees; None if it has none that lies on the globe."""
    longitude = number(data.get("longitude", data.get("Longitude")))
    latitude = number(data.get("latitude", data.get("Latitude")))
    if longitude is None or latitude is None or not is_on_globe(longitude, latitude):
        return None
    return longitude, latitude


def is_on_globe(longitude: float, latitude: float) -> bool:
    """Tell whether two numbers can be degrees."""
    return abs(longitude) <= 180.0 and abs(latitude) <= 90.0


def name_of(value: object, place: Place, what: str) -> str:
    """Check a name: text or a number, without the blanks around it; not empty."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise place.error(f"{what} is `{excerpt(value)}`", "it must be text or a number")
    name = str(value).strip()
    if not name:
        raise place.error(f"{what} is empty", "give it a name")
    if any("\ud800" <= c <= "\udfff" for c in name):
        raise place.error(f"{what} `{excerpt(name)}` holds half a character", "save the file as UTF-8")
    return name


def unit_bps(unit: object, place: Place) -> float:
    """Read a unit of rate: as SNDlib writes it (``MBITPERSEC``) or as usual (``Mbit/s``); in bit/s."""
    text = str(unit).strip()
    sndlib = SNDLIB_UNIT.fullmatch(text.upper())
    if sndlib:
        return PREFIXES[sndlib[1]]
    try:
        return _core.parse_rate(f"1 {text[:200]}")
    except ValueError as error:
        remedy = "write MBITPERSEC, GBITPERSEC, ... or Mbit/s, Gbit/s, ..."
        raise place.error(f"`{excerpt(text)}` is not a unit of rate", remedy) from error
