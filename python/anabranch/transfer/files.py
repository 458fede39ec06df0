"""Files moved over several paths and from several sources at once, under the controls that the simulator runs."""

from __future__ import annotations

import os
import socket
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch import _core
from anabranch.errors import NoLivePartError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

PORT = 4433
"""The UDP port of sharers."""

MOST_GROUP = 2**32 - 1
"""The greatest number of a group of paths."""

LOOK_S = 0.1
"""The time between two looks at the progress of a fetch, in seconds."""


@dataclass(frozen=True)
class FetchState:
    """The progress of a fetch.

    ``sources`` has a row for each: ``source``, its address; ``standing``, one of awaited, preparing, waiting for what
    others have, sending, lost and refused; ``why`` of the last two; ``brought_bytes``; and ``paths``, a row for each:
    ``path``, ``is_open``, ``received_bytes`` with all that is sent beside the file, ``rtt_s``.
    """

    time_s: float
    size_bytes: int | None
    was_there_bytes: int
    sources: list[dict[str, Any]]

    @property
    def brought_bytes(self) -> int:
        """The bytes of the file that arrived and were verified."""
        brought: int = sum(source["brought_bytes"] for source in self.sources)
        return brought

    @property
    def there_bytes(self) -> int:
        """The bytes of the file that are on the disk."""
        return self.was_there_bytes + self.brought_bytes


@dataclass(frozen=True)
class Fetched:
    """A file that was fetched: ``hash`` is the hash that ``b3sum`` prints, ``state`` the state at the end."""

    path: Path
    hash: str
    size_bytes: int
    was_there_bytes: int
    state: FetchState

    @property
    def rate_bps(self) -> float:
        """The throughput of the missing part, in bits of the file per second."""
        return 8 * (self.size_bytes - self.was_there_bytes) / max(self.state.time_s, 1e-9)


def fetch(
    urls: Sequence[str],
    to: str | os.PathLike[str] | None = None,
    *,
    control: str = "lia",
    via: Sequence[str] = (),
    groups: Sequence[int] = (),
    file_hash: str | None = None,
    authorities: str | os.PathLike[str] | None = None,
    patience_s: float = 60.0,
    progress: Callable[[FetchState], None] | None = None,
) -> Fetched:
    """Fetch a file from all servers that share it at once.

    Every chunk is verified when it arrives, by the BLAKE3 hash of the file. Received data stay on the disk: another
    call continues from there.

    Parameters
    ----------
    urls : sequence of str
        The addresses of the file: ``anabranch://HOST:PORT/NAME?pin=FINGERPRINT``, as :func:`share` and :func:`send`
        give it.
    to : path, optional
        A folder, or the name of a new file. By default the file's name in the present folder.
    control : str
        The window protocol (congestion control) of the servers' paths.
    via : sequence of str
        Local addresses or interfaces, with a path over each; by default the system chooses one. ``"eth1=192.0.2.7"`` is
        a path to another address of the server than the URL's.
    groups : sequence of int
        The group of each path, as ``anabranch.TopologyManager`` finds groups of paths that share links; for NMCC. With
        several URLs one list for all of them, or the lists of all URLs one after the other.
    file_hash : str, optional
        The required hash of the file, if no URL has it. Without any hash all servers must have the same file.
    authorities : path, optional
        A PEM file with the authorities that signed the servers' certificates, instead of fingerprints in the URLs.
    patience_s : float
        The time without a reachable server after which the fetch ends.
    progress : callable, optional
        Called with the state of the fetch some times a second.

    Raises
    ------
    ValueError
        If an address, a name or a protocol is invalid, if hashes contradict each other, if a path has no group, or if
        there are groups for a control that does not use them.
    OSError
        If no server has the file or can be reached, if servers have different files and no hash says which is wanted,
        or if the file cannot be written.
    """
    if not _core.HAS_LIVE:
        raise NoLivePartError
    if not urls:
        raise ValueError("a fetch needs the URL of a sharer")
    target = _target(urls[0], to)
    begin = time.monotonic()
    running = _core.Fetch(
        list(zip(urls, _by_source(check_groups(groups), len(urls), max(len(via), 1)), strict=True)),
        target,
        control,
        list(via),
        file_hash,
        _path(authorities),
        float(patience_s),
    )
    last = begin
    try:
        while (outcome := running.wait()) is None:
            if progress is not None and time.monotonic() - last >= LOOK_S:
                last = time.monotonic()
                progress(FetchState(last - begin, *running.state()))
    finally:
        running.stop()
    state = FetchState(time.monotonic() - begin, *running.state())
    if progress is not None:
        progress(state)
    found, size, was_there, _ = outcome
    return Fetched(target, found, size, was_there, state)


def check_groups(groups: Sequence[int]) -> list[int]:
    """Give the groups of paths, if they are numbers of groups."""
    for group in groups:
        if not 0 <= group <= MOST_GROUP:
            raise ValueError(f"{group} is no number of a group of paths; one is a whole number from 0 to {MOST_GROUP}")
    return list(groups)


def _by_source(groups: list[int], sources: int, paths: int) -> list[list[int]]:
    """Give the groups of the paths to each source."""
    if len(groups) == sources * paths:
        return [groups[source * paths :][:paths] for source in range(sources)]
    if len(groups) in {0, paths}:
        return [groups] * sources
    wanted = f"{paths}" if sources == 1 else f"{paths} for all URLs or {sources * paths} for one after the other"
    raise ValueError(f"groups has {len(groups)} numbers; one for each path is needed: {wanted}")


def share(
    path: str | os.PathLike[str],
    *,
    listen: Sequence[str] = (f"0.0.0.0:{PORT}",),
    host: str | None = None,
    certificate: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    ready: Callable[[str], None] | None = None,
    served: Callable[[str, int], None] | None = None,
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
        Called with the URL once there is one; append the name of a file of the directory after its slash.
    served : callable, optional
        Called for each connection that has ended, with its address and the bytes that it took.

    Raises
    ------
    ValueError
        If an address, the certificate or the name of the file is invalid.
    OSError
        If the path or the sockets cannot be opened, or one file changes while it is read.
    """
    with closing(_share(path, listen, host, certificate, key, ready, served)) as connections:
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
) -> None:
    """Share one file until somebody has fetched it whole, or Ctrl-C, which is a ``KeyboardInterrupt``.

    Takes and raises what :func:`share` does; a folder, a pipe or a device is a ``ValueError``.
    """
    if Path(file).exists() and not Path(file).is_file():
        raise ValueError(f"{file} is no regular file; write it to one first, or share the folder")
    with closing(_share(file, listen, host, certificate, key, ready, served)) as connections:
        any(connections)


def _share(
    path: str | os.PathLike[str],
    listen: Sequence[str],
    host: str | None,
    certificate: str | os.PathLike[str] | None,
    key: str | os.PathLike[str] | None,
    ready: Callable[[str], None] | None,
    served: Callable[[str, int], None] | None,
) -> Generator[bool]:
    """Share until this is closed; give of each connection that has ended whether it has a file whole now."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    if (certificate is None) != (key is None):
        raise ValueError("a certificate and its key go together; give both, or neither")
    if host is None and listen:
        host = _reached_at(listen[0])
    identity = _path(certificate) or _identity()
    running = _core.Share(Path(path), list(listen), identity, _path(key), host)
    try:
        while True:
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


def _path(path: str | os.PathLike[str] | None) -> Path | None:
    return None if path is None else Path(path)


def _target(url: str, to: str | os.PathLike[str] | None) -> Path:
    """Give where the file is to be: below `to` under its own name if that is a folder."""
    name = _core.url_name(url)
    place = Path(to) if to is not None else Path()
    if to is None or place.is_dir():
        if name is None:
            raise ValueError(f"`{url}` names no file; write its name after the last slash before `?`")
        place = place / name
    if not place.parent.is_dir():
        raise ValueError(f"{place.parent}: there is no such folder; make it first")
    return place


def _identity() -> Path:
    """Give where who this user is as a sharer is kept."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(home) / "anabranch" / "identity.pem"


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
