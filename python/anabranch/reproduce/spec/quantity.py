"""A number or claim of a paper: the measured numbers that it needs, and what they are judged by."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from anabranch.reproduce.measures.address import Address, Ratio
from anabranch.reproduce.measures.registry import MEASURES, AnotherRun
from anabranch.reproduce.spec.verdict import (
    AGREES,
    BORNE_OUT,
    CAUSES,
    COMPARISONS,
    GOOD,
    KEPT,
    OF_CLAIMS,
    OF_COMPARISONS,
    OF_NUMBERS,
    OF_RECORDS,
    SHARE,
    SLIP,
    WITHIN,
    Cause,
    Comparison,
    best,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anabranch.reproduce.measures.registry import Window
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table

CHECK = re.compile(r"([^<>=]+)(<=|>=|<|>|=)(.+)", re.DOTALL)

DIGITS = re.compile(r"-?\d+(?:\.(\d+))?")


@dataclass(frozen=True)
class Check:
    """The comparison of two numbers that decides a claim."""

    left: Ratio
    comparison: Comparison
    right: Ratio | float

    @property
    def ratios(self) -> list[Ratio]:
        """The measured numbers that it needs."""
        return [own for own in (self.left, self.right) if isinstance(own, Ratio)]


@dataclass(frozen=True)
class Measured:
    """What a number is measured as, under one reading of the paper.

    Attributes
    ----------
    reading : str
        What the paper does not print and the result depends on; empty for what the paper describes.
    ratio : Ratio
    times : float
        A factor on the measured number.
    expect : str
        The verdict on record.
    is_corrected : bool
        Whether a protocol takes part that we corrected: then it is no reading of the paper.
    """

    reading: str
    ratio: Ratio
    times: float
    expect: str
    is_corrected: bool = False

    @property
    def ratios(self) -> list[Ratio]:
        """The measured numbers that it needs."""
        return [self.ratio]


@dataclass(frozen=True)
class Decided:
    """What decides a claim, under one reading of the paper; all checks must hold.

    Attributes
    ----------
    reading : str
        What the paper does not print and the result depends on; empty for what the paper describes.
    checks : tuple of Check
    show : tuple of Ratio
        Further numbers that the row shows.
    expect : str
        The verdict on record.
    is_corrected : bool
        Whether a protocol takes part that we corrected: then it is no reading of the paper.
    """

    reading: str
    checks: tuple[Check, ...]
    show: tuple[Ratio, ...]
    expect: str
    is_corrected: bool = False

    @property
    def ratios(self) -> list[Ratio]:
        """The measured numbers that it needs."""
        return [*self.show, *(ratio for check in self.checks for ratio in check.ratios)]


@dataclass(frozen=True)
class Printed:
    """A published number, with the paper's own margin.

    Attributes
    ----------
    published : float
    margin : float
    margin_why : str
        The reason for a margin of more than 5 % of the number.
    right : float or None
        The right number, where the printed one is a slip of the paper.
    why : str
        The slip, explained.
    """

    published: float
    margin: float
    margin_why: str = ""
    right: float | None = None
    why: str = ""

    @property
    def number(self) -> float:
        """The number that ours is judged by: the right one, where the printed one is a slip."""
        return self.published if self.right is None else self.right


@dataclass(frozen=True)
class Beside:
    """A number that ours is compared with, and that no paper prints.

    Attributes
    ----------
    number : Ratio or float
        Given, such as a bound, or measured, such as the optimum.
    tolerance : float
    tolerance_why : str
        The reason for a tolerance of more than 5 % of the number.
    is_record : bool
        Whether the number is ours, measured before.
    expect : str
        The verdict on record.
    """

    number: Ratio | float
    tolerance: float
    tolerance_why: str
    is_record: bool
    expect: str


@dataclass(frozen=True)
class Verdicts:
    """What is known of a quantity that does not come out as published.

    Attributes
    ----------
    cause : str
        One of `anabranch.reproduce.spec.verdict.CAUSES`; empty if it comes out.
    defect : str
        The name of what is wrong, which quantities share; empty if nothing is, or each is another matter.
    note : str
    common : str
        Why the row need not tell the protocol from its rivals; empty if it must.
    """

    cause: Cause | str
    defect: str
    note: str
    common: str


@dataclass(frozen=True)
class Claim:
    """A claim of the paper; or a statement of ours, if the paper has no such words.

    Attributes
    ----------
    name : str
        The words of the row.
    published : str or None
        The words of the paper.
    readings : tuple of Decided
    known : Verdicts
    """

    name: str
    published: str | None
    readings: tuple[Decided, ...]
    known: Verdicts

    @property
    def expect(self) -> str:
        """The verdict on record: the best of all readings of the paper."""
        own = [reading.expect for reading in of_paper(self.readings)]
        return best(own, OF_CLAIMS if self.published else OF_RECORDS)

    @property
    def ratios(self) -> list[Ratio]:
        """The measured numbers that it needs."""
        return [ratio for own in self.readings for ratio in own.ratios]


@dataclass(frozen=True)
class Number:
    """A measured number, and the published one.

    Attributes
    ----------
    name : str
    readings : tuple of Measured
    aim : Printed or None
        None if the paper prints none.
    beside : Beside or None
        The number that ours is compared with besides, or alone.
    known : Verdicts
    """

    name: str
    readings: tuple[Measured, ...]
    aim: Printed | None
    beside: Beside | None
    known: Verdicts

    @property
    def published(self) -> float | None:
        """The printed number; None if the paper prints none."""
        return None if self.aim is None else self.aim.published

    @property
    def expect(self) -> str:
        """The verdict on record: the best of all readings of the paper; if nothing is printed, of the comparison."""
        if self.aim is None:
            assert self.beside is not None, "read_quantity gives it one of them"
            return self.beside.expect
        return best([reading.expect for reading in of_paper(self.readings)], OF_NUMBERS)

    @property
    def ratios(self) -> list[Ratio]:
        """The measured numbers that it needs."""
        given = self.beside.number if self.beside is not None else None
        measured = [own.ratio for own in self.readings]
        return [*measured, given] if isinstance(given, Ratio) else measured


class OfPaper(Protocol):
    """A reading of the paper, or ours with a protocol that we corrected."""

    @property
    def is_corrected(self) -> bool:
        """Whether a protocol takes part that we corrected."""


Own = TypeVar("Own", bound=OfPaper)


def of_paper(readings: Sequence[Own]) -> Sequence[Own]:
    """Give the readings of the paper: those without a protocol that we corrected, unless all have one."""
    return [own for own in readings if not own.is_corrected] or readings


PaperQuantity: TypeAlias = Claim | Number
"""A number or claim of the paper, and how ours is judged."""


@dataclass(frozen=True)
class Defaults:
    """What holds for all quantities of an item, unless one says otherwise.

    Attributes
    ----------
    digits : int
        Decimals that the paper prints.
    tolerance : float
        Of numbers that nobody publishes, relative to them.
    margin : float
        The paper's own margin, relative to its numbers; 0 if it names none.
    """

    digits: int
    tolerance: float
    margin: float


def read_quantity(table: Table, runs: Mapping[str, Run], defaults: Defaults) -> PaperQuantity:
    """Read a ``[[quantity]]`` of an experiment with these runs.

    Raises
    ------
    ScenarioError
        A wrong key or value; a run or measure that is not there; a quantity that nothing judges, or two numbers; a
        margin over 5 % without its reason; a bad verdict on record without its cause; a claim or number of the paper
        that only a corrected protocol decides.
    """
    name = table.text("name")
    table.call_it(name)
    published = table.number_or_text("published")
    readings = table.tables("readings")
    is_claim = any("check" in own.data for own in (table, *readings))
    quantity: PaperQuantity
    if is_claim:
        quantity = _claim(table, readings, name, published, runs)
    else:
        quantity = _number(table, readings, name, published, runs, defaults)
    _refuse_unexplained(table, quantity)
    for own in readings:
        own.finish()
    table.finish()
    return quantity


def _claim(
    table: Table, readings: Sequence[Table], name: str, published: float | str | None, runs: Mapping[str, Run]
) -> Claim:
    for key in ("right", "recorded", "against", "margin", "tolerance"):
        if key in table.data:
            raise table.error("check", f"a claim is given `{key}` besides", "say in words what is published")
    if isinstance(published, float):
        raise table.error("check", "a claim is given a number besides", "say in words what is published")
    window = table.window_s("window")
    verdicts, usual = (OF_RECORDS, KEPT) if published is None else (OF_CLAIMS, BORNE_OUT)

    def decided(own: Table, reading: str) -> Decided:
        own_window = own.window_s("window") if own is not table else window
        checks = tuple(_check(own, text, runs, own_window or window) for text in own.text_or_texts("check"))
        show = tuple(read_ratio(own, "show", text, runs, own_window or window) for text in own.texts("show"))
        if not checks:
            raise own.error("check", "it is missing", "write such as `c-slen steps < iewf steps`")
        decided = Decided(reading, checks, show, own.choice("expect", verdicts, usual))
        return replace(decided, is_corrected=_is_corrected(decided.ratios, runs))

    if readings:
        if "check" in table.data or "show" in table.data:
            raise table.error("readings", "there is a `check` or `show` besides", "give each reading its own")
        found = tuple(decided(own, own.text("name")) for own in readings)
    else:
        found = (decided(table, table.text("reading", "")),)
    return Claim(name, published, found, _known(table))


def _number(
    table: Table,
    readings: Sequence[Table],
    name: str,
    published: float | str | None,
    runs: Mapping[str, Run],
    defaults: Defaults,
) -> Number:
    window, times = table.window_s("window"), table.positive("times", 1.0)
    if isinstance(published, str):
        raise table.error("published", "it is text, and there is no check", "give the number, or a check that decides")
    beside = _beside(table, runs, window, defaults)
    aim = None if published is None else _printed(table, published, defaults)
    if aim is None and beside is None:
        remedy = "give the printed number as `published`; or, where none is printed, `recorded` or `against`"
        raise table.error("published", "nothing judges the number", remedy)
    if aim is None and readings:
        raise table.error("readings", "nothing is published that they could be readings of", "leave them out")

    def measured(own: Table, key: str, reading: str) -> Measured:
        own_window = own.window_s("window") if own is not table else window
        ratio = read_ratio(own, key, own.text(key), runs, own_window or window)
        usual = SLIP if aim is not None and aim.right is not None else WITHIN
        expect = usual if aim is None else own.choice("expect", OF_NUMBERS, usual)
        own_times = own.positive("times", times) if own is not table else times
        return Measured(reading, ratio, own_times, expect, _is_corrected([ratio], runs))

    if readings:
        found = tuple(measured(own, "of", own.text("name")) for own in readings)
    else:
        found = (measured(table, "name", table.text("reading", "")),)
    return Number(name, found, aim, beside, _known(table))


def _is_corrected(ratios: Iterable[Ratio], runs: Mapping[str, Run]) -> bool:
    return any(runs[name].corrected for ratio in ratios for address in ratio.addresses for name in address.runs)


def _printed(table: Table, published: float, defaults: Defaults) -> Printed:
    """Take the published number with the paper's margin."""
    right, why = table.optional_number("right"), table.text("why", "")
    if (right is None) != (not why):
        raise table.error("right", "a slip has both `right` and `why`", "give the other too")
    digits = table.whole("digits", defaults.digits)
    rounding = 0.5 * 10.0**-digits
    margin = table.positive("margin", max(rounding, defaults.margin * abs(published)))
    margin_why = table.text("margin_why", "")
    if margin > max(SHARE * abs(published), rounding) and not margin_why:
        raise table.error("margin", f"{margin:g} is over 5 % of {published:g}", "say why in `margin_why`")
    return Printed(published, margin, margin_why, right, why)


def _beside(table: Table, runs: Mapping[str, Run], window_s: Window | None, defaults: Defaults) -> Beside | None:
    """Take the number that ours is compared with."""
    given, recorded = table.number_or_text("against"), table.optional_number("recorded")
    if given is None and recorded is None:
        return None
    if given is not None and recorded is not None:
        raise table.error("against", "there is another number to judge ours by", "give one of them")
    number: Ratio | float
    if recorded is not None:
        number = recorded
    else:
        assert given is not None, "one of both is there"
        number = read_ratio(table, "against", given, runs, window_s) if isinstance(given, str) else given
    usual = defaults.tolerance * abs(number) if isinstance(number, float) else None
    tolerance = table.positive("tolerance", usual or defaults.tolerance)
    why = table.text("tolerance_why", "")
    if isinstance(number, float) and tolerance > SHARE * abs(number) and number and not why:
        raise table.error("tolerance", f"{tolerance:g} is over 5 % of {number:g}", "say why in `tolerance_why`")
    is_record = recorded is not None
    verdicts, good = (OF_RECORDS, KEPT) if is_record else (OF_COMPARISONS, AGREES)
    key = "expect" if table.data.get("published") is None else "expect_beside"
    return Beside(number, tolerance, why, is_record, table.choice(key, verdicts, good))


def _known(table: Table) -> Verdicts:
    cause = table.choice("cause", CAUSES) if "cause" in table.data else ""
    return Verdicts(cause, table.text("defect", ""), table.text("note", ""), table.text("common", ""))


def _refuse_unexplained(table: Table, quantity: PaperQuantity) -> None:
    """Refuse a bad verdict without its cause, a cause without one, and what only a corrected protocol decides."""
    # A row may come out under another reading than that of the first, which is as the paper describes.
    is_all_good = all(own.expect in GOOD for own in quantity.readings) and quantity.expect in GOOD
    if is_all_good and quantity.known.cause:
        raise table.error("cause", f"the verdict on record is `{quantity.expect}`", "leave it out")
    if quantity.published is not None and all(own.is_corrected for own in quantity.readings):
        remedy = "add a reading with the published one, or leave `published` out"
        raise table.error("published", "only a protocol that we corrected decides it", remedy)
    if quantity.expect not in GOOD and not quantity.known.cause:
        raise table.error("expect", f"it is `{quantity.expect}`, without a cause", f"add cause: {', '.join(CAUSES)}")


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
    if isinstance(row.of, AnotherRun):
        for other in row.of.names(subject) or [subject]:
            if other not in runs or not runs[other].is_of(row.of.runs):
                remedy = "name one of the [[run]] tables"
                raise table.error(key, f"`{text}`: there is no {row.of.runs.one} `{other}`", remedy)
    return Address(run, measure, subject.strip(), window_s if row.windowed else None)
