"""Files from several sources at once: together they take of a link that their paths share what one flow would.

Where the kernel refuses a lab, what needs one is skipped; a lab that was late is repeated once.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from labs import RED, emulate, measured_bps, python, serve_perf, sharer

if TYPE_CHECKING:
    from pathlib import Path

MB = 1_000_000
LASTS_S, SETTLES_S = 25, 5
QUEUE = '[defaults.link]\nqueue = "100 packets"\n'

SHARED_LINK = {
    "lia": ("lia", [], (0.7, 1.4)),
    "olia": ("olia", [], (0.7, 1.4)),
    "balia": ("balia", [], (0.7, 1.4)),
    "nmcc": ("nmcc", [], (1.0, 1.75)),
    "nmcc-apart": ("nmcc", [1, 2], (1.6, 2.6)),
    "uncoupled": ("uncoupled", [], (1.6, 2.6)),
}
"""By a name the control, the groups of the sources, and how many times as much as one Reno flow they may take together.

NMCC shares growth and not losses, so it has sqrt(2) times as much in the mean; runs of 20 s spread by a tenth. Sources
in different groups do not heed each other.
"""

FETCHES = """
import json, os, shlex, sys, threading, time
from pathlib import Path
from anabranch import _core
from anabranch.transfer.fetch import fetch
wanted, lasts_s, servers = json.loads(sys.argv[1]), float(sys.argv[2]), ("near", "far", "url")
while not all(Path(name).exists() and Path(name).read_text().endswith("\\n") for name in servers):
    time.sleep(0.01)
near, far, rival = (shlex.split(Path(name).read_text())[-1] for name in servers)
near, far = near.replace("/?", "/x?"), far.replace("/?", "/x?")
states, reports = {name: [] for name in wanted}, {}
begin = time.monotonic()
def run(name, control, groups, hosts, *_):
    def tell(state):
        states[name].append((time.monotonic() - begin, [source["brought_bytes"] for source in state.sources]))
    urls = [url.replace("HOST", host) for url, host in zip((near, far), hosts)]
    fetch(urls, f"x-{name}", control=control, groups=groups, progress=tell)
def measure(name, host, via):
    running = _core.Perf.measure(rival.replace("HOST", host), [via], "reno", True, lasts_s, None, 8, None)
    while name not in reports:
        told = running.wait(0.1)
        if told and told[0] == "measured":
            reports[name] = json.loads(told[2])
for name, (control, groups, hosts, beside) in wanted.items():
    threading.Thread(target=run, args=(name, control, groups, hosts), daemon=True).start()
    if beside:
        threading.Thread(target=measure, args=(name, *beside), daemon=True).start()
while time.monotonic() < begin + lasts_s or len(reports) < sum(bool(each[3]) for each in wanted.values()):
    time.sleep(0.1)
Path("states").write_text(json.dumps(states))
Path("reports").write_text(json.dumps(reports))
os._exit(0)
"""
"""Fetches a file under several controls, each from two sources, for so long; keeps what each had brought when.

Beside each a server sends by one Reno flow, if that is wanted.
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a file that is never whole in time."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "x").write_bytes(random.Random(1).randbytes(80 * MB))
    return folder


def shared_link(name: str) -> str:
    """Give a link that two sources and a rival share, and a connection from each of them."""
    text = ""
    for source in ("near", "far", "west"):
        text += f'[[link]]\nname = "{source}-{name}"\nsource = "{source}"\ntarget = "at-{name}"\n'
        text += 'capacity = "1 Gbit/s"\ndelay = "1 ms"\n'
    text += f'[[link]]\nname = "{name}"\nsource = "at-{name}"\ntarget = "east"\n'
    text += f'capacity = "20 Mbit/s"\ndelay = "10 ms"\n{RED}\n'
    for source in ("near", "far", "west"):
        text += f'[[connection]]\nname = "{source}-{name}"\nsource = "{source}"\ntarget = "east"\n'
        text += f'links = [["{source}-{name}", "{name}"]]\n'
    return text


def rates_mbps(folder: Path) -> dict[str, list[float]]:
    """Read how fast each source brought what was fetched under each name, from settling on until the end."""
    rates = {}
    for name, states in json.loads((folder / "states").read_text()).items():
        settled = [state for state in states if SETTLES_S <= state[0] <= LASTS_S]
        assert settled, f"nothing was fetched under {name}"
        (begin_s, before), (end_s, after) = settled[0], settled[-1]
        rates[name] = [8e-6 * (late - early) / (end_s - begin_s) for early, late in zip(before, after, strict=True)]
    return rates


def test_two_sources_over_one_link_take_what_one_flow_does(lab: None, folder: Path, shared: Path) -> None:
    wanted = {}
    for at, (name, (control, groups, _)) in enumerate(SHARED_LINK.items()):
        near, far, west = (f"10.0.{3 * at + source}" for source in range(3))
        wanted[name] = (control, groups, [f"{near}.1", f"{far}.1"], [f"{west}.1", f"{west}.2"])
    scenario = QUEUE + "".join(shared_link(name) for name in SHARED_LINK)
    fetches = python(folder, FETCHES, json.dumps(wanted), str(LASTS_S))
    serve = [(host, sharer(shared, "HOST", host)) for host in ("near", "far")]
    emulate(folder, scenario, at={"east": fetches}, serve=[*serve, ("west", serve_perf())])
    reports = json.loads((folder / "reports").read_text())
    ratios = {}
    for name, rates in rates_mbps(folder).items():
        beside = measured_bps(reports[name], SETTLES_S) / 1e6
        ratios[name] = sum(rates) / beside
        print(name, [round(rate, 1) for rate in (*rates, beside)], round(ratios[name], 2))
        assert min(rates) > 1
    for name, (_, _, (least, most)) in SHARED_LINK.items():
        assert least <= ratios[name] <= most, f"{name} has {ratios[name]:.2f} times what Reno has"
    assert max(ratios[name] for name in ("lia", "olia", "balia", "nmcc")) < ratios["uncoupled"]


APART = {"lia": [], "nmcc": [1, 2]}
"""Groups of the two sources' paths, under each control."""


def test_two_sources_over_two_links_fill_both(lab: None, folder: Path, shared: Path) -> None:
    scenario, wanted = QUEUE, {}
    for at, (control, groups) in enumerate(APART.items()):
        for source, capacity in (("near", 10), ("far", 25)):
            scenario += f'[[link]]\nname = "{source}-{control}"\nsource = "{source}"\ntarget = "east"\n'
            scenario += f'capacity = "{capacity} Mbit/s"\ndelay = "10 ms"\n'
            scenario += f'[[connection]]\nname = "{source}-{control}"\nsource = "{source}"\ntarget = "east"\n'
            scenario += f'links = [["{source}-{control}"]]\n'
        wanted[control] = (control, groups, [f"10.0.{2 * at}.1", f"10.0.{2 * at + 1}.1"], None)
    fetches = python(folder, FETCHES, json.dumps(wanted), "12")
    serve = [(host, sharer(shared, "HOST", host)) for host in ("near", "far")]
    emulate(folder, scenario, at={"east": fetches}, serve=[*serve, ("east", serve_perf())])
    for control, (near, far) in rates_mbps(folder).items():
        print(control, round(near, 1), round(far, 1))
        assert near + far >= 0.9 * (10 + 25), control
