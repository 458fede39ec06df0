"""Changes of runs: other titles and folders, and a trash from which they come back.

Nothing but folders of runs is ever moved, and nothing is removed before the trash is emptied.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.folder import put_file
from anabranch.serve.models import Trashed, TrashList
from anabranch.serve.names import ITSELF, new_name, place

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

TRASH = ".trash"
"""The hidden folder of what was deleted, in the served folder: a folder for each, by its number."""

NUMBER = re.compile(r"[0-9a-f]{16}")
RUN, ORIGIN = "run", "from.json"
"""What is in such a folder: the run, and where it was."""

META, SCENARIO = "meta.json", "scenario.toml"
MOST_BYTES = 16 << 20
"""The largest files in which a title is changed."""


def run_folder(root: Path, id: str) -> Path | None:
    """Give the folder of a run that may be changed; nothing if there is none of that id.

    Raises
    ------
    ScenarioError
        It is the served folder itself, or it holds no run.
    """
    folder = place(root, id)
    if folder is None or not folder.is_dir():
        return None
    if id == ITSELF or not (folder / META).is_file() or (folder / META).is_symlink():
        raise ScenarioError("only a run within the served folder can be changed from here; change the folder by hand")
    return folder


def rename(folder: Path, wish: str, taken: Container[str]) -> Path:
    """Give a run's folder another name, made safe and new, beside where it was; give where it is now.

    Raises
    ------
    ScenarioError
        It cannot be moved.
    """
    if new_name(wish, (), folder.parent / "nowhere") == folder.name:
        return folder
    target = folder.parent / new_name(wish, taken, folder.parent)
    _move(folder, target)
    return target


def set_title(folder: Path, title: str) -> None:
    """Give a run another title, in the facts about it and in its scenario.

    Raises
    ------
    ScenarioError
        Its files cannot be read or written.
    """
    flat = " ".join(title.split())
    meta, scenario = folder / META, folder / SCENARIO
    for file in (meta, scenario):
        if file.is_symlink() or (file.exists() and file.stat().st_size > MOST_BYTES):
            raise ScenarioError(f"{file.name} is too large, or a link; give the folder another name instead")
    try:
        facts = json.loads(meta.read_text(encoding="utf-8"))
        text = scenario.read_text(encoding="utf-8") if scenario.is_file() else None
        changed = None if text is None else _core.edit_toml(text, [(["title"], json.dumps(flat, ensure_ascii=False))])
    except (OSError, ValueError) as error:
        raise ScenarioError(f"its title cannot be changed ({error}); run the scenario again") from error
    if not isinstance(facts, dict):
        raise ScenarioError("its title cannot be changed, since meta.json has no values; run the scenario again")
    if changed is not None:
        put_file(changed, scenario)
    put_file(json.dumps(facts | {"title": flat}, indent=1, ensure_ascii=False, allow_nan=False) + "\n", meta)


def trash(root: Path, folder: Path) -> str:
    """Move a run into the trash; give its number there.

    Raises
    ------
    ScenarioError
        It cannot be moved.
    """
    number = secrets.token_hex(8)
    aside = root / TRASH / number
    try:
        aside.mkdir(parents=True)
        put_file(json.dumps({"folder": folder.relative_to(root).as_posix()}) + "\n", aside / ORIGIN)
    except OSError as error:
        raise ScenarioError(f"{TRASH}: it cannot be made ({error.strerror}); check the rights") from error
    try:
        _move(folder, aside / RUN)
    except ScenarioError:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return number


def trashed(root: Path) -> TrashList:
    """Give what is in the trash, and how much room it takes."""
    found = []
    for number in _numbers(root):
        with suppress(OSError, ValueError, KeyError, TypeError):
            folder = str(json.loads((root / TRASH / number / ORIGIN).read_text(encoding="utf-8"))["folder"])
            found.append(Trashed(id=number, folder=folder, bytes=_bytes(root / TRASH / number / RUN)))
    return TrashList(runs=sorted(found, key=lambda own: own.folder))


def restore(root: Path, number: str, taken: Container[str]) -> Path | None:
    """Move a run from the trash to where it was, or beside what is there by now; nothing if there is none.

    Raises
    ------
    ScenarioError
        It cannot be moved.
    """
    aside = root / TRASH / number
    if not NUMBER.fullmatch(number) or not (aside / RUN).is_dir() or aside.is_symlink():
        return None
    try:
        parts = str(json.loads((aside / ORIGIN).read_text(encoding="utf-8"))["folder"]).split("/")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScenarioError(f"{TRASH}/{number}: it is not known where it was; move it by hand") from error
    parent = root
    for part in parts[:-1]:
        parent = parent / part
        if part.startswith(".") or os.path.islink(parent) or (parent.exists() and not parent.is_dir()):
            raise ScenarioError(f"{'/'.join(parts)}: its place is no folder any more; move it by hand")
    parent.mkdir(parents=True, exist_ok=True)
    name = parts[-1]
    is_free = not name.startswith(".") and name and not os.path.lexists(parent / name) and name not in taken
    target = parent / (name if is_free else new_name(name, taken, parent))
    _move(aside / RUN, target)
    shutil.rmtree(aside, ignore_errors=True)
    return target


def empty(root: Path) -> None:
    """Remove all that is in the trash.

    Raises
    ------
    ScenarioError
        Some of it cannot be removed.
    """
    for number in _numbers(root):
        try:
            shutil.rmtree(root / TRASH / number)
        except OSError as error:
            raise ScenarioError(
                f"{TRASH}/{number}: it cannot be removed ({error.strerror}); check the rights"
            ) from error
    with suppress(OSError):
        (root / TRASH).rmdir()


def _numbers(root: Path) -> list[str]:
    if (root / TRASH).is_symlink():
        return []
    try:
        with os.scandir(root / TRASH) as entries:
            return sorted(e.name for e in entries if NUMBER.fullmatch(e.name) and e.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _bytes(folder: Path) -> int:
    total = 0
    for inner, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(inner, file)).st_size
    return total


def _move(folder: Path, target: Path) -> None:
    try:
        folder.rename(target)
    except OSError as error:
        raise ScenarioError(f"{folder.name}: it cannot be moved ({error.strerror}); check the rights") from error
