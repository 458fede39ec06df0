"""An agent that runs until a signal ends it, as a service of systemd or by hand."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.agents.page import live_page

if TYPE_CHECKING:
    from pathlib import Path

LOOK_S = 0.2
"""The time after which a signal is noticed."""

FAREWELL_S = 2.0
"""The longest time for sessions to leave before the agent ends."""

WARNING, NOTICE, INFO = 4, 5, 6
"""Levels of messages, as syslog has them."""


def run(config: Path, about: str, *, dry: bool = False) -> str | None:
    """Run an agent until SIGINT or SIGTERM; SIGHUP makes it read its file again.

    Parameters
    ----------
    config : path
        The file of the agent.
    about : str
        What the agent says when it has begun.
    dry : bool
        Whether commands that would keep traffic to rates are printed instead of carried out.

    Returns
    -------
    str or None
        Why the agent has ended, if no signal ended it.

    Raises
    ------
    ValueError
        The file or a certificate cannot be used.
    OSError
        A socket or the folder of the state cannot be used, or traffic cannot be kept to rates.
    """
    agent = _core.Agent(config, dry, live_page("agent"))
    hangups: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, _: hangups.append(number))
    say(INFO, about)
    notify("READY=1")
    try:
        while True:
            end = agent.wait(LOOK_S)
            for level, line in agent.log():
                say(level, line)
            if end is not None:
                return end
            if hangups:
                hangups.clear()
                reload(agent)
    except KeyboardInterrupt:
        notify("STOPPING=1")
        say(INFO, "the agent ends")
        if not agent.drain(FAREWELL_S):
            say(NOTICE, "not all sessions have left in time; the others notice that the agent has gone")
        return None
    finally:
        signal.signal(signal.SIGHUP, before)
        agent.stop()


def reload(agent: _core.Agent) -> None:
    """Read the file of an agent again; one that cannot be used changes nothing."""
    notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
    try:
        agent.reload()
    except ValueError as error:
        say(WARNING, str(error))
    else:
        say(INFO, "the file has been read again")
    notify("READY=1")


def say(level: int, line: str) -> None:
    """Print a line to standard error: with its level if that is the journal."""
    prefix = f"<{level}>" if is_journal() else ""
    print(f"{prefix}{line}", file=sys.stderr, flush=True)


def is_journal() -> bool:
    """Whether standard error is the journal of systemd: programs inherit the variable where it is not."""
    with suppress(OSError):
        about = os.fstat(sys.stderr.fileno())
        return os.environ.get("JOURNAL_STREAM") == f"{about.st_dev}:{about.st_ino}"
    return False


def notify(state: str) -> None:
    """Tell systemd of a state of the service, if it has started the program."""
    place = os.environ.get("NOTIFY_SOCKET")
    if not place:
        return
    address = "\0" + place[1:] if place.startswith("@") else place
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaker:
        speaker.sendto(state.encode(), address)
