"""The format of a file: by the end of its name, else by its beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.errors import did_you_mean
from anabranch.formats.known import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.formats.format import Format
    from anabranch.formats.source import Source


def find_format(source: Source, wanted: str | None, known: Mapping[str, Format]) -> Format:
    """Return the format of a file.

    Parameters
    ----------
    wanted : str or None
        The name that the caller gave; None to look at the file.
    known : mapping of str to Format
        The formats that hold what the caller wants to read.

    Raises
    ------
    ScenarioError
        The format is unknown, or holds something else.
    """
    if wanted is not None:
        if wanted not in known:
            reason = f"there is no format `{wanted}`{did_you_mean(wanted, known)}"
            raise source.whole.error(reason, f"choose one of {', '.join(known)}")
        return known[wanted]
    found = next((one for one in FORMATS.values() if source.suffix in one.suffixes), None) or _look(source)
    if found is None or found.name not in known:
        reason = "its format is not known" if found is None else f"a file of format {found.name} does not hold this"
        kinds = "; ".join(f"{name} ({one.description})" for name, one in known.items())
        raise source.whole.error(reason, f"name the format, or use one of: {kinds}")
    return found


def _look(source: Source) -> Format | None:
    """Compare the beginning of a file with each format."""
    beginning = source.beginning
    alike = [one for one in FORMATS.values() if one.begins and beginning.startswith(one.begins)]
    return next((one for one in alike or FORMATS.values() if one.looks_like(source)), None)
