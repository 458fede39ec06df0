"""A number or claim of a paper: the measured numbers that it needs, and how they are judged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from anabranch.reproduce.measures.address import Address, Ratio
from anabranch.reproduce.measures.registry import MEASURES, AnotherRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table

Comparison = Literal["<=", ">=", "<", ">", "="]
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)

CHECK = re.compile(r"([^<>=]+)(<=|>=|<|>|=)(.+)", re.DOTALL)


@dataclass(frozen=True)
class Check:
    """The comparison of two numbers that decides a claim."""

    left: Ratio
    comparison: Comparison
    right: Ratio | float


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, with the check that decides it.

    Attributes
    ----------
    name : str
        The words of the row.
    published : str or None
        The words of the paper.
    check : Check
    show : tuple of Ratio
        Further numbers that the row shows.
    borne_out : bool
        False if the check states what we found instead of the paper's claim.
    note : str
    """

    name: str
    published: str | None
    check: Check
    show: tuple[Ratio, ...]
    borne_out: bool
    note: str

    @property
    def ratios(self) -> list[Ratio]:
        """The measured numbers that it needs."""
        return [*self.show, *(own for own in (self.check.left, self.check.right) if isinstance(own, Ratio))]


@dataclass(frozen=True)
class Printed:
    """Ours is judged by the printed number."""

    published: float


@dataclass(frozen=True)
class Slip:
    """Ours is judged by the right number, because the printed one is a slip of the paper; `why` explains it."""

    published: float
    right: float
    why: str


@dataclass(frozen=True)
class Recorded:
    """Ours is judged by our number on record, because the paper prints none."""

    recorded: float
    published: None = None


@dataclass(frozen=True)
class Against:
    """Ours is judged by another number, given or measured, whether the paper prints one or not."""

    number: Ratio | float
    published: float | None


@dataclass(frozen=True)
class Number:
    """A measured number, and the number that it is judged by.

    Attributes
    ----------
    name : str
    measured : Ratio
    aim : Printed, Slip, Recorded or Against
    tolerance : float
    note : str
    times : float
        A factor on the measured number.
    """

    name: str
    measured: Ratio
    aim: Printed | Slip | Recorded | Against
    tolerance: float
    note: str
    times: float

    @property
    def published(self) -> float | None:
        """The printed number; None if the paper prints none."""
        return self.aim.published

    @property
    def ratios(self) -> list[Ratio]:
        """The measured numbers that it needs."""
        against = self.aim.number if isinstance(self.aim, Against) else None
        return [self.measured, against] if isinstance(against, Ratio) else [self.measured]


PaperQuantity: TypeAlias = Claim | Number
"""A number or claim of the paper, and how ours is judged."""


def read_quantity(table: Table, runs: Mapping[str, Run], tolerance: float) -> PaperQuantity:
    """Read a ``[[quantity]]`` of an experiment with these runs; `tolerance` is its default.

    Raises
    ------
    ScenarioError
        A wrong key or value; a run or measure that is not there; a quantity that nothing judges, or two numbers.
    """
    name = table.text("name")
    table.call_it(name)
    check, window = table.text("check", ""), table.window_s("window")
    note, borne_out = table.text("note", ""), table.flag("borne_out", default=True)
    if not borne_out and (not check or table.number_or_text("published") is None):
        remedy = "say in words what is `published`, and give a `check` that states what we found instead"
        raise table.error("borne_out", "only a claim of the paper can be borne out or not", remedy)
    quantity: PaperQuantity
    if check:
        published = _words(table)
        show = tuple(read_ratio(table, "show", text, runs, window) for text in table.texts("show"))
        quantity = Claim(name, published, _check(table, check, runs, window), show, borne_out, note)
    else:
        measured, aim = read_ratio(table, "name", name, runs, window), _aim(table, runs, window)
        own = table.positive("tolerance", tolerance)
        quantity = Number(name, measured, aim, own, note, table.positive("times", 1.0))
    table.finish()
    return quantity


def _words(table: Table) -> str | None:
    """Take the words of a claim, which has no numbers."""
    published = table.number_or_text("published")
    numbers = (table.optional_number("recorded"), table.optional_number("right"), table.number_or_text("against"))
    if isinstance(published, float) or any(number is not None for number in numbers):
        raise table.error("check", "a claim is given a number besides", "say in words what is published")
    return published


def _aim(table: Table, runs: Mapping[str, Run], window_s: Window | None) -> Printed | Slip | Recorded | Against:
    """Take the number that a number is judged by: exactly one."""
    published, against = table.number_or_text("published"), _against(table, runs, window_s)
    right, recorded, why = table.optional_number("right"), table.optional_number("recorded"), table.text("why", "")
    if isinstance(published, str):
        raise table.error("published", "it is text, and there is no check", "give the number, or a check that decides")
    if against is not None:
        if recorded is not None or right is not None:
            raise table.error("against", "there is another number to judge ours by", "give one of them")
        return Against(against, published)
    if (published is None) != (recorded is None) and (right is None) != (not why):
        raise table.error("right", "a slip has both `right` and `why`", "give the other too")
    if recorded is not None and published is None:
        if right is not None:
            raise table.error("right", "nothing is published that could be wrong", "give `published` too")
        return Recorded(recorded)
    if published is None or recorded is not None:
        remedy = "give the printed number as `published`; or, where none is printed, ours as `recorded`"
        raise table.error("published", "there must be exactly one of `published` and `recorded`", remedy)
    return Printed(published) if right is None else Slip(published, right, why)


def _against(table: Table, runs: Mapping[str, Run], window_s: Window | None) -> Ratio | float | None:
    given = table.number_or_text("against")
    return read_ratio(table, "against", given, runs, window_s) if isinstance(given, str) else given


def _check(table: Table, text: str, runs: Mapping[str, Run], window_s: Window | None) -> Check:
    found = CHECK.fullmatch(text)
    if found is None:
        raise table.error("check", f"`{text}` compares nothing", "write such as `c-slen steps < iewf steps`")
    left, sign, right = (word.strip() for word in found.groups())
    comparison = next(word for word in COMPARISONS if word == sign)
    try:
        bound: Ratio | float = float(right)
    except ValueError:
        bound = read_ratio(table, "check", right, runs, window_s)
    return Check(read_ratio(table, "check", left, runs, window_s), comparison, bound)


def read_ratio(table: Table, key: str, text: str, runs: Mapping[str, Run], window_s: Window | None) -> Ratio:
    """Read a number, or the quotient of two, from the value of a key.

    Raises
    ------
    ScenarioError
        A run or measure that is not there or of the wrong kind; runs that do not fit together.
    """
    top, slash, bottom = text.partition(" / ")
    own = _address(table, key, top, runs, window_s)
    ratio = Ratio(own, _address(table, key, bottom, runs, window_s) if slash else None)
    own_runs = [runs[run] for address in ratio.addresses for run in address.runs]
    counts = {(len(run.seeds), run.margin) for run in own_runs if run.seeds}
    if len(counts) > 1:
        raise table.error(key, f"`{text}`: its runs have different numbers of seeds", "give them as many")
    return ratio


def _address(table: Table, key: str, text: str, runs: Mapping[str, Run], window_s: Window | None) -> Address:
    words = text.split(maxsplit=2)
    run, measure, subject = (*words, "", "", "")[:3]
    if run not in runs:
        raise table.error(key, f"`{text}`: there is no run `{run}`", f"begin with one of {', '.join(runs)}")
    if measure not in MEASURES:
        known = ", ".join(MEASURES)
        raise table.error(key, f"`{text}`: there is no measure `{measure}`", f"the second word must be one of {known}")
    row = MEASURES[measure]
    if (row.of is not None) != bool(subject):
        remedy = f"leave `{subject}` out" if row.of is None else f"say whose it is: the name of a {row.of.words}"
        raise table.error(key, f"`{text}` does not say what it must", remedy)
    if not runs[run].is_of(row.runs):
        remedy = f"`{measure}` is of runs that are {row.runs.which}; see the measures in docs/how-to/reproduce.md"
        raise table.error(key, f"`{text}`: the method of run `{run}` is {runs[run].method}", remedy)
    if isinstance(row.of, AnotherRun) and (subject not in runs or not runs[subject].is_of(row.of.runs)):
        raise table.error(key, f"`{text}`: there is no {row.of.runs.one} `{subject}`", "name one of the [[run]] tables")
    return Address(run, measure, subject.strip(), window_s if row.windowed else None)
