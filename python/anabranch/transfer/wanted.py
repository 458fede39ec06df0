"""The files that a fetch is for: of URLs, of the folder of a sharer, or of a Metalink file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anabranch import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

METALINKS = (".meta4", ".metalink")
"""Endings of the names of Metalink files."""


@dataclass(frozen=True)
class WantedFile:
    """A file to fetch: its name, the URLs of sharers and of web servers that have it, and what is known of it."""

    name: str | None
    sharers: list[str] = field(default_factory=list)
    mirrors: list[str] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    size_bytes: int | None = None
    pieces: tuple[str, int, list[str]] | None = None


@dataclass(frozen=True)
class WantedFiles:
    """All files of a fetch; ``folder`` is the name of the folder in which they belong together, if they do."""

    files: list[WantedFile]
    folder: str | None = None


def wanted_files(
    sources: Sequence[str],
    hashes: Sequence[str] = (),
    *,
    authorities: Path | None = None,
    via: Sequence[str] = (),
) -> WantedFiles:
    """Give the files that URLs and Metalink files mean, with these hashes.

    A URL of a sharer that names a folder, or nothing, means all files below, which the sharer lists.
    """
    if not sources:
        raise ValueError("a fetch needs the URL of a file")
    metalinks = [source for source in sources if is_metalink(source)]
    urls = [source for source in sources if source not in metalinks]
    for url in urls:
        _check_scheme(url)
    folders = [url for url in urls if _is_folder(url)]
    if folders:
        if len(folders) < len(sources):
            raise ValueError("the URL of a folder goes with those of the same folder at other sharers, and no others")
        if hashes:
            raise ValueError(f"`{folders[0]}` is a folder; a hash is that of one file")
        return _of_folder(folders, authorities, via)
    described = [row for source in metalinks for row in _described(source, authorities, via)]
    if len({row["name"] for row in described}) <= 1:
        return WantedFiles([_of_urls(urls, described, hashes)])
    if urls or hashes:
        raise ValueError(f"{metalinks[0]} describes {len(described)} files; fetch them without other URLs and hashes")
    return WantedFiles([_of_urls([], [row], []) for row in described], PurePosixPath(metalinks[0]).stem)


def is_metalink(source: str) -> bool:
    """Tell whether a source is a Metalink file, here or at a web server."""
    path = urlsplit(source).path if _core.is_web_url(source) else source
    return path.lower().endswith(METALINKS) and not source.startswith("anabranch://")


def _check_scheme(url: str) -> None:
    """Refuse what is no URL of a sharer or a web server by its beginning."""
    if not url.startswith("anabranch://") and not _core.is_web_url(url):
        raise ValueError(
            f"`{url}` cannot be fetched: it begins with none of http://, https:// and anabranch://, and is no Metalink "
            "file (.meta4); a URL is 'https://HOST/FILE' or 'anabranch://HOST:PORT/FILE?pin=FINGERPRINT', in quotes "
            "for the shell"
        )


def _is_folder(url: str) -> bool:
    if not url.startswith("anabranch://"):
        return False
    path = _core.url_path(url)
    return not path or path.endswith("/")


def _described(source: str, authorities: Path | None, via: Sequence[str]) -> list[dict[str, Any]]:
    """Read what a Metalink file says."""
    if _core.is_web_url(source):
        text = _core.small_web_file(source, authorities, via[0] if via else None)
    else:
        with Path(source).open("rb") as file:
            text = file.read()
    try:
        rows: list[dict[str, Any]] = _core.read_metalink(text)
    except ValueError as error:
        raise ValueError(f"{source} is not a Metalink file that can be used: {error}") from None
    for row in rows:
        if not row["urls"]:
            raise ValueError(f"{source}: `{row['name']}` has no mirror by http or https")
    return rows


def _of_urls(urls: Sequence[str], described: Sequence[dict[str, Any]], hashes: Sequence[str]) -> WantedFile:
    """Give the file of URLs, and of what Metalink files say of it."""
    sharers = [url for url in urls if not _core.is_web_url(url)]
    mirrors = [url for url in urls if _core.is_web_url(url)]
    mirrors += [url for row in described for url in row["urls"] if url not in mirrors]
    # The strongest hash of a Metalink file suffices; two files may have different ones, which contradict each other.
    strongest = dict.fromkeys([*hashes, *(row["hashes"][0] for row in described if row["hashes"])])
    for function, digits in (hash_.rpartition(":")[::2] for hash_ in strongest):
        if any(other.rpartition(":")[0] == function and other.rpartition(":")[2] != digits for other in strongest):
            raise ValueError(f"the hashes contradict each other: {' and '.join(strongest)}")
    sizes = {row["size"] for row in described if row["size"] is not None}
    if len(sizes) > 1:
        raise ValueError(f"the Metalink files contradict each other: a size of {' and one of '.join(map(str, sizes))}")
    named = described[0]["name"] if described else None
    return WantedFile(
        name=PurePosixPath(named).name if named else _core.url_name(urls[0]),
        sharers=sharers,
        mirrors=mirrors,
        hashes=list(strongest),
        size_bytes=next(iter(sizes), None),
        pieces=next((row["pieces"] for row in described if row["pieces"]), None),
    )


def _of_folder(urls: Sequence[str], authorities: Path | None, via: Sequence[str]) -> WantedFiles:
    """Give all files below a folder, which the first sharer that answers lists."""
    rows, prefix, failures = None, "", []
    for url in urls:
        prefix = _core.url_path(url)
        try:
            rows = _core.list_files(url, authorities, list(via))
            break
        except OSError as error:
            failures.append(f"{urlsplit(url).netloc}: {error}")
    if rows is None:
        raise OSError(f"no sharer lists its files: {'; '.join(failures)}")
    below = [(name[len(prefix) :], size) for name, size in rows if name.startswith(prefix)]
    if not below:
        raise OSError(f"there is no file below `{prefix or '/'}` at {urlsplit(urls[0]).netloc}")
    files = [
        WantedFile(name, [_core.url_with_name(url, _core.url_path(url) + name) for url in urls], size_bytes=size)
        for name, size in below
    ]
    return WantedFiles(files, PurePosixPath(prefix).name or urlsplit(urls[0]).hostname)


def target_of(file: WantedFile, to: str | os.PathLike[str] | None) -> Path:
    """Give the path of a fetched file: below `to` under its own name if that is a folder."""
    place = Path(to) if to is not None else Path()
    if to is None or place.is_dir():
        if file.name is None:
            source = (file.sharers + file.mirrors)[0]
            raise ValueError(f"`{source}` names no file; write its name after the last slash before `?`, or give --to")
        place = place / file.name
    if not place.parent.is_dir():
        raise ValueError(f"{place.parent}: there is no such folder; make it first")
    return place


def target_below(folder: Path, name: str) -> Path:
    """Give the path of a file of a folder, and make the folders on the way; none may be a link."""
    place = folder
    for part in ("", *PurePosixPath(name).parts[:-1]):
        place = place / part
        if place.is_symlink() and place != folder:
            raise OSError(
                f"{place} is a symbolic link, which is not written through; remove it, or choose another folder"
            )
        place.mkdir(exist_ok=True, parents=place == folder)
    return place / PurePosixPath(name).name
