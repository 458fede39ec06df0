"""The targets in Python: readers of files that people bring, and what must hold of whatever they read.

The first byte of an input picks the name of the file, and with it the format; all others are what stands in it.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from anabranch import ScenarioError, read_demands, read_network, write_network
from anabranch.sweeps import is_sweep, read_file
from anabranch.sweeps.points import axes_of, points_of
from anabranch.traces.read import read_trace
from anabranch.traces.write import write_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch import Network

MOST_WORDS = 2000
"""Characters of a message: it may repeat the beginning of what is wrong, not all of it."""

MOST_POINTS = 100
"""Of a sweep: more are made in the same way, and take longer."""

LONG = re.compile(r"[\d_]{4}|\d[eExob]")
"""What a number over 1,000 has in TOML."""


@dataclass(frozen=True)
class Target:
    """A reader, and the names of the files that it is given."""

    names: tuple[str, ...]
    read: Callable[[Path], None]


def once(target: Target, data: bytes) -> None:
    """Give a reader what an input says; a refusal must be short and name the file."""
    if not data:
        return
    path = _folder() / target.names[data[0] % len(target.names)]
    path.write_bytes(data[1:])
    words = _refusal(target, path)
    assert words is None or (str(path) in words and len(words) < MOST_WORDS), words


def _refusal(target: Target, path: Path) -> str | None:
    """Give the words with which a reader refuses a file."""
    try:
        target.read(path)
    except ScenarioError as refusal:
        return str(refusal)
    return None


def read_topology(path: Path) -> None:
    """Read a network; where a format can hold it, it is the same when it was written and is read again."""
    network = read_network(path, capacity=1e9, delay=0.0)
    for name in ("written.graphml", "written.json"):
        target = path.with_name(name)
        try:
            write_network(network, target)
        except ScenarioError:
            continue
        again = read_network(target)
        assert again.nodes.equals(network.nodes), again.nodes
        assert again.links.equals(network.links), again.links


def read_all_demands(path: Path) -> None:
    """Read demands on a network of three nodes; each has ends there and numbers that a solver takes."""
    demands = read_demands(path, _three()).connections
    assert (demands["source"] != demands["target"]).all(), demands
    assert (demands["weight"] > 0).all(), demands
    assert (demands["start_s"] >= 0).all(), demands


def read_recording(path: Path) -> None:
    """Read a trace; it goes on in time, and is the same when it was written and is read again."""
    trace = read_trace(path)
    assert trace.duration_s >= 0.0, trace
    target = path.with_name("written")
    try:
        write_trace(trace, target)
    except ScenarioError:
        return
    np.testing.assert_allclose(read_trace(target).duration_s, trace.duration_s, rtol=1e-9)


def read_sweep(path: Path) -> None:
    """Read a sweep; a text that is read is one, and its points are all different."""
    sweep = read_file(path)
    assert is_sweep(sweep.text), sweep
    if LONG.search(sweep.text):
        return
    axes = axes_of(sweep)
    if np.prod([len(axis) for axis in axes]) <= MOST_POINTS:
        points = points_of(sweep, axes)
        assert len({point.sets for point in points}) == len(points), points


@cache
def _own() -> tempfile.TemporaryDirectory[str]:
    """Give a folder that is there until the process ends."""
    return tempfile.TemporaryDirectory(prefix="anabranch-fuzz-")


def _folder() -> Path:
    return Path(_own().name)


@cache
def _three() -> Network:
    path = _folder() / "three.csv"
    path.write_text("source,target,capacity,delay\nN1,N2,1 Mbit/s,1 ms\nN2,N3,1 Mbit/s,1 ms\n")
    return read_network(path)


TARGETS = {
    "topology": Target(
        ("a.graphml", "a.gml", "a.json", "a.csv", "a.txt", "a.xml", "a.intra", "a.gml.gz"), read_topology
    ),
    "demands": Target(("a.csv", "a.txt", "a.xml"), read_all_demands),
    "recording": Target(("trace",), read_recording),
    "sweep": Target(("sweep.toml",), read_sweep),
}
