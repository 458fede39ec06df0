"""``anabranch emulate``: programs over the network of a scenario, where the kernel lets us."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from anabranch import cli

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


def test_what_a_program_leaves_behind_ends_with_the_lab(lab, emulate, tmp_path):
    left = f"{shlex.quote(sys.executable)} -c 'import time; time.sleep(60)' & echo $! > pid"
    code, out, _ = emulate("--at", f"west={left}", "--at", "east=exit 4")
    assert code in {1, 3}
    assert "through     west  10.0.0.1  east  10.0.0.2" in out
    assert "east=exit 4: ended with 4" in out
    process = Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat"
    assert not process.exists() or process.read_text().split()[2] == "Z"


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
