"""Programs on other machines: they ask an agent for paths, rates and items by QUIC, with a certificate."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents_around import PROGRAM, Agents, anabranch, three_agents
from anabranch import _core
from anabranch.agents.files import issue_certificate, write_client
from anabranch.agents.finding import Publication, find_sources, followed_sources
from anabranch.agents.paths import agent_paths
from anabranch.agents.reached import agent_of
from anabranch.agents.session import AgentSession
from anabranch.errors import ScenarioError

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no agents"),
    pytest.mark.skipif(sys.platform == "win32", reason="agents answer by a socket of Unix"),
]

RIGHTS = """
[[application]]
name = "all"
may = ["rates", "paths", "publish", "find"]
items = ["videos/*"]
most = "5 Mbit/s"

[[application]]
name = "old"
"""

SILENCE_S = 1.0
"""The time after which a connection on which nothing is heard counts as lost."""


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Agents]:
    """Run three agents; applications have rights at that of west."""
    with three_agents(tmp_path, {"west": RIGHTS}) as running:
        for node in running.configs:
            running.wait_until_it_answers(node)
        yield running


def client(agents: Agents, name: str = "all", *, issuer: Path | None = None) -> Path:
    """Write a certificate and the file of a client, for the agent of west."""
    net = agents.configs["west"].parents[1]
    folder = net.parent / f"of {name} {os.urandom(4).hex()}"
    folder.mkdir()
    issue_certificate(issuer or net, name, folder / "app.pem")
    return write_client(net, "west", folder / "app.pem")[0]


def until(what: str, is_true: Callable[[], bool], seconds: float = 20.0) -> float:
    begin = time.monotonic()
    while not is_true():
        assert time.monotonic() < begin + seconds, what
        time.sleep(0.02)
    return time.monotonic() - begin


def test_a_program_elsewhere_asks_as_one_on_the_machine_of_the_agent(agents: Agents) -> None:
    own = client(agents)
    links = [["west-mid town", "mid town-São"]]
    for config in (own, agents.configs["west"]):
        assert [path.links for path in agent_paths(config, "São", ["west"])] == links
        with AgentSession(config, "São", demand="4 Mbit/s", name="one") as session:
            until("rates", lambda session=session: session.rates_bps == pytest.approx([4e6], rel=1e-3))
            assert session.paths == links
    until("the sessions have gone", lambda: agents.json("west", "/api/v1/sessions")["count"] == 0)
    with AgentSession(own, "São") as session:
        until("what it may have", lambda: session.rates_bps == pytest.approx([5e6], rel=1e-3))
    for wish, said in (
        ({"weight": 2.0}, "with a weight of at most 1"),
        ({"reserved": "1 Mbit/s"}, "may reserve at most"),
    ):
        with pytest.raises(ScenarioError, match=said):
            AgentSession(own, "São", **wish)
    with pytest.raises(
        ScenarioError, match=re.escape('`old` may not ask for paths: the agent\'s file says may = ["rates"]')
    ):
        agent_paths(client(agents, "old"), "São", ["west"])


def test_an_item_is_found_until_its_publisher_is_killed(agents: Agents) -> None:
    own = client(agents)
    command = ["agent", "publish", "videos/one", "--node", "mid town", "--at", "https://192.0.2.1/one", "--config"]
    publisher = subprocess.Popen([*PROGRAM, *command, str(own)], stderr=subprocess.PIPE, text=True)
    try:
        assert "videos/one is published at mid town" in publisher.stderr.readline()
        told = followed_sources(own, "videos/one", "São")
        (source,) = next(told)
        assert (source.node, source.at) == ("mid town", "https://192.0.2.1/one")
        assert [path.links for path in source.paths] == [["mid town-São"]]
        assert source.paths[0].forward is not None
        # The file of the agent itself does as well, and paths to the node of the item are none.
        (here,) = find_sources(agents.configs["west"], "videos/one", "mid town")
        assert here.paths == []
        items = agents.json("west", "/api/v1/items")["items"]
        assert items == [{"item": "videos/one", "sources": [{"node": "mid town", "at": "https://192.0.2.1/one"}]}]
        with Publication(own, "videos/one", "west", "https://192.0.2.9/one"):
            assert {source.node for source in next(told)} == {"west", "mid town"}
            # The agent looks at itself four times a second.
            until("figures", lambda: "anabranch_agent_item_sources 2" in agents.get("west", "/metrics")[2])
        assert [source.node for source in next(told)] == ["mid town"]
        publisher.kill()
        begin = time.monotonic()
        assert next(told) == []
        assert time.monotonic() - begin < SILENCE_S + 1.0
    finally:
        publisher.kill()
        publisher.communicate()


def test_commands_print_paths_and_sources_and_follow_them(agents: Agents) -> None:
    own = client(agents)
    done = anabranch("agent", "paths", "west", "mid town", "São", "--config", own)
    assert done.returncode == 0, done
    assert re.search(r"west +west-mid town, mid town-São +0", done.stdout), done.stdout
    found = anabranch("agent", "find", "videos/one", "--to", "São", "--config", own)
    assert (found.returncode, found.stdout) == (0, "")
    assert "nobody publishes videos/one now" in found.stderr
    follow = [*PROGRAM, "agent", "paths", "west", "São", "--config", str(own), "--json", "--follow"]
    following = subprocess.Popen(follow, stdout=subprocess.PIPE, text=True)
    try:
        assert len(json.loads(following.stdout.readline())) == 1
        agents.stop("São")
        # The neighbour notices after a second of silence that the agent has gone.
        assert json.loads(following.stdout.readline()) == []
        following.send_signal(signal.SIGINT)
        assert following.wait(10) == 0
    finally:
        following.kill()
        following.communicate()


def test_a_program_is_run_at_a_rate_of_an_agent_elsewhere(agents: Agents) -> None:
    own = client(agents)
    done = anabranch("grant", "west", "São", "--config", own, "--demand", "3 Mbit/s", "--", "true")
    assert done.returncode == 0, done
    assert "granted 3 Mbit/s from west to São" in done.stderr
    for arguments, said in (
        (("mid town", "São", "--config", own, "--", "true"), "is that of west, not of mid town"),
        (("west", "São", "--config", own, "--by", "kernel", "--", "true"), "the kernel cannot keep"),
    ):
        done = anabranch("grant", *arguments)
        assert done.returncode == 2, done
        assert said in done.stderr


def test_who_has_no_certificate_of_the_network_or_no_right_is_refused_with_a_reason(
    agents: Agents, tmp_path: Path
) -> None:
    other, key = _core.made_authority("another")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "authority.pem").write_text(other)
    (tmp_path / "other" / "authority-key.pem").write_text(key)
    for stranger in (client(agents, issuer=tmp_path / "other"), client(agents, "nobody")):
        with pytest.raises(ScenarioError, match=r"no agent answers at .*certificate"):
            agent_paths(stranger, "São", ["west"])
    own = client(agents)
    text = own.read_text()
    for old, new, said in (
        ('node = "west"', 'node = "São"', "the certificate of the agent `west`"),
        ('node = "west"', 'nodes = "west"', "has no key `nodes` (did you mean `node`?)"),
        ('node = "west"\n', "", "needs node"),
        ("app.pem", "none.pem", "none.pem"),
        ("127.0.0.1", "127.0.0.2", "no agent answers at 127.0.0.2"),
    ):
        assert old in text
        own.write_text(text.replace(old, new))
        done = anabranch("agent", "paths", "west", "São", "--config", own)
        assert done.returncode == 2, done
        assert said in done.stderr, done.stderr
    own.write_text(text)
    assert agent_of(own).node == "west"
    # A right that is taken away ends what it allowed.
    told = followed_sources(own, "videos/one", "São")
    assert next(told) == []
    agents.edit("west", 'may = ["rates", "paths", "publish", "find"]', 'may = ["paths"]')
    with pytest.raises(ScenarioError, match="`all` may not find"):
        next(told)
    assert len(agent_paths(own, "São", ["west"])) == 1


def test_a_client_waits_for_an_agent_that_starts_again(agents: Agents) -> None:
    own = client(agents)
    with (
        AgentSession(own, "mid town", demand="2 Mbit/s") as session,
        Publication(own, "videos/x", "west", "x://y") as item,
    ):
        until("rates", lambda: session.rates_bps == pytest.approx([2e6], rel=1e-3))
        agents.stop("west")
        until("it is lost", lambda: item.refusal is not None and session.refusal is not None)
        assert "no agent answers" in item.refusal
        agents.start("west")
        until("rates", lambda: session.rates_bps == pytest.approx([2e6], rel=1e-3))
        until("it is published again", lambda: item.refusal is None)
        assert [source.at for source in find_sources(own, "videos/x", "São")] == ["x://y"]


def test_the_certificate_of_an_application_comes_with_the_file_of_a_client(agents: Agents, tmp_path: Path) -> None:
    net = agents.configs["west"].parents[1]
    out = tmp_path / "made" / "backup.pem"
    out.parent.mkdir()
    done = anabranch("agent", "issue", net, "backup", "--out", out, "--client-of", "mid town")
    assert (done.returncode, done.stdout.split()) == (0, [str(out), str(out.with_suffix(".toml"))]), done
    assert "hears applications of its own machine alone" in done.stderr
    reached = agent_of(out.with_suffix(".toml"))
    assert (reached.node, reached.client.authority.read_text()) == ("mid town", (net / "authority.pem").read_text())
    done = anabranch("agent", "issue", net, "other", "--out", tmp_path / "made" / "o.pem", "--client-of", "mid")
    assert done.returncode == 2
    assert "there is no node `mid`" in done.stderr
    assert not (tmp_path / "made" / "o.pem").exists()


def test_files_are_shared_and_fetched_by_the_names_of_items(agents: Agents, tmp_path: Path) -> None:
    file, own = tmp_path / "x", client(agents)
    file.write_bytes(bytes(range(256)) * 400)
    at = f"{agents.configs['west']}:videos/one"
    command = [*PROGRAM, "share", str(file), "--listen", "127.0.0.1:0", "--publish", at]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sharer:
        assert sharer.stdout.readline().startswith("anabranch fetch ")
        until("it is published", lambda: agents.json("west", "/api/v1/items")["items"] != [])
        # The fetcher asks from elsewhere, for the item and for a rate from the node of the agent.
        target = tmp_path / "y"
        done = anabranch("fetch", "--find", f"{own}:videos/one", "--to", target, "--grant", f"{own}:São")
        assert done.returncode == 0, done
        assert target.read_bytes() == file.read_bytes()
        sharer.terminate()
    until("it has gone", lambda: agents.json("west", "/api/v1/items")["items"] == [])
    for words, said in (
        (("fetch", "--find", f"{own}:videos/one"), "nobody publishes `videos/one`"),
        (("fetch", "--find", f"{own}:music"), "may not find `music`"),
        (("fetch", "--find", "videos/one"), "names no item; one is agent.toml:videos/one"),
        (("fetch",), "fetch needs a URL, or --find AGENT.toml:ITEM"),
        (("share", file, "--listen", "127.0.0.1:0", "--publish", f"{own}:music"), "may not publish `music`"),
    ):
        done = anabranch(*words)
        assert done.returncode == 2, done
        assert said in done.stderr, done
