"""Connections through a proxy over shaped links, in labs: what one gets of both, beside what others get."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import geometric_mean

import pytest

import anabranch as ab
from labs import ATTEMPTS, PROGRAM, RED, emulate, refusal, two_links, words

pytestmark = pytest.mark.alone

PROGRAMS = Path(__file__).with_name("proxy_programs.py")

RATES_MBPS = (150, 40)

DISJOINT = two_links(RATES_MBPS, (10, 30))

NEAR = 1.3
"""How far the share of a single run may be from the usual one: in 20 s there are some tens of losses."""

RUN = """
[run]
duration = "24 s"
warm_up = "4 s"
[defaults.connection]
protocol = "reno"
packet = "1500 bytes"
"""

SHARED = f"""
[defaults.link]
queue = "100 packets"
[[link]]
name = "core"
delay = "5 ms"
source = "west"
target = "middle"
capacity = "60 Mbit/s"
{RED}
[[link]]
name = "one"
delay = "5 ms"
source = "middle"
target = "east"
capacity = "200 Mbit/s"
[[link]]
name = "other"
delay = "5 ms"
source = "middle"
target = "east"
capacity = "200 Mbit/s"
[[connection]]
name = "both"
source = "west"
target = "east"
links = [["core", "one"], ["core", "other"]]
"""


@pytest.fixture(autouse=True)
def _lab() -> None:
    if (why := refusal()) is not None:
        pytest.skip(f"no labs here: {why}")


def measured(folder: Path, scenario: str, control: str, *, bulk: int, reno: int = 0, seconds: float = 12.0) -> dict:
    """Run an exit in the west and a proxy in the east; give what flows from the west get there."""
    token = ("--token-file", "token")
    leave = words(*PROGRAM, "exit", *token, "--listen", "0.0.0.0:4434", "--name", "10.0.0.1", "--allow", "127.0.0.1")
    via = ("--via", "10.0.0.2=10.0.0.1,10.0.1.2=10.0.1.1", "--control", control)
    enter = words(*PROGRAM, "proxy", "URL", *token, *via).replace(
        "URL", '"$(sed -n "s/.*\'\\(anabranch:.*\\)\'.*/\\1/p" exit)"'
    )
    sink = words(sys.executable, PROGRAMS, "sink", "127.0.0.1", "10.0.0.1", str(bulk), str(reno), str(seconds))
    line = f"until grep -q pin exit; do sleep 0.05; done; {enter} > proxy 2>&1 & {sink} > report; kill $!"
    sources = [("west", words(sys.executable, PROGRAMS, "source", "0.0.0.0"))]
    emulate(folder, scenario, at={"east": line}, serve=[*sources, ("west", f"exec {leave} > exit")], timeout_s=90)
    report: dict = json.loads((folder / "report").read_text())
    return report


@pytest.mark.parametrize(("bulk", "part"), [(1, 0.85), (16, 0.92)])
def test_flows_have_the_sum_of_both_paths_and_small_exchanges_hardly_wait(
    tmp_path: Path, bulk: int, part: float
) -> None:
    for _ in range(ATTEMPTS):
        report = measured(tmp_path, DISJOINT, "olia", bulk=bulk)
        if sum(report["bulk"]) > part * sum(RATES_MBPS):
            break
    print(bulk, report)
    assert sum(report["bulk"]) > part * sum(RATES_MBPS)
    assert min(report["bulk"]) > 0.3 * sum(report["bulk"]) / bulk, "none goes without"
    # The queue of the fast link alone takes 24 ms, and it is full half of the time.
    assert report["busy_s"] < report["idle_s"] + 0.04


def simulated(folder: Path, control: str) -> list[float]:
    """Simulate the shared link under several seeds; give the rate of both paths relative to that of Reno."""
    single = '[[connection]]\nname = "single"\nsource = "west"\ntarget = "east"\nlinks = [["core", "one"]]\n'
    file = folder / "shared.toml"
    shares = []
    for seed in range(1, 11):
        both = f'protocol = "{control}"\nstart = "{10 * seed} ms"\n'
        file.write_text(RUN + SHARED + both + single, encoding="utf-8")
        rates = ab.run(file, seed=seed).connections["mean_rate_bps"]
        shares.append(rates[0] / rates[1])
    return shares


@pytest.mark.parametrize("control", ["lia", "olia", "uncoupled"])
def test_beside_a_flow_of_reno_over_one_link_a_proxy_takes_as_much_as_in_simulation(
    tmp_path: Path, control: str
) -> None:
    usual = geometric_mean(simulated(tmp_path, control))
    assert 1.8 < usual < 2.2 if control == "uncoupled" else 0.8 < usual < 1.1
    for _ in range(ATTEMPTS):
        report = measured(tmp_path, SHARED, control, bulk=1, reno=1, seconds=24.0)
        share = report["bulk"][0] / report["reno"][0]
        print(control, share, usual, report)
        if usual / NEAR < share < usual * NEAR and report["busy_s"] < 1.5 * report["idle_s"]:
            break
    assert usual / NEAR < share < usual * NEAR
    assert report["busy_s"] < 1.5 * report["idle_s"], "a small exchange does not wait for others"
