"""Places of output: a command never overwrites what is there, unless --force says so."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.errors import ScenarioError
from anabranch.folder import check_place

if TYPE_CHECKING:
    from collections.abc import Iterator

Force = Annotated[bool, typer.Option("--force", help="Replace existing output files and folders.")]

MARKS = (
    ("meta.json",),
    ("simulated/meta.json", "live/meta.json"),
    ("connections.csv",),
    ("rows.json", "report.md"),
    ("index.html", "*/rows.json"),
)
"""Files by which a folder that a command has written is known; no other folder is replaced."""


def check_output(place: Path | None, *, force: bool) -> None:
    """Refuse a place of output, before the work begins, if something is there or nothing can be put there.

    Raises
    ------
    ScenarioError
        Something is there and may not be replaced, or the place cannot be written to.
    """
    if place is None or _is_device(place):
        return
    if os.path.lexists(place):
        if not force:
            raise ScenarioError(f"{place}: it exists already; name another place, or replace it with --force")
        if place.is_dir() and not _is_ours(place):
            raise ScenarioError(f"{place}: no command of anabranch wrote this folder, so it is not replaced; remove it")
    check_place(place)


@contextmanager
def replaced(place: Path | None, *, force: bool) -> Iterator[None]:
    """Set aside what is at a place while it is written anew; put it back if that fails, and remove it otherwise."""
    if place is None or not force or not os.path.lexists(place) or _is_device(place):
        yield
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{place.name[:50]}.", dir=place.parent))
    place.rename(aside / "old")
    try:
        yield
    finally:
        if os.path.lexists(place):
            shutil.rmtree(aside, ignore_errors=True)
        else:
            # If even this fails, the old output stays beside its place: it is never removed without a new one.
            with suppress(OSError):
                (aside / "old").rename(place)
                aside.rmdir()


def _is_ours(folder: Path) -> bool:
    """Tell whether a command has written a folder."""
    return any(all(any(folder.glob(name)) for name in names) for names in MARKS)


def _is_device(place: Path) -> bool:
    """Tell whether a place is a device or a pipe, such as /dev/stdout, which has nothing to overwrite."""
    try:
        mode = place.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
