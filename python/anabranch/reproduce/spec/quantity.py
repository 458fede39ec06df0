"""A number or claim of a paper: the measured numbers that it needs, and how they are judged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

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
class PaperQuantity:
    """A number or claim of the paper, and how ours is judged against it.

    Attributes
    ----------
    name : str
        The measured number, or the words of a claim.
    measured : Ratio or None
        None for a claim.
    published : float, str or None
        The printed number, or the words of a claim; None if the paper prints none.
    right : float or None
        The right number where the paper slips; `why` explains it.
    recorded : float or None
        Our number on record, where the paper prints none.
    against : Ratio, float or None
        The number that ours is judged by instead of the printed one.
    check : Check or None
        None for a number.
    show : tuple of Ratio
        Further numbers that the row of a claim shows.
    tolerance : float
    borne_out : bool
        False if the check states what we found instead of the paper's claim.
    note : str
    times : float
        A factor on the measured number.
    """

    name: str
    measured: Ratio | None
    published: float | str | None
    right: float | None
    why: str
    recorded: float | None
    against: Ratio | float | None
    check: Check | None
    show: tuple[Ratio, ...]
    tolerance: float
    borne_out: bool
    note: str
    times: float


def read_quantity(table: Table, runs: Mapping[str, Run], tolerance: float) -> PaperQuantity:
    """Read a ``[[quantity]]`` of an experiment with these runs; `tolerance` is its default.

    Raises
    ------
    ScenarioError
        A wrong key or value; a run or measure that is not there; a quantity that nothing judges, or two numbers.
    """
    name = table.text("name")
    table.call_it(name)
    published = table.number_or_text("published")
    check_text = table.text("check", "")
    right, recorded, why = table.optional_number("right"), table.optional_number("recorded"), table.text("why", "")
    window = table.window_s("window")
    check = _check(table, check_text, runs, window) if check_text else None
    quantity = PaperQuantity(
        name=name,
        measured=None if check else read_ratio(table, "name", name, runs, window),
        published=published,
        right=right,
        why=why,
        recorded=recorded,
        against=_against(table, runs, window),
        check=check,
        show=tuple(read_ratio(table, "show", text, runs, window) for text in table.texts("show")),
        tolerance=table.positive("tolerance", tolerance),
        borne_out=table.flag("borne_out", default=True),
        note=table.text("note", ""),
        times=table.positive("times", 1.0),
    )
    _refuse_undecided(table, quantity)
    table.finish()
    return quantity


def _refuse_undecided(table: Table, quantity: PaperQuantity) -> None:
    """Refuse a quantity that nothing judges, or two numbers."""
    if not quantity.borne_out and (quantity.check is None or quantity.published is None):
        remedy = "say in words what is `published`, and give a `check` that states what we found instead"
        raise table.error("borne_out", "only a claim of the paper can be borne out or not", remedy)
    if quantity.check is not None:
        numbers = (quantity.recorded, quantity.right, quantity.against)
        if isinstance(quantity.published, float) or any(number is not None for number in numbers):
            raise table.error("check", "a claim is given a number besides", "say in words what is published")
        return
    if isinstance(quantity.published, str):
        raise table.error("published", "it is text, and there is no check", "give the number, or a check that decides")
    if quantity.against is not None:
        if quantity.recorded is not None or quantity.right is not None:
            raise table.error("against", "there is another number to judge ours by", "give one of them")
        return
    if (quantity.published is None) == (quantity.recorded is None):
        remedy = "give the printed number as `published`; or, where none is printed, ours as `recorded`"
        raise table.error("published", "there must be exactly one of `published` and `recorded`", remedy)
    if (quantity.right is None) != (not quantity.why):
        raise table.error("right", "a slip has both `right` and `why`", "give the other too")
    if quantity.right is not None and quantity.published is None:
        raise table.error("right", "nothing is published that could be wrong", "give `published` too")


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
