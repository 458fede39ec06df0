"""What `anabranch fetch --json` reports, from states that a fetch told."""

from pathlib import Path

from anabranch.transfer.fetched import Fetched, FetchState
from anabranch.transfer.iperf import iperf_report


def mirror(name, brought_bytes, *paths):
    keys = ("path", "is_open", "received_bytes", "rtt_s")
    rows = [dict(zip(keys, path, strict=True)) for path in paths]
    source = {"source": name, "standing": "sending", "why": None, "is_mirror": True, "losses": 0}
    return source | {"brought_bytes": brought_bytes, "paths": rows}


def report(*looks):
    states = [FetchState(time_s, 300, 0, list(sources)) for time_s, *sources in looks]
    return iperf_report(Fetched(Path("x"), {"blake3": "0"}, "whole", 300, 0, states[-1]), states)


def test_a_path_that_is_being_connected_is_no_stream():
    unconnected = ("not connected", False, 0, 0.0)
    got = report(
        (0.1, mirror("one", 0, unconnected), mirror("two", 0, unconnected)),
        (1.0, mirror("one", 50, ("a", True, 60, 0.02)), mirror("two", 0, unconnected)),
        (2.0, mirror("one", 100, ("a", False, 100, 0.02)), mirror("two", 200, ("b", True, 200, 0.01))),
    )
    assert [each["path"] for each in got["start"]["connected"]] == ["one a", "two b"]
    assert [each["bytes"] for each in got["end"]["streams"]] == [100, 200]
    assert [[each["bytes"] for each in interval["streams"]] for interval in got["intervals"]] == [[60, 0], [40, 200]]


def test_what_a_path_carried_over_connections_before_its_last_counts():
    got = report(
        (1.0, mirror("one", 100, ("a", True, 100, 0.02))),
        (2.0, mirror("one", 100, ("a", False, 0, 0.02))),
        (3.0, mirror("one", 150, ("a", True, 50, 0.02))),
    )
    assert [each["bytes"] for each in got["end"]["streams"]] == [150]
