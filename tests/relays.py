"""Relays of UDP between agents, one for each hop, which lose, delay, keep and garble datagrams as a test wants.

The kernel of a test machine may have no netem. One thread serves all relays of a network.
"""

from __future__ import annotations

import heapq
import random
import selectors
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

Address = tuple[str, int]

MOST_AT_ONCE = 64
"""Datagrams of one socket that are passed before the others have their turn."""

MOST_ON_THEIR_WAY = 20_000
"""Datagrams that are delayed at a time; more are lost, as in a full queue."""

ROOM_BYTES = 1 << 20
"""What waits at a socket of a relay."""


@dataclass
class Weather:
    """What a hop does to each datagram, in either direction."""

    loss: float = 0.0
    """The part that is lost, 0 to 1."""
    delay_s: float = 0.0
    """The time that each takes."""
    jitter_s: float = 0.0
    """A random time of up to this in addition; so they overtake each other."""
    is_cut: bool = False
    """Whether nothing passes."""
    changed: Callable[[bytes], list[bytes]] | None = None
    """What passes in place of a datagram, if it is not the datagram itself."""


@dataclass
class Relay:
    """A hop between one who calls and one who is called."""

    front: socket.socket
    """Where the caller sends to."""
    back: socket.socket
    """The socket that the called end sees."""
    chance: random.Random
    weather: Weather = field(default_factory=Weather)
    caller: Address | None = None
    came: int = 0
    """Number of datagrams that came, of both directions."""
    lost: int = 0
    """Number of those that were lost."""

    @property
    def address(self) -> Address:
        """The address that the caller takes for that of the called end."""
        host, port = self.front.getsockname()
        return str(host), int(port)


class Relays:
    """All relays of a network, and the thread that serves them; a context manager."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._selector = selectors.DefaultSelector()
        self._late: list[tuple[float, int, Relay, bool, bytes]] = []
        self._count = 0
        self._all: list[Relay] = []
        self._failed: BaseException | None = None
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._lock = threading.Lock()
        self._new: deque[Relay] = deque()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="relays", daemon=True)
        self._thread.start()

    def add(self, called: Address, host: str = "127.0.0.1") -> Relay:
        """Make a relay to an address, with sockets at a host of this machine."""
        front, back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for one in (front, back):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM_BYTES)
            one.bind((host, 0))
            one.setblocking(False)
        back.connect(called)
        relay = Relay(front, back, random.Random(self._chance.random()))
        with self._lock:
            self._all.append(relay)
            self._new.append(relay)
        self._wake.send(b".")
        return relay

    def __enter__(self) -> Relays:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all relays; an error of their thread is raised here."""
        self._is_over = True
        self._wake.send(b".")
        self._thread.join()
        self._selector.close()
        for one in (self._wake, self._woken, *(s for relay in self._all for s in (relay.front, relay.back))):
            one.close()
        if self._failed is not None:
            raise self._failed

    def _run(self) -> None:
        try:
            while not self._is_over:
                self._turn()
        except BaseException as error:
            self._failed = error

    def _turn(self) -> None:
        wait = self._late[0][0] - time.monotonic() if self._late else 1.0
        for key, _ in self._selector.select(max(wait, 0.0)):
            if key.data is None:
                self._woken.recv(1 << 10)
                with self._lock:
                    while self._new:
                        relay = self._new.popleft()
                        self._selector.register(relay.front, selectors.EVENT_READ, (relay, True))
                        self._selector.register(relay.back, selectors.EVENT_READ, (relay, False))
            else:
                self._take(*key.data)
        now = time.monotonic()
        while self._late and self._late[0][0] <= now:
            _, _, relay, is_there, datagram = heapq.heappop(self._late)
            _send(relay, is_there, datagram)

    def _take(self, relay: Relay, is_there: bool) -> None:
        """Take what has come at a socket, which goes there (to the called end) or back."""
        for _ in range(MOST_AT_ONCE):
            try:
                if is_there:
                    datagram, relay.caller = relay.front.recvfrom(1 << 16)
                else:
                    datagram = relay.back.recv(1 << 16)
            except BlockingIOError:
                return
            except OSError:
                continue  # The called end has no socket at this moment.
            self._pass(relay, is_there, datagram)

    def _pass(self, relay: Relay, is_there: bool, datagram: bytes) -> None:
        weather = relay.weather
        relay.came += 1
        is_full = len(self._late) >= MOST_ON_THEIR_WAY
        if weather.is_cut or is_full or (weather.loss > 0.0 and relay.chance.random() < weather.loss):
            relay.lost += 1
            return
        for one in [datagram] if weather.changed is None else weather.changed(datagram):
            if weather.delay_s > 0.0 or weather.jitter_s > 0.0:
                self._count += 1
                due = time.monotonic() + weather.delay_s + relay.chance.uniform(0.0, weather.jitter_s)
                heapq.heappush(self._late, (due, self._count, relay, is_there, one))
            else:
                _send(relay, is_there, one)


def _send(relay: Relay, is_there: bool, datagram: bytes) -> None:
    # One who is not there, or who takes no more, does not get the datagram.
    with suppress(OSError):
        if is_there:
            relay.back.send(datagram)
        elif relay.caller is not None:
            relay.front.sendto(datagram, relay.caller)
