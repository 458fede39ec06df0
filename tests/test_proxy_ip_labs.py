"""IP packets through a proxy over shaped links, in labs: flows of a tunnel take the lines that have room."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from labs import ATTEMPTS, PROGRAM, emulate, refusal, two_links, words

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.alone

RATES_MBPS = (60, 30)

EXIT = "10.77.0.1"
"""The exit within the tunnel, which is also the target: labs have no third host."""


@pytest.fixture(autouse=True)
def _lab() -> None:
    if (why := refusal()) is not None:
        pytest.skip(f"no labs here: {why}")
    if shutil.which("iperf3") is None:
        pytest.skip("the program iperf3 is missing")


def measured(folder: Path, flows: int) -> list[float]:
    """Give the rates of flows from the west to the east, one of which begins each second, while all are there."""
    token = ("--token-file", "token")
    place = ("--listen", "0.0.0.0:4434", "--name", "10.0.0.1", "--allow", EXIT)
    leave = words(*PROGRAM, "exit", *token, *place, "--tun", "anab0", "--tun-network", "10.77.0.0/16")
    via = ("--via", "10.0.0.2=10.0.0.1,10.0.1.2=10.0.1.1", "--control", "olia", "--tun", "anab0")
    enter = words(*PROGRAM, "proxy", "URL", *token, *via).replace(
        "URL", '"$(sed -n "s/.*\'\\(anabranch:.*\\)\'.*/\\1/p" exit)"'
    )
    ports = [5201 + number for number in range(flows)]
    serve = " & ".join(words("iperf3", "--server", "--one-off", "--port", str(port)) for port in ports)
    ask = " & ".join(
        f"(sleep {number}; iperf3 --client {EXIT} --port {port} --time {10 - number} --reverse --json > {number}.json)"
        for number, port in enumerate(ports)
    )
    line = (
        f"until grep -q pin exit; do sleep 0.05; done; {enter} > proxy 2>&1 & proxy=$!;"
        f"until grep -q 'anab0 has' proxy; do sleep 0.05; done; ip route add {EXIT} dev anab0; sleep 1;"
        f"{ask} & sleep 12; kill $proxy"
    )
    west = f"{leave} > exit & {serve} & wait"
    emulate(folder, two_links(RATES_MBPS, (10, 15)), at={"east": line}, serve=[("west", west)], timeout_s=90)
    reports = [json.loads((folder / f"{number}.json").read_text()) for number in range(flows)]
    own = [[each["sum"]["bits_per_second"] / 1e6 for each in report["intervals"]] for report in reports]
    # The last four seconds of each.
    return [sum(rates[-5:-1]) / 4 for rates in own]


def test_one_flow_has_most_of_a_line_and_later_ones_take_the_other(tmp_path: Path) -> None:
    for _ in range(ATTEMPTS):
        (alone,), several = measured(tmp_path, 1), measured(tmp_path, 4)
        print(f"{alone:.1f} Mbit/s alone, {[f'{rate:.1f}' for rate in several]} together")
        if alone > 0.8 * RATES_MBPS[0] and sum(several) > 1.1 * RATES_MBPS[0]:
            break
    assert alone > 0.8 * RATES_MBPS[0]
    assert sum(several) > 1.1 * RATES_MBPS[0], "both lines carry packets"
