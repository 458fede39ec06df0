"""Chains of relays over shaped links, in labs: each loop with a control of its own, the last to a radio link."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from labs import ATTEMPTS, PROGRAM, emulate, refusal, words
from test_proxy_labs import PROGRAMS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.alone

RADIO_MBPS = 60

CHAIN = f"""
[defaults.link]
queue = "300 packets"
DISCIPLINE
[[link]]
source = "server"
target = "edge"
delay = "5 ms"
capacity = "200 Mbit/s"
[[link]]
source = "edge"
target = "mast"
delay = "5 ms"
capacity = "200 Mbit/s"
[[link]]
source = "mast"
target = "phone"
delay = "5 ms"
capacity = "{RADIO_MBPS} Mbit/s"
[[connection]]
source = "server"
target = "edge"
[[connection]]
source = "edge"
target = "mast"
[[connection]]
source = "mast"
target = "phone"
"""
"""Hosts have 10.0.0.1 and 10.0.0.2 over the first link, 10.0.1.1 and 10.0.1.2 over the second, and so on."""


@pytest.fixture(autouse=True)
def _lab() -> None:
    if (why := refusal()) is not None:
        pytest.skip(f"no labs here: {why}")


def hop(kind: str, before: str | None, name: str, *options: str) -> str:
    """Give the command line of an exit or a relay, which writes the URL of the next program into a file of its name."""
    own = ["--token-file", "token", "--listen", "0.0.0.0:4434", "--name", name, *options]
    if before is None:
        return f"exec {words(*PROGRAM, kind, *own, '--allow', '127.0.0.1')} > {kind}-{name}"
    command = words(*PROGRAM, kind, "URL", "--exit-token-file", "token", *own).replace("URL", url(before))
    return f"until grep -q pin {before}; do sleep 0.05; done; exec {command} > {kind}-{name}"


def url(file: str) -> str:
    """Give the words of a shell for the URL that a program has written."""
    return f'"$(sed -n "s/.*\'\\(anabranch:.*\\)\'.*/\\1/p" {file})"'


def measured(folder: Path, discipline: str, wide: tuple[str, ...], radio: tuple[str, ...]) -> dict:
    """Fetch at the phone over two relays; the options are those for the wide links, and for the radio link."""
    serve = [
        ("server", f"echo {RADIO_MBPS} Mbit/s > rate; exec {words(sys.executable, PROGRAMS, 'source', '127.0.0.1')}"),
        ("server", hop("exit", None, "10.0.0.1", *wide)),
        ("edge", hop("relay", "exit-10.0.0.1", "10.0.1.1", *wide)),
        ("mast", hop("relay", "relay-10.0.1.1", "10.0.2.1", *radio)),
    ]
    last = "relay-10.0.2.1"
    enter = words(*PROGRAM, "proxy", "URL", "--token-file", "token").replace("URL", url(last))
    sink = words(sys.executable, PROGRAMS, "sink", "127.0.0.1", "127.0.0.1", "1", "0", "12")
    line = f"until grep -q pin {last}; do sleep 0.05; done; {enter} > proxy 2>&1 & {sink} > report; kill $!"
    emulate(folder, CHAIN.replace("DISCIPLINE", discipline), at={"phone": line}, serve=serve, timeout_s=90)
    report: dict = json.loads((folder / "report").read_text())
    return report


LGCC = ("--client-control", "lgcc", "--client-capacity")
DCTCP = ("--client-control", "dctcp")


@pytest.mark.parametrize(
    ("discipline", "wide", "radio", "part"),
    [("ecn-ramp", (*LGCC, "200 Mbit/s"), (*LGCC, "file:rate"), 0.8), ("ecn-step", DCTCP, DCTCP, 0.6)],
    ids=["lgcc", "dctcp"],
)
def test_by_marks_all_loops_follow_the_radio_link_and_little_waits(
    tmp_path: Path, discipline: str, wide: tuple[str, ...], radio: tuple[str, ...], part: float
) -> None:
    for _ in range(ATTEMPTS):
        report = measured(tmp_path, f'discipline = "{discipline}"', wide, radio)
        if report["bulk"][0] > part * RADIO_MBPS:
            break
    print(report)
    assert report["bulk"][0] > part * RADIO_MBPS
    # Without marks a window fills the queue, which has room for 60 ms; a relay has room for seconds.
    assert report["busy_s"] < report["idle_s"] + 0.03


def test_with_controls_that_fill_queues_the_radio_link_is_full(tmp_path: Path) -> None:
    for _ in range(ATTEMPTS):
        report = measured(tmp_path, "", ("--client-control", "bbr"), ("--client-control", "cubic"))
        if report["bulk"][0] > 0.9 * RADIO_MBPS:
            break
    print(report)
    assert report["bulk"][0] > 0.9 * RADIO_MBPS
