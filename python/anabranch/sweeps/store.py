"""The folder of a sweep: a complete folder for each run, and a journal of finished runs.

::

    runs/1f2e3d4c5b6a79880102/     what `Result.write` writes, named by scenario and code
    failed/0a1b2c3d4e5f.json       why a run failed
    journal.jsonl                  a line for each run that is there: for which values it was made, and its digest
    points.parquet                 the values of each point
    tables/000001/                 tables of many runs together
    sweep.toml                     the file of the sweep
"""

from __future__ import annotations

import io
import json
import os
import secrets
import shutil
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch import _core
from anabranch.errors import ScenarioError, StorageError
from anabranch.folder import put_file
from anabranch.runs.result import read_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover: there is none on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"

FOLDERS = ("runs", "failed", "tables", "summary")

ALWAYS_TOGETHER = ("runs", "connections", "subflows", "links")
"""The tables that there are of any runs together."""

DIGEST, DIGEST_BYTES = "digest", 16
"""The file beside tables of many runs together that has their digest."""

ASIDE = "."
"""The beginning of the names of folders that are not yet complete."""


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """Give the folder of a sweep for writing, locked against other writers.

    Raises
    ------
    ScenarioError
        It cannot be made, holds something else, or another sweep writes to it.
    """
    try:
        if folder.exists() and not _may_hold_a_sweep(folder):
            raise ScenarioError(f"{folder}: something else is there; name a new folder, or that of a sweep")
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("a+", encoding="utf-8")
        for own in FOLDERS:
            (folder / own).mkdir(exist_ok=True)
    except OSError as error:
        raise ScenarioError(f"{folder}: it cannot be made ({error.strerror}); name a folder that can") from error
    with lock:
        _lock(lock, folder)
        store = Store(folder)
        store.sweep_up()
        with closing(store):
            yield store


def _may_hold_a_sweep(folder: Path) -> bool:
    """Tell whether a folder is empty, or has what only sweeps write."""
    if not folder.is_dir():
        return False
    names = {entry.name for entry in _entries(folder)}
    return not names or bool(names & {LOCK, "journal.jsonl", "sweep.toml"})


def _lock(lock: Any, folder: Path) -> None:
    """Take the lock; it falls with the process, however that ends."""
    if fcntl is None:  # pragma: no cover
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.seek(0)
        owner = lock.read().strip() or "unknown"
        raise ScenarioError(
            f"{folder}: another sweep writes there (process {owner}); wait for its end, or name another folder"
        ) from error
    except OSError:  # a file system without locks
        return
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()


class Store:
    """The contents of the folder of a sweep.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.failed = folder / "failed"
        self.journal = folder / "journal.jsonl"
        self._journal: io.FileIO | None = None

    def sweep_up(self) -> None:
        """Remove what a process left unfinished that was ended from outside, and tables that are not as written."""
        for place in (self.folder, *(self.folder / own for own in FOLDERS)):
            for entry in _entries(place):
                is_aside = entry.name.startswith(ASIDE) and entry.name != LOCK
                if is_aside and entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                elif is_aside or entry.name.endswith(".part"):
                    with suppress(OSError):
                        os.unlink(entry.path)
        for own in tables_folders(self.folder):
            if not (is_whole_of_many(own) and _is_as_written(own)):
                shutil.rmtree(own, ignore_errors=True)

    def names(self) -> set[str]:
        """Give the names of all runs that are there."""
        if not self.runs.is_dir():
            return set()
        return {entry.name for entry in _entries(self.runs) if not entry.name.startswith(ASIDE)}

    def place(self, run: str) -> Path:
        """Give the folder of a run."""
        return self.runs / run

    def size(self, run: str) -> int:
        """Give how many bytes the files of a run have; -1 if it is not there."""
        try:
            return sum(entry.stat().st_size for entry in _entries(self.place(run)))
        except OSError:
            return -1

    def digest(self, run: str) -> str:
        """Give the digest of the files of a run; empty if they cannot be read."""
        place = self.place(run)
        try:
            return digest_of({entry.name: (place / entry.name).read_bytes() for entry in _entries(place)})
        except OSError:
            return ""

    def is_whole(self, run: str) -> bool:
        """Tell whether a run is there; one that a crash of the machine has left with broken files is removed.

        Raises
        ------
        StorageError
            It cannot be read, whatever it holds.
        """
        place = self.place(run)
        if not place.is_dir():
            return False
        try:
            read_result(place)
        except ScenarioError as error:
            if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError):
                raise StorageError(
                    f"{place}: it cannot be read ({error.__cause__.strerror}); mend that first"
                ) from error
            self.remove(run)
            return False
        return True

    def remove(self, run: str) -> None:
        """Remove a run."""
        shutil.rmtree(self.place(run), ignore_errors=True)

    def put(self, run: str, files: Mapping[str, bytes]) -> bool:
        """Write a run aside and give it its name; tell whether that was done, or it was there already.

        Raises
        ------
        StorageError
            It cannot be written; nothing is left of it.
        """
        return self._put_folder(self.runs / run, files)

    def _put_folder(self, place: Path, files: Mapping[str, bytes]) -> bool:
        aside = place.parent / f"{ASIDE}{secrets.token_hex(8)}"
        try:
            return _core.put_folder(str(aside), str(place), list(files.items()))
        except OSError as error:
            raise self._storage_error(error) from error

    def _storage_error(self, error: OSError) -> StorageError:
        return StorageError(
            f"{self.folder}: it cannot be written ({error.strerror or error}); what was done before is whole: make "
            "room or mend the rights, and start the sweep again to go on"
        )

    def put_tables(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Write tables of many runs together, as a new folder."""
        numbers = [int(entry.name) for entry in _entries(self.folder / "tables") if entry.name.isdigit()]
        place = self.folder / "tables" / f"{max(numbers, default=0) + 1:06}"
        files = {f"{name}.parquet": _parquet(frame) for name, frame in tables.items()}
        self._put_folder(place, {**files, DIGEST: digest_of(files).encode()})

    def put_frame(self, name: str, frame: pl.DataFrame) -> None:
        """Write a table whole, in place of one that is there.

        Raises
        ------
        StorageError
            It cannot be written.
        """
        aside = self.folder / f"{name}.part"
        try:
            aside.write_bytes(_parquet(frame))
            aside.replace(self.folder / name)
        except OSError as error:
            raise self._storage_error(error) from error

    def put_text(self, name: str, text: str) -> None:
        """Write a file whole.

        Raises
        ------
        StorageError
            It cannot be written.
        """
        try:
            put_file(text, self.folder / name)
        except ScenarioError as error:
            raise StorageError(str(error)) from error

    def note(self, line: Mapping[str, Any]) -> None:
        """Add a line to the journal.

        Raises
        ------
        StorageError
            It cannot be written.
        """
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"
        try:
            if self._journal is None:
                self._journal = _open_at_line(self.journal)
            self._journal.write(text.encode())
        except OSError as error:
            raise self._storage_error(error) from error

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()

    def lines(self) -> Iterator[dict[str, Any]]:
        """Give the lines of the journal; one that was broken off is left out."""
        if not self.journal.is_file():
            return
        with self.journal.open("rb") as file:
            for line in file:
                try:
                    own = json.loads(line)
                except ValueError:
                    continue
                kinds = {"key": str, "run": str, "bytes": int, "files": dict}
                if isinstance(own, dict) and all(isinstance(own.get(name), kind) for name, kind in kinds.items()):
                    yield own

    def note_failure(self, key: str, failure: Mapping[str, Any]) -> None:
        """Keep the reason of a failed run."""
        self.put_text(f"failed/{key}.json", json.dumps(failure, indent=1, ensure_ascii=False) + "\n")

    def forget_failure(self, key: str) -> None:
        """Forget that a run failed, now that it has not."""
        (self.failed / f"{key}.json").unlink(missing_ok=True)

    def keep_failures(self, keys: set[str]) -> None:
        """Forget all failures but those of these keys: the others are of values that are no longer asked for."""
        for entry in _entries(self.failed):
            if entry.name.removesuffix(".json") not in keys:
                self.forget_failure(entry.name.removesuffix(".json"))

    def failures(self) -> dict[str, dict[str, Any]]:
        """Give the failures of runs, by key."""
        found = {}
        if self.failed.is_dir():
            for entry in sorted(_entries(self.failed), key=lambda entry: entry.name):
                with suppress(OSError, ValueError), open(entry.path, encoding="utf-8") as file:
                    failure = json.load(file)
                    if isinstance(failure, dict):
                        found[entry.name.removesuffix(".json")] = failure
        return found


def digest_of(files: Mapping[str, bytes]) -> str:
    """Give a digest of files: of their names and contents."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    for name in sorted(files):
        digest.update(blake2b(name.encode(), digest_size=DIGEST_BYTES).digest())
        digest.update(blake2b(files[name], digest_size=DIGEST_BYTES).digest())
    return digest.hexdigest()


def _is_as_written(folder: Path) -> bool:
    """Tell whether tables of many runs together have the digest that they were written with, if they were with one."""
    try:
        if not (folder / DIGEST).is_file():
            return True
        files = {entry.name: (folder / entry.name).read_bytes() for entry in _entries(folder) if entry.name != DIGEST}
        return (folder / DIGEST).read_text(encoding="utf-8", errors="replace") == digest_of(files)
    except OSError:
        return False


def tables_folders(folder: Path) -> list[Path]:
    """Give the folders of tables of many runs together, in their order."""
    place = folder / "tables"
    names = sorted(entry.name for entry in _entries(place) if entry.name.isdigit()) if place.is_dir() else []
    return [place / name for name in names]


def is_whole_of_many(folder: Path) -> bool:
    """Tell whether a folder has all tables of many runs together, each with its end."""
    try:
        return all(pl.read_parquet_schema(folder / f"{name}.parquet") for name in ALWAYS_TOGETHER)
    except (OSError, pl.exceptions.PolarsError):
        return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def _parquet(frame: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    frame.write_parquet(content)
    return content.getvalue()


def _open_at_line(file: Path) -> io.FileIO:
    """Open a file to add lines, without a buffer: a line that was broken off must not swallow the next."""
    stream = io.FileIO(file, "ab+")
    if stream.tell():
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) != b"\n":
            stream.write(b"\n")
    return stream
