"""Patterns of names, in which ``*`` stands for any text."""

from __future__ import annotations


def is_like(name: str, pattern: str) -> bool:
    """Tell whether a name matches a pattern in which ``*`` is any text; in time that grows as the two together."""
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    *between, last = rest
    if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
        return False
    at, end = len(first), len(name) - len(last)
    for part in between:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
