"""Names that are not there: the message, with the names that are most alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 200
"""Names beyond this get no hint of a similar one: it would take long to find."""

EXAMPLES = 3
"""The most names that are given as examples where none is alike."""


def unknown(what: str, name: object, names: Sequence[str], owner: str = "the network") -> str:
    """Say that there is no thing of a name, and which names there are.

    Parameters
    ----------
    what : str
        The kind of thing in the singular, such as ``"link"``.
    names : sequence of str
        The names that there are.
    owner : str
        What has them.
    """
    return f"there is no {what} `{str(name)[:LONGEST]}`{alike(name, names)}; name one of {owner}'s {len(names)} {what}s"


def alike(name: object, names: Sequence[str]) -> str:
    """Give a hint: the name that is most alike, or else some of those that there are."""
    if isinstance(name, str) and len(name) <= LONGEST and (near := _core.nearest_name(name, list(names))):
        return f" (did you mean `{near}`?)"
    if not names:
        return ""
    more = ", ..." if len(names) > EXAMPLES else ""
    return f" (there is {', '.join(f'`{one}`' for one in names[:EXAMPLES])}{more})"
