"""Networks and demands, read from files of any known format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.errors import ScenarioError
from anabranch.formats.detect import find_format
from anabranch.formats.known import DEMAND_FORMATS, FORMATS
from anabranch.formats.source import load

if TYPE_CHECKING:
    import os

    from anabranch.formats.format import Format
    from anabranch.formats.source import Source
    from anabranch.model.demands import Demands
    from anabranch.model.network import Draft, Network


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
        The capacity of links that have none in the file: a number of bit/s, or text such as ``"10 Gbit/s"``.
    delay : float or str, optional
        The delay of links that have none in the file: a number of seconds, text such as ``"5 ms"``, or
        ``"coordinates"`` for the time that light takes in fibre; 0 if not given.
    format : str, optional
        The name of the format, such as ``"graphml"``; found from the file's name and beginning if not given.
    nodes : path, optional
        With CSV: a second file that lists the nodes, ``name,longitude,latitude``.
    network_id : str, optional
        With RFC 8345: which of the file's networks; needed if not exactly one has links.

    Raises
    ------
    ScenarioError
        The file cannot be read or holds no network; the message says where and why.
    """
    draft, source = read_draft(path, format=format, nodes=nodes, network_id=network_id)
    return built(draft, source, capacity, delay)


def read_draft(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    nodes: str | os.PathLike[str] | None = None,
    network_id: str | None = None,
) -> tuple[Draft, Source]:
    """Read the contents of a file of a network, before missing capacities and delays are filled in."""
    source = load(path)
    kind = find_format(source, format, FORMATS)
    options: dict[str, Any] = {}
    if nodes is not None:
        _check_takes(kind, "nodes", source, "a file of nodes is given")
        options["nodes"] = load(nodes)
    if network_id is not None:
        _check_takes(kind, "network_id", source, "a network is chosen by id")
        options["network_id"] = network_id
    draft = kind.read(source, **options)
    if not draft.node_names:
        raise source.whole.error("it has no nodes", "check that it holds a network")
    return draft, source


def built(draft: Draft, source: Source, capacity: float | str | None, delay: float | str | None) -> Network:
    """Fill in what the contents of a file lack, and check all of it."""
    try:
        return draft.build(capacity, delay)
    except ValueError as error:
        raise ScenarioError(f"{source.path}: {error}") from error


def _check_takes(kind: Format, option: str, source: Source, reason: str) -> None:
    """Refuse an option of `read_network` that the format does not have."""
    if option not in kind.takes:
        takers = ", ".join(name for name, one in FORMATS.items() if option in one.takes)
        raise source.whole.error(f"{reason}, and this file is {kind.name}", f"give {option} only with {takers}")


def read_demands(path: str | os.PathLike[str], network: Network, *, format: str | None = None) -> Demands:
    """Read demands between the nodes of a network, from a file packed with gzip or not.

    Parameters
    ----------
    path : path
        CSV with a header ``source,target[,demand_bps|demand][,weight][,qos][,reserved_bps|reserved]
        [,start_s|start][,stop_s|stop][,name]``;
        SNDlib's native format; or its XML of dynamic traffic.
    format : str, optional
        The name of the format, such as ``"csv"``; found from the file's name and beginning if not given.

    Raises
    ------
    ScenarioError
        The file cannot be read, or a demand does not fit the network; the message says where and why.
    """
    source = load(path)
    kind = find_format(source, format, DEMAND_FORMATS)
    assert kind.read_demands is not None, "it is one of the formats that hold demands"
    try:
        return kind.read_demands(source, network)
    except ScenarioError:
        raise
    except ValueError as error:
        raise ScenarioError(f"{source.path}: {error}") from error
