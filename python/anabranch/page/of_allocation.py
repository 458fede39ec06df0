"""The data of an allocation for the page: a run of one instant, with its certificate."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from anabranch.allocation.priced import PricedAllocation
from anabranch.errors import ScenarioError
from anabranch.page.content import Content
from anabranch.page.of_network import finite, network_header
from anabranch.page.palette import looks

if TYPE_CHECKING:
    from anabranch.allocation.allocation import Allocation
    from anabranch.model.paths import Paths


def allocation_content(allocation: Allocation, *, name: str = "") -> Content:
    """Give the data of an allocation for the page.

    Parameters
    ----------
    name : str
        What it is called beside others; the network's name if not given.

    Raises
    ------
    ScenarioError
        It is of bare numbers: there is no network to show.
    """
    paths = allocation.paths
    if paths is None:
        raise ScenarioError("the allocation is of bare numbers and has no network to show; solve a network")
    network = paths.demands.network
    content = Content(
        {
            "kind": "allocation",
            "name": name or network.name or "allocation",
            "title": network.name,
            "summary": allocation.summary,
            "times_s": [0.0],
            **network_header(network),
            "connections": _connections(allocation),
            "subflows": _subflows(allocation, paths),
            "protocols": looks([allocation.method]),
        }
    )
    content.header["links"]["utilisation"] = allocation.links["utilisation"].to_list()
    if isinstance(allocation, PricedAllocation):
        _add_prices(content, allocation)
    content.add("connection", "granted_bps", allocation.connection_rates[:, np.newaxis])
    content.add("subflow", "granted_bps", allocation.path_rates[:, np.newaxis])
    content.add("link", "granted_bps", allocation.links["load_bps"].to_numpy()[:, np.newaxis])
    return content


def _connections(allocation: Allocation) -> dict[str, list[Any]]:
    frame = allocation.connections
    assert allocation.paths is not None
    network = allocation.paths.demands.network
    number = {name: i for i, name in enumerate(network.core.node_names)}
    return {
        "name": frame["name"].to_list(),
        "source": [number.get(source) for source in frame["source"]],
        "target": [number.get(target) for target in frame["target"]],
        "protocol": [allocation.method] * len(frame),
        "granted_bps": frame["rate_bps"].to_list(),
        "demand_bps": frame["demand_bps"].to_list(),
        "claim": frame["claim"].to_list(),
        **({"reserved_bps": frame["reserved_bps"].to_list()} if "reserved_bps" in frame.columns else {}),
        "level_bps": finite(frame["level_bps"].fill_null(np.nan)),
        "held_by": frame["held_by"].to_list(),
        "bottleneck": frame["bottleneck"].to_list(),
    }


def _subflows(allocation: Allocation, paths: Paths) -> dict[str, list[Any]]:
    frame = allocation.subflows
    links = paths.path_links.tolist()
    offsets = paths.path_offsets.tolist()
    number = {name: i for i, name in enumerate(paths.demands.network.core.link_names)}
    return {
        "name": [f"{name}/{rank}" for name, rank in frame.select("connection", "rank").iter_rows()],
        "connection": paths.connection.tolist(),
        "path": [links[a:b] for a, b in itertools.pairwise(offsets)],
        "granted_bps": frame["rate_bps"].to_list(),
        "bottleneck": [None if link is None else number[link] for link in frame["bottleneck"]],
        "held_by": frame["held_by"].to_list(),
    }


def _add_prices(content: Content, allocation: PricedAllocation) -> None:
    """Add what links charge, what paths cost, and what one more unit of rate is worth, in (bit/s) ** -alpha."""
    header = content.header
    header["links"]["price"] = finite(allocation.link_prices)
    header["subflows"]["price"] = finite(allocation.path_prices)
    header["connections"]["marginal_utility"] = finite(allocation.certificate.marginal_utilities)
