"""JSON, read with errors that name the place, the reason and the remedy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anabranch.formats.source import excerpt

if TYPE_CHECKING:
    from anabranch.formats.source import Place, Source


def parse(source: Source) -> dict[str, Any]:
    """Give the object that a JSON file holds."""
    try:
        found = json.loads(source.text)
    except json.JSONDecodeError as error:
        raise source.line(error.lineno).error(
            f"it is not JSON ({error.msg})", "correct it or fetch it again"
        ) from error
    except (ValueError, RecursionError) as error:
        raise source.whole.error(f"its JSON is out of bounds ({error})", "check that it is the right file") from error
    return as_object(found, source.whole, "the file")


def looks_like(source: Source) -> bool:
    """Tell whether a file is meant to be JSON."""
    return source.suffix == ".json" or source.beginning.startswith("{")


def as_object(value: object, place: Place, what: str) -> dict[str, Any]:
    """Check that a value is an object."""
    if not isinstance(value, dict):
        raise place.error(f"{what} is `{excerpt(value)}`", "it must be an object, {...}")
    return value


def as_list(value: object, place: Place, what: str) -> list[Any]:
    """Check that a value is a list; null counts as an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise place.error(f"{what} is `{excerpt(value)}`", "it must be a list, [...]")
    return value
