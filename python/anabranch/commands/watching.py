"""Where a proxy or an exit shows itself by HTTP: the options of both commands."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.agents.page import live_page
from anabranch.errors import ScenarioError

Watch = Annotated[
    str | None,
    typer.Option(
        "--watch", metavar="ADDRESS:PORT", help="Show lines and flows by HTTP there: a page, JSON and /metrics."
    ),
]

WatchOpen = Annotated[bool, typer.Option("--watch-open", help="Let other machines read that, without a password.")]


def watched_at(watch: str | None, watch_open: bool) -> tuple[str, bool, str | None] | None:
    """Give the address, whether others may read it, and the page."""
    if watch is None:
        if watch_open:
            raise ScenarioError("--watch-open is about the address of --watch, so name that, too")
        return None
    return watch, watch_open, live_page("proxy")


def say_where(address: str) -> None:
    """Say where the program shows itself."""
    typer.echo(f"shown at http://{address}/", err=True)
