"""Files from several sources at once: together they take of a link that their paths share what one flow would.

Where the kernel refuses a lab, what needs one is skipped; a lab that was late is repeated once.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from labs import PERF, RED, emulate, measured_bps, python, serve_perf, sharer

if TYPE_CHECKING:
    from pathlib import Path

MB = 1_000_000
LASTS_S, SETTLES_S = 25, 5
QUEUE = '[defaults.link]\nqueue = "100 packets"\n'

SHARED_LINK = {"lia": (0.7, 1.4), "olia": (0.7, 1.4), "balia": (0.7, 1.4), "nmcc": (1.0, 1.75), "uncoupled": (1.6, 2.6)}
"""How many times as much as one Reno flow two sources may take together.

NMCC shares growth and not losses, so it has sqrt(2) times as much in the mean; runs of 20 s spread by a tenth.
"""

FETCHES = """
import json, os, sys, threading, time
from pathlib import Path
from anabranch.transfer import fetch
wanted, lasts_s = json.loads(sys.argv[1]), float(sys.argv[2])
while not all(Path(name).exists() and Path(name).read_text().endswith("\\n") for name in ("near", "far")):
    time.sleep(0.01)
near, far = (Path(name).read_text().strip().replace("NAME", "x") for name in ("near", "far"))
states = {control: [] for control in wanted}
begin = time.monotonic()
def run(control, hosts, groups):
    def tell(state):
        states[control].append((time.monotonic() - begin, [source["brought_bytes"] for source in state.sources]))
    urls = [url.replace("HOST", host) for url, host in zip((near, far), hosts)]
    fetch(urls, f"x-{control}", control=control, groups=groups, progress=tell)
for control, (hosts, groups) in wanted.items():
    threading.Thread(target=run, args=(control, hosts, groups), daemon=True).start()
while time.monotonic() < begin + lasts_s:
    time.sleep(0.1)
Path("states").write_text(json.dumps(states))
os._exit(0)
"""
"""Fetches a file under several controls, each from two sources, for so long; keeps what each had brought when."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a file that is never whole in time."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "x").write_bytes(random.Random(1).randbytes(80 * MB))
    return folder


def shared_link(control: str) -> str:
    """Give a link that two sources and a rival share, and a connection from each, which has an address for each."""
    text = ""
    for source in ("near", "far", "west"):
        text += f'[[link]]\nname = "{source}-{control}"\nsource = "{source}"\ntarget = "at-{control}"\n'
        text += 'capacity = "1 Gbit/s"\ndelay = "1 ms"\n'
    text += f'[[link]]\nname = "{control}"\nsource = "at-{control}"\ntarget = "east"\n'
    text += f'capacity = "20 Mbit/s"\ndelay = "10 ms"\n{RED}\n'
    for source in ("near", "far", "west"):
        text += f'[[connection]]\nname = "{source}-{control}"\nsource = "{source}"\ntarget = "east"\n'
        text += f'links = [["{source}-{control}", "{control}"]]\n'
    return text


def rates_mbps(folder: Path) -> dict[str, list[float]]:
    """Read how fast each source brought what was fetched under each control, after they have settled."""
    rates = {}
    for control, states in json.loads((folder / "states").read_text()).items():
        begin_s, before = next(state for state in states if state[0] >= SETTLES_S)
        end_s, after = states[-1]
        rates[control] = [8e-6 * (late - early) / (end_s - begin_s) for early, late in zip(before, after, strict=True)]
    return rates


def test_two_sources_over_one_link_take_what_one_flow_does(lab: None, folder: Path, shared: Path) -> None:
    wanted, rivals = {}, []
    for at, control in enumerate(SHARED_LINK):
        near, far, west = (f"10.0.{3 * at + source}" for source in range(3))
        wanted[control] = ([f"{near}.1", f"{far}.1"], [])
        rivals.append((control, "reno", f"{west}.2", [f"{west}.1"]))
    scenario = QUEUE + "".join(shared_link(control) for control in SHARED_LINK)
    fetches = python(folder, FETCHES, json.dumps(wanted), str(LASTS_S))
    rival = python(folder, PERF, json.dumps(rivals), str(LASTS_S))
    serve = [(host, sharer(shared, "HOST", host)) for host in ("near", "far")]
    emulate(folder, scenario, at={"east": fetches, "west": rival}, serve=[*serve, ("east", serve_perf())])
    reports = json.loads((folder / "reports").read_text())
    ratios = {}
    for control, rates in rates_mbps(folder).items():
        beside = measured_bps(reports[control], SETTLES_S) / 1e6
        ratios[control] = sum(rates) / beside
        print(control, [round(rate, 1) for rate in (*rates, beside)], round(ratios[control], 2))
        assert min(rates) > 1
    for control, (least, most) in SHARED_LINK.items():
        assert least <= ratios[control] <= most, f"{control} has {ratios[control]:.2f} times what Reno has"


APART = {"lia": [], "nmcc": [1, 2], "wvegas": []}
"""Groups of the two sources' paths, under each control."""


def test_two_sources_over_two_links_fill_both(lab: None, folder: Path, shared: Path) -> None:
    scenario, wanted = QUEUE, {}
    for at, (control, groups) in enumerate(APART.items()):
        for source, capacity in (("near", 10), ("far", 25)):
            scenario += f'[[link]]\nname = "{source}-{control}"\nsource = "{source}"\ntarget = "east"\n'
            scenario += f'capacity = "{capacity} Mbit/s"\ndelay = "10 ms"\n'
            scenario += f'[[connection]]\nname = "{source}-{control}"\nsource = "{source}"\ntarget = "east"\n'
            scenario += f'links = [["{source}-{control}"]]\n'
        wanted[control] = ([f"10.0.{2 * at}.1", f"10.0.{2 * at + 1}.1"], groups)
    fetches = python(folder, FETCHES, json.dumps(wanted), "12")
    serve = [(host, sharer(shared, "HOST", host)) for host in ("near", "far")]
    emulate(folder, scenario, at={"east": fetches}, serve=serve)
    for control, (near, far) in rates_mbps(folder).items():
        print(control, round(near, 1), round(far, 1))
        assert near + far >= 0.9 * (10 + 25), control
