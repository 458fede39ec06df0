"""Files shared with other machines, over several paths, under the controls that the simulator runs."""

from __future__ import annotations

import math
import os
import socket
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.errors import NoLivePartError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

PORT = 4433
"""The UDP port of sharers."""

MOST_GROUP = 2**32 - 1
"""The greatest number of a group of paths."""


def check_groups(groups: Sequence[int]) -> list[int]:
    """Give the groups of paths, if they are numbers of groups."""
    for group in groups:
        if not 0 <= group <= MOST_GROUP:
            raise ValueError(f"{group} is no number of a group of paths; one is a whole number from 0 to {MOST_GROUP}")
    return list(groups)


def share(
    path: str | os.PathLike[str],
    *,
    listen: Sequence[str] = (f"0.0.0.0:{PORT}",),
    host: str | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    ready: Callable[[str], None] | None = None,
    served: Callable[[str, int], None] | None = None,
    limit: Callable[[], float] | None = None,
) -> None:
    """Share the files of a directory, or one file, read-only, until Ctrl-C.

    A single file is read completely at first: its URL has its hash, so that nobody can fetch another file by this URL.

    Parameters
    ----------
    path : path
        Nothing outside of the directory is served, whatever names or links say, and nothing beside a file.
    listen : sequence of str
        Local ``ADDRESS:PORT`` to listen at; the first is in the URL, and port 0 means any free port.
    host : str, optional
        The name or address in the URL, instead of the first of `listen`.
    certificate, key : path, optional
        PEM files with the certificate of the server and its key. By default a certificate that was made for this user.
    ready : callable, optional
        Called with the URL once there is one. The URL of a directory ends with a slash before its question mark, which
        names of files follow.
    served : callable, optional
        Called for each connection that has ended, with its address and the bytes that it took.
    limit : callable, optional
        Asked some times a second for the most that all connections together may send, in bit/s with the headers of IP
        and UDP.

    Raises
    ------
    ValueError
        If an address, the certificate or the name of the file is invalid.
    OSError
        If the path or the sockets cannot be opened, or one file changes while it is read.
    """
    with closing(_share(path, listen, host, certificate, key, ready, served, limit)) as connections:
        for _ in connections:
            pass


def send(
    file: str | os.PathLike[str],
    *,
    listen: Sequence[str] = (f"0.0.0.0:{PORT}",),
    host: str | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    ready: Callable[[str], None] | None = None,
    served: Callable[[str, int], None] | None = None,
    limit: Callable[[], float] | None = None,
) -> None:
    """Share one file until somebody has fetched it whole, or Ctrl-C, which is a ``KeyboardInterrupt``.

    Takes and raises what :func:`share` does; a folder, a pipe or a device is a ``ValueError``.
    """
    if Path(file).exists() and not Path(file).is_file():
        raise ValueError(f"{file} is no regular file; write it to one first, or share the folder")
    with closing(_share(file, listen, host, certificate, key, ready, served, limit)) as connections:
        any(connections)


def _share(
    path: str | os.PathLike[str],
    listen: Sequence[str],
    host: str | None,
    certificate: str | os.PathLike[str] | None,
    key: str | os.PathLike[str] | None,
    ready: Callable[[str], None] | None,
    served: Callable[[str, int], None] | None,
    limit: Callable[[], float] | None,
) -> Generator[bool]:
    """Share until this is closed; give of each connection that has ended whether it has a file whole now."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    if (certificate is None) != (key is None):
        raise ValueError("a certificate and its key go together; give both, or neither")
    if host is None and listen:
        host = _reached_at(listen[0])
    identity = path_or_none(certificate) or identity_file()
    most_bps = math.inf if limit is None else limit()
    running = _core.Share(Path(path), list(listen), identity, path_or_none(key), host, most_bps)
    try:
        while True:
            if limit is not None:
                running.limit(limit())
            url, ended = running.wait() or (None, None)
            if url is not None and ready is not None:
                ready(url)
            if ended is not None:
                address, taken, has_file = ended
                if served is not None:
                    served(address, taken)
                yield has_file
    finally:
        running.stop()


def path_or_none(path: str | os.PathLike[str] | None) -> Path | None:
    """Give a path, if there is one."""
    return None if path is None else Path(path)


def identity_file() -> Path:
    """Give the path of the certificate of this user."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(home) / "anabranch" / "identity.pem"


def metered_file() -> Path:
    """Give the path of the file in which a proxy of this user keeps what metered lines have carried."""
    return identity_file().with_name("metered.json")


def _reached_at(listen: str) -> str | None:
    """Give the address by which others reach this machine, if `listen` is all of its addresses."""
    if not listen.startswith(("0.0.0.0:", "[::]:")):
        return None
    family, remote = (socket.AF_INET, "192.0.2.1") if listen[0] == "0" else (socket.AF_INET6, "2001:db8::1")
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            # Nothing is sent: the system only says from where it would be.
            probe.connect((remote, PORT))
        except OSError:
            return "127.0.0.1" if family == socket.AF_INET else "::1"
        return str(probe.getsockname()[0])
