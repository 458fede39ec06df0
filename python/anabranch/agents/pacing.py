"""Pacing of the sockets of other processes, which needs no rights but those of a debugger (Linux)."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

PIDFD_GETFD = 438
"""The number of the call that copies a descriptor of another process, on all machines."""

MAX_PACING_RATE = 47
"""The option SO_MAX_PACING_RATE, in bytes a second."""

BYTES_ACKED = 120
"""The place of this count in what TCP_INFO gives."""

_libc = ctypes.CDLL(None, use_errno=True)


def family_of(process: int) -> list[int]:
    """Return the numbers of a process and of all that it started."""
    found, todo = [], [process]
    while todo:
        number = todo.pop()
        found.append(number)
        for file in Path(f"/proc/{number}/task").glob("*/children"):
            with suppress(OSError):
                todo.extend(int(child) for child in file.read_text(encoding="ascii").split())
    return found


class Pacer:
    """Paces the connected TCP sockets of a process, and of all that it started, to a total rate.

    Connections that have sent since the last look share the rate equally. One that begins to send has one, too.

    Parameters
    ----------
    process : int
        The number of the process.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._sent: dict[str, int] = {}

    def pace(self, rate_bps: float) -> int:
        """Look at all sockets and pace them to a total rate in bit/s; return how many share it.

        Raises
        ------
        PermissionError
            The kernel does not let this process look into the first one.
        """
        sockets = []
        for number in family_of(self._process):
            try:
                sockets += _connected(number)
            except PermissionError:
                # A program with other rights that it started, such as sudo, sends as it likes.
                if number == self._process:
                    raise
        try:
            sent = {name: _sent(copy) for name, copy in sockets}
            busy = sum(count > self._sent.get(name, 0) for name, count in sent.items())
            self._sent = sent
            share = int(rate_bps / 8.0 / max(busy, 1))
            for _, copy in sockets:
                # A socket may be closed by its peer at this moment.
                with suppress(OSError):
                    copy.setsockopt(socket.SOL_SOCKET, MAX_PACING_RATE, share.to_bytes(8, sys.byteorder))
            return busy
        finally:
            # The copies must not keep connections open.
            for _, copy in sockets:
                copy.close()


def _sent(connection: socket.socket) -> int:
    """Return how many bytes a connection has sent that have arrived."""
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, BYTES_ACKED + 8)
    except OSError:
        return 0
    return int.from_bytes(info[BYTES_ACKED:], sys.byteorder) if len(info) == BYTES_ACKED + 8 else 0


def _connected(process: int) -> list[tuple[str, socket.socket]]:
    """Return copies of the connected TCP sockets of a process, with their names; none if it has ended."""
    found: list[tuple[str, socket.socket]] = []
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return found
    try:
        for entry in Path(f"/proc/{process}/fd").iterdir():
            with suppress(FileNotFoundError):
                name = os.readlink(entry)
                if name.startswith("socket:") and (copy := _copy(handle, int(entry.name))) is not None:
                    found.append((name, copy))
    except FileNotFoundError:
        pass
    except PermissionError:
        # One that has ended is closed to everybody until its parent has heard of it.
        if not _has_ended(process):
            raise
    finally:
        os.close(handle)
    return found


def _has_ended(process: int) -> bool:
    """Whether a process has ended."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] in {"Z", "X"}


def _copy(handle: int, number: int) -> socket.socket | None:
    """Return a copy of a socket of another process, if it is connected by TCP."""
    descriptor = _libc.syscall(PIDFD_GETFD, handle, number, 0)
    if descriptor < 0:
        code = ctypes.get_errno()
        if code in (1, 13):
            raise PermissionError(code, os.strerror(code))
        return None
    copy = socket.socket(fileno=descriptor)
    try:
        is_tcp = copy.type == socket.SOCK_STREAM and copy.family in (socket.AF_INET, socket.AF_INET6)
        if is_tcp:
            copy.getpeername()
            return copy
    except OSError:
        pass
    copy.close()
    return None
