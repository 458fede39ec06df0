"""The agent as a command: its files, its certificates, what it shows, and that three of them find rates."""

import json
import os
import re
import shutil
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
from anabranch.agents.files import folder_of, issue_certificate, make_network
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
    issue_certificate(tmp_path / "net", "backup", tmp_path / "backup.pem")
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
    make_network(line(), tmp_path / "other", given | {"São": "[2001:db8::2]"})
    assert 'listen = "[2001:db8::2]:4434"' in (tmp_path / "other" / folder_of("São") / "agent.toml").read_text()


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
        issue_certificate(tmp_path, "backup", tmp_path / "backup.pem")
    make_network(line(), tmp_path / "net", given)
    with pytest.raises(ScenarioError, match=re.escape("there is no node `Sao` (did you mean `São`?)")):
        issue_certificate(tmp_path / "net", "Sao", tmp_path / "other.pem", is_agent=True)


def started(config: Path) -> subprocess.Popen[str]:
    command = [PROGRAM, "agent", "--config", str(config)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for_rate(config: Path, bps: float) -> None:
    """Wait until the only session of an agent has a rate."""
    deadline = time.monotonic() + 20
    while True:
        done = anabranch("agent", "show", "--config", config, "--json")
        shown = json.loads(done.stdout) if done.returncode == 0 else {"sessions": []}
        if shown["sessions"] and abs(shown["sessions"][0]["rate_bps"] - bps) < 0.002 * bps:
            return
        assert time.monotonic() < deadline, done
        time.sleep(0.1)


def test_agents_run_show_their_rates_are_reloaded_drained_and_end(tmp_path: Path) -> None:
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
        # 97 % of the narrower link.
        wait_for_rate(configs[0], 9.7e6)
        table = anabranch("agent", "show", "--config", configs[0]).stdout
        assert re.search(r"mid town +up +\d", table), table
        assert re.search(r"active .* 9\.70 +1 of 1", table), table
        assert re.search(r"tunnel +São .* 1 of 1 +mid town-São", table), table
        # The file is read again after SIGHUP, and by a command; a mistake in it changes nothing.
        text = configs[0].read_text()
        configs[0].write_text(text.replace('name = "tunnel"', 'demand = "3 Mbit/s"\nname = "tunnel"'))
        running[0].send_signal(signal.SIGHUP)
        wait_for_rate(configs[0], 3e6)
        issue_certificate(tmp_path / "net", "west", tmp_path / "new.pem", days=7, is_agent=True)
        os.replace(tmp_path / "new.pem", configs[0].parent / "agent.pem")
        configs[0].write_text(text)
        done = anabranch("agent", "reload", "--config", configs[0])
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        wait_for_rate(configs[0], 9.7e6)
        until = json.loads(anabranch("agent", "show", "--config", configs[0], "--json").stdout)["certificate_until_s"]
        assert abs(until - time.time() - 7 * 86400) < 100
        configs[0].write_text(text.replace('node = "west"', 'node = "São"'))
        # The names of neighbours do not fit the other node.
        assert anabranch("agent", "reload", "--config", configs[0]).returncode == 2
        running[0].send_signal(signal.SIGHUP)
        time.sleep(0.5)
        configs[0].write_text(text)
        # The agent at the end is drained; it has no sessions.
        assert anabranch("agent", "drain", "--config", configs[2]).returncode == 0
        time.sleep(0.7)  # it looks at itself four times a second
        epochs = [int((config.parent / "state" / "epoch").read_text()) for config in configs]
        assert all(abs(epoch / 1e6 - time.time()) < 60 for epoch in epochs)
    finally:
        for process in running:
            process.send_signal(signal.SIGINT)
        ended = [process.communicate(timeout=10)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], ended
    assert all("the agent ends" in text for text in ended)
    assert "runs under d-SLEN, with 2 neighbours" in ended[1]
    assert all(said in ended[0] for said in ("mid town is there", "(tunnel) to São begins", "has been read again"))
    assert "nothing has changed" in ended[0]
    assert "makes ready to end" in ended[2]
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


def test_a_unit_of_systemd_has_the_paths_of_the_agent(tmp_path: Path) -> None:
    make_network(line(), tmp_path / "net", addresses())
    config = tmp_path / "net" / "mid town" / "agent.toml"
    done = anabranch("agent", "unit", "--config", config)
    assert done.returncode == 0
    assert "\nCapabilityBoundingSet=\n" in done.stdout
    assert f'agent --config "{config}"\n' in done.stdout
    # The service makes the folder of its state, for its user.
    made = f'ExecStartPre=+/usr/bin/install -d -m 0700 -o nobody "{config.parent / "state"}"\n'
    assert made in anabranch("agent", "unit", "--config", config, "--user", "nobody").stdout
    assert "`no body` is no name" in anabranch("agent", "unit", "--config", config, "--user", "no body").stderr
    assert f'ReadWritePaths="{config.parent / "state"}"\n' in done.stdout
    verify = shutil.which("systemd-analyze")
    if verify is not None:
        (tmp_path / "anabranch-agent.service").write_text(done.stdout)
        checked = subprocess.run(
            [verify, "verify", tmp_path / "anabranch-agent.service"], capture_output=True, text=True, check=False
        )
        assert checked.returncode == 0, checked.stderr


def test_systemd_hears_when_an_agent_is_ready_and_when_it_ends(tmp_path: Path) -> None:
    make_network(line(), tmp_path / "net", addresses())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20)
        config = tmp_path / "net" / "west" / "agent.toml"
        config.write_text(config.read_text().replace("127.0.0.1:4435", f"127.0.0.1:{free_ports(1)[0]}"))
        read, write = os.pipe()
        pipe = os.fstat(write)
        about = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "JOURNAL_STREAM": f"{pipe.st_dev}:{pipe.st_ino}"}
        process = subprocess.Popen([PROGRAM, "agent", "--config", str(config)], env=os.environ | about, stderr=write)
        os.close(write)
        try:
            assert manager.recv(100) == b"READY=1"
            process.send_signal(signal.SIGHUP)
            assert manager.recv(100).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
            assert manager.recv(100) == b"READY=1"
            process.send_signal(signal.SIGTERM)
            assert manager.recv(100) == b"STOPPING=1"
            process.wait(timeout=10)
            with os.fdopen(read) as log:
                said = log.read()
        finally:
            process.kill()
        assert process.returncode == 0
        assert all(re.match(r"<[4-6]>\w", line) for line in said.splitlines()), said
