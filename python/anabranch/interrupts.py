"""Signals that ask a program to end: Ctrl-C, and those that batch systems, containers and closed terminals send.

All of them are a ``KeyboardInterrupt`` in the main thread, so that whatever keeps its results at Ctrl-C keeps them at
the others, too. The exit code is 128 and the number of the signal, as shells have it.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    Progress = Callable[[float, float, int], None]

T = TypeVar("T")

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask a program to end. SIGQUIT and SIGKILL end it as it stands."""

SAME_S = 1.0
"""The time in seconds in which further signals count as part of the first: a closed terminal often sends two."""

LOOK_S = 0.1
"""A wait for other threads ends this often, so that signals are heard."""

UNANSWERED_S = 5.0
"""A signal may wait this long for the end of a call that cannot be called off; then the program ends without it."""

OUTPUTS = (1, 2)
"""The files that a program prints to."""

ANSWERED = b"\0"
"""The byte written behind the numbers of signals once the main thread has handled them."""


@dataclass
class _Heard:
    """The signals that this process has received.

    Attributes
    ----------
    number, time_s : int or None, float
        The first signal, and when it came.
    tell : socket or None
        Where it is told that signals were answered.
    is_held : bool
        Whether something goes on that must be done to its end.
    terminals : tuple of int
        Which of the outputs were terminals at first.
    """

    number: int | None = None
    time_s: float = 0.0
    tell: socket.socket | None = None
    is_held: bool = False
    terminals: tuple[int, ...] = ()


_heard = _Heard()


class Interrupts:
    """Signals noted instead of obeyed."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, _frame: object) -> None:
        """Take note."""
        take(number)
        self.came = True

    def teller(self, progress: Progress | None, duration_s: float) -> Callable[[float, int], None]:
        """Give what a run is to call: it ends the run once a signal came, and else tells ``progress``."""

        def tell(time_s: float, count: int) -> None:
            if self.came:
                raise KeyboardInterrupt
            if progress is not None:
                progress(time_s, duration_s, count)

        return tell


@contextmanager
def held_interrupts() -> Iterator[Interrupts]:
    """Take note of signals until the block ends, so that they cannot end what must be done to its end.

    A block within such a block shares its notes. Outside the main thread nothing changes, nor for signals that have
    another handler than Python's own or that of `heed`.
    """
    present = {number: signal.getsignal(number) for number in ENDING}
    outer = next((handler for handler in present.values() if isinstance(handler, Interrupts)), None)
    if outer is not None:
        yield outer
        return
    interrupts = Interrupts()
    ours = [number for number, handler in present.items() if handler in (signal.default_int_handler, _end)]
    if threading.current_thread() is not threading.main_thread():
        ours = []
    for number in ours:
        signal.signal(number, interrupts)
    _heard.is_held |= bool(ours)
    try:
        yield interrupts
    finally:
        for number in ours:
            signal.signal(number, present[number])
        _heard.is_held &= not ours


def heed() -> None:
    """Have each of these signals raise a ``KeyboardInterrupt`` in this program, but for those that its caller ignores.

    One that is not answered for `UNANSWERED_S` seconds, since the main thread is in a call that cannot be called off,
    ends the program all the same.
    """
    for number in ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)
    _heard.terminals = tuple(file for file in OUTPUTS if os.isatty(file))
    told, tell = socket.socketpair()
    tell.setblocking(False)
    _heard.tell = tell
    signal.set_wakeup_fd(tell.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_see_to_it, args=(told,), name="signals", daemon=True).start()


@contextmanager
def kept_handlers() -> Iterator[None]:
    """Put the handlers of `heed` back if something in the block replaces them."""
    present = {number: signal.getsignal(number) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in present.items():
            if _is_ours(handler) and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def result_of(work: Future[T]) -> T:
    """Wait for work on another thread, and give its result; a signal that comes meanwhile is heard.

    polars has the system resume waits that a signal interrupts, so that a wait without end would not hear of Ctrl-C.
    """
    while not work.done():
        wait([work], timeout=LOOK_S)
    return work.result()


def take(number: int) -> bool:
    """Note a signal; tell whether it is a new one, and no part of the first."""
    if _heard.tell is not None:
        with suppress(BlockingIOError):
            _heard.tell.send(ANSWERED)
    _leave_closed_terminals()
    now = time.monotonic()
    if _heard.number is None:
        _heard.number, _heard.time_s = number, now
        return True
    return now - _heard.time_s >= SAME_S


def _leave_closed_terminals() -> None:
    """Let what is printed go nowhere where a terminal was closed, so that printing does not fail."""
    for file in _heard.terminals:
        if not os.isatty(file):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, file)
            os.close(nowhere)


def ignore() -> None:
    """Ignore these signals from now on: what is left is to exit, and they cannot make that any shorter."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def exit_code() -> int:
    """Give the exit code of a program that a signal has ended: 128 and the number of the first that came."""
    return 128 + (_heard.number or signal.SIGINT)


def _end(number: int, _frame: object) -> None:
    if take(number):
        raise KeyboardInterrupt


def _see_to_it(told: socket.socket) -> None:
    """End the program if a signal is not answered in time, unless something is held that must be done to its end."""
    unanswered: int | None = None
    until_s = 0.0
    while True:
        told.settimeout(None if unanswered is None else max(until_s - time.monotonic(), LOOK_S))
        try:
            byte = told.recv(1)
        except TimeoutError:
            byte = b""
        if byte == ANSWERED:
            unanswered = None
        elif byte and unanswered is None and byte[0] in ENDING and _is_ours(signal.getsignal(byte[0])):
            # A further signal does not set the clock back.
            unanswered, until_s = byte[0], time.monotonic() + UNANSWERED_S
        if unanswered is not None and time.monotonic() >= until_s and not _heard.is_held:
            os._exit(128 + unanswered)


def _is_ours(handler: object) -> bool:
    """Tell whether it is a handler that answers; what others have put in place is left alone."""
    return handler is _end or isinstance(handler, Interrupts)
