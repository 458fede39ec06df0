"""An agent that keeps traffic to rates: what it prints, what it asks for, and what it says where it may not."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import anabranch as ab
from anabranch import _core
from anabranch.agents.files import make_network
from test_agent import PROGRAM, addresses, anabranch, free_ports

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no agents"),
    pytest.mark.skipif(sys.platform != "linux", reason="rates of other programs are enforced on Linux"),
]

NODES = ["west", "mid town", "São"]

ENFORCED = """
[enforce]
backend = "kernel"

[links."west-mid town"]
interface = "lo"
capacity = "20 Mbit/s"

[segments]
"mid town" = {end = "fc00:2::e"}
"São" = {unpack = "fc00:3::4"}

[[session]]
name = "tunnel"
to = "São"
paths = 1
match = [{to = ["198.51.100.0/24"], protocol = "tcp", ports = [443]}]
"""


def files(folder: Path) -> list[Path]:
    """Make the files of a line of agents; the first keeps a session to its rates."""
    tables = [
        {"source": "west", "target": "mid town", "capacity": "20 Mbit/s", "two_way": True},
        {"source": "mid town", "target": "São", "capacity": "10 Mbit/s", "two_way": True},
    ]
    network = ab.read_scenario(ab.scenario(links=tables)).network
    configs = [folder / "net" / name / "agent.toml" for name in make_network(network, folder / "net", addresses())]
    for config, door in zip(configs, free_ports(3), strict=True):
        config.write_text(config.read_text().replace("127.0.0.1:4435", f"127.0.0.1:{door}"))
    with configs[0].open("a") as file:
        file.write(ENFORCED)
    return configs


def test_a_dry_run_prints_commands_and_follows_rates_and_matches(tmp_path: Path) -> None:
    configs = files(tmp_path)
    printed = tmp_path / "printed"
    running = []
    try:
        for config in configs:
            dry = ["--dry-run"] if config == configs[0] else []
            command = [PROGRAM, "agent", "--config", str(config), *dry]
            with (printed if dry else tmp_path / "other").open("w") as out:
                running.append(subprocess.Popen(command, stdout=out))
        # 97 % of the narrower link; the path is by segments over the first device.
        for words in (
            "route replace default encap seg6 mode encap segs fc00:2::e,fc00:3::4 dev lo",
            "ip daddr { 198.51.100.0/24 } meta l4proto 6 th dport { 443-443 } goto session_1",
            r"class change dev lo parent ab:1 classid ab:101 htb rate 9[67]\d{5}bit",
        ):
            appears(printed, words)
        text = configs[0].read_text()
        configs[0].write_text(text.replace("ports = [443]", 'ports = ["80-81"]'))
        running[0].send_signal(signal.SIGHUP)
        appears(printed, "ip daddr { 198.51.100.0/24 } meta l4proto 6 th dport { 80-81 } goto session_1")
        # The session has not begun anew: its path keeps its number and its class.
        assert len(re.findall("class add .* classid ab:10", printed.read_text())) == 1
        configs[0].write_text(text.replace("[enforce]", "[enforce]\nmark_mask = 0xff00"))
        done = anabranch("agent", "reload", "--config", configs[0])
        assert "the table enforce cannot change while the agent runs" in done.stderr
        shown = json.loads(anabranch("agent", "show", "--config", configs[0], "--json").stdout)
        assert shown["enforcement"] == {"backend": "print", "sessions": 1, "refused": 0}
    finally:
        for process in running:
            process.send_signal(signal.SIGINT)
        assert [process.wait(10) for process in running] == [0] * len(running)
    assert "qdisc del dev lo root" in printed.read_text()


def appears(file: Path, words: str) -> None:
    """Wait until words stand in a file."""
    pattern = words if "\\" in words else re.escape(words)
    deadline = time.monotonic() + 20
    while not re.search(pattern, file.read_text()):
        assert time.monotonic() < deadline, f"{words}\n{file.read_text()[-3000:]}"
        time.sleep(0.05)


def test_a_unit_has_the_right_to_change_the_network_if_the_file_asks_for_it(tmp_path: Path) -> None:
    configs = files(tmp_path)
    units = [anabranch("agent", "unit", "--config", config).stdout for config in configs[:2]]
    assert [unit.count("\nAmbientCapabilities=CAP_NET_ADMIN\n") for unit in units] == [1, 0]
    assert units[0].replace("AmbientCapabilities=CAP_NET_ADMIN\n", "").count("\n") == units[1].count("\n")


def test_an_agent_without_the_right_says_what_would_do(tmp_path: Path) -> None:
    capsh = shutil.which("capsh")
    if capsh is None:
        pytest.skip("the program capsh is missing")
    config = files(tmp_path)[0]
    command = [capsh, "--drop=cap_net_admin", "--", "-c", f"exec '{PROGRAM}' agent --config '{config}'"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if "unable to" in done.stderr.lower() or "nft" in done.stderr or "`tc`" in done.stderr:
        pytest.skip(f"it cannot be tried here: {done.stderr}")
    assert done.returncode == 1, done
    assert f"{config}: enforce:" in done.stderr
    assert "CAP_NET_ADMIN; run it as root, or give the right" in done.stderr


def test_a_dry_run_of_a_file_that_enforces_nothing_is_refused(tmp_path: Path) -> None:
    done = anabranch("agent", "--config", files(tmp_path)[1], "--dry-run")
    assert done.returncode == 2
    assert "so there is nothing to print; write a table [enforce]" in done.stderr
