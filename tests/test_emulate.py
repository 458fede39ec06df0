"""``anabranch emulate``: programs over the network of a scenario, where the kernel lets us."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anabranch import cli
from labs import PROGRAM

pytestmark = pytest.mark.alone

SCENARIO = """
[[link]]
name = "near"
source = "west"
target = "middle"
capacity = "20 Mbit/s"
delay = "10 ms"
queue = "100 packets"
[[link]]
name = "far"
source = "middle"
target = "east"
capacity = "unlimited"
[[connection]]
name = "through"
source = "west"
target = "east"
"""

ECHO = """
import os, socket, sys, time
own, peer = os.environ["ANABRANCH_ADDRESSES"], os.environ["ANABRANCH_PEERS"]
made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
made.settimeout(10)
made.bind((own, 7000))
if sys.argv[1] == "answer":
    while True:
        data, back = made.recvfrom(100)
        made.sendto(data, back)
made.settimeout(0.2)
took = []
for question in range(200):
    begin = time.monotonic()
    made.sendto(b"%04d" % question, (peer, 7000))
    try:
        while int(made.recv(100)) != question:
            pass
    except TimeoutError:
        continue
    took.append(time.monotonic() - begin)
    if len(took) == 10:
        break
print(f"{min(took):.4f}")
"""
"""A program that answers, or asks until it is answered ten times and prints how long that took at the least."""


@pytest.fixture
def emulate(tmp_path, monkeypatch, capfd):
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "echo.py").write_text(ECHO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["anabranch", "emulate", "scenario.toml", *words])
        try:
            cli.main()
            code = 0
        except SystemExit as left:
            code = int(left.code or 0)
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    return run


def echo(what: str) -> str:
    return f"{shlex.quote(sys.executable)} echo.py {what}"


def test_programs_talk_over_the_path_and_the_report_says_what_it_carried(lab, emulate):
    code, out, err = emulate("--json", "--serve", f"east={echo('answer')}", "--at", f"west={echo('ask')}")
    report = json.loads(out)
    # What was asked before the answering program was there comes to nobody.
    took = float(err.splitlines()[-1])
    assert took >= 0.020
    assert report["programs"] == [{"program": f"west={echo('ask')}", "code": 0}]
    links = {link["link"]: link for link in report["links"]}
    assert list(links) == ["near", "near~", "far", "far~"]
    # 4 bytes of data with headers of UDP and IP.
    assert links["near"]["bytes"] == 32 * links["near"]["packets"] > 0
    assert code == (0 if report["is_valid"] else 3)
    assert took < 0.025 or not report["is_valid"]


def running(mark: str) -> list[int]:
    """Give the processes of this machine in whose command line a mark stands."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                line = (place / "cmdline").read_bytes()
            except OSError:
                continue
            # A process that has ended and nobody has asked for has none.
            if mark.encode() in line:
                found.append(int(place.name))
    return found


def name_of(pid: int) -> str:
    """Give the name of a process, or nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def is_soon(condition) -> bool:
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_what_a_program_leaves_behind_ends_with_the_lab(lab, emulate):
    mark = f"60.{os.getpid()}"
    # A second is enough for what it starts to have its own command line.
    code, out, _ = emulate("--at", f"west=setsid sleep {mark} & sleep 1", "--at", "east=exit 4")
    assert code in {1, 3}
    assert "through     west  10.0.0.1  east  10.0.0.2" in out
    assert "east=exit 4: ended with 4" in out
    assert is_soon(lambda: not running(mark))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL"])
def test_every_signal_ends_all_programs(lab, emulate, name):
    number, mark = signal.Signals[name], f"61.{os.getpid()}"
    words = ["emulate", "scenario.toml", "--json", "--serve", f"east=setsid sleep {mark} & sleep {mark}"]
    words += ["--at", f"west=sleep {mark}"]
    process = subprocess.Popen([*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    # The command itself, a shell at each end, and what these run.
    assert is_soon(lambda: [name_of(pid) for pid in running(mark)].count("sleep") == 3)
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    assert is_soon(lambda: not running(mark))
    if number in {signal.SIGQUIT, signal.SIGKILL}:
        assert (process.returncode, out) == (-number, "")
    else:
        assert process.returncode == 128 + number
        assert json.loads(out)["programs"] == [{"program": f"west=sleep {mark}", "code": None}]


@pytest.mark.parametrize(
    ("words", "reason"),
    [(["--at", "west"], "must be NODE=COMMAND"), (["--mtu", "20"], "the MTU is 20 bytes; it must be 68 to 65535")],
)
def test_a_lab_that_cannot_be_is_refused(emulate, words, reason):
    code, _, err = emulate(*words)
    assert code == 2
    assert reason in err


def test_a_node_without_a_host_is_refused(lab, emulate):
    code, _, err = emulate("--at", "middle=true")
    assert code == 2
    assert "node `middle`: no path begins or ends there" in err
