"""Recordings of the Irish 5G data set [raca2020]: what a phone received in each second, in a CSV file.

These are rates of downloads, not capacities: they are taken for the link's. Seconds in which the phone was idle, and
pauses between downloads, are left out. Time stamps are whole seconds; some repeat and some are jumped over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from anabranch.errors import ScenarioError
from anabranch.traces.trace import Capacities, held

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anabranch.formats.source import Source

STAMP = "%Y.%m.%d_%H.%M.%S"
COLUMNS = ("Timestamp", "DL_bitrate", "State")


@dataclass(frozen=True)
class Cleaning:
    """The rule for cleaning a recording: which rows are left out, and how the times of the others are computed.

    Attributes
    ----------
    clock : {"stamps", "rows"}
        With "stamps", the mean of all rows of one time stamp holds for a second. With "rows", each row holds for the
        mean time between rows, 1.06 s to 1.11 s.
    least_bps, pause_s
        Stretches with rates below ``least_bps`` are left out if they last longer than ``pause_s``; with either clock,
        each row or time stamp counts as a second. Shorter stretches are raised to ``least_bps``.
    keep_idle : bool
        Whether rows of the state I (idle) stay.
    """

    clock: Literal["stamps", "rows"] = "stamps"
    least_bps: float = 1e6
    pause_s: float = 1.0
    keep_idle: bool = False


def read(source: Source, cleaning: Cleaning) -> Capacities:
    """Read the downlink rates of a recording."""
    rows = _rows(source)
    stamps = rows["stamp"]
    span_s = (stamps[-1] - stamps[0]).total_seconds()
    rows = rows.drop_nulls("bps")
    if not cleaning.keep_idle:
        rows = rows.filter(pl.col("State") != "I")
    step_s = 1.0
    if cleaning.clock == "stamps":
        rows = rows.group_by("stamp", maintain_order=True).agg(pl.col("bps").mean())
    elif len(stamps) > 1 and span_s > 0.0:
        step_s = span_s / (len(stamps) - 1)
    rates = rows["bps"].to_numpy()
    rates = rates[~_pauses(rates < cleaning.least_bps, cleaning.pause_s)]
    if len(rates) == 0:
        raise source.whole.error("all of it is idle or a pause", "lower the least rate, or take another recording")
    return held(np.maximum(rates, cleaning.least_bps), step_s)


def _rows(source: Source) -> pl.DataFrame:
    """Give time stamps, rates and states as they stand in the file."""
    try:
        text = pl.read_csv(source.text.encode(), columns=list(COLUMNS), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise ScenarioError(f"{source.path}: it is not read as CSV ({reason}); mend it, or fetch it again") from error
    rows = text.select(
        pl.col("Timestamp").str.to_datetime(STAMP, strict=False).alias("stamp"),
        pl.when(pl.col("DL_bitrate") != "-").then(pl.col("DL_bitrate")).alias("kbps"),
        "State",
    ).with_columns((pl.col("kbps").cast(pl.Float64, strict=False) * 1e3).alias("bps"))
    if len(rows) == 0:
        raise source.whole.error("there is no row in it", "fetch it again")
    is_rate = (pl.col("bps").is_finite() & (pl.col("bps") >= 0)).fill_null(value=False)
    is_bad = pl.col("stamp").is_null() | (pl.col("kbps").is_not_null() & ~is_rate)
    bad = rows.select(is_bad.arg_true()).to_series()
    if len(bad):
        remedy = "give a time such as 2019.12.16_13.40.04 and a rate in kbit/s, or -"
        raise source.line(int(bad[0]) + 2).error("the time or the rate is none", remedy)
    earlier = rows.select((pl.col("stamp").diff() < 0).arg_true()).to_series()
    if len(earlier):
        raise source.line(int(earlier[0]) + 2).error("the time is before that of the line before", "sort them")
    return rows


def _pauses(is_low: NDArray[np.bool_], most: float) -> NDArray[np.bool_]:
    """Say what is in a stretch of more than ``most`` that are low, of a second each."""
    edges = np.flatnonzero(np.diff(is_low.astype(np.int8), prepend=0, append=0))
    starts, ends = edges[::2], edges[1::2]
    found = np.zeros(len(is_low), dtype=bool)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        found[start:end] = end - start > most
    return found
