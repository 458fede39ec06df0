"""Questions for an agent, by lines of JSON: for that of this machine by a socket, for others by QUIC."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from anabranch import _core
from anabranch.errors import NoLivePartError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anabranch.agents.reached import Agent, Client

SOCKET = "agent.sock"
"""The name of the socket in the folder of the state."""

PATIENCE_S = 5.0
"""The longest time in seconds that an agent may take to answer."""

AGAIN_S = 1.0
"""The time in seconds between two attempts to reach an agent that is away."""

LOOK_S = 0.1
"""A wait for the agent of this machine ends this often, so that signals are heard."""


class Stream(Protocol):
    """A stream of lines from and to an agent."""

    def line(self, seconds: float) -> str | None:
        """Give the next line: None if none comes in time, and empty if no more come."""

    def say(self, line: str) -> None:
        """Write a line."""

    def end(self) -> None:
        """End the stream; a thread that waits for a line hears of it."""

    def close(self) -> None:
        """End the stream, for which no thread waits."""


class NearStream:
    """A stream with the agent of this machine, by the socket in the folder of its state."""

    def __init__(self, state: Path, question: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._rest = b""
        try:
            self._socket.settimeout(PATIENCE_S)
            self._socket.connect(str(state / SOCKET))
            self._socket.sendall(f"{question}\n".encode())
        except OSError:
            self._socket.close()
            raise
        self._socket.settimeout(LOOK_S)

    def line(self, seconds: float) -> str | None:
        """Give the next line: None if none comes in time, and empty if no more come."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._rest:
            try:
                more = self._socket.recv(1 << 16)
            except TimeoutError:
                if time.monotonic() >= deadline:
                    return None
            else:
                if not more:
                    return ""
                self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def say(self, line: str) -> None:
        """Write a line."""
        self._socket.sendall(f"{line}\n".encode())

    def end(self) -> None:
        """End the stream; a thread that waits for a line hears of it."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End the stream, for which no thread waits."""
        self._socket.close()


def ask(agent: Agent, question: str) -> tuple[dict[str, Any], Stream]:
    """Write a line to an agent; return its first answer, with the stream on which more may come.

    The answer has ``error`` if the agent refuses; the stream is the caller's to close.

    Raises
    ------
    ScenarioError
        No agent answers, or a certificate cannot be used.
    """
    place = str(agent.state / SOCKET) if agent.state is not None else f"{agent.client and agent.client.address}"
    try:
        stream = NearStream(agent.state, question) if agent.state is not None else _far(agent, question)
        try:
            answer = _first(stream)
        except BaseException:
            stream.close()
            raise
    except (NoLivePartError, ScenarioError):
        raise
    except (OSError, ValueError) as error:
        start = f"start it: anabranch agent --config {agent.config}" if agent.client is None else "does it run there?"
        raise ScenarioError(f"no agent answers at {place}: {error}; {start}") from error
    return answer, stream


def answers(agent: Agent, question: str, *, once: bool = False) -> Iterator[dict[str, Any]]:
    """Yield what an agent answers at once and after each change; ask again where the agent is away for a while.

    Parameters
    ----------
    agent : Agent
        The agent.
    question : str
        The line that it is asked.
    once : bool
        Whether the first answer is all.

    Raises
    ------
    ScenarioError
        No agent answers at first, or it refuses.
    """
    answer, stream = ask(agent, question)
    while True:
        try:
            while True:
                if "error" in answer:
                    raise ScenarioError(f"{agent.config}: {answer['error']}")
                yield answer
                if once:
                    return
                while (line := _heard(stream)) is None:
                    pass
                if not line:
                    break
                answer = json.loads(line)
        finally:
            stream.close()
        answer, stream = _again(agent, question)


def _first(stream: Stream) -> dict[str, Any]:
    """Give the first answer."""
    line = stream.line(PATIENCE_S)
    if not line:
        raise OSError("it says nothing" if line is None else "it ended without an answer")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _again(agent: Agent, question: str) -> tuple[dict[str, Any], Stream]:
    """Ask an agent that is away until it answers."""
    while True:
        time.sleep(AGAIN_S)
        with suppress(ScenarioError):
            return ask(agent, question)


def _heard(stream: Stream) -> str | None:
    """Give the next line; empty where the stream is lost."""
    try:
        return stream.line(AGAIN_S)
    except OSError:
        return ""


def _far(agent: Agent, question: str) -> Stream:
    """Ask an agent on another machine."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    client: Client | None = agent.client
    assert client is not None
    try:
        return _core.Asking(client.address, agent.node, client.authority, client.certificate, question, PATIENCE_S)
    except ValueError as error:
        raise ScenarioError(f"{agent.config}: {error}") from error
