"""Programs that ask the agent of their machine for rates, and programs that are kept to them."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anabranch import _core
from anabranch.agents import cgroups
from anabranch.agents.files import make_network
from anabranch.agents.session import AgentSession
from anabranch.errors import ScenarioError
from test_agent import PROGRAM, addresses, anabranch, free_ports, line

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no agents"),
    pytest.mark.skipif(sys.platform != "linux", reason="other programs are kept to rates on Linux"),
]

SENDER = """
import socket, threading, time, sys
server = socket.create_server(("127.0.0.1", 0))
got = 0
def receive():
    global got
    peer, _ = server.accept()
    while data := peer.recv(1 << 16):
        got += len(data)
thread = threading.Thread(target=receive)
thread.start()
sender = socket.create_connection(server.getsockname())
sender.settimeout(0.5)
begin, early = time.monotonic(), 0
while time.monotonic() < begin + float(sys.argv[1]):
    try:
        sender.send(bytes(1 << 14))
    except TimeoutError:
        pass
    if time.monotonic() < begin + 1.0:
        early = got
seconds = time.monotonic() - begin - 1.0
print(8 * (got - early) / seconds)
sender.close()
sys.exit(int(sys.argv[2]))
"""
"""A program that sends over the loopback interface, prints the rate after its first second, and ends with a code."""


@contextmanager
def agents(folder: Path, inside: list[str], more: str = "") -> Iterator[Path]:
    """Run three agents in a line, and give the file of the first, which has more in it."""
    configs = [folder / "net" / name / "agent.toml" for name in make_network(line(), folder / "net", addresses())]
    for config, door in zip(configs, free_ports(3), strict=True):
        config.write_text(config.read_text().replace("127.0.0.1:4435", f"127.0.0.1:{door}"))
    with configs[0].open("a") as file:
        file.write(more)
    running = [subprocess.Popen([*inside, PROGRAM, "agent", "--config", str(config)]) for config in configs]
    try:
        deadline = time.monotonic() + 20
        while not (configs[0].parent / "state" / "agent.sock").exists():
            assert time.monotonic() < deadline, "the agent has not started"
            time.sleep(0.05)
        yield configs[0]
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(10)


def opened(config: Path, to: str = "São", **wishes: object) -> AgentSession:
    """Open a session, as soon as the agent answers."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return AgentSession(config, to, **wishes)
        except ScenarioError as error:
            if "no agent answers" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def until(what: str, is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_a_program_opens_a_session_changes_its_demand_and_closes_it(tmp_path: Path) -> None:
    with agents(tmp_path, []) as config:
        with opened(config, name="one") as session:
            # 97 % of the narrower link.
            until("all of the link", lambda: session.rates_bps == pytest.approx([9.7e6], rel=1e-3))
            assert session.paths == [["west-mid town", "mid town-São"]]
            shown = json.loads(anabranch("agent", "show", "--config", config, "--json").stdout)
            assert [(own["name"], own["to"]) for own in shown["sessions"]] == [("one", "São")]
            session.set_demand("2 Mbit/s")
            until("the demand", lambda: session.rates_bps == pytest.approx([2e6], rel=1e-3))
            with pytest.raises(ScenarioError, match="there is a session of this name already"):
                AgentSession(config, "São", name="one")
            with opened(config, name="two", reserved="5 Mbit/s") as other:
                session.set_demand(None)
                until(
                    "the reserved part and half of the rest",
                    lambda: sum(other.rates_bps) == pytest.approx(7.35e6, rel=1e-3),
                )
                shown = json.loads(anabranch("agent", "show", "--config", config, "--json").stdout)
                assert [link.get("reserved_bps") for link in shown["links"]] == [pytest.approx(5e6)]
        until(
            "nothing is left",
            lambda: not json.loads(anabranch("agent", "show", "--config", config, "--json").stdout)["sessions"],
        )
        for wrong, said in (
            ({"to": "Sao"}, "there is no node `Sao`"),
            ({"to": "west"}, "it ends where it begins"),
            ({"paths": 17}, "it has 17 paths"),
            ({"weight": 0.0}, "weight"),
            ({"match": [{"cgroup": "a"}]}, "its file needs a table [enforce]"),
        ):
            with pytest.raises(ScenarioError) as caught:
                AgentSession(config, **({"to": "São"} | wrong))
            assert said in str(caught.value)


def test_rates_fall_while_the_agent_is_away_and_come_back_with_it(tmp_path: Path) -> None:
    with agents(tmp_path, []) as config:
        session = opened(config)
        until("rates", lambda: sum(session.rates_bps) > 9e6)
    until("half of it", lambda: sum(session.rates_bps) < 5e6)
    with pytest.raises(ScenarioError, match=r"no agent answers at .*; start it"):
        AgentSession(config, "São")
    session.close()


def test_a_program_is_paced_to_its_rate_and_its_exit_code_is_handed_on(tmp_path: Path) -> None:
    with agents(tmp_path, []) as config:
        opened(config).close()
        grant = ("grant", "west", "São", "--config", config, "--demand", "4 Mbit/s", "--by", "pacing")
        done = anabranch(*grant, "--", sys.executable, "-c", SENDER, 4, 7)
        assert done.returncode == 7, done
        assert "granted 4 Mbit/s from west to São over 1 paths, kept by pacing" in done.stderr
        assert float(done.stdout) == pytest.approx(4e6, rel=0.15), done
        for arguments, said in (
            (("grant", "mid town", "São", "--config", config, "--", "true"), "is that of west, not of mid town"),
            (("grant", "west", "Sao", "--config", config, "--", "true"), "there is no node `Sao`"),
            (("grant", "west", "São", "--config", config, "--", "no-such-program"), "there is no program"),
            (("grant", "west", "São", "--config", config, "--by", "kernel", "--", "true"), "keeps no traffic to rates"),
        ):
            done = anabranch(*arguments)
            assert done.returncode == 2, done
            assert said in done.stderr


@pytest.fixture
def inside() -> Iterator[list[str]]:
    """A network namespace in which nothing but its loopback interface is: the words before a command in it."""
    if os.geteuid() != 0 or any(shutil.which(name) is None for name in ("unshare", "nsenter", "nft", "tc")):
        pytest.skip("it takes root, unshare, nsenter, nft and tc")
    with cgroups.group(f"anabranch-test-{os.getpid()}") as group:
        if group is None:
            pytest.skip("no control group can be made here")
    holder = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "ip link set lo up mtu 1500 && echo ready && exec sleep 120"],
        stdout=subprocess.PIPE,
    )
    try:
        if holder.stdout.readline() != b"ready\n":
            pytest.skip("no network namespace can be made here")
        yield ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
    finally:
        holder.kill()
        holder.communicate()


ENFORCED = """
[enforce]
backend = "kernel"

[links."west-mid town"]
interface = "lo"
capacity = "20 Mbit/s"

[[session]]
name = "a service that does not run"
to = "mid town"
match = [{ cgroup = "anabranch-absent.slice" }]
"""


@pytest.mark.alone
def test_the_kernel_keeps_all_packets_of_a_program_to_its_rate(tmp_path: Path, inside: list[str]) -> None:
    with agents(tmp_path, inside, ENFORCED) as config:
        opened(config).close()
        # A control group that is not there keeps the others from nothing, and is named.
        until(
            "the problem is named",
            lambda: (
                "no control group `anabranch-absent.slice`"
                in anabranch("agent", "show", "--config", config, "--json").stdout
            ),
        )
        grant = [*inside, PROGRAM, "grant", "west", "São", "--config", str(config), "--demand", "4 Mbit/s"]
        command = [*grant, "--", sys.executable, "-c", SENDER, "4", "0"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode == 2 and "cgroup" in done.stderr:
            pytest.skip(f"the kernel refuses: {done.stderr}")
        assert done.returncode == 0, done
        assert "kept by the kernel" in done.stderr
        # Rates count the headers of packets, too.
        assert float(done.stdout) == pytest.approx(4e6, rel=0.1), done
        shown = subprocess.run([*inside, "nft", "list", "ruleset"], capture_output=True, text=True, check=False).stdout
        assert "cgroupv2" not in shown, "the session has been taken away"
    assert not list(cgroups.ROOT.glob("**/anabranch-grant-*"))


ENDED = """
import encodings.ascii, os, subprocess  # what a user without rights may not read
from anabranch.agents.pacing import Pacer
if os.geteuid() == 0:
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
def wait(process):
    while open(f"/proc/{process}/stat").read().rpartition(")")[2].split()[0] != "Z":
        pass
ended = subprocess.Popen(["true"], cwd="/")
wait(ended.pid)
parent = subprocess.Popen(["sh", "-c", "true & exec sleep 5"], cwd="/")
children = f"/proc/{parent.pid}/task/{parent.pid}/children"
while not (child := open(children).read().split()):
    pass
wait(child[0])
print(Pacer(ended.pid).pace(1e6), Pacer(parent.pid).pace(1e6))
parent.kill()
"""
"""Paces a program that has ended, and one with a child that has ended, as a user without rights."""


def test_programs_that_have_ended_are_no_failure_for_users_without_rights() -> None:
    command = [sys.executable, "-c", ENDED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout) == (0, "0 0\n"), done.stderr


def test_a_program_ends_when_what_keeps_it_to_its_rate_is_killed(tmp_path: Path) -> None:
    with agents(tmp_path, []) as config:
        opened(config, name="first").close()
        command = [PROGRAM, "grant", "west", "São", "--config", str(config), "--by", "pacing", "--", "sleep", "60"]
        keeper = subprocess.Popen(command)
        children = Path(f"/proc/{keeper.pid}/task/{keeper.pid}/children")
        until("the program runs", lambda: children.read_text() != "")
        child = int(children.read_text().split()[0])
        until("it is another program", lambda: b"sleep" in Path(f"/proc/{child}/cmdline").read_bytes())
        keeper.kill()
        keeper.wait(10)
        until("the program has ended", lambda: not Path(f"/proc/{child}/cmdline").exists())
