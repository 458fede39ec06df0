"""The command line within this process: what it prints, and its exit code.

A program takes a second to start. Tests of signals, of full disks and of what programs leave behind start
the program itself (``labs.PROGRAM``).
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from anabranch import cli


@dataclass
class Done:
    """A command that has ended."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: object, cwd: str | Path | None = None) -> Done:
    """Run ``anabranch`` with arguments, in a folder if one is given."""
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as undone:
        undone.enter_context(mock.patch.object(sys, "argv", ["anabranch", *map(str, arguments)]))
        undone.enter_context(mock.patch.dict("os.environ", {"NO_COLOR": "1"}))
        os.environ.pop("COLUMNS", None)
        undone.enter_context(contextlib.redirect_stdout(printed))
        undone.enter_context(contextlib.redirect_stderr(said))
        if cwd is not None:
            undone.enter_context(contextlib.chdir(cwd))
        try:
            cli.main()
            code = 0
        except SystemExit as left:
            code = int(left.code or 0)
    return Done(code, printed.getvalue(), said.getvalue())
