"""The network as the page's header has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anabranch.model.network import Network


def network_header(network: Network) -> dict[str, Any]:
    """Give ``nodes`` and ``links``: names, places and coordinates; ends by number, capacity, delay, twin.

    Places are those of the figures, y upwards. A capacity without limit and a twin that is not there are null.
    """
    # Only now: with the figures comes matplotlib, which takes as long to load as all the rest.
    from anabranch.model.layout import node_positions

    core = network.core
    places = node_positions(network)
    return {
        "nodes": {
            "name": core.node_names,
            "x": rounded(places[:, 0]),
            "y": rounded(places[:, 1]),
            "longitude": network.nodes["longitude"].to_list(),
            "latitude": network.nodes["latitude"].to_list(),
        },
        "links": {
            "name": core.link_names,
            "source": core.link_source.tolist(),
            "target": core.link_target.tolist(),
            "capacity_bps": finite(core.capacity_bps),
            "delay_s": finite(core.delay_s),
            "twin": [None if twin < 0 else twin for twin in core.twin.tolist()],
        },
    }


def finite(values: Iterable[float]) -> list[float | None]:
    """Give plain numbers, null for those that are infinite or none."""
    return [float(v) if np.isfinite(v) else None for v in values]


def rounded(values: Iterable[float]) -> list[float]:
    """Give plain numbers of six digits: enough for a place in a picture."""
    return [float(f"{v:.6g}") for v in values]
