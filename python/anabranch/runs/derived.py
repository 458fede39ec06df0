"""Columns that follow from what was sampled: how far granted rates are from fair ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Samples = dict[str, NDArray[Any]]

BOTTLENECK = 1.0 - 1e-5
"""A link that fair rates load to this share of its capacity is a bottleneck."""


def relative_errors(granted_bps: NDArray[np.float64], fair_bps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give how far granted rates are from fair ones, relative to these; 0 where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((granted_bps <= 0.0) & (fair_bps <= 0.0), 0.0, granted_bps / fair_bps - 1.0)


def bottleneck_errors(
    granted_bps: NDArray[np.float64], fair_bps: NDArray[np.float64], capacity_bps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give by how much granted rates exceed the capacities of bottlenecks, relative to those; NaN elsewhere."""
    is_bottleneck = (fair_bps > 0.0) & (fair_bps >= BOTTLENECK * capacity_bps)
    return np.where(is_bottleneck, granted_bps, np.nan) / np.where(is_bottleneck, capacity_bps, 1.0) - 1.0


def with_derived(samples: Samples, capacity_bps: NDArray[np.float64]) -> Samples:
    """Give samples with the columns that follow from them.

    Parameters
    ----------
    samples : dict of str to ndarray
        A row for each sample and a column for each thing, by `Column.key`.
    capacity_bps : ndarray of float64, shape (links,)
        The capacities of the network, which hold where no capacity changes.
    """
    found = dict(samples)
    granted, fair = samples.get("connection_granted_bps"), samples.get("connection_fair_bps")
    if granted is not None and fair is not None:
        found["connection_error"] = relative_errors(granted, fair)
    granted, fair = samples.get("link_granted_bps"), samples.get("link_fair_bps")
    if granted is not None and fair is not None:
        found["link_error"] = bottleneck_errors(granted, fair, samples.get("link_capacity_bps", capacity_bps))
    return found
