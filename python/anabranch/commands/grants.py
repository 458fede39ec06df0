"""The options by which transfers ask an agent for their rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack

    from anabranch.agents.granted import Granted

Grant = Annotated[
    str | None,
    typer.Option(
        "--grant",
        metavar="AGENT.toml:NODE",
        help="Send at the rate that this agent grants from its node to NODE, however many receive.",
    ),
]
Demand = Annotated[
    str | None, typer.Option(metavar="RATE", help="With --grant: the most that can be used, such as '50 Mbit/s'.")
]


def granted(grant: str | None, demand: str | None, what: str, stack: ExitStack, *, paths: int = 2) -> Granted | None:
    """Open the session of --grant until the stack ends; None if none is asked for."""
    if grant is None:
        if demand is not None:
            raise ValueError("--demand is for --grant, which asks an agent for a rate")
        return None
    # Only now: it is needed for grants alone.
    from anabranch.agents.granted import Granted

    return stack.enter_context(Granted(grant, what, demand=demand, paths=paths))


def links_over(config: str, via: Sequence[str]) -> list[list[str]] | None:
    """Give the links of the agent's file over each interface or address of this machine; None if one has no link."""
    from anabranch.agents.paths import own_links

    links = own_links(config)
    over = [links.get(name.partition("=")[0].strip(), []) for name in via]
    return over if over and all(over) else None
