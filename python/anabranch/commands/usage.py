"""What clients with quotas and metered lines have used, kept in a file over restarts."""

from __future__ import annotations

import json
import os
import re
import time
import weakref
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

import typer

from anabranch.errors import ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

PERIODS = {"day": "%Y-%m-%d", "week": "%G-W%V", "month": "%Y-%m", "ever": "ever"}
"""Periods after which quotas are renewed, in UTC, with the format of the name of each."""

MOST = 2**63
"""The most bytes that count as used."""

KEEP_S = 10.0
"""The time between two writings."""


class Counts(Protocol):
    """An exit, which counts what clients with quotas use."""

    def used(self) -> list[tuple[str, int]]:
        """Give the bytes of each client with a quota."""

    def renew(self, name: str) -> None:
        """Count from 0 again."""


def current(period: str, now: datetime | None = None) -> str:
    """Give the name of the day, week or month of a time, or of the present."""
    return (now or datetime.now(UTC)).astimezone(UTC).strftime(PERIODS[period])


def is_over(last: str, now: str) -> bool:
    """Whether a period has ended. A clock that goes back ends none, and names of other kinds differ."""
    kind = re.compile(r"\d").sub
    return last < now if kind("0", last) == kind("0", now) else True


def _locked(file: Path) -> int | None:
    """Take the right to a file; nothing where its folder cannot be written to, which shows when the file is written.

    Raises
    ------
    ScenarioError
        Another program has it.
    """
    # Only now: systems without it have no exits.
    import fcntl

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise ScenarioError(f"{file}: another program keeps it; each needs a file of its own") from error
    return descriptor


@dataclass
class Usage:
    """The bytes that clients or lines have used, and a file with them."""

    file: Path
    periods: dict[str, str] = field(default_factory=dict)
    """The period of each client with a quota, or of each metered line."""
    _kept: dict[str, tuple[str, int]] = field(default_factory=dict)
    """For each client the name of a period, and bytes: what stands in the file, or should."""
    _is_written: bool = True
    _next_s: float = 0.0
    _has_failed: bool = False

    @classmethod
    def read(cls, file: Path) -> Usage:
        """Read the file, if it exists.

        Raises
        ------
        ScenarioError
            It is no file of this kind.
        """
        try:
            text = file.read_text(encoding="utf-8")
            kept = {name: (str(own["period"]), int(own["bytes"])) for name, own in json.loads(text).items()}
        except FileNotFoundError:
            return cls(file)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ScenarioError(f"{file}: it does not say what was used; mend it, or remove it") from error
        return cls(file, _kept=kept)

    @classmethod
    def take(cls, file: Path) -> Usage:
        """Read the file for a program that alone keeps it from now on.

        Raises
        ------
        ScenarioError
            It is no file of this kind, or another program keeps it.
        """
        descriptor = _locked(file)
        own = cls.read(file)
        if descriptor is not None:
            weakref.finalize(own, os.close, descriptor)
        return own

    def begin(self, name: str, period: str) -> int:
        """Add a client; give what it has used in the present period."""
        self.periods[name] = period
        kept, count = self._kept.get(name, ("", 0))
        return 0 if is_over(kept, current(period)) else min(max(count, 0), MOST)

    def follow(self, own: Counts, *, at_once: bool = False) -> None:
        """Renew quotas whose period is over, and write what is used, from time to time or at once."""
        if not self.periods or (time.monotonic() < self._next_s and not at_once):
            return
        self._next_s = time.monotonic() + KEEP_S
        now = {name: current(period) for name, period in self.periods.items()}
        for name, period in now.items():
            if name not in self._kept:
                continue
            if is_over(last := self._kept[name][0], period):
                own.renew(name)
            else:
                now[name] = last
        # Clients that the file names no more keep what they have used.
        used = self._kept | {name: (now[name], count) for name, count in own.used()}
        if used == self._kept and self._is_written:
            return
        self._kept, self._is_written = used, False
        try:
            self._write()
            self._is_written, self._has_failed = True, False
        except OSError as error:
            if not self._has_failed:
                typer.echo(f"what was used is not kept: {error}", err=True)
            self._has_failed = True

    def _write(self) -> None:
        text = json.dumps({name: {"period": period, "bytes": count} for name, (period, count) in self._kept.items()})
        aside = self.file.with_name(f".{self.file.name}.{os.getpid()}")
        try:
            with aside.open("w", encoding="utf-8") as made:
                made.write(f"{text}\n")
                made.flush()
                os.fsync(made.fileno())
            aside.replace(self.file)
        finally:
            aside.unlink(missing_ok=True)
