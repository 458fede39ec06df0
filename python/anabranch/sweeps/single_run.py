"""One run of a sweep: planned, named, and simulated if it is missing."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.errors import ScenarioError
from anabranch.formats.source import load
from anabranch.runs.result import OF_MACHINE
from anabranch.runs.scenario import read_plan
from anabranch.sweeps.store import digest_of
from anabranch.sweeps.version import code_version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anabranch.runs.result import Result
    from anabranch.runs.scenario import Plan
    from anabranch.sweeps.points import Point

KEY_BYTES = 10
"""The bytes of the hash of a point, which is written in twice as many digits."""

TOGETHER = ("connections", "subflows", "links", "waits")
"""The tables that are kept for many runs together; the others may be large, and are read from the runs' folders."""


@dataclass(frozen=True)
class Base:
    """The scenario that is varied: its file, read once."""

    file: Path
    text: str

    @cached_property
    def _digest(self) -> bytes:
        return blake2b(f"{code_version()}\n{self.file.resolve().parent}\n{self.text}".encode()).digest()

    def key(self, point: Point) -> str:
        """Give the key of a point of this scenario, before it is planned."""
        return blake2b(self._digest + "\n".join(point.sets).encode(), digest_size=KEY_BYTES).hexdigest()

    def plan(self, point: Point) -> Plan:
        """Plan the run of a point.

        Raises
        ------
        ScenarioError
            A mistake in the scenario with these values.
        """
        try:
            return read_plan(f"{self.text}\n", sets=point.sets, folder=self.file.parent)
        except ScenarioError as error:
            words = str(error).removeprefix("scenario: ")
            raise ScenarioError(f"{self.file} with {' '.join(point.sets) or 'no other values'}: {words}") from error


def read_base(file: Path) -> Base:
    """Read the scenario that is varied.

    Raises
    ------
    ScenarioError
        It cannot be read.
    """
    return Base(file, load(file, "a scenario").text)


class FileChangedError(ScenarioError):
    """A file that the scenario names is not what it was when the sweep began."""


class Digests:
    """Digests of files, each taken when the file is first seen; later it must be the same."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[str, object]] = {}

    def plan(self, base: Base, point: Point) -> tuple[Plan, dict[str, str]]:
        """Plan the run of a point; give with it the digests of the files that it was planned from.

        Raises
        ------
        ScenarioError
            A mistake in the scenario with these values.
        FileChangedError
            A file is not what it was for points before.
        """
        while True:
            plan = base.plan(point)
            names = [str(file) for file in plan.files]
            is_first_look = not self.known.keys() >= set(names)
            found = {name: self._of(name) for name in names}
            # Once more if a file was read before its digest was taken, so that no change between goes unseen.
            if not is_first_look:
                return plan, found

    def hold(self, noted: dict[str, str]) -> bool:
        """Tell whether files are unchanged."""
        return all(self._of(name) == digest for name, digest in noted.items())

    def _of(self, name: str) -> str:
        sign = _sign(name)
        if name not in self.known:
            self.known[name] = _digest(name), sign
        digest, before = self.known[name]
        if sign != before:
            if _digest(name) != digest:
                raise FileChangedError(
                    f"{name}: it has changed during the sweep; start it again, which keeps what was done"
                )
            self.known[name] = digest, sign
        return digest


def _sign(name: str) -> object:
    """Give what changes when a file does."""
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _digest(name: str) -> str:
    try:
        with open(name, "rb") as file:
            return blake2b(file.read(), digest_size=KEY_BYTES).hexdigest()
    except OSError:
        return ""


@dataclass(frozen=True)
class SweptRun:
    """A finished run.

    Attributes
    ----------
    point : Point
    key : str
    run : str
        Its name.
    files : dict
        Digests of the files that its scenario named.
    is_new : bool
        Whether it was simulated now.
    facts : dict
        Of a new one: of the computer's time, and the size and digest of its files.
    tables : dict
        Of a new one: the tables that are kept together, and ``runs``.
    """

    point: Point
    key: str
    run: str
    files: dict[str, str]
    is_new: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """A run that failed, and why."""

    point: Point
    key: str
    error: str


def error_text(error: BaseException) -> str:
    """Give why a run failed, in words: what is no mistake of an input with the kind of error."""
    return f"{error}" if isinstance(error, ScenarioError) else f"{type(error).__name__}: {error}"


def files_of(result: Result) -> dict[str, bytes]:
    """Give a result as files: those that are the same on every machine."""
    return {name: content for name, content in result.files().items() if name != "machine.json"}


def facts_of(result: Result, files: Mapping[str, bytes]) -> dict[str, Any]:
    """Give the facts that are not of the scenario: of its files, and of the machine."""
    size = sum(map(len, files.values()))
    return {"bytes": size, "digest": digest_of(files), **{name: result.meta[name] for name in OF_MACHINE}}


def tables_of(result: Result) -> dict[str, pl.DataFrame]:
    """Give the tables of a run that are kept together with those of others."""
    found = {name: getattr(result, name) for name in TOGETHER}
    return {"runs": facts_frame(result.meta), **{name: own for name, own in found.items() if own is not None}}


def facts_frame(meta: dict[str, Any]) -> pl.DataFrame:
    """Give what is known of a run as a table of one row."""
    plain = {name: value for name, value in meta.items() if name not in OF_MACHINE}
    return pl.DataFrame({**{n: [v] for n, v in plain.items()}, "warnings": ["; ".join(meta["warnings"])]})
