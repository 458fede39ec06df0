"""Fetches in the shape of iperf3's JSON, so that what reads that reads them: a stream there is a path here."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.transfer import Fetched, FetchState

INTERVAL_S = 1.0


def iperf_report(fetched: Fetched, states: Sequence[FetchState]) -> dict[str, Any]:
    """Give start, intervals and end of a fetch.

    Sums count bytes of the file that were verified; streams what their paths carried as payload of UDP, headers of QUIC
    included.
    """
    begin, end = replace(states[-1], time_s=0.0, sources=[]), states[-1]
    marks = _marks([begin, *states])
    labels = [label for label, _ in _paths(end)]
    return {
        "start": {
            "connected": [{"socket": number, "path": label} for number, label in enumerate(labels, 1)],
            "test_start": {"protocol": "QUIC", "bytes": fetched.size_bytes, "reverse": 1},
        },
        "intervals": [_interval(labels, before, after) for before, after in pairwise(marks)],
        "end": _interval(labels, begin, end, "sum_received")
        | {"file": {"path": str(fetched.path), "blake3": fetched.hash, "was_there_bytes": fetched.was_there_bytes}},
    }


def _marks(states: Sequence[FetchState]) -> list[FetchState]:
    """Give the first state, one about each `INTERVAL_S` after it, and the last."""
    marks = [states[0]]
    for state in states:
        if state.time_s - marks[-1].time_s >= INTERVAL_S:
            marks.append(state)
    if states[-1] is not marks[-1]:
        marks.append(states[-1])
    return marks


def _paths(state: FetchState) -> list[tuple[str, dict[str, Any]]]:
    return [(f"{source['source']} {path['path']}", path) for source in state.sources for path in source["paths"]]


def _interval(labels: Sequence[str], before: FetchState, after: FetchState, total: str = "sum") -> dict[str, Any]:
    times = {"start": before.time_s, "end": after.time_s, "seconds": after.time_s - before.time_s}
    had, has = dict(_paths(before)), dict(_paths(after))
    streams = []
    for number, label in enumerate(labels, 1):
        path = has.get(label)
        # A source that was reached again counts anew.
        carried = (path or {}).get("received_bytes", 0)
        earlier = had.get(label, {}).get("received_bytes", 0)
        count = carried - earlier if carried >= earlier else carried
        rtt = {"rtt": round(1e6 * path["rtt_s"])} if path else {}
        streams.append({"socket": number, "path": label, **_amount(count, times), **rtt, "sender": False})
    return {"streams": streams, total: {**_amount(after.brought_bytes - before.brought_bytes, times), "sender": False}}


def _amount(count: int, times: dict[str, float]) -> dict[str, float]:
    return {**times, "bytes": count, "bits_per_second": 8 * count / max(times["seconds"], 1e-9)}
