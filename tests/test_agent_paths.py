"""Paths and their groups, as the agent of this machine knows them; commands ask it for the groups of NMCC."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import anabranch as ab
from anabranch import _core
from anabranch.agents.files import make_network
from anabranch.agents.paths import AgentPath, agent_paths, fetching_groups, own_links, sending_groups
from anabranch.errors import ScenarioError
from test_agent import PROGRAM, anabranch, free_ports

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no agents"),
    pytest.mark.skipif(sys.platform == "win32", reason="agents answer by a socket of Unix"),
]

ENDS = ["a-b", "a-c", "b-x", "c-x", "x-d"]
"""Two ways from a to x, which go on to d over one link."""

LINKS = """
[links."a-b"]
source = "127.0.0.2"

[links."a-c"]
source = "127.0.0.3"
"""


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Path]:
    """Run the agents of all nodes, and give the file of that of a."""
    tables = [
        {"name": f"{a}-{b}", "source": a, "target": b, "capacity": "20 Mbit/s", "two_way": True}
        for a, b in (ends.split("-") for ends in ENDS)
    ]
    network = ab.read_scenario(ab.scenario(links=tables)).network
    nodes = network.core.node_names
    where = {node: f"127.0.0.1:{port}" for node, port in zip(nodes, free_ports(len(nodes)), strict=True)}
    make_network(network, tmp_path / "net", where)
    files = {node: tmp_path / "net" / node / "agent.toml" for node in nodes}
    for file, door in zip(files.values(), free_ports(len(nodes)), strict=True):
        file.write_text(file.read_text().replace("127.0.0.1:4435", f"127.0.0.1:{door}"))
    files["a"].write_text(files["a"].read_text() + LINKS)
    running = [subprocess.Popen([PROGRAM, "agent", "--config", str(file)]) for file in files.values()]
    try:
        deadline = time.monotonic() + 40
        # A neighbour that starts late stays away at first, and no path leads over it.
        while len(_found(files["a"])) < 2:
            assert time.monotonic() < deadline, "the agents have not started"
            time.sleep(0.05)
        yield files["a"]
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(10)


def _found(config: Path) -> list[AgentPath]:
    with suppress(ScenarioError):
        return agent_paths(config, "d", ["a"])
    return []


def test_paths_that_share_a_link_are_one_group(config: Path) -> None:
    assert [path.links for path in agent_paths(config, "d", ["a"])] == [["a-b", "b-x", "x-d"], ["a-c", "c-x", "x-d"]]
    via = ["127.0.0.2", "127.0.0.3"]
    assert sending_groups(config, "d", via) == [0, 0]
    one, other = sending_groups(config, "x", via[::-1])
    assert one != other
    assert sending_groups(config, "x", via) == [other, one]
    # From x they come over different links; from d first over one.
    from_x, from_d = fetching_groups(config, ["x"], via), fetching_groups(config, ["d"], via)
    assert len(set(from_x)) == 2
    assert len(set(from_d)) == 1
    # All together: the paths from d are those from x, after their common link.
    assert len(set(fetching_groups(config, ["x", "d"], via))) == 1
    assert len(agent_paths(config, "d", ["a"], disjoint=True)) == 1


def test_an_interface_of_two_links_has_no_group_of_its_own(config: Path) -> None:
    config.write_text(config.read_text().replace("127.0.0.3", "127.0.0.2"))
    assert own_links(config) == {"127.0.0.2": ["a-b", "a-c"]}
    with pytest.raises(ScenarioError, match=r"a-b and a-c are over `127\.0\.0\.2`; give the groups"):
        sending_groups(config, "d", ["127.0.0.2"])


def test_commands_ask_the_agent_for_groups_and_name_what_is_wrong(config: Path) -> None:
    url = "anabranch://127.0.0.1:9/?pin=" + "0" * 64
    via = ("--via", "127.0.0.2=127.0.0.1,127.0.0.3=127.0.0.1")
    for arguments, said in (
        (("perf", url, *via, "--groups", f"{config}:nowhere"), "there is no node `nowhere`"),
        (("perf", url, "--via", "127.0.0.9", "--groups", f"{config}:d"), "no link is over `127.0.0.9`"),
        (("perf", url, "--groups", f"{config}:d"), "name these by --via"),
        (("perf", url, *via, "--groups", f"{config}:d", "--groups", "0,1"), "numbers and agents do not go together"),
        (("perf", url, *via, "--groups", f"{config}:d", "--groups", f"{config}:x"), "name one node"),
        (("perf", url, *via, "--groups", "no.toml:d"), "no.toml"),
        (("fetch", url, *via, "--groups", f"{config}:nowhere"), "there is no node `nowhere`"),
    ):
        done = anabranch(*arguments)
        assert done.returncode == 2, done
        assert said in done.stderr, done
    with pytest.raises(ScenarioError, match="it names 65 nodes"):
        agent_paths(config, "d", ["a"] * 65)
