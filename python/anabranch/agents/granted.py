"""Transfers of this program at the rates that an agent grants."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self

from anabranch.agents.session import AgentSession
from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST_S = 5.0
"""The longest wait for the first rates."""


def wait_for_rates(session: AgentSession, node: str) -> None:
    """Wait for the first rates of a session to a node.

    Raises
    ------
    ScenarioError
        None are granted in time.
    """
    if not session.wait(FIRST_S):
        why = session.refusal or f"the network has granted none within {FIRST_S:g} s"
        raise ScenarioError(f"no rate is granted to {node}: {why}")


class Granted:
    """A session for a transfer of this program; a context manager.

    Parameters
    ----------
    agent : str
        The file of the agent where the data come from, and the node where they go: ``agent.toml:Nice``.
    what : str
        What the transfer is, for the name of the session.
    demand : str, optional
        The most that the transfer can use.
    paths : int
        The greatest number of paths.

    Raises
    ------
    ScenarioError
        The agent does not answer, or refuses the session.
    """

    def __init__(self, agent: str, what: str, *, demand: str | None = None, paths: int = 2) -> None:
        file, _, node = agent.rpartition(":")
        if not file or not node:
            raise ScenarioError(f"--grant: `{agent}` names no node; one is agent.toml:Nice, for data that go to Nice")
        self._session = AgentSession(file, node, demand=demand, paths=paths, name=f"{what} {os.getpid()}")
        try:
            wait_for_rates(self._session, node)
        except ScenarioError as error:
            self._session.close()
            raise ScenarioError(f"{file}: {error}") from error

    def total_bps(self) -> float:
        """Return the rate of all paths together, in bit/s."""
        return max(sum(self._session.rates_bps), self._session.floor_bps)

    def paths_bps(self, links: Sequence[Sequence[str]]) -> list[float]:
        """Return for each group of links the rate of the paths that begin with one of them, in bit/s."""
        paths, rates = self._session.paths, self._session.rates_bps
        if len(paths) != len(rates):
            # The paths have just changed, and their rates are not told yet.
            return [self._session.floor_bps] * len(links)
        firsts = [(path[0] if path else None, rate) for path, rate in zip(paths, rates, strict=True)]
        return [max(sum(rate for link, rate in firsts if link in own), self._session.floor_bps) for own in links]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()
