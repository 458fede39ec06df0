"""Logs of connections are qlog: records, events and fields are those of the drafts."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from anabranch import _core
from exits import echoing, token_file
from labs import PROGRAM
from running_programs import LONG_S, Lines, end, start
from test_full_disk import small_disk
from test_proxy import curl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no real connections"),
    pytest.mark.skipif(sys.platform != "linux", reason="paths take several addresses of this machine"),
]

NUMBER, COUNT = (int, float), int
RTTS = ("min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance")
COUNTS = ("pto_count", "congestion_window", "bytes_in_flight", "ssthresh", "packets_in_flight", "pacing_rate")

ENDPOINT = {"ip_v4": str, "port_v4": COUNT, "ip_v6": str, "port_v6": COUNT, "connection_ids": list}
HEADER = {"packet_type": str, "packet_number": COUNT}

EVENTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "quic:connection_started": ({"local": ENDPOINT, "remote": ENDPOINT}, {"local", "remote"}),
    "quic:tuple_assigned": ({"tuple_id": str, "tuple_local": ENDPOINT, "tuple_remote": ENDPOINT}, {"tuple_id"}),
    "quic:recovery_metrics_updated": ({**dict.fromkeys(RTTS, NUMBER), **dict.fromkeys(COUNTS, COUNT)}, set()),
    "quic:congestion_state_updated": ({"old": str, "new": str, "trigger": str}, {"new"}),
    "quic:packet_lost": ({"header": HEADER, "frames": list, "is_mtu_probe_packet": bool, "trigger": str}, set()),
    "quic:connection_closed": (
        {
            **dict.fromkeys(("connection_error", "application_error", "reason"), str),
            "initiator": str,
            "error_code": COUNT,
            "internal_code": COUNT,
            "trigger": str,
        },
        set(),
    ),
    "loglevel:info": ({"message": str}, set()),
    "loglevel:warning": ({"code": COUNT, "message": str}, set()),
}
"""The fields of each event with their types, and those that must be there, as the drafts define them:
draft-ietf-quic-qlog-quic-events-12 and, for the last two, draft-ietf-quic-qlog-main-schema-13."""

TRIGGERS = {"idle_timeout", "application", "error", "version_mismatch", "stateless_reset", "aborted", "unspecified"}
PACKETS = {"initial", "handshake", "0RTT", "1RTT", "retry", "version_negotiation", "stateless_reset", "unknown"}


def check_fields(data: Any, kinds: dict[str, Any]) -> None:
    assert isinstance(data, dict)
    for name, value in data.items():
        kind = kinds[name]
        if isinstance(kind, dict):
            check_fields(value, kind)
        else:
            assert isinstance(value, kind), (name, value)
            assert not isinstance(value, bool) or kind is bool, (name, value)
            assert not isinstance(value, (int, float)) or value >= 0, (name, value)


def check_event(event: dict[str, Any]) -> None:
    """Hold an event to the schema."""
    assert event.keys() - {"tuple"} == {"time", "name", "data"}, event
    assert isinstance(event["time"], NUMBER), event
    assert isinstance(event.get("tuple", ""), str), event
    kinds, needed = EVENTS[event["name"]]
    data = event["data"]
    assert needed <= data.keys(), event
    check_fields(data, kinds)
    if event["name"] == "quic:recovery_metrics_updated":
        assert data, event
    if event["name"] == "quic:packet_lost":
        assert data["header"]["packet_type"] in PACKETS, event
    if event["name"] == "quic:connection_closed":
        assert data["trigger"] in TRIGGERS, event
        assert data.get("initiator", "local") in {"local", "remote"}, event


def read(file: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read a sequence of JSON texts (RFC 7464), and hold it to the schema; give its header and its events."""
    text = file.read_text(encoding="utf-8")
    assert text.startswith("\x1e")
    records = text[1:].split("\x1e")
    assert all(record.endswith("\n") for record in records)
    header, *events = map(json.loads, records)
    # The schema and the format stand in the first 256 bytes, by which tools know them.
    assert {"file_schema", "serialization_format"} <= set(re.findall(r'"(\w+)":', text[:256]))
    assert header["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert header["serialization_format"] == "application/qlog+json-seq"
    trace = header["trace"]
    assert trace["event_schemas"] == [
        "urn:ietf:params:qlog:events:quic-12",
        "urn:ietf:params:qlog:events:loglevel-13",
    ]
    clock = trace["common_fields"]["reference_time"]
    assert (clock["clock_type"], clock["epoch"]) == ("monotonic", "unknown")
    assert file.name == f"{trace['common_fields']['group_id']}_{trace['vantage_point']['type']}.sqlog"
    for event in events:
        check_event(event)
    assert events[0]["name"] == "quic:connection_started"
    assert events[-1]["name"].startswith("loglevel:"), "the last record says what is missing"
    return header, events


def logs(folder: Path, vantage: str) -> list[list[dict[str, Any]]]:
    """Give the events of all logs of one end, the oldest first."""
    return [read(file)[1] for file in sorted(folder.glob(f"*_{vantage}.sqlog"))]


def named(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event for event in events if event["name"] == name]


def stop(program: Lines) -> None:
    """End a program as Ctrl-C does, so that its logs end too."""
    program.process.send_signal(signal.SIGINT)
    program.process.wait(LONG_S)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Lines]:
    """Run a server of measurements that keeps logs."""
    own = start("perf", "--serve", "127.0.0.1:0", "--qlog", str(tmp_path / "server"))
    yield own
    end(own)


def perf(url: str, *options: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    words = [*PROGRAM, "perf", url, "--amount", "20MB", *options]
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=LONG_S, env={**os.environ, **(environment or {})}
    )


def test_both_ends_of_a_measurement_over_two_paths_keep_logs(server: Lines, tmp_path: Path) -> None:
    url = server.until("anabranch://")
    done = perf(url, "--via", "127.0.0.2,127.0.0.3", "--qlog", str(tmp_path / "client"))
    assert done.returncode == 0, done.stderr
    stop(server)
    (client,), (far,) = logs(tmp_path / "client", "client"), logs(tmp_path / "server", "server")
    # The client has sent, so its windows have grown on both paths.
    for path in ("0", "1"):
        metrics = [event["data"] for event in named(client, "quic:recovery_metrics_updated") if event["tuple"] == path]
        windows = [data["congestion_window"] for data in metrics if "congestion_window" in data]
        assert len(windows) > 2, path
        assert max(windows) > windows[0] > 0, path
        rtts = [data["latest_rtt"] for data in metrics if "latest_rtt" in data]
        least = [data["min_rtt"] for data in metrics if "min_rtt" in data]
        assert least == sorted(least, reverse=True), path
        assert least[-1] == min(rtts), path
        assert any(data.get("bytes_in_flight", 0) > 0 for data in metrics), path
    for events in (client, far):
        tuples = {event["data"]["tuple_id"]: event["data"] for event in named(events, "quic:tuple_assigned")}
        assert set(tuples) == {"0", "1"}
        assert events[-1]["data"] == {"message": "no events are missing"}
        times = [event["time"] for event in events]
        assert max(times) < LONG_S * 1000
    locals_ = {event["data"]["tuple_local"]["ip_v4"] for event in named(client, "quic:tuple_assigned")}
    assert locals_ == {"127.0.0.2", "127.0.0.3"}
    assert named(client, "quic:connection_closed")[0]["data"]["initiator"] == "local"
    assert len(named(far, "quic:connection_closed")) == 1


def test_a_variable_of_the_environment_names_the_folder_too(server: Lines, tmp_path: Path) -> None:
    done = perf(server.until("anabranch://"), environment={"QLOGDIR": f"{tmp_path / 'client'}/"})
    assert done.returncode == 0, done.stderr
    assert len(logs(tmp_path / "client", "client")) == 1


def test_a_connection_that_fails_says_why_in_its_log(server: Lines, tmp_path: Path) -> None:
    url = re.sub("pin=.{64}", f"pin={'0' * 64}", server.until("anabranch://"))
    assert perf(url, "--qlog", str(tmp_path / "client")).returncode == 1
    (events,) = logs(tmp_path / "client", "client")
    (closed,) = named(events, "quic:connection_closed")
    assert closed["data"]["connection_error"].startswith("crypto_error_0x1")
    assert "it is not the server that was meant" in closed["data"]["reason"]


def test_a_proxy_and_its_exit_keep_a_log_of_each_line(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("the program curl is missing")
    token, folders = str(token_file(tmp_path)), {name: tmp_path / name for name in ("exit", "proxy")}
    known = ("--token-file", token, "--listen", "127.0.0.1:0", "--allow", "127.0.0.1")
    exit_ = start("exit", *known, "--qlog", str(folders["exit"]))
    url = exit_.until("anabranch proxy ").split("'")[1]
    ways = ("--via", "127.0.0.2,127.0.0.3", "--http", "127.0.0.1:0")
    proxy = start("proxy", url, "--token-file", token, *ways, "--qlog", str(folders["proxy"]))
    try:
        with echoing() as port:
            # The target echoes the request, which is no answer of HTTP, so only the connection counts here.
            curl(
                "--proxytunnel",
                "--http0.9",
                "--max-time",
                "3",
                "-x",
                proxy.until("http://"),
                f"http://127.0.0.1:{port}/",
            )
        proxy.until("connected over")
    finally:
        stop(proxy)
        stop(exit_)
    for name, vantage in (("proxy", "client"), ("exit", "server")):
        all_events = logs(folders[name], vantage)
        assert len(all_events) >= 2, name
        assert all(named(events, "quic:recovery_metrics_updated") for events in all_events), name


def test_a_fetch_keeps_a_log_of_its_connection(tmp_path: Path) -> None:
    file = tmp_path / "some.bin"
    file.write_bytes(bytes(1_000_000))
    sharer = start("share", str(file), "--listen", "127.0.0.1:0")
    try:
        words = [*PROGRAM, "fetch", sharer.until("anabranch fetch ").split("'")[1], "--to", str(tmp_path / "to.bin")]
        words += ["--qlog", str(tmp_path / "logs")]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LONG_S)
    finally:
        end(sharer)
    assert done.returncode == 0, done.stderr
    assert len(logs(tmp_path / "logs", "client")) == 1


def test_a_folder_that_cannot_be_used_is_refused(server: Lines, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = perf(server.until("anabranch://"), "--qlog", str(tmp_path / "file"))
    assert done.returncode == 1, done
    assert f"cannot write logs into {tmp_path / 'file'}: " in done.stderr
    assert "name another folder by --qlog" in done.stderr


@pytest.mark.slow
def test_a_full_disk_ends_the_log_and_not_the_transfer(server: Lines, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "16k") as disk:
        done = perf(server.until("anabranch://"), "--qlog", str(disk))
        assert done.returncode == 0, done.stderr
        assert re.search(r"the log .*_client\.sqlog ends early: No space left on device", done.stderr), done.stderr
        (file,) = disk.glob("*.sqlog")
        assert file.stat().st_size > 0
