"""Child processes for the work of scenarios: the server survives their crashes and their use of memory.

A child is kinder to others than the server (`nice`), has a session of its own, so that no Ctrl-C of a terminal reaches
it, and may take no more memory than is free when it begins. It tells by a pipe, and is told by it to stop; when the
server ends, however that happens, the pipe breaks, and the child ends with it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from anabranch import _core
from anabranch.errors import ScenarioError, shortened
from anabranch.interrupts import held_interrupts
from anabranch.memory import allow_memory, room_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

try:
    import resource
except ImportError:  # pragma: no cover: there is none on Windows
    resource = None  # type: ignore[assignment]

T = TypeVar("T")

NICE = 5

SPARE_BYTES = 1 << 30
"""Addresses beyond the memory: threads reserve some that they never use."""

HAS_SERVER = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT: Any = multiprocessing.get_context("forkserver" if HAS_SERVER else "spawn")
if HAS_SERVER:
    # Children are made by a process that has loaded everything, so each takes some milliseconds.
    CONTEXT.set_forkserver_preload(["anabranch.serve.work"])


def warm_up() -> None:
    """Begin the process that makes children, so that the first need not wait until it has loaded everything."""
    if HAS_SERVER:
        # Not everywhere can it be loaded.
        from multiprocessing import forkserver

        forkserver.ensure_running()


class ChildError(RuntimeError):
    """An error that ended a child's work; the message says which."""


class Teller:
    """The messenger of a child's work to the server."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe
        self.lock = Lock()

    def tell(self, what: str, value: object = None) -> None:
        """Send the server a message: its kind, and its value."""
        with self.lock:
            self.pipe.send((what, value))


class Child:
    """A process that does some work.

    Parameters
    ----------
    work : callable
        A function of a module, called with a `Teller` and the other arguments; what it gives can be pickled.
    memory : str or None
        The most that it may take; 70 % of what is free if None.
    """

    def __init__(self, work: Callable[..., Any], *arguments: object, memory: str | None = None) -> None:
        self.pipe, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=_begin, args=(theirs, memory, work, arguments), daemon=True)
        self.process.start()
        theirs.close()

    def heard(self, patience_s: float) -> tuple[str, Any] | None:
        """Give what the child has told next: what and a value, ``done`` with its answer in the end; None if nothing.

        Raises
        ------
        ScenarioError
            The work has raised one.
        ChildError
            It has raised something else, or the process has ended.
        """
        if not self.pipe.poll(patience_s):
            return None
        try:
            what, value = self.pipe.recv()
        except (EOFError, OSError) as error:
            self.process.join()
            raise ChildError(_why_ended(self.process.exitcode)) from error
        if what == "mistake":
            raise ScenarioError(value)
        if what == "failed":
            raise ChildError(value)
        return what, value

    def answer(self, patience_s: float) -> Any:
        """Wait for the end of work that tells nothing; give what it gave, None if it takes longer.

        Raises
        ------
        ScenarioError, ChildError
            As for `heard`.
        """
        end = monotonic() + patience_s
        while (left := end - monotonic()) > 0:
            if (heard := self.heard(left)) is not None and heard[0] == "done":
                return heard[1]
        return None

    def stop(self) -> None:
        """Ask the child to stop, as by Ctrl-C."""
        try:
            self.pipe.send("stop")
        except OSError:  # it has ended
            return

    def close(self) -> None:
        """End the process, whatever it is at."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def done(work: Callable[..., T], *arguments: object, most_s: float, remedy: str, memory: str | None = None) -> T:
    """Give what some work comes to, from a child that is ended when it takes too long.

    Parameters
    ----------
    most_s : float
        How long it may take.
    remedy : str
        What would do instead if it takes longer.

    Raises
    ------
    ScenarioError
        The work has raised one; it takes too long, or its process ends.
    """
    child = Child(work, *arguments, memory=memory)
    try:
        answer: T | None = child.answer(most_s)
    except ChildError as error:
        raise ScenarioError(f"it cannot be read: {error}") from error
    finally:
        child.close()
    if answer is None:
        raise ScenarioError(f"it cannot be read in {most_s:g} s; {remedy}")
    return answer


def _why_ended(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        return f"its process was ended by {name}, most likely since it took more memory than there is; make it smaller"
    return f"its process has ended with exit code {code}, before it was done"


def _begin(pipe: Connection, memory: str | None, work: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    """Do the work of a child; in the child."""
    if hasattr(os, "setsid"):
        os.setsid()
        os.nice(NICE)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    allow_memory(memory)
    _keep_to_memory()
    # A run that is told to stop ends as at Ctrl-C, whose notes it shares; nothing else of its work can be broken off.
    with held_interrupts():
        Thread(target=_listen, args=(pipe,), daemon=True).start()
        teller = Teller(pipe)
        try:
            answer = work(teller, *arguments)
        except ScenarioError as error:
            teller.tell("mistake", str(error))
        except BaseException as error:
            teller.tell("failed", " ".join(shortened(str(error)).split()) or type(error).__name__)
        else:
            teller.tell("done", answer)


def _listen(pipe: Connection) -> None:
    """Stop when told to, and end at once when nobody is there any more."""
    try:
        while pipe.recv() == "stop":
            signal.raise_signal(signal.SIGINT)
    finally:
        os._exit(1)


def _keep_to_memory() -> None:
    """Hold the work to the memory there is now, and have the system refuse what the work does not see coming."""
    room, used = room_bytes(), _core.memory_in_use()
    if room is None or used is None:
        return
    # The limit on addresses below would count as one more limit, and leave a share of a share.
    allow_memory(used[0] + room)
    if resource is None:  # pragma: no cover
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used[1] + room + SPARE_BYTES
    if most == resource.RLIM_INFINITY or wanted < most:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
