"""Quantities of a sweep: a number for each run, and the tables and figures made of these numbers.

As in a file::

    [[table]]
    file = "rates"
    title = "Rates of all connections"
    of = "connections"                  a table of every run's result; or "runs": a row for each run
    value = "mean_rate_bps / 1e6"       an SQL expression over its columns and what was varied
    where = "start_s < 5"               rows that count
    join = "sum"                        how the values of one run become one number
    by = ["protocol", "delay_s"]
    label = "rate (Mbit/s)"
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

import polars as pl
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from anabranch import _core
from anabranch.sweeps.words import words_for

Of = Literal[
    "runs",
    "connections",
    "subflows",
    "links",
    "series_connections",
    "series_subflows",
    "series_links",
    "series_run",
    "waits",
    "spread",
]
"""The tables of a result, and that of the runs themselves."""

SERIES_REMEDY = (
    'samples have a table for each kind of thing: name "series_connections", "series_subflows", "series_links" or '
    '"series_run", leave conditions on `of` out, and call the column `name` by what it names: `connection`, `subflow` '
    "or `link`"
)
"""Advice on the replacement of the table `series`, which had the samples of all kinds of things."""

Interval = Literal["student", "bootstrap", "auto"]

Axis = Literal["x", "y"]

EACH = "each"

JOINS = ("mean", "median", "sum", "least", "most", "jain", "count", "first", "last", EACH)
"""How values become one number, besides percentiles."""

LONGEST_SQL = 1000
"""Characters of an expression: each term lies within the next, and thousands within each other exhaust the stack."""

PERCENTILE = re.compile(r"p([1-9]\d?)")

LIKE_PERCENTILE = re.compile(r"p(-?\d+(?:\.\d+)?)")

HIGHEST = 100.0

LONGEST_NAME = 100
"""Letters of the name of a file."""

ESTIMATED = (
    *("count", "mean", "low", "high", "half_width", "median", "least", "most", "p25", "p75"),
    *("skewness", "interval"),
)
"""Columns of estimates; see `anabranch.sweeps.intervals.estimates`."""

RESERVED = ("value", "left_out", *ESTIMATED, "p5", "p95", "share")
"""Columns that tables and numbers of figures have of their own."""


def _joined(join: str) -> str:
    """Make sure that values can be joined so."""
    if join in JOINS or PERCENTILE.fullmatch(join):
        return join
    known = f"{', '.join(JOINS)}, or a percentile from p1 to p99"
    if (percentile := LIKE_PERCENTILE.fullmatch(join)) is not None:
        level = float(percentile[1])
        if 0.0 < level < HIGHEST:
            below = min(max(int(level), 1), 98)
            near = f"p{below}" if level == below else f"p{below} or p{below + 1}"
            raise ValueError(f"there is no `{join}`, only whole percentiles; write {near}")
        instead = "least" if level <= 0.0 else "most"
        raise ValueError(f"there is no `{join}`; percentiles are p1 to p99, and beyond these is `{instead}`")
    like = _core.nearest_name(join, JOINS)
    raise ValueError(f"there is no `{join}`; " + (f"did you mean `{like}`?" if like else f"write one of {known}"))


def _of(name: object) -> object:
    """Say what to write in place of a table that earlier versions had."""
    if name == "series":
        raise ValueError(f"there is no table `series`; {SERIES_REMEDY}")
    return name


def _sql(text: str) -> str:
    """Make sure that it is an SQL expression; whether its columns are there is seen when the runs are."""
    if len(text) > LONGEST_SQL:
        raise ValueError(f"it has {len(text)} characters; write an expression of at most {LONGEST_SQL}")
    try:
        pl.sql_expr(text)
    except pl.exceptions.ColumnNotFoundError:
        pass  # Some functions ask for the types of their columns, which are not known here.
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        remedy = 'write such as mean_rate_bps / 1e6, and names with dots in quotes: "link.0.delay_s" * 1000'
        raise ValueError(f"`{text}` is no SQL expression ({reason}); {remedy}") from error
    return text


def _plain(name: str) -> str:
    """Make sure that it names a file without folder and ending."""
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        remedy = "write letters, digits, - and _ only, without folder and ending: rates-by-delay"
        raise ValueError(f"`{name}` is no plain name of a file; {remedy}")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"it has {len(name)} letters; write {LONGEST_NAME} at most")
    return name


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    """Make sure that nothing is named twice."""
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ValueError(f"`{twice}` is there twice; leave one out")
    return names


Sql = Annotated[str, AfterValidator(_sql)]
FileName = Annotated[str, AfterValidator(_plain)]
Columns = Annotated[tuple[str, ...], AfterValidator(_different)]


class SweepQuantity(BaseModel):
    """A number for each run: what of a table it is made of, and how."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    of: Annotated[Of, BeforeValidator(_of)] = Field(description="The table of each run that it is taken from.")
    value: Sql = Field(description="SQL expression over the table's columns and what was varied; true is 1, false 0.")
    where: Sql | None = Field(default=None, description="SQL condition: rows that count; all if there is none.")
    join: Annotated[str, AfterValidator(_joined)] = Field(
        default="mean",
        description=f"How the values of one run become one number: {', '.join(JOINS)}, p1 to p99. With `{EACH}` they "
        "stay apart; `count` is 0 where no row counts, of the others there is no number then.",
    )
    by: Columns = Field(default=(), description="Columns; what differs in one of these is kept apart.")
    label: str = Field(default="", description="What it is, with its unit: rate (Mbit/s).")

    @property
    def place(self) -> str:
        """The name in messages."""
        return f"quantity of `{self.of}`"

    @property
    def words(self) -> str:
        """The label of an axis."""
        return self.label or words_for(self.value, self.join)


class SweepTable(SweepQuantity):
    """A table: a row for each group of runs, with the mean of their numbers and its interval."""

    file: FileName = Field(description="Its name, without folder and ending.")
    title: str = ""
    interval: Interval = Field(default="auto", description="How the interval of the mean is found.")

    @property
    def place(self) -> str:
        """The name in messages."""
        return f"table `{self.file}`"

    @model_validator(mode="after")
    def _has_one_number_for_each_run(self) -> SweepTable:
        if self.join == EACH:
            raise ValueError(_BOUND)
        return self


class SweepFigure(SweepQuantity):
    """A figure: means with their intervals along an axis, boxes, or how numbers are distributed."""

    file: FileName = Field(description="Its name, without folder and ending.")
    title: str = ""
    draw: Literal["lines", "boxes", "cdf"]
    x: str | None = Field(default=None, description="The column along the axis, of lines and boxes.")
    panels: str | None = Field(default=None, description="A column; each of its values has a panel.")
    lines: str | None = Field(default=None, description="A column; each of its values has a colour.")
    log: Annotated[tuple[Axis, ...], AfterValidator(_different)] = Field(
        default=(), description="Axes that are logarithmic."
    )
    interval: Interval = Field(default="auto", description="How the interval of the mean is found, of lines.")
    xlabel: str = ""
    ylabel: str = ""

    @property
    def place(self) -> str:
        """The name in messages."""
        return f"figure `{self.file}`"

    @property
    def drawn(self) -> list[str]:
        """The columns that a reader of the figure can distinguish."""
        return [column for column in (self.panels, self.lines, self.x) if column is not None]

    @property
    def groups(self) -> list[str]:
        """The columns by which numbers are kept apart."""
        return list(dict.fromkeys([*self.drawn, *self.by]))

    @model_validator(mode="after")
    def _fits_together(self) -> SweepFigure:
        keys = [key for key in ("panels", "lines", "x") if getattr(self, key) is not None]
        for place, key in enumerate(keys):
            same = next((other for other in keys[:place] if getattr(self, other) == getattr(self, key)), None)
            if same is not None:
                raise ValueError(f"`{same}` and `{key}` are both `{getattr(self, key)}`; leave one out")
        if self.draw != "lines" and "interval" in self.model_fields_set:
            raise ValueError(f'draw = "{self.draw}" shows no interval; leave `interval` out, or draw = "lines"')
        {"lines": self._has_lines, "boxes": self._has_boxes, "cdf": self._has_curves}[self.draw]()
        return self

    def _has_lines(self) -> None:
        if self.join == EACH:
            raise ValueError(_BOUND)
        if self.x is None:
            raise ValueError('draw = "lines" needs `x`: the column along the axis, such as delay_s')
        beyond = [column for column in self.by if column not in (self.x, self.lines, self.panels)]
        if beyond:
            remedy = "make it `lines` or `panels`, or leave it out"
            raise ValueError(
                f"`by`: a line has one number for each run, so `{beyond[0]}` cannot be kept apart; {remedy}"
            )

    def _has_boxes(self) -> None:
        if self.x is None:
            raise ValueError('draw = "boxes" needs `x`: the column whose values stand below the boxes')
        if self.panels is not None:
            raise ValueError(
                'draw = "boxes" has no `panels`; make a figure for each value, by `where`, or draw "lines"'
            )
        if "x" in self.log:
            raise ValueError('`log`: the values of `x` stand side by side below boxes, on no scale; write log = ["y"]')

    def _has_curves(self) -> None:
        if self.x is not None:
            raise ValueError(
                'draw = "cdf" has the numbers themselves along the axis; leave `x` out, or name it `lines`'
            )


_BOUND = (
    f'join = "{EACH}" keeps values of one run apart, and these are not independent, so a mean over them has no '
    'interval; join them, such as by "mean", or draw "boxes" or "cdf"'
)
