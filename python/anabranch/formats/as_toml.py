"""Values as the text of a TOML file, a key on each line, and which key stands on which line."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from anabranch.errors import ScenarioError

DEEPEST = 32
"""Tables within tables; a scenario has six."""

LEAST, MOST = -(2**63), 2**63 - 1
BARE = re.compile(r"[A-Za-z0-9_-]+")


def value_text(value: Any, path: tuple[str, ...]) -> str:
    """Write a JSON value as TOML does behind a key; `path` is for messages.

    Raises
    ------
    ScenarioError
        TOML cannot hold it.
    """
    return _inline(value, path)


class Lines:
    """The text that grows, and the key of each line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.keys: list[str] = []

    def put(self, line: str, key: str) -> None:
        """Add a line that says something of a key."""
        self.lines.append(line)
        self.keys.append(key)

    @property
    def text(self) -> str:
        """The whole, which ends with a line break."""
        return "\n".join([*self.lines, ""])


def as_toml(value: dict[str, Any]) -> Lines:
    """Write a JSON object as TOML.

    Raises
    ------
    ScenarioError
        TOML cannot hold it: null, a number without end, or too deep.
    """
    lines = Lines()
    _table(value, (), (), lines)
    return lines


def _table(table: dict[str, Any], header: tuple[str, ...], path: tuple[str, ...], lines: Lines) -> None:
    """Write what is in a table: plain keys first, since a header ends them."""
    if len(path) > DEEPEST:
        raise ScenarioError(f"{_dotted(path[:8])}...: tables are too deep; a scenario has six levels at most")
    apart = {key for key, value in table.items() if isinstance(value, dict) or _is_tables(value)}
    for key, value in table.items():
        if key not in apart:
            lines.put(f"{_key(key)} = {_inline(value, (*path, key))}", _dotted((*path, key)))
    for key in table:
        if key in apart:
            _part(table[key], (*header, key), (*path, key), lines)


def _part(value: Any, header: tuple[str, ...], path: tuple[str, ...], lines: Lines) -> None:
    name = ".".join(_key(part) for part in header)
    if isinstance(value, dict):
        lines.put(f"[{name}]", _dotted(path))
        _table(value, header, path, lines)
        return
    for number, table in enumerate(value):
        own = (*path, str(number))
        lines.put(f"[[{name}]]", _dotted(own))
        _table(table, header, own, lines)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _inline(value: Any, path: tuple[str, ...]) -> str:
    if len(path) > DEEPEST:
        raise ScenarioError(f"{_dotted(path[:8])}...: lists are too deep; a scenario has six levels at most")
    match value:
        case bool():
            return "true" if value else "false"
        case int() if LEAST <= value <= MOST:
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            return _string(value)
        case list():
            return "[" + ", ".join(_inline(item, (*path, str(i))) for i, item in enumerate(value)) + "]"
        case dict():
            inner = (f"{_key(key)} = {_inline(item, (*path, key))}" for key, item in value.items())
            return "{ " + ", ".join(inner) + " }"
    what = "null" if value is None else "too large a number"
    raise ScenarioError(f"{_dotted(path)}: it is {what}, which a scenario cannot hold; leave the key out or change it")


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    # JSON's escapes are TOML's, but for the one character that JSON leaves as it is.
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(path)
