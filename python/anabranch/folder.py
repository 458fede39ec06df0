"""Result folders and files: written aside, renamed when complete."""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

ROOM = "make room, and do it again"

OF_DISK = {
    errno.ENOSPC: ROOM,
    errno.EDQUOT: ROOM,
    errno.EIO: "the disk may be broken, so name a place on another",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), or name a place on another disk",
}
"""The faults of a disk, none of what is asked for, and what would do."""


def check_place(file: Path) -> None:
    """Make sure, before the work begins, that a file or folder can be put at its place once its folders are made.

    That is tried with a folder beside it: rights alone do not tell, as in ``/proc``.

    Raises
    ------
    ScenarioError
        Something on the way is no folder, or may not be written to.
    """
    place = file.absolute()
    there = next(folder for folder in place.parents if os.path.lexists(folder))
    remedy = "name a place in a folder that you may write to"
    try:
        with tempfile.TemporaryDirectory(prefix=".anabranch.", dir=there) as aside:
            remedy = "choose another name"
            (Path(aside) / place.relative_to(there)).mkdir(parents=True)
    except NotADirectoryError as error:
        raise ScenarioError(f"{file}: it cannot be put there, since {there} is no folder; {remedy}") from error
    except OSError as error:
        remedy = OF_DISK.get(error.errno or 0, remedy)
        reason = f"the system refuses to make it in {there} ({error.strerror})"
        raise ScenarioError(f"{file}: it cannot be put there, since {reason}; {remedy}") from error


def check_new(folder: Path) -> None:
    """Make sure that nothing has a name yet, not even a link that leads nowhere.

    Raises
    ------
    ScenarioError
        Something has that name.
    """
    if os.path.lexists(folder):
        raise ScenarioError(f"{folder}: it exists already; name a new folder, or remove it first")


@contextmanager
def new_folder(folder: str | Path) -> Iterator[Path]:
    """Give a folder to fill; it takes its name when the block ends well, and vanishes otherwise.

    Raises
    ------
    ScenarioError
        Something has that name already, or it cannot be made.
    StorageError
        It cannot be written to its end, as on a full disk.
    """
    place = Path(folder)
    check_new(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{place.name[:50]}.", dir=place.parent))
    except OSError as error:
        raise ScenarioError(f"{place}: it cannot be made ({error.strerror}); name a folder that can") from error
    try:
        yield aside
        aside.chmod(0o755)
        aside.rename(place)
    except OSError as error:
        raise not_written(place, error, "nothing was kept") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def not_written(target: Path, error: OSError, remedy: str) -> ScenarioError | StorageError:
    """Give the error to raise where a file or folder could not be written: the disk's fault, or that of its name."""
    cause = (error.cause or error) if isinstance(error, StorageError) else error
    reason = cause.strerror or str(cause)
    if isinstance(error, StorageError) or error.errno in OF_DISK:
        remedy = OF_DISK.get(cause.errno or 0, ROOM)
        return StorageError(f"{target}: it cannot be written ({reason}); {remedy}", cause)
    return ScenarioError(f"{target}: it cannot be written ({reason}); {remedy}")


def put_parquet(frame: pl.DataFrame, target: Path) -> None:
    """Write a table as Parquet; where that fails, the error is an `OSError`, as for any other file."""
    content = io.BytesIO()
    frame.write_parquet(content)
    target.write_bytes(content.getbuffer())


def put_file(text: str, target: Path) -> None:
    """Write a file aside, then put it in place; into a device or a pipe, such as ``/dev/stdout``, write as it is.

    Raises
    ------
    ScenarioError
        It cannot be written there.
    StorageError
        It cannot be written to its end, as on a full disk.
    """
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(text.encode())
        else:
            _put_aside_first(text, target)
    except OSError as error:
        raise not_written(target, error, "check the folder and the rights") from error
    except ValueError as error:
        raise ScenarioError(f"{target}: it cannot be written ({error}); check the name") from error


def _put_aside_first(text: str, target: Path) -> None:
    aside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with aside.open("xb") as stream:
            stream.write(text.encode())
        aside.replace(target)
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            aside.unlink()
        raise
