"""Tokens by which an exit knows its proxies, and passwords by which a proxy knows programs; both stand in files."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from anabranch.errors import ScenarioError

TOKEN_BYTES = 32
"""The random bytes of a new token."""


def kept_token(file: Path) -> str:
    """Return the token in a file; a new one is made if there is no such file, readable by its owner alone."""
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as made:
            token = secrets.token_hex(TOKEN_BYTES)
            made.write(f"{token}\n")
            return token
    except FileExistsError:
        return read_token(file)


def read_token(file: Path) -> str:
    """Return the token in a file."""
    return _line(file, "the token of an exit")


def read_password(file: Path) -> tuple[str, str]:
    """Return the name and the password in a file."""
    name, colon, password = _line(file, "name:password").partition(":")
    most = 255
    if not colon or not name or not password or max(len(name.encode()), len(password.encode())) > most:
        raise ScenarioError(f"{file}: it must have a name, a colon and a password, each of 1 to {most} bytes")
    return name, password


def _line(file: Path, what: str) -> str:
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{file}: it is no text; write {what} into it") from error
    if not lines[0].strip() or any(line.strip() for line in lines[1:]):
        raise ScenarioError(f"{file}: it must have one line, {what}")
    return lines[0].strip()
