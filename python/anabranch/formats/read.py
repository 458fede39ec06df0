"""Read networks and demands from files in the formats that researchers have them in."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError
from anabranch.formats import (
    csv_demands,
    csv_links,
    gml,
    graphml,
    node_link,
    rfc8345,
    rocketfuel,
    sndlib,
    sndlib_xml,
)
from anabranch.formats.detect import find_format
from anabranch.formats.source import load

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from anabranch.formats.source import Source
    from anabranch.model.demands import Demands
    from anabranch.model.network import Draft, Network

NETWORKS: dict[str, Callable[[Source], Draft]] = {
    "graphml": graphml.read,
    "gml": gml.read,
    "node-link": node_link.read,
    "rfc8345": rfc8345.read,
    "csv": csv_links.read,
    "sndlib": sndlib.read,
    "sndlib-xml": sndlib_xml.read,
    "rocketfuel": rocketfuel.read,
}
DEMANDS: dict[str, Callable[[Source, Network], Demands]] = {
    "csv": csv_demands.read_demands,
    "sndlib": sndlib.read_demands,
    "sndlib-xml": sndlib_xml.read_demands,
}


def read_network(
    path: str | os.PathLike[str],
    *,
    capacity: float | str | None = None,
    delay: float | str | None = None,
    format: str | None = None,
    nodes: str | os.PathLike[str] | None = None,
    network_id: str | None = None,
) -> Network:
    """Read a network from a file, packed with gzip or not.

    Parameters
    ----------
    path : path
        Undirected edges become two-way links; opposite one-way links become twins. The modules of
        `anabranch.formats` say what else each format means: names, units, what is dropped.
    capacity : float or str, optional
        For links that have none in the file: a number of bit/s, or text such as ``"10 Gbit/s"``.
    delay : float or str, optional
        For links that have none in the file: a number of seconds, text such as ``"5 ms"``, or ``"coordinates"`` for
        the time that light takes in fibre; 0 if not given.
    format : {"graphml", "gml", "node-link", "rfc8345", "csv", "sndlib", "rocketfuel"}, optional
        Found from the file's name and beginning if not given.
    nodes : path, optional
        With CSV: a second file that lists the nodes, ``name,longitude,latitude``.
    network_id : str, optional
        With RFC 8345: which of the file's networks; needed if not exactly one has links.

    Raises
    ------
    ScenarioError
        The file cannot be read or holds no network; the message says where and why.
    """
    source = load(path)
    kind = find_format(source, format, NETWORKS)
    reader = NETWORKS[kind]
    if nodes is not None:
        if kind != "csv":
            raise source.whole.error(f"a file of nodes is given, and this one is {kind}", "give nodes only with CSV")
        reader = partial(csv_links.read, nodes=load(nodes))
    if network_id is not None:
        if kind != "rfc8345":
            remedy = "give network_id only with RFC 8345"
            raise source.whole.error(f"a network is chosen by id, and this file is {kind}", remedy)
        reader = partial(rfc8345.read, network_id=network_id)
    draft = reader(source)
    if not draft.node_names:
        raise source.whole.error("it has no nodes", "check that it holds a network")
    try:
        return draft.build(capacity, delay)
    except ValueError as error:
        raise ScenarioError(f"{source.path}: {error}") from error


def read_demands(path: str | os.PathLike[str], network: Network, *, format: str | None = None) -> Demands:
    """Read demands between the nodes of a network, from a file packed with gzip or not.

    Parameters
    ----------
    path : path
        CSV with a header ``source,target[,demand_bps|demand][,weight][,qos][,start_s|start][,stop_s|stop][,name]``;
        SNDlib's native format; or its XML of dynamic traffic.
    format : {"csv", "sndlib", "sndlib-xml"}, optional
        Found from the file's name and beginning if not given.

    Raises
    ------
    ScenarioError
        The file cannot be read, or a demand does not fit the network; the message says where and why.
    """
    source = load(path)
    kind = find_format(source, format, DEMANDS)
    try:
        return DEMANDS[kind](source, network)
    except ScenarioError:
        raise
    except ValueError as error:
        raise ScenarioError(f"{source.path}: {error}") from error
