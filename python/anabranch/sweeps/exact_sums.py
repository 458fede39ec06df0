"""Sums of groups that are equal bit for bit, in any order and on any number of threads.

Rounding makes a sum of floating-point numbers depend on the order of adding, and streams have none. Therefore whole
numbers are added: values are parted by their exponent into layers, each `HEIGHT` binary digits high, and within a layer
they are multiples of one small power of two. Of each group there are as many sums as layers, mostly one or two, and
these few are added from the lowest on::

    v = m 2^(HEIGHT layer - DIGITS)     m: whole, below 2^(HEIGHT + DIGITS + 1)

The m^2 of squares would be too large for 128 bits; they are rounded to multiples of 2^(2 HEIGHT layer - DIGITS), each
alone, and so the same in every order too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

VALUE = pl.col("value")

LAYER = "layer of the value"

COUNT, SUM, SQUARES = "how many values", "sum of values", "sum of squares"

HEIGHT = 16
"""Binary digits of a layer."""

DIGITS = 52
"""Binary digits of a value after its first."""

LOWEST = -60
"""The layer from about 1e-289 on; what is below is rounded to multiples of 2e-305."""


def sums(rows: pl.LazyFrame, keys: Sequence[str], about: Sequence[pl.Expr]) -> pl.DataFrame:
    """Give of each group `COUNT`, `SUM` and `SQUARES` of its values, and `about`.

    Parameters
    ----------
    rows : LazyFrame
        The keys, ``value``, finite or null, and the columns of `about`.
    keys : sequence of str
    about : sequence of Expr
        What keeps its column's name and may be taken of parts first, such as the least, or another sum.
    """
    layer = (VALUE.abs().log(2.0) / HEIGHT).floor().clip(lower_bound=LOWEST)
    layered = rows.with_columns(pl.when(VALUE != 0.0).then(layer).otherwise(0.0).cast(pl.Int16).alias(LAYER))
    height = pl.col(LAYER).cast(pl.Float64) * HEIGHT
    scaled = VALUE * _power(-height)
    whole = {SUM: _whole(VALUE * _power(DIGITS - height)), SQUARES: _whole(scaled**2 * 2.0**DIGITS)}
    parts = layered.with_columns(**whole).group_by(*keys, LAYER)
    found = parts.agg(*about, VALUE.count().alias(COUNT), pl.col(SUM, SQUARES).sum()).collect(engine="streaming")
    return (
        found.sort(LAYER)
        .with_columns(
            pl.col(SUM).cast(pl.Float64) * _power(height - DIGITS),
            pl.col(SQUARES).cast(pl.Float64) * _power(2.0 * height - DIGITS),
        )
        .group_by(keys, maintain_order=True)
        .agg(*about, pl.col(COUNT, SUM, SQUARES).sum())
    )


def _power(exponent: pl.Expr) -> pl.Expr:
    return pl.lit(2.0).pow(exponent)


def _whole(number: pl.Expr) -> pl.Expr:
    return number.cast(pl.Int128)
