"""The agent as a command: its files, its certificates, what it shows, and that three of them find rates."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import anabranch as ab
from anabranch import _core
from anabranch.agents.files import folder_of, issue_application, make_network
from anabranch.errors import ScenarioError

pytestmark = pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no agents")

PROGRAM = str(Path(sys.executable).with_name("anabranch"))
NODES = ["west", "mid town", "São"]


def line() -> ab.Network:
    tables = [
        {"source": "west", "target": "mid town", "capacity": "20 Mbit/s", "two_way": True},
        {"source": "mid town", "target": "São", "capacity": "10 Mbit/s", "two_way": True},
    ]
    return ab.read_scenario(ab.scenario(links=tables)).network


def anabranch(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def addresses() -> dict[str, str]:
    return {node: f"127.0.0.1:{port}" for node, port in zip(NODES, free_ports(3), strict=True)}


def test_a_network_of_agents_is_files_and_certificates_that_its_agents_read(tmp_path: Path) -> None:
    folders = make_network(line(), tmp_path / "net", addresses())
    assert folders == [folder_of(node) for node in NODES] == ["west", "mid town", "S%C3%A3o"]
    for node, folder in zip(NODES, folders, strict=True):
        own = tmp_path / "net" / folder
        node_read, protocol, state, neighbours, sessions = _core.agent_config(own / "agent.toml")
        assert (node_read, protocol, state, sessions) == (node, "d-SLEN", own / "state", [])
        assert neighbours == (["mid town"] if node != "mid town" else ["São", "west"])
        assert stat.S_IMODE((own / "agent.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "net" / "authority-key.pem").stat().st_mode) == 0o600
    # An application has a certificate by the same authority.
    issue_application(tmp_path / "net", "backup", tmp_path / "backup.pem")
    text = (tmp_path / "backup.pem").read_text()
    assert text.count("BEGIN CERTIFICATE") == text.count("PRIVATE KEY-----\n") / 2 == 1


def test_addresses_have_the_port_of_agents_unless_they_name_one(tmp_path: Path) -> None:
    given = {"west": "192.0.2.1", "mid town": "2001:db8::1", "São": "[2001:db8::2]:77"}
    make_network(line(), tmp_path / "net", given)
    listen = [
        re.search('listen = "(.*)"', (tmp_path / "net" / folder_of(node) / "agent.toml").read_text())[1]
        for node in NODES
    ]
    assert listen == ["192.0.2.1:4434", "[2001:db8::1]:4434", "[2001:db8::2]:77"]


def test_what_is_missing_or_wrong_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    given = addresses()
    cases = [
        ({"west": "192.0.2.1"}, "there is no address of the node `mid town` and of 1 more"),
        (given | {"wets": "192.0.2.1"}, "there is no node `wets` (did you mean `west`?)"),
        (given | {"west": "somewhere"}, "listen"),
    ]
    for wrong, said in cases:
        with pytest.raises((ScenarioError, ValueError), match=re.escape(said)):
            make_network(line(), tmp_path / "net", wrong)
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(ScenarioError, match="name the folder that `anabranch agent init` wrote"):
        issue_application(tmp_path, "backup", tmp_path / "backup.pem")


def started(config: Path) -> subprocess.Popen[str]:
    command = [PROGRAM, "agent", "--config", str(config)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_agents_run_show_their_rates_and_end(tmp_path: Path) -> None:
    pairs = [part for node, address in addresses().items() for part in ("--address", f"{node}={address}")]
    (tmp_path / "line.toml").write_text(str(ab.scenario(network=line())))
    made = anabranch("agent", "init", tmp_path / "line.toml", "--out", tmp_path / "net", *pairs)
    assert (made.returncode, made.stderr.count("keep")) == (0, 1), made.stderr
    configs = [tmp_path / "net" / folder_of(node) / "agent.toml" for node in NODES]
    doors = free_ports(3)
    for config, door in zip(configs, doors, strict=True):
        config.write_text(config.read_text().replace("127.0.0.1:4435", f"127.0.0.1:{door}"))
    with configs[0].open("a") as file:
        file.write('\n[[session]]\nname = "tunnel"\nto = "São"\npaths = 1\n')
    assert anabranch("agent", "check", "--config", configs[0]).stdout == "west: d-SLEN, 1 neighbour, 1 session\n"
    running = [started(config) for config in configs]
    try:
        deadline = time.monotonic() + 20
        while True:
            done = anabranch("agent", "show", "--config", configs[0], "--json")
            shown = json.loads(done.stdout) if done.returncode == 0 else {"sessions": []}
            # 97 % of the narrower link.
            if shown["sessions"] and abs(shown["sessions"][0]["rate_bps"] - 9.7e6) < 1e4:
                break
            assert time.monotonic() < deadline, done
            time.sleep(0.1)
        table = anabranch("agent", "show", "--config", configs[0]).stdout
        assert re.search(r"mid town +up +\d", table), table
        assert re.search(r"active .* 9\.70 +1 of 1", table), table
        epochs = [int((config.parent / "state" / "epoch").read_text()) for config in configs]
        assert all(abs(epoch / 1e6 - time.time()) < 60 for epoch in epochs)
    finally:
        for process in running:
            process.send_signal(signal.SIGINT)
        ended = [process.communicate(timeout=10)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], ended
    assert all("the agent ends" in text for text in ended)
    assert "runs under d-SLEN, with 2 neighbours" in ended[1]
    done = anabranch("agent", "show", "--config", configs[0])
    assert done.returncode == 1
    assert "no agent answers" in done.stderr


def test_a_configuration_is_refused_with_file_and_reason(tmp_path: Path) -> None:
    done = anabranch("agent", "--config", tmp_path / "none.toml")
    assert done.returncode == 2
    assert f"{tmp_path / 'none.toml'}: No such file" in done.stderr
    done = anabranch("agent")
    assert done.returncode == 2
    assert "--config agent.toml" in done.stderr
    make_network(line(), tmp_path / "net", addresses())
    config = tmp_path / "net" / "west" / "agent.toml"
    os.replace(tmp_path / "net" / "mid town" / "agent.pem", config.parent / "agent.pem")
    done = anabranch("agent", "--config", config)
    assert done.returncode == 1, done
    assert "but of the agent `mid town`" in done.stderr
