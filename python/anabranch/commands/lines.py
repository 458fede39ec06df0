"""What is said of the lines of a proxy or a relay: which share links, what each may carry, and what is granted."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch import _core
from anabranch.commands.clients import parsed
from anabranch.commands.grants import granted, links_over
from anabranch.commands.groups import path_groups
from anabranch.commands.text import printable
from anabranch.commands.usage import PERIODS, Usage
from anabranch.commands.via import via_names
from anabranch.errors import ScenarioError
from anabranch.interrupts import held_interrupts
from anabranch.number_labels import bytes_text
from anabranch.transfer.files import check_groups, metered_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import ExitStack

    from anabranch._core import _LinesSaid
    from anabranch.agents.granted import Granted

Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit", metavar="NAME=RATE", help="The most that is sent over an address or interface each way. Repeatable."
    ),
]

Weights = Annotated[
    list[str] | None,
    typer.Option(
        "--weight",
        metavar="NAME=NUMBER",
        help="Weight of a line where one is chosen: 2 counts as half of its round trip; 0 carries what waits for the "
        "others. Repeatable.",
    ),
]

Metered = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=BYTES/PERIOD",
        help=f"What a line may carry in a {', '.join(PERIODS)}: then it is a backup. Repeatable.",
    ),
]

Redundant = Annotated[
    bool, typer.Option("--redundant", help="Send small exchanges and packets of UDP over the two fastest lines.")
]

MeteredFile = Annotated[
    Path | None, typer.Option(help="File with what metered lines have carried. Default: one for this user.")
]


@dataclass
class Line:
    """A line, as options describe it."""

    name: str
    is_backup: bool
    weight: float = 1.0
    most_bps: float | None = None
    metered: tuple[int, str] | None = None
    """Bytes, and the period in which it may carry these."""


@dataclass
class Meters:
    """What metered lines have carried."""

    usage: Usage
    numbers: dict[str, list[int]] = field(default_factory=dict)
    """The numbers of the lines over each metered interface."""
    _used: dict[str, int] = field(default_factory=dict)
    _carried: dict[str, int] = field(default_factory=dict)
    """What had been carried over each interface at the last look."""

    def add(self, name: str, numbers: list[int], period: str) -> None:
        """Add an interface."""
        self.numbers[name] = numbers
        self._used[name] = self.usage.begin(name, period)

    def follow(self, carried: Sequence[int], *, at_once: bool = False) -> None:
        """Count what lines have carried, and keep it in the file."""
        for name, numbers in self.numbers.items():
            now = sum(carried[number] for number in numbers if number < len(carried))
            before = self._carried.get(name, 0)
            self._used[name] += max(now - before, 0)
            self._carried[name] = max(now, before)
        self.usage.follow(self, at_once=at_once)

    def used(self) -> list[tuple[str, int]]:
        """Give the bytes of each line."""
        return list(self._used.items())

    def renew(self, name: str) -> None:
        """Count from 0 again."""
        self._used[name] = 0

    def has_used(self, name: str) -> int:
        """Give the bytes of a line."""
        return self._used[name]


@dataclass
class Lines:
    """The lines to an exit, and what is said of them."""

    lines: list[Line]
    groups: list[int] = field(default_factory=list)
    follow_groups: Callable[[], Sequence[int]] | None = None
    grant: Granted | None = None
    links: list[list[str]] | None = None
    meters: Meters | None = None
    is_redundant: bool = False
    _spent: set[str] = field(default_factory=set)
    _said: _LinesSaid | None = None

    def said(self) -> _LinesSaid:
        """Give what is said of the lines now: the terms of each, and what is granted over all and over each."""
        if self.meters is not None:
            self._judge(self.meters)
        known = self.groups if self.follow_groups is None else self.follow_groups()
        groups = list(known) if known else [None] * len(self.lines)
        terms = [
            (line.is_backup or line.name in self._spent, line.weight, group, line.most_bps, self.is_redundant)
            for line, group in zip(self.lines, groups, strict=True)
        ]
        if self.grant is None:
            return terms, None, []
        return terms, self.grant.total_bps(), [] if self.links is None else self.grant.paths_bps(self.links)

    def follow(self, own: _core.Proxy | _core.Exit, *, at_once: bool = False) -> None:
        """Say what has changed, and count what metered lines carry."""
        if self.meters is not None:
            self.meters.follow(own.carried(), at_once=at_once)
        said = self.said()
        if said != self._said:
            own.say(said)
            self._said = said

    def _judge(self, meters: Meters) -> None:
        """Note which lines have carried what they may."""
        for line in self.lines:
            if line.metered is None:
                continue
            most, period = line.metered
            is_spent = meters.has_used(line.name) >= most
            if is_spent != (line.name in self._spent):
                (self._spent.add if is_spent else self._spent.remove)(line.name)
                of = f"{bytes_text(most)} of " + ("all times" if period == "ever" else f"this {period}")
                then = "it carries data only while no other works" if is_spent else "it carries data again"
                has = "has carried its" if is_spent else "has its"
                typer.echo(f"{printable(line.name)} {has} {of}: {then}", err=True)


@contextmanager
def following(
    own: _core.Proxy | _core.Exit, lines: Lines | None, keep: Callable[[bool], None] | None = None
) -> Iterator[Callable[[], None]]:
    """Give what follows changes of lines, and what else there is to keep; at the end stops the program.

    What is to be kept hears whether this is the end, when all has been counted.
    """

    def follow() -> None:
        if lines is not None:
            lines.follow(own)
        if keep is not None:
            keep(False)

    try:
        yield follow
    finally:
        with held_interrupts():
            try:
                if lines is not None:
                    # What lines have carried is known while they are kept.
                    lines.follow(own, at_once=True)
            finally:
                own.stop()
                if keep is not None:
                    keep(True)


def read_lines(
    places: tuple[str | None, str | None],
    each: tuple[list[str] | None, list[str] | None, list[str] | None],
    metered_in: Path | None,
    groups: list[str] | None,
    *,
    is_redundant: bool,
) -> Lines:
    """Give the lines over the interfaces of --via and --backup, with --limit, --weight, --metered and --groups.

    Raises
    ------
    ScenarioError
        An option names no line, or what it says cannot be kept.
    """
    via, backup = map(via_names, places)
    names = [name.partition("=")[0].strip() for name in (*via, *backup)]
    lines = [Line(name, number >= len(via)) for number, name in enumerate(names)]
    for line, text in _named(lines, "--limit", each[0]):
        line.most_bps = parsed(_core.parse_rate, text, f"--limit {line.name}")
        if line.most_bps < LEAST_BPS:
            raise ScenarioError(f"--limit {line.name}: it must be at least 64 kbit/s")
    for line, text in _named(lines, "--weight", each[1]):
        line.weight = parsed(float, text, f"--weight {line.name}")
        if line.weight != 0 and not LEAST_WEIGHT <= line.weight <= MOST_WEIGHT:
            raise ScenarioError(f"--weight {line.name}: it must be 0, or from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}")
    metered = list(_named(lines, "--metered", each[2]))
    if metered_in is not None and not metered:
        raise ScenarioError("--metered-file is for --metered, which names a line and the bytes that it may carry")
    meters = Meters(Usage.take(metered_in or metered_file())) if metered else None
    for line, text in metered:
        line.metered = _metered(line.name, text)
        if meters is not None:
            numbers = [number for number, name in enumerate(names) if name == line.name]
            meters.add(line.name, numbers, line.metered[1])
    if groups and not lines:
        raise ScenarioError("--groups: there is one path, which shares links with no other; name several by --via")
    groups_of, follow = path_groups(groups, names, fetches=False)
    if groups_of and len(groups_of) != len(lines):
        raise ScenarioError(f"--groups: there are {len(groups_of)} numbers for {len(lines)} lines; give one for each")
    if is_redundant and len(lines) < 2:
        raise ScenarioError("--redundant sends over two lines; name them by --via")
    return Lines(lines, check_groups(groups_of), follow, meters=meters, is_redundant=is_redundant)


def with_grant(lines: Lines, grant: str | None, demand: str | None, what: str, stack: ExitStack) -> Lines:
    """Ask an agent for the rate of what is sent, until the stack ends."""
    lines.grant = granted(grant, demand, what, stack, paths=max(len(lines.lines), 2))
    if grant is not None:
        lines.links = links_over(grant.rpartition(":")[0], [line.name for line in lines.lines])
    return lines


LEAST_BPS, LEAST_WEIGHT, MOST_WEIGHT = 64e3, 1e-3, 1e3
"""The least rate of a line, and the range of weights besides 0."""


def _named(lines: list[Line], option: str, texts: list[str] | None) -> Iterator[tuple[Line, str]]:
    """Give each line over what a text names, and what stands behind the name."""
    known = {line.name for line in lines}
    seen = set()
    for text in texts or ():
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign or not value.strip():
            raise ScenarioError(f"{option}: `{text}` says nothing of a line; write {option} NAME={_EXAMPLES[option]}")
        if name not in known:
            there = (
                f"there are {', '.join(dict.fromkeys(line.name for line in lines))}"
                if known
                else "name the lines by --via"
            )
            raise ScenarioError(f"{option}: there is no line over `{name}`; {there}")
        if name in seen:
            raise ScenarioError(f"{option}: `{name}` is there twice")
        seen.add(name)
        yield from ((line, value.strip()) for line in lines if line.name == name)


_EXAMPLES = {"--limit": "'10 Mbit/s'", "--weight": "0.5", "--metered": "'2 GB/month'"}


def _metered(name: str, text: str) -> tuple[int, str]:
    amount, sign, period = text.rpartition("/")
    if not sign or period.strip() not in PERIODS:
        raise ScenarioError(
            f"--metered {name}: `{text}` is no amount in a {', '.join(PERIODS)}; one is {_EXAMPLES['--metered']}"
        )
    most = parsed(_core.parse_bytes, amount, f"--metered {name}")
    if most < 1:
        raise ScenarioError(f"--metered {name}: it must be at least a byte")
    return most, period.strip()
