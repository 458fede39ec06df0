"""Fetches in iperf3's JSON format, for programs that read it: a stream of iperf3 is a path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.transfer.fetched import Fetched, FetchState

INTERVAL_S = 1.0

_Key = tuple[int, str]
"""The number of a source, and a path to it."""


def iperf_report(fetched: Fetched, states: Sequence[FetchState]) -> dict[str, Any]:
    """Give start, intervals and end of a fetch.

    Sums count bytes of the file that were kept; streams what their paths carried: from sharers the payload of UDP,
    headers of QUIC included, from web servers bytes of the file.
    """
    end = states[-1]
    looks = _looks([replace(end, time_s=0.0, sources=[]), *states])
    marks = _marks(looks)
    labels = {key: f"{end.sources[key[0]]['source']} {key[1]}" for key in looks[-1].carried}
    return {
        "start": {
            "connected": [{"socket": number, "path": label} for number, label in enumerate(labels.values(), 1)],
            "test_start": {"protocol": _protocol(end), "bytes": fetched.size_bytes, "reverse": 1},
        },
        "intervals": [_interval(labels, before, after, "sum") for before, after in pairwise(marks)],
        "end": _interval(labels, looks[0], looks[-1], "sum_received")
        | {
            "file": {
                "path": str(fetched.path),
                **fetched.hashes,
                "proof": fetched.proof,
                "was_there_bytes": fetched.was_there_bytes,
            },
            "sources": [
                {key: source[key] for key in ("source", "standing", "why", "brought_bytes", "losses")}
                for source in end.sources
            ],
        },
    }


def _protocol(state: FetchState) -> str:
    """Give the transport of all sources: TCP from web servers, QUIC from sharers."""
    kinds = {"TCP" if source["is_mirror"] else "QUIC" for source in state.sources}
    return " and ".join(sorted(kinds))


@dataclass(frozen=True)
class _Look:
    """The state at a time: bytes of the file, and the carried bytes and the round trip of each path of each source."""

    time_s: float
    brought_bytes: int
    carried: dict[_Key, int]
    rtt_s: dict[_Key, float]


def _looks(states: Sequence[FetchState]) -> list[_Look]:
    """Give what there was at each state; what a path carried over connections before its last counts too.

    A path that is still being connected has no addresses, and is no stream.
    """
    looks: list[_Look] = []
    last: dict[_Key, int] = {}
    carried: dict[_Key, int] = {}
    for state in states:
        paths = {
            (number, path["path"]): path
            for number, source in enumerate(state.sources)
            for path in source["paths"]
            if path["is_open"] or path["received_bytes"]
        }
        for key, path in paths.items():
            now, before = path["received_bytes"], last.get(key, 0)
            carried[key] = carried.get(key, 0) + (now - before if now >= before else now)
            last[key] = now
        rtt_s = {key: path["rtt_s"] for key, path in paths.items()}
        looks.append(_Look(state.time_s, state.brought_bytes, dict(carried), rtt_s))
    return looks


def _marks(looks: Sequence[_Look]) -> list[_Look]:
    """Give the first, one about each `INTERVAL_S` after it, and the last."""
    marks = [looks[0]]
    for look in looks:
        if look.time_s - marks[-1].time_s >= INTERVAL_S:
            marks.append(look)
    if looks[-1] is not marks[-1]:
        marks.append(looks[-1])
    return marks


def _interval(labels: dict[_Key, str], before: _Look, after: _Look, total: str) -> dict[str, Any]:
    times = {"start": before.time_s, "end": after.time_s, "seconds": after.time_s - before.time_s}
    streams = []
    for number, (key, label) in enumerate(labels.items(), 1):
        count = after.carried.get(key, 0) - before.carried.get(key, 0)
        rtt = {"rtt": round(1e6 * after.rtt_s[key])} if key in after.rtt_s else {}
        streams.append({"socket": number, "path": label, **_amount(count, times), **rtt, "sender": False})
    return {"streams": streams, total: {**_amount(after.brought_bytes - before.brought_bytes, times), "sender": False}}


def _amount(count: int, times: dict[str, float]) -> dict[str, float]:
    return {**times, "bytes": count, "bits_per_second": 8 * count / max(times["seconds"], 1e-9)}
