"""The option ``--via`` of commands that make one connection."""

from typing import Annotated

import typer

Via = Annotated[
    str | None,
    typer.Option(
        "--via",
        "-B",
        metavar="A,B",
        help="Addresses or interfaces, a path over each; A=PEER connects to PEER.",
    ),
]


def via_names(via: str | None) -> list[str]:
    """Return the addresses and interfaces; none if the system chooses."""
    return [] if via is None else [name.strip() for name in via.split(",")]
