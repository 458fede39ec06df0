"""The runs in a folder: found, listed, and prepared for the page."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.allocation.saved import holds_allocation
from anabranch.errors import ScenarioError
from anabranch.page import read_folder, shown_content
from anabranch.runs.table_files import ALL_TABLES, tables_listed
from anabranch.serve.child import done
from anabranch.serve.models import RunFacts, RunList, Unreadable
from anabranch.serve.names import address, place
from anabranch.serve.scenarios import first_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anabranch.serve.child import Teller

DEEPEST = 4
"""Folders within folders that are searched."""

MOST_FOLDERS = 5_000
"""More are not searched."""

MOST_HELD_BYTES = 256 << 20
MOST_HELD = 64
"""Runs made ready are held up to this size and number, the last ones that were asked for."""

MOST_META_BYTES = 16 << 20

LEVEL = 4
"""The level of compression; a higher level takes several times as long and saves a few per cent."""

MOST_S = 120.0
REMEDY = "look at it by `anabranch report`, or record less"
"""The most seconds that it may take to make a run ready, and what would do instead."""

META, MACHINE, SCENARIO = "meta.json", "machine.json", "scenario.toml"
ALLOCATED, OF_ALLOCATIONS = ("connections", "subflows", "links"), ("nodes", "paths")
FILES = (META, MACHINE, SCENARIO, *(f"{table}.parquet" for table in (*ALL_TABLES, *OF_ALLOCATIONS)))

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Prepared:
    """The compressed header and blob of a run, for the page."""

    etag: str
    header: bytes
    blob: bytes


@dataclass
class Runs:
    """The known runs of a folder.

    Attributes
    ----------
    root : Path
    listed : dict
        Of each folder what was found when it was as its stamp says.
    held : dict
        Runs made ready, by address, in the order in which they were last asked for.
    """

    root: Path
    listed: dict[str, tuple[Stamp, RunFacts | Unreadable]] = field(default_factory=dict)
    held: OrderedDict[str, Prepared] = field(default_factory=OrderedDict)
    lock: Lock = field(default_factory=Lock)
    preparing: Lock = field(default_factory=Lock)

    def list(self) -> RunList:
        """Give all runs, the newest first, and the folders that cannot be shown with their reason."""
        found: list[RunFacts | Unreadable] = []
        whole, known = True, {}
        for number, folder in enumerate(_folders(self.root)):
            if number >= MOST_FOLDERS:
                whole = False
                break
            parts = folder.relative_to(self.root).parts
            own = address(parts)
            stamp = _stamp(folder)
            before = self.listed.get(own)
            facts = before[1] if before is not None and before[0] == stamp else self._look(folder, parts)
            known[own] = (stamp, facts)
            found.append(facts)
        self.listed = known
        runs = sorted((f for f in found if isinstance(f, RunFacts)), key=lambda f: (-f.written, f.folder))
        unreadable = [f for f in found if isinstance(f, Unreadable)]
        return RunList(folder=_shown(str(self.root)), runs=runs, unreadable=unreadable, whole=whole)

    def etag(self, id: str) -> str | None:
        """Give a tag that changes with the run; nothing if there is no folder of that id."""
        folder = place(self.root, id)
        if folder is None or not folder.is_dir():
            return None
        return f'W/"{hashlib.sha256(repr((id, _stamp(folder))).encode()).hexdigest()[:24]}"'

    def prepared(self, id: str, etag: str) -> Prepared:
        """Give a prepared run for the page.

        Raises
        ------
        ScenarioError
            It is no run, or a broken one.
        """
        with self.lock:
            known = self.held.get(id)
            if known is not None and known.etag == etag:
                self.held.move_to_end(id)
                return known
        # One at a time: each may take as much memory as its tables.
        with self.preparing:
            known = self.held.get(id)
            if known is not None and known.etag == etag:
                return known
            made = done(prepare, self.root, id, etag, most_s=MOST_S, remedy=REMEDY)
        with self.lock:
            self.held[id] = made
            self.held.move_to_end(id)
            while len(self.held) > 1 and (len(self.held) > MOST_HELD or self._held_bytes() > MOST_HELD_BYTES):
                self.held.popitem(last=False)
        return made

    def _held_bytes(self) -> int:
        return sum(len(run.header) + len(run.blob) for run in self.held.values())

    def _look(self, folder: Path, parts: tuple[str, ...]) -> RunFacts | Unreadable:
        shown = _shown("/".join(parts)) or "."
        try:
            with _broken(folder, shown):
                _check_files(folder)
                return _facts(folder, address(parts), shown)
        except ScenarioError as error:
            return Unreadable(folder=shown, reason=_shown(str(error)))


def prepare(_teller: Teller, root: Path, id: str, etag: str) -> Prepared:
    """Prepare a run for the page, in a child process, since it may take as much memory as its tables.

    Raises
    ------
    ScenarioError
        It is no run, or a broken one.
    """
    folder = place(root, id)
    if folder is None:
        raise ScenarioError("it was there a moment ago; look at the list again")
    with _broken(folder, "/".join(folder.relative_to(root).parts)):
        _check_files(folder)
        name = folder.relative_to(root).as_posix() if folder != root else folder.name
        content = shown_content(read_folder(folder), name=_shown(name))
        header = json.dumps(content.header, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        blob = gzip.compress(content.blob(), LEVEL, mtime=0)
        return Prepared(etag, gzip.compress(header.encode(), LEVEL, mtime=0), blob)


class _broken:  # noqa: N801
    """Turns whatever a broken run raises into one kind of error."""

    def __init__(self, folder: Path, shown: str) -> None:
        self.folder, self.shown = folder, shown

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        # Polars tells of a broken file by a panic too, which is no Exception.
        if error is None or isinstance(error, KeyboardInterrupt | SystemExit):
            return
        reason = str(error).replace(str(self.folder), self.shown)
        if isinstance(error, ScenarioError):
            raise ScenarioError(reason) from error
        if isinstance(error, MemoryError):
            raise ScenarioError(f"it takes more memory than is free; {REMEDY}") from error
        words = " ".join(reason.split())[:300] or type(error).__name__
        raise ScenarioError(f"it is no whole result of a run ({words}); run the scenario again") from error


def _folders(root: Path) -> Iterator[Path]:
    """Give folders that have a run, and those that have nothing in them that could hold one; no links, none hidden."""
    if (root / META).exists():
        yield root
        return
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        inner = _inner(folder) if depth < DEEPEST else []
        if depth and ((folder / META).is_file() or not inner):
            yield folder
        else:
            waiting += [(folder / name, depth + 1) for name in reversed(inner)]


def _inner(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if not e.name.startswith(".") and e.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _stamp(folder: Path) -> Stamp:
    """Give what tells whether files of a run have changed: names, times, sizes."""
    found = []
    for name in FILES:
        try:
            stat = (folder / name).stat()
        except OSError:
            continue
        found.append((name, stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def _check_files(folder: Path) -> None:
    """Make sure that it is a folder of a run, with ordinary files that lie in it."""
    if not os.access(folder, os.R_OK | os.X_OK):
        raise ScenarioError("it may not be read; check the rights")
    if not os.path.lexists(folder / META):
        raise ScenarioError("it has no meta.json; name a folder of what `run --out` or `solve --out` wrote")
    for name in FILES:
        file = folder / name
        if os.path.lexists(file) and (file.is_symlink() or not file.is_file()):
            raise ScenarioError(f"{name} is no ordinary file in this folder; copy the run here instead")
    for name in (META, MACHINE):
        if (folder / name).exists() and (folder / name).stat().st_size > MOST_META_BYTES:
            raise ScenarioError(f"{name} has more than {MOST_META_BYTES >> 20} MiB; run the scenario again")


def _facts(folder: Path, id: str, shown: str) -> RunFacts:
    meta: dict[str, Any] = json.loads((folder / META).read_text(encoding="utf-8"))
    if holds_allocation(folder):
        return _allocation_facts(folder, meta, id, shown)
    if isinstance(meta, dict) and "summary" in meta and "seed" not in meta:
        raise ScenarioError("it is an allocation without paths.parquet; solve the network again")
    protocols = pl.read_parquet(folder / "connections.parquet", glob=False, columns=["protocol"])["protocol"]
    tables = tables_listed(meta, lambda table: (folder / f"{table}.parquet").is_file())
    for name in (SCENARIO, *(f"{table}.parquet" for table in tables)):
        if not (folder / name).is_file():
            raise ScenarioError(f"it has no {name}; run the scenario again")
    return RunFacts(
        id=id,
        kind="run",
        folder=shown,
        protocols=protocols.unique(maintain_order=True).to_list(),
        connections=len(protocols),
        warnings=len(meta["warnings"]),
        written=(folder / META).stat().st_mtime,
        description=first_sentence(description) if isinstance(description := meta.get("description"), str) else "",
        bytes=_bytes(folder),
        **{fact: meta[fact] for fact in ("title", "seed", "duration_s", "reached_s", "finished", "events")},
    )


def _allocation_facts(folder: Path, meta: dict[str, Any], id: str, shown: str) -> RunFacts:
    for name in (*ALLOCATED, *OF_ALLOCATIONS):
        if not (folder / f"{name}.parquet").is_file():
            raise ScenarioError(f"it has no {name}.parquet; solve the network again")
    summary = meta["summary"]
    return RunFacts(
        id=id,
        kind="allocation",
        folder=shown,
        title=f"{meta['title']}, {summary['fairness']}" if meta["title"] else summary["fairness"],
        protocols=[summary["method"]],
        connections=pl.scan_parquet(folder / "connections.parquet", glob=False).select(pl.len()).collect().item(),
        warnings=0 if summary["certified"] else 1,
        written=(folder / META).stat().st_mtime,
        bytes=_bytes(folder),
        finished=True,
    )


def _bytes(folder: Path) -> int:
    """Give the size of the files in a folder."""
    with os.scandir(folder) as entries:
        return sum(e.stat(follow_symlinks=False).st_size for e in entries if e.is_file(follow_symlinks=False))


def _shown(text: str) -> str:
    """Give a text that can be sent: names of folders may have bytes that are no letters."""
    return text.encode("utf-8", "replace").decode()
