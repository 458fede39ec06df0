"""Files fetched over several paths and from several sources at once: sharers and web servers."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.errors import NoLivePartError
from anabranch.transfer.fetched import Fetched, FetchState
from anabranch.transfer.files import check_groups, path_or_none
from anabranch.transfer.wanted import WantedFile, target_below, target_of, wanted_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LOOK_S = 0.1
"""The time between two looks at the progress of a fetch, in seconds."""


@dataclass(frozen=True)
class FetchOptions:
    """The ways to the servers of a fetch."""

    control: str = "lia"
    via: Sequence[str] = ()
    groups: Sequence[int] = ()
    authorities: Path | None = None
    patience_s: float = 60.0
    follow: Callable[[], Sequence[int]] | None = None
    """Gives the present groups, as many as there were."""
    limits: Sequence[Callable[[], float]] = ()
    """Each gives the most that a sharer may send, in bit/s."""
    logs: _core.Qlog | None = None
    """Where logs of connections are kept, if they are."""


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
    """Fetch a file from all servers that have it at once.

    Chunks from a sharer, and chunks from web servers beside one, are verified when they arrive, by the BLAKE3 hash of
    the file. From web servers alone the pieces of a Metalink file are verified when they arrive, or the whole file at
    the end by its hash. Received data stay on the disk: another call continues from there.

    Parameters
    ----------
    urls : sequence of str
        The addresses of the file: ``anabranch://HOST:PORT/NAME?pin=FINGERPRINT``, as :func:`share` and :func:`send`
        give it; URLs of web servers by http or https; and Metalink files, by their paths or URLs.
    to : path, optional
        A folder, or the name of a new file. By default the file's name in the present folder.
    control : str
        The window protocol (congestion control) of the paths from sharers. Web servers use that of their kernels.
    via : sequence of str
        Local addresses or interfaces, with a path over each; by default the system chooses one. ``"eth1=192.0.2.7"`` is
        a path to another address of the server than the URL's.
    groups : sequence of int
        The group of each path, as ``anabranch.TopologyManager`` finds groups of paths that share links; for NMCC. With
        several URLs one list for all of them, or the lists of all URLs one after the other.
    file_hash : str, optional
        The required hash of the file, if no URL has it: the 64 digits of BLAKE3, or ``"sha256:..."``, as well as md5,
        sha1, sha224, sha384, sha512 and blake3. Without any hash all servers must have the same file.
    authorities : path, optional
        A PEM file with the authorities that signed the certificates of sharers, instead of fingerprints in the URLs;
        for web servers they are trusted beside those of the system.
    patience_s : float
        The time without a reachable server after which the fetch ends.
    progress : callable, optional
        Called with the state of the fetch some times a second.

    Raises
    ------
    ValueError
        If an address, a name, a hash or a protocol is invalid, if hashes contradict each other, if a path has no group,
        if there are groups for a control that does not use them, or if the URLs are of several files.
    OSError
        If no server has the file or can be reached, if servers have different files and no hash says which is wanted,
        if the file has another hash than it must have, or if it cannot be written.
    """
    if not _core.HAS_LIVE:
        raise NoLivePartError
    hashes = [file_hash] if file_hash is not None else []
    wanted = wanted_files(urls, hashes, authorities=path_or_none(authorities), via=via)
    if wanted.folder is not None:
        raise ValueError(f"`{urls[0]}` means {len(wanted.files)} files; fetch_all fetches them")
    target = target_of(wanted.files[0], to)
    options = FetchOptions(control, via, groups, path_or_none(authorities), patience_s)
    return fetch_file(wanted.files[0], target, options, progress)


def fetch_all(
    urls: Sequence[str],
    to: str | os.PathLike[str] | None = None,
    *,
    control: str = "lia",
    via: Sequence[str] = (),
    groups: Sequence[int] = (),
    authorities: str | os.PathLike[str] | None = None,
    patience_s: float = 60.0,
    progress: Callable[[WantedFile, FetchState], None] | None = None,
) -> Iterator[Fetched]:
    """Fetch all files of a folder, or of a Metalink file, one after the other.

    Takes and raises what :func:`fetch` does, but `urls` are those of one folder at one or several sharers, and `to` is
    the folder into which the files go, by default a new one in the present folder. Files that are there already are
    verified and not fetched again.
    """
    if not _core.HAS_LIVE:
        raise NoLivePartError
    wanted = wanted_files(urls, authorities=path_or_none(authorities), via=via)
    folder = Path(to) if to is not None else Path(wanted.folder or "")
    options = FetchOptions(control, via, groups, path_or_none(authorities), patience_s)
    for file in wanted.files:
        assert file.name is not None

        def tell(state: FetchState, file: WantedFile = file) -> None:
            if progress is not None:
                progress(file, state)

        yield fetch_file(file, target_below(folder, file.name), options, tell)


def fetch_file(
    file: WantedFile, target: Path, options: FetchOptions, progress: Callable[[FetchState], None] | None = None
) -> Fetched:
    """Fetch one file to a path."""
    begin = time.monotonic()
    groups = _by_source(check_groups(options.groups), len(file.sharers), max(len(options.via), 1))
    running = _core.Fetch(
        list(zip(file.sharers, groups, strict=True)),
        file.mirrors,
        target,
        options.control,
        list(options.via),
        file.hashes,
        file.size_bytes if file.mirrors else None,
        file.pieces,
        options.authorities,
        float(options.patience_s),
        options.logs,
    )
    last = begin
    if options.limits and len(options.limits) != len(file.sharers):
        raise ValueError("granted rates are for sharers; web servers send at the rates of their kernels")

    def keep() -> None:
        for source, limit in enumerate(options.limits):
            running.limit(source, limit())
        if options.follow is not None:
            present = _by_source(list(options.follow()), len(file.sharers), max(len(options.via), 1))
            for source, groups in enumerate(present):
                running.regroup(source, groups)

    try:
        keep()
        while (outcome := running.wait()) is None:
            keep()
            if progress is not None and time.monotonic() - last >= LOOK_S:
                last = time.monotonic()
                progress(FetchState(last - begin, *running.state()))
    finally:
        # A fetch that is stopped tells its last state, too.
        running.stop()
        state = FetchState(time.monotonic() - begin, *running.state())
        if progress is not None:
            progress(state)
    hashes, (proof, given), size, was_there = outcome
    by_function = dict(hash_.split(":", 1) for hash_ in hashes)
    return Fetched(target, by_function, proof, size, was_there, state, given)


def _by_source(groups: list[int], sources: int, paths: int) -> list[list[int]]:
    """Give the groups of the paths to each sharer."""
    if groups and sources == 0:
        raise ValueError("groups are for paths from sharers; web servers use the control of their kernels")
    if len(groups) == sources * paths:
        return [groups[source * paths :][:paths] for source in range(sources)]
    if len(groups) in {0, paths}:
        return [groups] * sources
    wanted = f"{paths}" if sources == 1 else f"{paths} for all URLs or {sources * paths} for one after the other"
    raise ValueError(f"groups has {len(groups)} numbers; one for each path is needed: {wanted}")
