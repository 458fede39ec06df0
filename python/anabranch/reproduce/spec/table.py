"""A table of a TOML file of an experiment, read key by key, with errors that name file, key and remedy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.formats.source import excerpt, load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Word = TypeVar("Word", bound=str)

REQUIRED = object()


def read_toml(file: Path) -> Table:
    """Read a TOML file as a table.

    Raises
    ------
    ScenarioError
        The file cannot be read, or is not TOML.
    """
    text = load(file).text
    try:
        return Table(str(file), _core.read_toml(text))
    except ValueError as error:
        raise ScenarioError(f"{file}: it is not TOML: {error}; see https://toml.io") from error


class Table:
    """A table whose keys are taken one by one; the keys left at the end are unknown."""

    def __init__(self, place: str, data: dict[str, Any]) -> None:
        self.place = place
        self.data = data
        self.known: list[str] = []

    def error(self, key: str, reason: str, remedy: str) -> ScenarioError:
        """Give an error that names the place, the fault and the remedy."""
        return ScenarioError(f"{self.place}: `{key}`: {reason}; {remedy}")

    def call_it(self, name: str) -> None:
        """Add the table's name to its place in later error messages."""
        self.place = f"{self.place} (`{excerpt(name)}`)"

    def text(self, key: str, default: object = REQUIRED) -> str:
        """Take text."""
        value = self._take(key, default)
        if not isinstance(value, str):
            raise self.error(key, f"it is {_kind(value)}", "it must be text in quotes")
        return value

    def texts(self, key: str) -> list[str]:
        """Take a list of texts; empty if there is none."""
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.error(key, f"it is {_kind(value)}", 'it must be a list of texts, such as ["a", "b"]')
        return value

    def text_or_texts(self, key: str) -> list[str]:
        """Take text or a list of texts; empty if there is neither."""
        return [self.text(key)] if isinstance(self.data.get(key), str) else self.texts(key)

    def choice(self, key: str, words: Sequence[Word], default: object = REQUIRED) -> Word:
        """Take one of some words."""
        value = self.text(key, default)
        for word in words:
            if word == value:
                return word
        raise self.error(key, f"it is `{excerpt(value)}`", f"it must be one of {', '.join(words)}")

    def optional_number(self, key: str) -> float | None:
        """Take a finite number; None if there is none."""
        value = self._take(key, None)
        return None if value is None else self._number(key, value)

    def number_or_text(self, key: str) -> float | str | None:
        """Take a finite number or text; None if there is neither."""
        value = self._take(key, None)
        return value if value is None or isinstance(value, str) else self._number(key, value)

    def positive(self, key: str, default: float) -> float:
        """Take a number over 0."""
        number = self._number(key, self._take(key, default))
        if number <= 0.0:
            raise self.error(key, f"it is {number:g}", "it must be over 0")
        return number

    def whole(self, key: str, default: int, *, least: int = 0) -> int:
        """Take a whole number."""
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(key, f"it is {_kind(value)} {value}", f"it must be a whole number, {least} or more")
        return value

    def optional_whole(self, key: str) -> int | None:
        """Take a whole number; None if there is none."""
        if key in self.data:
            return self.whole(key, 0)
        self.known.append(key)
        return None

    def flag(self, key: str, *, default: bool) -> bool:
        """Take true or false."""
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise self.error(key, f"it is {_kind(value)}", "it must be true or false")
        return value

    def window_s(self, key: str) -> tuple[float, float] | None:
        """Take a time and a later one, in seconds; None if there are none."""
        times = self.spans_s(key)
        if times and (len(times) != 2 or times[0] >= times[1]):
            raise self.error(key, "it is not from one time to a later one", 'write such as ["0 s", "0.5 s"]')
        return (times[0], times[1]) if times else None

    def span_s(self, key: str) -> float | None:
        """Take a time with its unit, in seconds; None if there is none."""
        text = self.text(key, "")
        return None if not text else self._span_s(key, text)

    def spans_s(self, key: str) -> list[float]:
        """Take a list of times with their units, in seconds; empty if there is none."""
        return [self._span_s(key, text) for text in self.texts(key)]

    def rate_bps(self, key: str, per: str = "") -> float | None:
        """Take a rate with its unit, in bit/s; None if there is none."""
        text = self.text(key, "")
        if not text:
            return None
        try:
            return _core.parse_rate(per + text)
        except ValueError as error:
            raise ScenarioError(f"{self.place}: `{key}`: {error}") from error

    def numbers(self, key: str) -> list[float]:
        """Take a list of finite numbers; empty if there is none."""
        value = self._take(key, [])
        if not isinstance(value, list):
            raise self.error(key, f"it is {_kind(value)}", "it must be a list of numbers")
        return [self._number(key, v) for v in value]

    def seeds(self, key: str) -> tuple[int, ...]:
        """Take the number of seeds, which count from 1, or a list of seeds; empty if there is neither."""
        value = self._take(key, [])
        remedy = "give how many, 2 or more, or a list of different whole numbers, 0 or more"
        numbers = list(range(1, value + 1)) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(numbers, list) or not all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
            raise self.error(key, f"it is {_kind(value)}", remedy)
        if key in self.data and (len(set(numbers)) != len(numbers) or len(numbers) < 2 or min(numbers) < 0):
            raise self.error(key, f"it is {value}", remedy)
        return tuple(numbers)

    def lists_of_numbers(self, key: str) -> dict[str, tuple[float, ...]]:
        """Take a table of lists of finite numbers; empty if there is none."""
        own = self.table(key)
        return {} if own is None else {name: tuple(own.numbers(name)) for name in own.data}

    def table(self, key: str) -> Table | None:
        """Take a table; None if there is none."""
        value = self._take(key, None)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.error(key, f"it is {_kind(value)}", f"it must be a table, [{key}]")
        return Table(f"{self.place}, {key}", value)

    def tables(self, key: str) -> list[Table]:
        """Take a list of tables; empty if there is none."""
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            raise self.error(key, f"it is {_kind(value)}", f"it must be tables, [[{key}]]")
        return [Table(f"{self.place}, {key} {i + 1}", v) for i, v in enumerate(value)]

    def finish(self) -> None:
        """Refuse keys that were not taken."""
        for key in self.data:
            if key not in self.known:
                near = _core.nearest_name(key, self.known)
                remedy = f"did you mean `{near}`?" if near else f"known keys: {', '.join(self.known)}"
                raise self.error(key, "there is no such key", remedy)

    def _span_s(self, key: str, text: str) -> float:
        try:
            return _core.parse_span(text)
        except ValueError as error:
            raise ScenarioError(f"{self.place}: `{key}`: {error}") from error

    def _take(self, key: str, default: object) -> Any:
        self.known.append(key)
        value = self.data.get(key, default)
        if value is REQUIRED:
            raise self.error(key, "it is missing", "add it")
        return value

    def _number(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.error(key, f"it is {_kind(value)}", "it must be a finite number")
        return float(value)


def _kind(value: object) -> str:
    kinds = {bool: "true or false", str: "text", int: "a whole number", float: "a number", list: "a list"}
    return kinds.get(type(value), "a table" if isinstance(value, dict) else type(value).__name__)
