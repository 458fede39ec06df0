"""Live runs under controls that count marks, and over relays, beside their simulation."""

import json
from pathlib import Path

import pytest

import anabranch
from labs import PROGRAM, emulate, punctual, words

LINE = """
[[link]]
name = "line"
source = "west"
target = "east"
capacity = "20 Mbit/s"
delay = "10 ms"
queue = "100 packets"
discipline = DISCIPLINE
[[connection]]
name = "one"
source = "west"
target = "east"
protocol = "PROTOCOL"
packet = "1500 B"
"""

RUN = """
[run]
duration = "6 s"
warm_up = "2 s"
"""

STEP = "{ ecn-step = { threshold = 10 } }"

# With the longest queue: 20 Mbit/s in a round trip of 20 ms are 33 packets, which a slow start doubles before it hears.
MARKED = {"dctcp": (STEP, 80), "lgc": ('"ecn-ramp"', 33), "lgcc": ('"ecn-ramp"', 33), "abc": ('"abc"', 80)}

LOOPS = """
[defaults.link]
queue = "100 packets"
discipline = "ecn-ramp"
[[link]]
name = "first"
source = "west"
target = "middle"
capacity = "20 Mbit/s"
delay = "10 ms"
[[link]]
name = "second"
source = "middle"
target = "east"
capacity = "8 Mbit/s"
delay = "10 ms"
[[connection]]
name = "film"
source = "west"
target = "east"
relays = ["middle"]
protocol = "PROTOCOL"
packet = "1500 B"
[relays]
buffer = "200 kB"
"""


def line(protocol):
    """Give a scenario in which a link marks as the protocol needs it."""
    return LINE.replace("DISCIPLINE", MARKED[protocol][0]).replace("PROTOCOL", protocol)


def check_line(result, protocol):
    """See that the link is full, that little waits there, and that nothing is lost."""
    assert result.connections["mean_rate_bps"][0] >= 0.9 * 20e6
    assert result.links["dropped"].sum() == 0
    assert result.links["most_packets"].max() <= MARKED[protocol][1]


@pytest.mark.parametrize("protocol", MARKED)
def test_controls_that_count_marks_fill_a_link_in_virtual_time(protocol):
    check_line(anabranch.run(line(protocol) + RUN), protocol)


@pytest.mark.parametrize("protocol", ["abc", "dctcp", "lgc"])
def test_controls_that_count_marks_have_live_what_they_have_simulated(lab, protocol):
    simulated, live = anabranch.run(line(protocol) + RUN), punctual(lambda: anabranch.live(line(protocol) + RUN))
    check_line(live, protocol)
    expected, found = (result.connections["mean_rate_bps"][0] for result in (simulated, live))
    print(f"{protocol}: simulated {expected / 1e6:.2f} Mbit/s, live {found / 1e6:.2f}")
    assert found == pytest.approx(expected, rel=0.05)
    # Who took no notice of how many were marked would have all of them marked: 10,000 packets.
    marked = [int(result.subflows["marked"][0]) for result in (simulated, live)]
    assert marked[1] == pytest.approx(marked[0], rel=0.5, abs=100), marked


def check_programs(report):
    """See that the link has marked, as it does where shares of marks are known, and dropped nothing."""
    (link,) = (link for link in report["links"] if link["link"] == "line")
    print(link)
    assert (link["dropped"], link["marked"] > 100) == (0, True)
    assert link["marked"] < link["packets"] / 3


def test_marks_are_counted_by_who_fetches(lab, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/x").write_bytes(bytes(10_000_000))
    serve = (
        f"exec {words(*PROGRAM, 'share', tmp_path / 'shared', '--listen', '0.0.0.0:4433', '--host', '10.0.0.1')} > url"
    )
    # What is printed is the command that fetches the whole folder.
    of_file = """sed "s/.*'\\(.*\\)\\/?\\(.*\\)'/\\1\\/x?\\2/" url"""
    fetch = f'exec {words(*PROGRAM, "fetch")} "$({of_file})" --control dctcp --to here'
    client = f"while ! grep -q pin url 2> /dev/null; do sleep 0.05; done; {fetch}"
    check_programs(emulate(tmp_path, line("dctcp"), at={"east": f"sh -c {words(client)}"}, serve=[("west", serve)]))
    assert (tmp_path / "here").stat().st_size == 10_000_000


@pytest.mark.parametrize("reverse", [False, True])
def test_marks_are_counted_between_programs(lab, tmp_path, reverse):
    perf = words(*PROGRAM, "perf")
    server, client = ("west", "east") if reverse else ("east", "west")
    serve = f"exec {perf} --serve 0.0.0.0:4433 --name 10.0.0.{1 if reverse else 2} > url"
    wait = "while ! grep -q pin url 2> /dev/null; do sleep 0.05; done"
    options = f"--control dctcp --time 5s --json {'--reverse' if reverse else ''}"
    measure = f'{wait}; exec {perf} "$(cat url)" {options} > report'
    check_programs(emulate(tmp_path, line("dctcp"), at={client: f"sh -c {words(measure)}"}, serve=[(server, serve)]))
    measured = json.loads((Path(tmp_path) / "report").read_text())["end"]
    print(measured["sum_received"]["bits_per_second"] / 1e6)
    # 4 % of a packet are headers.
    assert measured["sum_received"]["bits_per_second"] >= 0.9 * 0.96 * 20e6
    assert measured["sum_sent"]["retransmits"] == 0


@pytest.mark.parametrize("protocol", ["lgcc"])
def test_loops_have_live_what_they_have_simulated(lab, protocol):
    scenario = LOOPS.replace("PROTOCOL", protocol) + RUN
    simulated, live = anabranch.run(scenario), punctual(lambda: anabranch.live(scenario))
    expected, found = (result.connections["mean_rate_bps"].to_list() for result in (simulated, live))
    print(f"{protocol}: simulated {expected}, live {found}, {live.meta['relays']}")
    assert found == pytest.approx(expected, rel=0.1)
    assert found[0] == pytest.approx(found[1], rel=0.1)
    (relay,) = live.meta["relays"]
    assert (relay["connection"], relay["next"], relay["buffer_bytes"]) == ("film/1", "film/2", 200_000)
    assert 0 < relay["most_waiting_bytes"] <= 200_000
    for name in ("connections", "subflows", "links"):
        assert getattr(live, name).schema == getattr(simulated, name).schema, name
    # A live run knows no fair rates.
    assert {"connections", "subflows", "links"} <= set(live.series) <= set(simulated.series)
    for kind, table in live.series.items():
        assert table.schema.items() <= simulated.series[kind].schema.items(), kind


# The ingress of a network splits what the host sends over two paths, and the egress puts it in order again.
SPLIT = """
[defaults.link]
queue = "60 packets"
[[link]]
source = "host"
target = "in"
capacity = "50 Mbit/s"
delay = "2 ms"
[[link]]
source = "in"
target = "a"
capacity = "10 Mbit/s"
delay = "2 ms"
[[link]]
source = "a"
target = "out"
capacity = "50 Mbit/s"
delay = "2 ms"
[[link]]
source = "in"
target = "b"
capacity = "15 Mbit/s"
delay = "2 ms"
[[link]]
source = "b"
target = "out"
capacity = "50 Mbit/s"
delay = "2 ms"
[[link]]
source = "out"
target = "server"
capacity = "50 Mbit/s"
delay = "2 ms"
[[connection]]
name = "bulk"
source = "host"
target = "server"
relays = ["in", "out"]
loops = ["reno", "lia", "reno"]
packet = "1500 B"
[relays]
buffer = "200 kB"
"""


def test_a_loop_over_two_paths_has_live_what_it_has_simulated(lab):
    simulated, live = anabranch.run(SPLIT + RUN), punctual(lambda: anabranch.live(SPLIT + RUN))
    expected, found = (result.connections["mean_rate_bps"].to_list() for result in (simulated, live))
    split = live.subflows.filter(live.subflows["connection"] == "bulk/2")["mean_rate_bps"].to_list()
    print(f"simulated {expected}, live {found}, by paths {split}")
    assert found == pytest.approx(expected, rel=0.1)
    # Both paths of the second loop are nearly full, and what they carry goes on over the third.
    assert [rate / 1e6 for rate in split] == [pytest.approx(10, rel=0.15), pytest.approx(15, rel=0.15)]
    assert found[2] == pytest.approx(25e6, rel=0.1)
