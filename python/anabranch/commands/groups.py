"""The option that says which paths share links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Groups = Annotated[
    list[str] | None,
    typer.Option(
        metavar="0,0,1",
        help="Groups of paths that share links: a number for each path, the same within a group; for NMCC. Repeatable: "
        "the numbers of all options form one list. AGENT.toml:NODE asks the agent of this machine for the groups of "
        "--via.",
    ),
]


def path_groups(
    options: Sequence[str] | None, via: Sequence[str], *, fetches: bool
) -> tuple[list[int], Callable[[], Sequence[int]] | None]:
    """Give the numbers of all --groups options in order, or those that an agent knows, and what follows their changes.

    Parameters
    ----------
    via : sequence of str
        The interfaces or addresses of the paths, each with its peer behind ``=`` if it has one.
    fetches : bool
        Whether data come over the paths to this machine; otherwise they go.
    """
    asked = [option.rpartition(":") for option in options or () if ":" in option]
    if asked:
        names = [name.partition("=")[0].strip() for name in via]

        def ask() -> list[int]:
            return _agent_groups(options or (), asked, names, fetches=fetches)

        # Only now: it is needed for agents alone.
        from anabranch.agents.followed import FollowedGroups

        followed = FollowedGroups(ask, ask())
        return followed(), followed
    try:
        return [int(number) for option in options or () for number in option.split(",")], None
    except ValueError:
        raise ScenarioError(f"--groups: `{' '.join(options or ())}` is no list of numbers; one is 0,0,1") from None


def _agent_groups(
    options: Sequence[str], asked: list[tuple[str, str, str]], via: list[str], *, fetches: bool
) -> list[int]:
    """Give the groups that the agent of this machine knows."""
    from anabranch.agents.paths import fetching_groups, sending_groups

    config, nodes = asked[0][0], [node for _, _, node in asked]
    if len(asked) < len(options) or any(other != config for other, _, _ in asked):
        raise ScenarioError("--groups: numbers and agents do not go together; give one agent, with a node for each URL")
    if not via:
        raise ScenarioError("--groups: an agent knows the groups of paths over interfaces; name these by --via")
    if fetches:
        return fetching_groups(config, nodes, via)
    if len(nodes) > 1:
        raise ScenarioError("--groups: a measurement has one other end; name one node")
    return sending_groups(config, nodes[0], via)
