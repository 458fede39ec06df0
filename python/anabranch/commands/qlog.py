"""Logs of connections in the format qlog: the option of commands that keep them."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch import _core
from anabranch.commands.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

QlogFolder = Annotated[
    Path | None,
    typer.Option(
        "--qlog",
        metavar="DIR",
        envvar="QLOGDIR",
        help="Folder for a log of each connection in the format qlog: windows, round trips, losses.",
    ),
]


@contextmanager
def kept_logs(folder: Path | None) -> Iterator[_core.Qlog | None]:
    """Keep logs in a folder, if there is one, and end their files in the end."""
    if folder is None:
        yield None
        return
    logs = _core.Qlog(folder)
    try:
        yield logs
    finally:
        logs.finish()
        say_trouble(logs)


def say_trouble(logs: _core.Qlog | None) -> None:
    """Say that a log could not be written, once for each trouble."""
    trouble = None if logs is None else logs.trouble()
    if trouble is not None:
        typer.echo(printable(trouble), err=True)
