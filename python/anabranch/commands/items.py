"""The options by which transfers publish and find items at an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from contextlib import ExitStack

Find = Annotated[
    str | None,
    typer.Option(
        "--find",
        metavar="AGENT.toml:ITEM",
        help="Fetch from all who publish this item at the agent, beside the URLs.",
    ),
]
Publish = Annotated[
    str | None,
    typer.Option(
        "--publish",
        metavar="AGENT.toml:ITEM",
        help="Publish the URL at the agent as a source of this item, at the agent's node.",
    ),
]


def found_urls(find: str | None) -> list[str]:
    """Give the URLs of those who publish an item; none without an item.

    Raises
    ------
    ScenarioError
        Nobody publishes it, or the agent does not say so.
    """
    if find is None:
        return []
    # Only now: it is needed for items alone.
    from anabranch.agents.finding import find_sources
    from anabranch.agents.reached import agent_of

    file, item = _parts(find, "--find")
    urls = [source.at for source in find_sources(file, item, agent_of(file).node)]
    if not urls:
        raise ScenarioError(f"--find: nobody publishes `{item}` at the agent of {file} now; see `anabranch agent find`")
    return urls


def publish(option: str | None, url: str, stack: ExitStack) -> None:
    """Publish a URL as a source of an item until the stack ends.

    Raises
    ------
    ScenarioError
        The agent does not answer, or refuses it.
    """
    if option is None:
        return
    from anabranch.agents.finding import Publication
    from anabranch.agents.reached import agent_of

    file, item = _parts(option, "--publish")
    stack.enter_context(Publication(file, item, agent_of(file).node, url))


def _parts(option: str, name: str) -> tuple[str, str]:
    """Give the file and the item of an option."""
    file, _, item = option.partition(".toml:")
    if not file or not item:
        raise ScenarioError(f"{name}: `{option}` names no item; one is agent.toml:videos/one")
    return f"{file}.toml", item
