"""A session that this program opens at an agent: that of its machine, or one on another."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from anabranch.agents.kept import Kept
from anabranch.agents.reached import agent_of
from anabranch.errors import ScenarioError
from anabranch.model.quantities import rate_bps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_NUMBERS = itertools.count(1)
"""Numbers of the sessions of this process."""


class AgentSession:
    """A session at an agent, with the rates that it is granted; a context manager.

    While the agent is away the session is opened again and again. Rates that are not told again within a lease fall by
    half, and so on, down to a floor: meanwhile others may have been granted more.

    Parameters
    ----------
    config : path
        The file of the agent, or of a client where it runs on another machine.
    to : str
        The node at the other end.
    demand : float or str, optional
        The most that the session can use, in bit/s or as text; every rate that it can get if not given.
    paths : int
        The greatest number of paths.
    weight : float
        The claim relative to other sessions.
    reserved : float or str, optional
        The part of the rate that comes before its share.
    name : str, optional
        A unique name; made of the number of this process if not given.
    match : sequence of mapping, optional
        The packets that the agent keeps to the rates of the session, as in its file: ``[{"to": ["198.51.100.0/24"]}]``.

    Raises
    ------
    ScenarioError
        The file cannot be used, no agent runs with it, or the session cannot be: the message says why.

    Examples
    --------
    >>> with AgentSession("agent.toml", "Nice", demand="50 Mbit/s") as session:  # doctest: +SKIP
    ...     session.wait(2.0)
    ...     print(session.rates_bps)
    """

    def __init__(
        self,
        config: str | os.PathLike[str],
        to: str,
        *,
        demand: float | str | None = None,
        paths: int = 2,
        weight: float = 1.0,
        reserved: float | str | None = None,
        name: str | None = None,
        match: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        agent = agent_of(config)
        self.name = name or f"process {os.getpid()} {next(_NUMBERS)}"
        wanted = {"name": self.name, "to": to, "paths": paths, "weight": weight, "match": list(match)}
        amounts = {"demand": demand, "reserved": reserved}
        wanted |= {key: _rate(value, key) for key, value in amounts.items() if value is not None}
        self._wanted = wanted
        self._lock = threading.Condition()
        self._rates: list[float] = []
        self._told_s = 0.0
        self._paths: list[list[str]] = []
        self._refusal: str | None = None
        self._is_kept = False
        self._problem: str | None = None
        try:
            self._kept = Kept(agent, self._question, self._take)
        except ScenarioError as error:
            raise ScenarioError(f"session `{self.name}`: {error}") from error

    @property
    def rates_bps(self) -> list[float]:
        """The rate of each path that is valid now, in bit/s; empty before the first."""
        with self._lock:
            halvings = int((time.monotonic() - self._told_s) / self._lease_s)
            return [max(rate * 0.5 ** min(halvings, 60), self._floor_bps) for rate in self._rates]

    @property
    def floor_bps(self) -> float:
        """The rate at which the session may always send, in bit/s."""
        with self._lock:
            return float(self._floor_bps)

    @property
    def paths(self) -> list[list[str]]:
        """The names of the links of each path, as far as they are known."""
        with self._lock:
            return [list(path) for path in self._paths]

    @property
    def refusal(self) -> str | None:
        """Why the session is granted nothing, if it is refused or the agent is away."""
        with self._lock:
            return self._refusal

    @property
    def problem(self) -> str | None:
        """Why the agent does not keep the packets of the session to its rates; None if it does."""
        with self._lock:
            return None if self._is_kept else self._problem or "the agent has not said so"

    def wait_until_kept(self, seconds: float) -> bool:
        """Wait until the agent keeps the packets of the session to its rates, for some seconds; whether it does."""
        with self._lock:
            return self._lock.wait_for(lambda: self._is_kept, seconds)

    def wait(self, seconds: float) -> bool:
        """Wait until rates are granted or refused, for some seconds at most; whether they are granted."""
        with self._lock:
            self._lock.wait_for(lambda: sum(self._rates) > 0.0 or self._refusal is not None, seconds)
            return sum(self._rates) > 0.0

    def set_demand(self, demand: float | str | None) -> None:
        """Change the demand; None for every rate that the session can get."""
        text = None if demand is None else _rate(demand, "demand")
        with self._lock:
            self._wanted = {key: value for key, value in self._wanted.items() if key != "demand"}
            self._wanted |= {} if text is None else {"demand": text}
        # Where the agent is away, the session is opened with the new demand.
        self._kept.say(json.dumps({"demand": text}))

    def close(self) -> None:
        """End the session."""
        self._kept.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _question(self) -> str:
        with self._lock:
            return f"open {json.dumps(self._wanted)}"

    def _take(self, said: dict[str, Any]) -> None:
        with self._lock:
            if "opened" in said:
                self._lease_s, self._floor_bps = said["lease_s"], said["floor_bps"]
            elif "rates_bps" in said:
                self._rates, self._told_s = said["rates_bps"], time.monotonic()
                self._refusal = None if sum(self._rates) > 0.0 else self._refusal
            elif "paths" in said:
                self._paths = said["paths"]
            elif "is_kept" in said:
                self._is_kept, self._problem = said["is_kept"], said.get("problem")
            else:
                self._refusal = said.get("refused") or said.get("error") or said.get("lost") or self._refusal
            self._lock.notify_all()


def _rate(value: float | str, what: str) -> str:
    """Return a rate as the agent reads it."""
    return f"{rate_bps(value, what):.17g} bit/s"
