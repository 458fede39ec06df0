"""What an agent shows by HTTP: figures that Prometheus reads, answers as their description says, and a network."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from openapi_spec_validator import validate
from prometheus_client.parser import text_string_to_metric_families

import anabranch as ab
from agents_around import Agents, anabranch, three_agents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(not ab._core.HAS_LIVE, reason="this build has no agents")

SESSIONS = """
[[session]]
name = "tunnel"
to = "São"
paths = 1

[[session]]
name = "small"
to = "mid town"
paths = 1
demand = "1 Mbit/s"
"""


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agents]:
    """Three agents in a line, of which the first has two sessions."""
    with three_agents(tmp_path_factory.mktemp("agents"), {"west": SESSIONS}) as agents:
        # 97 % of the narrower link, and the demand.
        agents.wait_for("west", lambda rates: near(rates, {"tunnel": 9.7e6, "small": 1e6}))
        yield agents


def near(rates: dict[str, float], wanted: dict[str, float]) -> bool:
    return rates.keys() == wanted.keys() and all(abs(rates[name] - bps) < 0.01 * bps for name, bps in wanted.items())


def samples(text: str) -> dict[str, float]:
    """Give the series of a text by name and labels; it has each family once, with a type and help."""
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    assert all(family.documentation and family.type in ("gauge", "counter") for family in families)
    return {
        sample.name + "".join(f" {label}={value}" for label, value in sample.labels.items()): sample.value
        for family in families
        for sample in family.samples
    }


def test_figures_are_what_prometheus_reads(agents: Agents) -> None:
    status, headers, text = agents.get("west", "/metrics")
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    found = samples(text)
    base = "anabranch_agent_"
    assert abs(found[f"{base}session_granted_bytes_per_second session=tunnel to=São"] - 9.7e6 / 8) < 1e4
    assert found[f"{base}session_demand_bytes_per_second session=small to=mid town"] == 1e6 / 8
    assert found[f"{base}neighbour_up neighbour=mid town"] == 1
    assert found[f"{base}sessions state=active"] == 2
    assert found[f"{base}bottleneck_paths link=mid town-São"] == 1
    assert found[f"{base}paths limit=demand"] == 1
    assert found[f"{base}link_claims link=west-mid town to=mid town"] == pytest.approx(2, rel=0.01)
    assert found[f"{base}control_packets_total outcome=counted"] > 0
    assert 364 < (found[f"{base}certificate_expiry_timestamp_seconds"] - time.time()) / 86400 < 367
    assert found[f"{base}refused_requests_total kind=lasting"] == 0
    assert found[f"{base}sessions_left_out"] == 0
    assert all(name.startswith(base) for name in found)
    # With room for one session the larger one has series, and one is left out.
    found = samples(agents.get("west", "/metrics?sessions=1")[2])
    assert found[f"{base}sessions_left_out"] == 1
    assert [name for name in found if "session_granted" in name] == [
        f"{base}session_granted_bytes_per_second session=tunnel to=São"
    ]


def test_answers_are_as_the_description_says(agents: Agents) -> None:
    document = agents.json("west", "/openapi.json")
    validate(document)
    number = agents.json("west", "/api/v1/sessions?name=tunnel")["sessions"][0]["number"]
    asked = 0
    for path, methods in document["paths"].items():
        assert list(methods) == ["get"]
        content = methods["get"]["responses"]["200"]["content"]
        if not path.startswith("/api") or "application/json" not in content:
            continue
        schema = content["application/json"]["schema"] | {"components": document["components"]}
        path = path.replace("{number}", str(number))
        answer = agents.json("west", f"{path}?from=west&to=S%C3%A3o" if path == "/api/v1/paths" else path)
        jsonschema.validate(answer, schema, cls=jsonschema.Draft202012Validator)
        asked += 1
    assert asked == 10
    # What is wrong is told as its schema has it, with the status.
    problem = document["components"]["responses"]["Problem"]["content"]["application/problem+json"]["schema"]
    for path, status in [("/api/v1/sessions/999", 404), ("/api/v1/history?since=x", 400), ("/nothing", 404)]:
        found, headers, text = agents.get("west", path)
        assert (found, headers["content-type"]) == (status, "application/problem+json")
        jsonschema.validate(json.loads(text), problem | {"components": document["components"]})


def test_a_session_is_told_why_it_has_no_more(agents: Agents) -> None:
    sessions = {own["name"]: own["number"] for own in agents.json("west", "/api/v1/sessions")["sessions"]}
    tunnel = agents.json("west", f"/api/v1/sessions/{sessions['tunnel']}")["why"]
    assert "mid town-São is full" in tunnel["sentence"]
    assert tunnel["paths"][0]["limit"] == {"link": "mid town-São"}
    assert abs(tunnel["level_bps"] - 9.7e6) < 1e5
    small = agents.json("west", f"/api/v1/sessions/{sessions['small']}")["why"]
    assert (small["is_met"], small["paths"][0]["limit"]) == (True, "demand")


def test_the_network_of_an_agent_becomes_agents_elsewhere(agents: Agents, tmp_path: Path) -> None:
    text = agents.get("west", "/api/v1/topology")[2]
    (tmp_path / "topology.json").write_text(text)
    network = ab.read_network(tmp_path / "topology.json")
    assert network.core.node_names == ["west", "mid town", "São"]
    assert network.links.select("name", "capacity_bps", "delay_s").rows() == [
        ("west-mid town", 20e6, 0.002),
        ("mid town-west", 20e6, 0.002),
        ("mid town-São", 10e6, 0.0),
        ("São-mid town", 10e6, 0.0),
    ]
    # Others read the attributes of RFC 8795 alone.
    document = json.loads(text)
    links = document["ietf-network:networks"]["network"][0]["ietf-network-topology:link"]
    for link in links:
        for key in [key for key in link if key.startswith("anabranch:")]:
            del link[key]
    (tmp_path / "plain.json").write_text(json.dumps(document))
    assert ab.read_network(tmp_path / "plain.json").links.equals(network.links)
    places = [part for node in network.core.node_names for part in ("--address", f"{node}=192.0.2.1")]
    made = anabranch("agent", "init", tmp_path / "topology.json", "--out", tmp_path / "net", *places)
    assert made.returncode == 0, made.stderr
    assert anabranch("agent", "check", "--config", tmp_path / "net" / "west" / "agent.toml").returncode == 0


def events(agents: Agents, node: str, last: str | None = None) -> Iterator[tuple[str, str, Any]]:
    """Give the events of an agent: id, kind and data."""
    connection = http.client.HTTPConnection("127.0.0.1", agents.ports[node], timeout=30)
    connection.request("GET", "/api/v1/events", headers={} if last is None else {"Last-Event-ID": last})
    answer = connection.getresponse()
    assert answer.headers["content-type"] == "text/event-stream"
    fields: dict[str, str] = {}
    try:
        for line in iter(answer.readline, b""):
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "event" in fields:
                yield fields["id"], fields["event"], json.loads(fields["data"])
                fields = {}
    finally:
        connection.close()


def test_events_tell_of_a_reload_and_are_told_again_from_an_id_on(agents: Agents) -> None:
    stream = events(agents, "west")
    first, kind, _ = next(stream)
    assert kind == "begin"
    agents.edit("west", 'demand = "1 Mbit/s"', 'demand = "2 Mbit/s"')
    last = next(
        identity
        for identity, _, data in stream
        if data["event"] == "changed" and data["session"]["name"] == "small" and data["session"]["rate_bps"] > 1.9e6
    )
    stream.close()
    again = events(agents, "west", first)
    told = next(told for told in again if told[0] == last)
    assert told[2]["session"]["name"] == "small"
    again.close()
    changes = agents.json("west", f"/api/v1/changes?since={first}")
    assert changes["missed"] == 0
    assert {"event": "changed"}.items() <= changes["changes"][0].items()
    # An id of another start is a gap.
    assert next(events(agents, "west", "17-3"))[1] == "missed"
    agents.edit("west", 'demand = "2 Mbit/s"', 'demand = "1 Mbit/s"')


def test_the_history_has_the_rates_of_the_last_seconds(agents: Agents) -> None:
    number = agents.json("west", "/api/v1/sessions?name=tunnel")["sessions"][0]["number"]
    deadline = time.monotonic() + 30
    while True:
        entries = agents.json("west", f"/api/v1/history?since={time.time() - 60}&session={number}")["entries"]
        rates = [rate for entry in entries for own, rate in entry["rates_bps"] if own == number]
        if len(rates) > 2 and abs(rates[-1] - 9.7e6) < 1e5:
            return
        assert time.monotonic() < deadline, entries
        time.sleep(0.2)


def test_an_address_that_others_reach_has_to_be_wanted(agents: Agents) -> None:
    config = agents.configs["west"]
    text = config.read_text()
    config.write_text(text.replace('http = "127.0.0.1:', 'http = "0.0.0.0:'))
    done = anabranch("agent", "check", "--config", config)
    config.write_text(text)
    assert done.returncode == 2
    assert "open = true" in done.stderr


def test_the_log_warns_of_an_agent_that_others_reach(agents: Agents) -> None:
    config = agents.configs["São"]
    agents.stop("São")
    text = config.read_text()
    address = f"0.0.0.0:{agents.ports['São']}"
    config.write_text(re.sub('http = ".*"', f'http = {{ listen = "{address}", open = true }}', text))
    agents.start("São")
    deadline = time.monotonic() + 60
    while f"it answers by HTTP at {address}, where anybody who reaches it can read" not in agents.log.read_text():
        assert time.monotonic() < deadline, agents.log.read_text()
        time.sleep(0.1)
    assert agents.json("São", "/api/v1/agent")["node"] == "São"
    agents.stop("São")
    config.write_text(text)
    agents.start("São")
    agents.wait_until_it_answers("São")


def test_the_page_is_sent_if_it_was_built(agents: Agents) -> None:
    script = (
        "import sys; from anabranch.agents.page import live_page; print('id=\"agent\"' in (live_page(\"agent\") or ''))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    status, headers, text = agents.get("west", "/")
    if done.stdout == "True\n":
        assert (status, 'id="agent"' in text) == (200, True)
        assert "script-src 'sha256-" in headers["content-security-policy"]
    else:
        assert status == 404
