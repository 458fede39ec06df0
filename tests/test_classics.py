"""The classics show what their descriptions promise.

Working stands above each assertion. Where chance plays a part, a claim holds for each of three seeds.
"""

from __future__ import annotations

import functools
import math
import runpy
from pathlib import Path

import polars as pl
import pytest

import anabranch as ab
from anabranch.runs.result import Result

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "scenarios/classics"
MBIT = 1e6
PACKET_BITS = 8000
SEEDS = [1, 2, 3]

each_seed = pytest.mark.parametrize("seed", SEEDS)


@functools.cache
def run(name: str, seed: int = 1, *sets: str) -> Result:
    return ab.run(FOLDER / f"{name}.toml", seed=seed, sets=list(sets))


def mean_rates(result: Result) -> dict[str, float]:
    """Give the mean rate of each connection after the warm-up, in Mbit/s."""
    frame = result.connections
    return {name: rate / MBIT for name, rate in zip(frame["connection"], frame["mean_rate_bps"], strict=True)}


def rates_between(result: Result, start_s: float, end_s: float) -> dict[str, float]:
    """Give the mean delivered rate of each connection in a time, in Mbit/s."""
    rows = result.series["connections"].filter(pl.col("time_s") > start_s, pl.col("time_s") <= end_s)
    means = rows.group_by("connection", maintain_order=True).agg(pl.col("delivered_bps").mean() / MBIT)
    return dict(means.rows())


def subflow_rates(result: Result) -> dict[str, float]:
    frame = result.subflows
    return {name: rate / MBIT for name, rate in zip(frame["subflow"], frame["mean_rate_bps"], strict=True)}


def link_value(result: Result, link: str, column: str) -> float:
    return float(result.links.filter(link=link)[column].item())


def mean_waits(result: Result) -> dict[str, float]:
    """Give the mean waiting time of packets of each subflow, in seconds."""
    frame = result.waits.filter(of="subflow")
    return dict(zip(frame["name"], frame["mean_s"], strict=True))


def jain(rates: list[float]) -> float:
    return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))


# Dumbbell


@each_seed
def test_dumbbell_connections_come_to_equal_shares_of_the_middle(seed):
    result = run("dumbbell", seed)
    # 12 Mbit/s by the number of connections that are there, some seconds after each change.
    for start_s, end_s, present in [(5, 20, 1), (30, 40, 2), (50, 80, 3), (85, 100, 2)]:
        own = [rate for rate in rates_between(result, start_s, end_s).values() if rate > 0.1]
        assert len(own) == present
        assert own == pytest.approx([12 / present] * present, rel=0.2)
        assert jain(own) > 0.98
        assert sum(own) == pytest.approx(12, rel=0.01)


def test_dumbbell_newcomer_takes_room_from_those_that_are_there():
    before, after = (rates_between(run("dumbbell"), *span)["red"] for span in [(15, 20), (25, 30)])
    assert after < 0.7 * before


# Parking lot


@each_seed
def test_parking_lot_gives_the_long_connection_about_a_sixth_of_the_others(seed):
    rates = mean_rates(run("parking-lot", seed))
    others = [rates[name] for name in ("one", "two", "three")]
    assert rates["through"] == pytest.approx(1.5, rel=0.15)
    assert others == pytest.approx([8.5] * 3, rel=0.05)
    # The law of the square root: 3 times the round trip and 3 times the loss are 1 / (3 sqrt 3) = 1 / 5.2 of the rate.
    assert 3 * math.sqrt(3) < others[0] / rates["through"] < 6.5
    # All links are full: each carries "through" and one of the others.
    assert [rates["through"] + rate for rate in others] == pytest.approx([10] * 3, rel=0.01)


def test_parking_lot_fair_rates_are_five_each_by_max_min_and_a_quarter_by_proportion():
    fair = run("parking-lot").series["connections"]["fair_bps"].unique().to_list()
    assert fair == pytest.approx([5 * MBIT])
    solved = ab.solve(FOLDER / "parking-lot.toml", fairness="proportional").connections
    rates = dict(zip(solved["name"], solved["rate_bps"] / MBIT, strict=True))
    # Greatest log x + 3 log(10 - x): 1 / x = 3 / (10 - x), so x = 2.5.
    assert rates == pytest.approx({"through": 2.5, "one": 7.5, "two": 7.5, "three": 7.5}, rel=1e-3)


# Round trips that differ


@each_seed
def test_rates_are_in_inverse_proportion_to_round_trips(seed):
    result = run("round-trips", seed)
    rates = mean_rates(result)
    rows = result.series["subflows"].filter(pl.col("time_s") > 20.0)
    trips = {name: rows.filter(subflow=f"{name}/1")["rtt_s"].mean() for name in rates}
    assert trips["nearby"] == pytest.approx(0.024, abs=0.001)
    assert trips["distant"] == pytest.approx(0.104, abs=0.001)
    # 104 / 24 = 4.3
    ratio = trips["distant"] / trips["nearby"]
    assert rates["nearby"] / rates["distant"] == pytest.approx(ratio, rel=0.1)
    assert rates == pytest.approx({"nearby": 15, "distant": 3.5}, rel=0.1)


# Bufferbloat


@each_seed
def test_bufferbloat_makes_a_call_wait_and_three_cures_do_not(seed):
    result = run("bufferbloat", seed)
    waits = mean_waits(result)
    # A full queue of 500 packets of 8000 bit takes 0.4 s at 10 Mbit/s.
    assert link_value(result, "bloated", "most_packets") == 500
    assert 0.25 < waits["bloated-call/1"] < 500 * PACKET_BITS / 10e6
    assert waits["codel-call/1"] == pytest.approx(0.004, abs=0.001)
    assert waits["marking-call/1"] == pytest.approx(0.007, abs=0.001)
    # A packet that is being sent is never stopped: 0.8 ms at most.
    assert waits["fair-call/1"] < PACKET_BITS / 10e6


@each_seed
def test_bufferbloat_cures_cost_the_download_a_hundredth_at_most(seed):
    rates = mean_rates(run("bufferbloat", seed))
    downloads = [rate for name, rate in rates.items() if name.endswith("download")]
    # 10 Mbit/s less 64 kbit/s for the call
    assert len(downloads) == 4
    assert downloads == pytest.approx([9.936] * 4, rel=0.01)
    assert link_value(run("bufferbloat", seed), "marking", "dropped") == 0


# Incast


def completions_ms(*sets: str, seed: int) -> list[float]:
    times = run("incast", seed, *sets).connections["completion_s"].to_list()
    assert None not in times
    return [1e3 * time for time in times]


@each_seed
def test_incast_makes_some_answers_wait_for_a_timeout(seed):
    times = completions_ms(seed=seed)
    # All data need 10 * 32 kB * 8 / 1 Gbit/s = 2.56 ms; 200 ms of a timeout are 78 times that.
    assert 200 < max(times) < 205
    assert 2 <= sum(time > 200 for time in times) <= 6
    assert sorted(times)[4] < 2.56


@each_seed
@pytest.mark.parametrize("cure", ['run.transport.least_wait="1 ms"', 'link.last.queue="400 packets"'])
def test_incast_is_over_in_four_milliseconds_under_either_cure(seed, cure):
    assert max(completions_ms(cure, seed=seed)) < 4


# Sawtooth


@each_seed
def test_sawtooth_fills_a_link_with_a_deep_queue_and_three_quarters_of_one_without(seed):
    result = run("sawtooth", seed)
    rates = mean_rates(result)
    assert rates["over-deep"] == pytest.approx(10, rel=0.002)
    # The mean of a saw between w / 2 and w is 3/4 w, and w is what fills the link.
    assert rates["over-shallow"] == pytest.approx(7.5, rel=0.03)
    rows = result.series["subflows"].filter(pl.col("time_s") > 20.0)
    deep, shallow = (rows.filter(subflow=f"over-{name}/1")["window_bytes"] / 1000 for name in ("deep", "shallow"))
    # 10 Mbit/s * 40 ms = 50 packets under way, and a queue of 50 or 3.
    assert (deep.min(), deep.max()) == pytest.approx((50, 100), rel=0.03)
    assert shallow.max() == pytest.approx(54, rel=0.03)
    after_losses = shallow.filter(shallow.diff() < -10)
    assert after_losses.median() == pytest.approx(27, rel=0.1)


# Law of the square root


@each_seed
def test_four_times_the_loss_is_half_the_rate(seed):
    rates = mean_rates(run("square-root-law", seed))
    rare, some, frequent = (rates[f"{name}-loss"] for name in ("rare", "some", "frequent"))
    assert rare / some == pytest.approx(2, rel=0.1)
    assert some / frequent == pytest.approx(2, rel=0.1)
    for rate, loss in [(rare, 0.0004), (some, 0.0016), (frequent, 0.0064)]:
        # sqrt(3 / 2) packets of 8000 bit by 40 ms and sqrt(loss): 12.2, 6.1 and 3.06 Mbit/s
        assert rate == pytest.approx(math.sqrt(1.5 / loss) * PACKET_BITS / 0.04 / MBIT, rel=0.08)


# Resource pooling


@each_seed
def test_uncoupled_paths_count_as_a_connection_each(seed):
    result = run("resource-pooling", seed)
    rates, parts = mean_rates(result), subflow_rates(result)
    # A third of 12 on "red", and half of 12 on "blue".
    assert (parts["both/1"], parts["both/2"]) == pytest.approx((4, 6), rel=0.05)
    assert rates["both"] == pytest.approx(10, rel=0.03)
    assert (rates["red-1"], rates["red-2"], rates["blue-1"]) == pytest.approx((4, 4, 6), rel=0.05)


@each_seed
def test_coupled_paths_make_one_pool_of_two_links(seed):
    result = run("resource-pooling", seed)
    rates = mean_rates(result)
    # 24 Mbit/s by four connections
    own = [rates[name] for name in ("pooled", "rose-1", "rose-2", "sky-1")]
    assert own == pytest.approx([6] * 4, rel=0.12)
    assert jain(own) > 0.99
    # "rose" has nearly been left: two packets of the ten wait there.
    assert subflow_rates(result)["pooled/1"] < 0.25 * subflow_rates(result)["pooled/2"]
    assert jain([rates[name] for name in ("both", "red-1", "red-2", "blue-1")]) < 0.9


# Max-min beside proportional fairness


@each_seed
def test_two_kinds_of_fairness_give_the_long_connection_six_and_four(seed):
    rates = mean_rates(run("max-min-and-proportional", seed))
    granted, window = ([rates[f"{kind}-{end}"] for end in ends] for kind, ends in KINDS.items())
    assert granted == pytest.approx([6, 6, 6], rel=0.001)
    # Greatest log x + 2 log(12 - x): 1 / x = 2 / (12 - x), so x = 4.
    assert window == pytest.approx([4, 8, 8], rel=0.04)
    assert (sum(granted), sum(window)) == pytest.approx((18, 20), rel=0.01)


KINDS = {"granted": ("long", "west", "east"), "window": ("long", "left", "right")}


def test_solvers_give_both_kinds_of_fair_rates():
    for fairness, long in [("max-min", 6), ("proportional", 4)]:
        solved = ab.solve(FOLDER / "max-min-and-proportional.toml", fairness=fairness, paths=1).connections
        rates = dict(zip(solved["name"], solved["rate_bps"] / MBIT, strict=True))
        for kind, (first, *others) in KINDS.items():
            assert rates[f"{kind}-{first}"] == pytest.approx(long, rel=1e-3)
            assert [rates[f"{kind}-{end}"] for end in others] == pytest.approx([12 - long] * 2, rel=1e-3)


# A path that dies


@each_seed
def test_a_connection_outlives_one_of_its_paths(seed):
    result = run("path-that-dies", seed)
    before, during, after = (rates_between(result, *span) for span in [(2, 10), (10.5, 20), (22, 30)])
    # All of the cellular link and half of the wifi, 8 + 10; then the cellular link alone.
    assert before == pytest.approx({"backup": 18, "letter": 10}, rel=0.15)
    assert during == pytest.approx({"backup": 8, "letter": 0}, rel=0.01, abs=0.01)
    assert after == pytest.approx({"backup": 18, "letter": 10}, rel=0.15)
    # "backup" begins anew on the wifi within a second.
    rows = result.series["subflows"].filter(pl.col("time_s") > 20.0, pl.col("time_s") <= 21.0)
    assert rows.filter(subflow="backup/1")["window_bytes"].max() > 10_000


# Braess


@each_seed
def test_an_open_bridge_makes_all_slower(seed):
    result = run("braess", seed)
    before, during, after = (rates_between(result, *span) for span in [(2, 20), (22, 40), (42, 60)])
    # Two narrow links of 10 Mbit/s for four connections.
    for closed in (before, after):
        assert sum(closed.values()) / 4 == pytest.approx(5, rel=0.05)
    assert max(during.values()) < 4
    assert list(during.values()) == pytest.approx([3.5] * 4, rel=0.1)
    fair = result.series["connections"]["fair_bps"] / MBIT
    assert (fair.min(), fair.max()) == pytest.approx((5, 5), rel=0.001)


NEVER = 'path_times=[{}, {}, { start = "59.9 s" }]'


@each_seed
def test_it_pays_for_each_to_use_the_bridge(seed):
    alone = run("braess", seed, *(f"connection.{name}.{NEVER}" for name in ("ben", "cleo", "dan")))
    without = run("braess", seed, f"connection.ada.{NEVER}")
    assert rates_between(alone, 22, 40)["ada"] > 5.5
    assert rates_between(without, 22, 40)["ada"] < 3


# Explicit rates beside windows


def test_granted_rates_are_right_after_some_round_trips():
    result = run("explicit-rates")
    rows = result.series["connections"].filter(pl.col("connection").str.starts_with("granted"))
    # 12 Mbit/s by the number of connections that are there, five round trips of 20 ms after each change.
    for start_s, end_s, present in [(0, 5, 1), (5, 10, 2), (10, 15, 3), (15, 20, 2)]:
        own = rows.filter(pl.col("time_s") > start_s + 0.1, pl.col("time_s") < end_s, pl.col("fair_bps").is_not_null())
        assert own["connection"].n_unique() == present
        assert own["granted_bps"].to_numpy() / MBIT == pytest.approx(12 / present, rel=0.001)
    assert link_value(result, "granted", "most_packets") <= 3


@each_seed
def test_a_newcomer_under_windows_needs_longer_than_five_seconds(seed):
    result = run("explicit-rates", seed)
    assert rates_between(result, 5, 6)["probed-second"] < 3
    assert rates_between(result, 5, 10)["probed-second"] < 5
    assert link_value(result, "probed", "most_packets") == 60


# A cellular link


def test_cellular_capacity_is_as_described():
    rows = run("cellular").series["links"].filter(link="cubic-radio")["capacity_bps"] / MBIT
    assert rows.mean() == pytest.approx(7.7, rel=0.01)
    assert (rows.min(), rows.max()) == pytest.approx((0.3, 24))


@each_seed
def test_controls_differ_in_the_rate_and_the_delay_over_a_cellular_link(seed):
    result = run("cellular", seed)
    rates = rates_between(result, 0, 30)
    waits = mean_waits(result)
    shares = {name: rate / 7.66 for name, rate in rates.items()}
    assert shares["cubic"] > 0.99
    assert shares["codel"] == pytest.approx(2 / 3, abs=0.06)
    assert shares["copa"] == pytest.approx(0.93, abs=0.02)
    assert shares["abc"] == pytest.approx(0.95, abs=0.02)
    assert waits["cubic/1"] == pytest.approx(0.4, abs=0.05)
    assert waits["codel/1"] < 0.01
    assert waits["copa/1"] == pytest.approx(0.016, abs=0.003)
    assert waits["abc/1"] == pytest.approx(0.010, abs=0.002)
    assert 1.5 < link_value(result, "cubic-radio", "most_wait_s") < 2.1


# All of them


def names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def test_every_classic_has_a_test():
    source = Path(__file__).read_text(encoding="utf-8")
    assert not [name for name in names() if f'run("{name}"' not in source]
    assert len(names()) == 13


@pytest.mark.parametrize("name", names())
def test_the_page_of_classics_runs_and_draws_each(name):
    page = (ROOT / "docs/classics.md").read_text(encoding="utf-8")
    assert f"scenarios/classics/{name}.toml" in page
    assert f"(images/classics/{name}.svg)" in page
    assert ab.read_scenario(FOLDER / f"{name}.toml").title in page


draw = runpy.run_path(str(ROOT / "docs/made/classics.py"))["draw"]


@pytest.mark.parametrize("name", names())
def test_the_picture_of_a_classic_is_that_of_a_run_of_today(name, tmp_path):
    draw(name, tmp_path)
    # Runs are the same to the last bit, and the drawing is by matplotlib alone: so are the files.
    new, old = ((folder / f"{name}.svg").read_bytes() for folder in (tmp_path, ROOT / "docs/images/classics"))
    assert new == old, f"docs/images/classics/{name}.svg is stale; `python docs/made/classics.py` draws it again"


@pytest.mark.parametrize("name", names())
def test_a_classic_begins_with_a_question_and_fits_the_page(name):
    scenario = ab.read_scenario(FOLDER / f"{name}.toml")
    blocks = scenario.description.split("\n\n")
    assert scenario.title
    assert blocks[0].endswith("?")
    assert "\n" not in blocks[0]
    assert blocks[-1].startswith("Why: ") or blocks[-2].startswith("Why: ")
    # Pages cut off what is wider in a drawing.
    drawn = [line for block in blocks if block.startswith("  ") for line in block.splitlines()]
    assert drawn
    assert max(map(len, drawn)) <= 74
    assert len(scenario.network) <= 12
