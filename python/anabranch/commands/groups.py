"""The option that says which paths share links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence

Groups = Annotated[
    list[str] | None,
    typer.Option(
        metavar="0,0,1",
        help="Groups of paths that share links: a number for each path, the same within a group; for NMCC. Repeatable: "
        "the numbers of all options form one list.",
    ),
]


def path_groups(options: Sequence[str] | None) -> list[int]:
    """Give the numbers of all --groups options in order."""
    try:
        return [int(number) for option in options or () for number in option.split(",")]
    except ValueError:
        raise ScenarioError(f"--groups: `{' '.join(options or ())}` is no list of numbers; one is 0,0,1") from None
