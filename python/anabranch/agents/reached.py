"""The agent that a file names: that of this machine by its own file, or one elsewhere by the file of a client."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.errors import ScenarioError, did_you_mean

if TYPE_CHECKING:
    import os

KEYS = ("address", "node", "authority", "certificate")
"""The keys of the table ``[agent]`` in the file of a client."""


@dataclass(frozen=True)
class Client:
    """What it takes to ask an agent on another machine.

    Attributes
    ----------
    address : str
        Where its applications ask, ``HOST:PORT``.
    authority : path
        The certificate of the authority of its network.
    certificate : path
        The certificate of the application that asks, with its key.
    """

    address: str
    authority: Path
    certificate: Path


@dataclass(frozen=True)
class Agent:
    """An agent that can be asked.

    Attributes
    ----------
    config : path
        The file that names it.
    node : str
        Its node.
    state : path or None
        The folder of its state, if it runs on this machine.
    client : Client or None
        How it is asked from here, if it runs on another machine.
    links : mapping
        The table ``[links]`` of the file.
    """

    config: Path
    node: str
    state: Path | None
    client: Client | None
    links: dict[str, dict[str, Any]]


def agent_of(config: str | os.PathLike[str]) -> Agent:
    """Read the file of an agent, or of a client.

    Raises
    ------
    ScenarioError
        The file cannot be used.
    """
    file = Path(config)
    try:
        with file.open("rb") as opened:
            tables = tomllib.load(opened)
    except (OSError, ValueError):
        # The reader of agents says what is wrong.
        tables = {}
    links = tables.get("links", {})
    if "agent" in tables:
        own = _checked(file, tables["agent"])
        client = Client(own["address"], file.parent / own["authority"], file.parent / own["certificate"])
        return Agent(file, own["node"], None, client, links)
    try:
        node, _, state, _, _ = _core.agent_config(file)
    except ValueError as error:
        raise ScenarioError(str(error)) from error
    return Agent(file, node, state, None, links)


def _checked(file: Path, table: Any) -> dict[str, str]:
    """Check the table of a client's file."""
    if not isinstance(table, dict):
        raise ScenarioError(f"{file}: agent must be a table [agent] with {', '.join(KEYS)}")
    for key in table:
        if key not in KEYS:
            raise ScenarioError(
                f"{file}: [agent] has no key `{key}`{did_you_mean(key, KEYS)}; it has {', '.join(KEYS)}"
            )
    for key in KEYS:
        if not isinstance(table.get(key), str):
            raise ScenarioError(f"{file}: [agent] needs {key}, a text; it has {', '.join(KEYS)}")
    return table
