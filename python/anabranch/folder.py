"""Result folders: written aside, renamed when whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_place(file: Path) -> None:
    """Make sure, before the work begins, that a file can be put at its place once its folders are made.

    Raises
    ------
    ScenarioError
        Something on the way is no folder, or may not be written to.
    """
    there = next(folder for folder in file.absolute().parents if folder.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise ScenarioError(f"{file}: it cannot be put there, since {there} is no folder that may be written to")


@contextmanager
def new_folder(folder: str | Path) -> Iterator[Path]:
    """Give a folder to fill; it takes its name when the block ends well, and vanishes otherwise.

    Raises
    ------
    ScenarioError
        Something has that name already, or it cannot be made.
    """
    place = Path(folder)
    if place.exists():
        raise ScenarioError(f"{place}: it exists already; name a new folder, or remove it first")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    except OSError as error:
        raise ScenarioError(f"{place}: it cannot be made ({error.strerror}); name a folder that can") from error
    try:
        yield aside
        aside.chmod(0o755)
        aside.rename(place)
    except OSError as error:
        raise ScenarioError(f"{place}: it cannot be written ({error.strerror}); nothing was kept") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
