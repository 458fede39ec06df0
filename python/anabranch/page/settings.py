"""The settings of a scenario as words and values, so that the page can say in what runs of one scenario differ."""

from __future__ import annotations

import tomllib
from typing import Any

LARGEST = 300_000
"""The settings of a longer scenario are not read: it would take long, and the page would carry them."""

MOST = 400
"""Of more settings than these only those of the run and its defaults are given."""

SAID_ELSEWHERE = frozenset({"title", "description", "run.seed"})
"""Keys that the page shows by themselves."""


def settings_of(scenario: str) -> dict[str, str]:
    """Give the values of a resolved scenario by their place, such as ``link.wifi.queue``; nothing for a huge one.

    Things with names are called by them, others by their number. Protocols are left out but for their parameters.

    Parameters
    ----------
    scenario : str
        The scenario as TOML.
    """
    if len(scenario) > LARGEST:
        return {}
    try:
        values = tomllib.loads(scenario)
    except tomllib.TOMLDecodeError:
        return {}
    found = _leaves("", values)
    if len(found) > MOST:
        found = _leaves("", {name: values[name] for name in ("run", "defaults") if name in values})
    return {name: text for name, text in found.items() if name not in SAID_ELSEWHERE} if len(found) <= MOST else {}


def _leaves(place: str, value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        parts = [(str(name), own) for name, own in value.items()]
    elif isinstance(value, list) and value and all(isinstance(own, dict) for own in value):
        parts = [(str(own.get("name") or number), own) for number, own in enumerate(value)]
    else:
        return {place: _text(value)}
    found: dict[str, str] = {}
    for name, own in parts:
        found |= _leaves(f"{place}.{name}" if place else name, own)
    return found


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(_text(own) for own in value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
