"""Measures of iterations from many random starts, and of the prices that an iteration ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anabranch.reproduce.measures.lookup import CONNECTION, paths_of
from anabranch.reproduce.measures.registry import measure
from anabranch.reproduce.outcomes.groups import FROM_STARTS, WEIGHT_ALLOCATED

if TYPE_CHECKING:
    from anabranch.reproduce.measures.lookup import Named
    from anabranch.reproduce.outcomes.kinds import FromStarts, WeightAllocated


@measure("settled-starts", unit="of the starts", runs=FROM_STARTS)
def settled_starts(run: FromStarts) -> float:
    """Give the share of the starts from which all rates of connections come within 1 % of the optimum and stay."""
    return float(np.isfinite(run.steps).mean())


@measure("median-steps", unit="steps", runs=FROM_STARTS)
def median_steps(run: FromStarts) -> float:
    """Give the median over the starts of the steps until rates are within 1 % of the optimum for good."""
    return float(np.median(run.steps))


@measure("most-steps", unit="steps", runs=FROM_STARTS)
def most_steps(run: FromStarts) -> float:
    """Give the greatest number of steps from a start until rates are within 1 % of the optimum for good."""
    return float(run.steps.max())


@measure("price-gap", of=CONNECTION, unit="of the price", runs=WEIGHT_ALLOCATED)
def price_gap(run: WeightAllocated, connection: Named) -> float:
    """Give the price of the connection's dearest path by that of its cheapest, less 1, after the last step."""
    prices = run.step_prices[-1][paths_of(run.paths, connection)]
    return float(prices.max() / prices.min() - 1.0)
