"""``anabranch agent paths``, ``find`` and ``publish``: what an agent tells programs, near and far."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.agents.finding import Publication, find_sources, followed_sources
from anabranch.agents.paths import agent_paths, followed_paths
from anabranch.commands.tables.column import counts, names
from anabranch.commands.tables.table import print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anabranch.agents.finding import Source
    from anabranch.agents.paths import AgentPath

LOOK_S = 0.5
"""The time in seconds between two looks whether an item is still published."""

Config = Annotated[Path, typer.Option("--config", help="The file of the agent, or of a client where it is elsewhere.")]
Count = Annotated[int, typer.Option(min=1, max=64, help="The most paths from each node.")]
Disjoint = Annotated[bool, typer.Option("--disjoint", help="Paths from a node share no link.")]
Nodes = Annotated[bool, typer.Option("--nodes", help="Paths that pass through one node are a group, too.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Follow = Annotated[bool, typer.Option("--follow", help="Go on, and print again after each change, until Ctrl-C.")]


def paths(
    nodes: Annotated[list[str], typer.Argument(metavar="FROM... TO", help="Where paths begin, and where they end.")],
    config: Config,
    count: Count = 2,
    disjoint: Disjoint = False,
    by_nodes: Nodes = False,
    as_json: AsJson = False,
    follow: Follow = False,
) -> None:
    """Ask an agent for paths over links that are up, and for the groups that share links."""
    *sources, to = nodes
    if not sources:
        raise typer.BadParameter("name a node where paths begin, and the one where they end")
    ask = followed_paths if follow else _once(agent_paths)
    _told(ask(config, to, sources, count=count, disjoint=disjoint, nodes=by_nodes), _print_paths, as_json=as_json)


def find(
    item: Annotated[str, typer.Argument(metavar="ITEM", help="The name of the item.")],
    to: Annotated[str, typer.Option(metavar="NODE", help="The node where paths end.")],
    config: Config,
    count: Annotated[int, typer.Option(min=1, max=16, help="The most paths from each source.")] = 2,
    disjoint: Disjoint = False,
    by_nodes: Nodes = False,
    as_json: AsJson = False,
    follow: Follow = False,
) -> None:
    """Ask an agent where an item is, and for paths from there."""
    ask = followed_sources if follow else _once(find_sources)
    found = ask(config, item, to, count=count, disjoint=disjoint, nodes=by_nodes)
    _told(found, lambda sources: _print_sources(item, sources), as_json=as_json)


def publish(
    item: Annotated[str, typer.Argument(metavar="ITEM", help="The name of the item, such as videos/one.")],
    node: Annotated[str, typer.Option(metavar="NODE", help="The node where the item is.")],
    at: Annotated[str, typer.Option(metavar="URL", help="Where it is fetched there.")],
    config: Config,
) -> None:
    """Publish an item at an agent until Ctrl-C, so that others find it."""
    with Publication(config, item, node, at) as publication:
        _say(f"{item} is published at {node}, until Ctrl-C")
        said = None
        try:
            while True:
                time.sleep(LOOK_S)
                if publication.refusal != said:
                    said = publication.refusal
                    _say(f"{item} is published again" if said is None else f"{item} is not published now: {said}")
        except KeyboardInterrupt:
            pass


def _once(ask: Callable[..., Any]) -> Callable[..., Iterable[Any]]:
    """Make a function that yields its answer once."""
    return lambda *arguments, **options: iter((ask(*arguments, **options),))


def _told(answers: Iterable[list[Any]], show: Callable[[list[Any]], None], *, as_json: bool) -> None:
    """Print each answer, until Ctrl-C."""
    try:
        for number, found in enumerate(answers):
            if as_json:
                typer.echo(json.dumps([dataclasses.asdict(own) for own in found], ensure_ascii=False))
            else:
                if number:
                    typer.echo()
                show(found)
    except KeyboardInterrupt:
        pass


def _print_paths(found: list[AgentPath]) -> None:
    if not found:
        _say("there is no path now")
        return
    print_table(
        [
            names("from", [path.source for path in found]),
            names("links", [", ".join(path.links) for path in found]),
            counts("group", [path.group for path in found]),
        ]
    )


def _print_sources(item: str, found: list[Source]) -> None:
    if not found:
        _say(f"nobody publishes {item} now")
        return
    rows: list[tuple[Source, AgentPath | None]] = []
    for own in found:
        rows += [(own, path) for path in own.paths] or [(own, None)]
    print_table(
        [
            names("node", [source.node for source, _ in rows]),
            names("at", [source.at for source, _ in rows]),
            names("links", [", ".join(path.links) if path else "-" for _, path in rows]),
            counts("group", [path.group if path else None for _, path in rows]),
        ]
    )


def _say(line: str) -> None:
    typer.echo(f"anabranch: {line}", err=True)
