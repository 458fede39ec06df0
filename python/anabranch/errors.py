"""The errors that users of the package can catch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anabranch.allocation.allocation import Allocation
    from anabranch.runs.result import Result


LONGEST_WORD, LONGEST_MESSAGE = 300, 2000
"""Characters of a message, and of a word in it, beyond which the middle or the end is left out."""

LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD},}}")


def shortened(message: str) -> str:
    """Shorten very long names and numbers in a message: an input may consist of one."""
    short = LONG_WORD.sub(lambda found: f"{found[0][:60]}...{found[0][-20:]}", message)
    if len(short) > LONGEST_MESSAGE:
        half = LONGEST_MESSAGE // 2
        short = f"{short[:half]} ... {short[-half:]}"
    return short


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Give the known name that is most like a name that is not there, in brackets; nothing if none is like it."""
    # Only now: it is needed for mistakes alone.
    from anabranch import _core

    near = _core.nearest_name(name, list(known))
    return f" (did you mean `{near}`?)" if near else ""


class ScenarioError(ValueError):
    """An input that is wrong: the message says what is wrong, where, and what would be accepted."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message))


class ConvergenceWarning(UserWarning):
    """A solver stopped before its answer met the tolerance; the message says how far it is."""


class CertificateError(AssertionError):
    """An allocation is not what it claims; the message names the worst violation."""


class SolverError(RuntimeError):
    """A solver of linear programs failed though the input was right; the message says how."""


class NoLivePartError(OSError):
    """The package was built without its live part, which real connections need; the message says what would do."""

    def __init__(self) -> None:
        super().__init__(
            "this build of anabranch has no live part, which perf, share, send, fetch and live need; "
            "build it with that: `make install` without LIVE=0"
        )


class RunInterrupted(KeyboardInterrupt):
    """A simulation was stopped by Ctrl-C; ``result`` has the results until then, marked as not finished."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"the run was stopped at {result.meta['reached_s']:g} s of {result.meta['duration_s']:g} s")
        self.result = result


class SolveInterrupted(KeyboardInterrupt):
    """A solver that works in passes was stopped by Ctrl-C; ``allocation`` is its last, not converged."""

    def __init__(self, allocation: Allocation) -> None:
        passes = "1 pass" if allocation.passes == 1 else f"{allocation.passes} passes"
        super().__init__(f"{allocation.method} was stopped after {passes}")
        self.allocation = allocation


class StorageError(OSError):
    """Results cannot be written: the disk is full, or permissions are missing; the message says what would help.

    Attributes
    ----------
    cause : OSError or None
        What the system said, if that is known.
    """

    def __init__(self, message: str, cause: OSError | None = None) -> None:
        super().__init__(message)
        self.cause = cause
