"""A question that a thread of its own asks again whenever its stream is lost."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from anabranch.agents.asking import AGAIN_S, ask
from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.agents.asking import Stream
    from anabranch.agents.reached import Agent


class Kept:
    """A question whose answers last, and which is asked again where the agent was away.

    Parameters
    ----------
    agent : Agent
        The agent.
    question : callable
        The line that it is asked now.
    take : callable
        What is done with each answer. One of the thread's own, ``{"lost": why}``, says that no agent answers.

    Raises
    ------
    ScenarioError
        No agent answers, or it refuses at first.
    """

    def __init__(self, agent: Agent, question: Callable[[], str], take: Callable[[dict[str, Any]], None]) -> None:
        self._agent, self._question, self._take = agent, question, take
        self._closing = threading.Event()
        self._stream = self._open()
        self._thread = threading.Thread(target=self._run, name="agent", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        """Write a line, if the agent is there."""
        with suppress(OSError):
            self._stream.say(line)

    def close(self) -> None:
        """End the question."""
        self._closing.set()
        self._stream.end()
        self._thread.join()
        self._stream.close()

    def _open(self) -> Stream:
        answer, stream = ask(self._agent, self._question())
        if "error" in answer:
            stream.close()
            raise ScenarioError(answer["error"])
        self._take(answer)
        return stream

    def _run(self) -> None:
        while not self._closing.is_set():
            with suppress(OSError, ValueError):
                while (line := self._stream.line(AGAIN_S)) != "":
                    if line is not None:
                        self._take(json.loads(line))
            self._stream.close()
            if self._closing.wait(AGAIN_S):
                return
            try:
                self._stream = self._open()
            except ScenarioError as error:
                self._take({"lost": str(error)})
