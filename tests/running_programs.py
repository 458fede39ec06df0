"""Programs of this package that run beside a test."""

import subprocess
import threading
import time
from collections.abc import Sequence

from labs import PROGRAM

LONG_S = 30
"""Everything comes well before this."""


class Lines:
    """What a program prints, as it comes."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process, self.lines = process, list[str]()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            for line in stdout:
                self.lines.append(line.rstrip("\n"))

    def until(self, begin: str) -> str:
        """Wait for a line that begins so."""
        deadline = time.monotonic() + LONG_S
        while time.monotonic() < deadline:
            for line in self.lines:
                if line.startswith(begin):
                    return line
            time.sleep(0.02)
        raise AssertionError(f"no line begins with {begin!r}: {self.lines}")


def start(*arguments: str, before: Sequence[str] = ()) -> Lines:
    """Start a command of this package, with words before it, such as those that take it elsewhere."""
    command = [*before, *PROGRAM, *arguments]
    return Lines(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1))


def end(*programs: Lines) -> None:
    """End programs."""
    for one in programs:
        one.process.terminate()
    for one in programs:
        one.process.wait(LONG_S)
        one.reader.join(LONG_S)
