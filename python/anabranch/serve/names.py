"""Names of files and folders in addresses, and names of new runs in the folder.

An address has letters, digits, ``.``, ``_`` and ``-`` as they are, ``:`` between folders, and ``~`` with two digits for
each byte of anything else. So one segment of a path names a file at any depth, and nothing in it can lead elsewhere.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

ITSELF = "~"
"""The address of the served folder, if that is a run."""

MOST_LETTERS = 80
"""Names of new folders are cut to this length."""

PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
ADDRESS = re.compile(r"(?:[A-Za-z0-9._\-:]|~[0-9a-f]{2})+")


def address(parts: tuple[str, ...]) -> str:
    """Give the address of what lies in these folders, by this name."""
    return ":".join(_escaped(os.fsencode(part)) for part in parts) or ITSELF


def place(root: Path, address: str) -> Path | None:
    """Give what an address names within a folder; nothing if it is none, or leads out of it by a link."""
    if address == ITSELF:
        return root
    if not ADDRESS.fullmatch(address):
        return None
    path = root
    for part in address.split(":"):
        name = os.fsdecode(re.sub(rb"~(..)", lambda m: bytes([int(m[1], 16)]), part.encode()))
        if name.startswith(".") or not name or "/" in name or "\0" in name:
            return None
        path = path / name
        # Unlike those of Path, these two take a name that is too long for one of nothing.
        if os.path.islink(path):
            return None
    return path if os.path.lexists(path) else None


def new_name(wish: str, taken: Container[str], folder: Path) -> str:
    """Give a name that is safe, like the wish, and new in the folder."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", wish)[:MOST_LETTERS].strip(".-_") or "run"
    name, number = plain, 1
    while name in taken or os.path.lexists(folder / name):
        number += 1
        name = f"{plain}-{number}"
    return name


def _escaped(name: bytes) -> str:
    return "".join(chr(byte) if byte in PLAIN else f"~{byte:02x}" for byte in name)
