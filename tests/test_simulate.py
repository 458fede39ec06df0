"""Simulated scenarios: what the tables say, that they repeat, and what is left of a run that is stopped."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

from anabranch import RunInterrupted, ScenarioError, read_result, run

SCENARIOS = Path(__file__).parents[1] / "scenarios"
JOIN = SCENARIOS / "join-and-leave.toml"
SERIES = ("series_connections", "series_subflows", "series_links", "series_run")
TABLES = ("connections", "subflows", "links", *SERIES, "grants")

# One link, on which "short" sends for a while beside "long".
LINK = """
title = "One link"

[defaults.connection]
protocol = "d-slen"

[run]
duration = "2 s"

[[link]]
name = "a-b"
source = "a"
target = "b"
capacity = "8 Mbit/s"
delay = "5 ms"

[[connection]]
name = "long"
source = "a"
target = "b"

[[connection]]
name = "short"
source = "a"
target = "b"
start = "500 ms"
stop = "1500 ms"
"""


def table_of(result, name):
    """A table of a result by the name of its file."""
    return result.series[name.removeprefix("series_")] if name in SERIES else getattr(result, name)


@pytest.fixture(scope="module")
def joined():
    """The example in which connections join and leave."""
    return run(JOIN)


def rates_at(result, time_s):
    """The rates of all connections at a sample in Mbit/s, and the fair ones of those that are there."""
    rows = result.series["connections"].filter((pl.col("time_s") - time_s).abs() < 1e-9)
    granted = dict(rows.select("connection", pl.col("granted_bps") / 1e6).iter_rows())
    return granted, dict(rows.drop_nulls("fair_bps").select("connection", pl.col("fair_bps") / 1e6).iter_rows())


@pytest.mark.parametrize(
    ("time_s", "wanted"),
    [
        (0.8, {"through": 6.0, "last": 6.0}),
        (1.6, {"through": 6.0, "first": 8.0, "last": 6.0}),
        (3.2, {"through": 7.0, "first": 7.0}),
    ],
)
def test_connections_that_join_and_leave_are_granted_their_fair_rates(joined, time_s, wanted):
    # Worked out in the head of the scenario.
    granted, fair = rates_at(joined, time_s)
    assert fair == pytest.approx(wanted, rel=2e-3)
    assert {name: granted[name] for name in wanted} == pytest.approx(wanted, rel=2e-3)
    assert all(rate == 0.0 for name, rate in granted.items() if name not in wanted)


def test_bottlenecks_err_by_what_is_given_over_their_capacity_or_to_nobody(joined):
    # At 1.6 s the fair rates 6, 8 and 6 fill all links forth (4, 10 and 8 Mbit/s); at 3.2 s 7 and 7 fill west-east and
    # west-middle, and leave 1 of the 8 Mbit/s of middle-east free.
    links = joined.series["links"]
    capacity = dict(joined.links.select("link", "capacity_bps").iter_rows())

    def there(time_s):
        rows = links.filter((pl.col("time_s") - time_s).abs() < 1e-9, pl.col("error").is_not_null())
        return dict(rows.select("link", "error").iter_rows())

    assert sorted(there(1.6)) == ["middle-east", "west-east", "west-middle"]
    assert sorted(there(3.2)) == ["west-east", "west-middle"]
    rows = links.drop_nulls("error").select("link", "granted_bps", "error").rows()
    assert all(error == pytest.approx(granted / capacity[name] - 1.0) for name, granted, error in rows)
    frame = joined.errors(of="link")
    assert frame.filter(pl.col("time_s") > 3.5).select(pl.col("least", "most").abs().max()).row(0) < (1e-3, 1e-3)
    assert (
        frame["present"].to_list()
        == links.group_by("time_s", maintain_order=True).agg(pl.col("error").count())["error"].to_list()
    )


def test_the_spread_of_errors_is_that_of_the_errors(joined):
    both = run(JOIN, sets=['run.record=["connections", "links", "fairness", "errors"]'])
    without = replace(both, spread=None)
    for of in ("connection", "link"):
        wide, narrow = (result.errors(of=of) for result in (without, both))
        assert wide.columns == narrow.columns
        assert len(narrow) == len(wide) > 400
        for column in narrow.columns:
            assert narrow[column].to_list() == pytest.approx(wide[column].to_list(), abs=1e-9)
    assert both.errors((50,)).columns == ["time_s", "present", "mean", "magnitude", "least", "p50", "most"]
    only = run(JOIN, sets=['run.record=["errors"]'])
    assert only.spread.equals(both.spread)
    assert list(only.series) == ["run"]


def test_threads_change_nothing_but_the_time(joined):
    again = run(JOIN, threads=2)
    assert again.meta["threads"] == 2
    for name in ("connections", "subflows", "links", "series", "grants"):
        assert getattr(again, name).equals(getattr(joined, name)), name
    with pytest.raises(ValueError, match="threads is 0; it must be 1 or more"):
        run(JOIN, threads=0)


def test_what_is_delivered_is_what_was_granted(joined):
    # "last" has 1.5 MB to send, some 2 s at 6 Mbit/s; after that "through" and "first" deliver 7 Mbit/s each.
    last = joined.connections.row(by_predicate=pl.col("connection") == "last", named=True)
    assert last["delivered_bytes"] == last["sent_bytes"] == last["amount_bytes"] == 1_500_000
    assert last["completion_s"] == pytest.approx(2.0, abs=0.05)
    assert last["start_s"] < last["stopped_s"] < last["finished_s"]
    late = joined.series["connections"].filter(pl.col("time_s").is_between(3.0, 4.0))
    means = late.group_by("connection").agg(pl.col("delivered_bps").mean() / 1e6)
    assert dict(means.iter_rows()) == pytest.approx({"through": 7.0, "first": 7.0, "last": 0.0}, rel=5e-3)


def test_a_connection_is_the_sum_of_its_subflows(joined):
    sums = joined.subflows.group_by("connection", maintain_order=True).agg(cs.ends_with("_bytes").sum())
    for column in ("sent_bytes", "delivered_bytes", "lost_bytes"):
        assert sums[column].to_list() == joined.connections[column].to_list()
    assert joined.subflows["path"].to_list()[:2] == [["west-middle", "middle-east"], ["west-east"]]
    assert joined.subflows["subflow"].to_list() == ["through/1", "through/2", "first/1", "last/1"]


def test_packets_by_filters_go_astray_and_say_how_often(joined, tmp_path):
    # Of one bit in eight, some links of six have that of a path by chance: here one beside that of "last", which sends
    # 1,500 packets of 1,000 bytes.
    few = ["filters.bits=8", "filters.ones=1", "filters.tables=1", "filters.seed=5"]
    result = run(JOIN, sets=few)
    result.write(tmp_path / "kept")
    sums = result.subflows.group_by("connection", maintain_order=True).agg(pl.col("strays").sum())
    assert read_result(tmp_path / "kept").connections["strays"].to_list() == sums["strays"].to_list()
    assert result.meta["strays"] == sums["strays"].sum() > 0
    assert joined.connections["strays"].sum() == joined.meta["strays"] == 0
    last = result.connections.row(by_predicate=pl.col("connection") == "last", named=True)
    assert (last["strays"], last["delivered_bytes"], last["lost_bytes"]) == (1500, 1_500_000, 0)


def test_no_table_has_what_is_no_number(joined):
    for name in TABLES:
        floats = table_of(joined, name).select(cs.float())
        assert floats.select(pl.all().is_finite().all()).row(0) == (True,) * floats.width, name


def test_the_mean_rate_is_what_was_delivered_after_the_warm_up_by_the_time_since():
    result = run(LINK, sets=["run.warm_up=1 s"])
    # "short" stops at 1.5 s, half a second after the warm-up; both are level at 4 Mbit/s then.
    rates = dict(result.connections.select("connection", pl.col("mean_rate_bps") / 1e6).iter_rows())
    assert rates["short"] == pytest.approx(4.0, rel=0.02)
    assert rates["long"] == pytest.approx((4.0 + 8.0) / 2, rel=0.02)
    assert result.links["utilisation"][0] == pytest.approx(1.0, abs=0.03)


HASTY = 'defaults.connection.protocol="vo-le-tran"'
"""Grants so much to begin with that queues grow: what a connection sent arrives long after it has stopped."""


def short_of(*sets):
    """What came of "short" with that protocol."""
    result = run(LINK, sets=[HASTY, *sets])
    return result.connections.row(by_predicate=pl.col("connection") == "short", named=True)


@pytest.mark.parametrize("warm_up", ["1 s", "1550 ms"])
@pytest.mark.parametrize("duration", ["1600 ms", "2 s"])
def test_what_arrives_after_a_connection_has_stopped_counts_by_the_time_that_it_took(duration, warm_up):
    # 1 s on, each has half of the packets in the queue, and so 4 of 8 Mbit/s until the last one of "short".
    short = short_of(f"run.duration={duration}", f"run.warm_up={warm_up}")
    assert short["stopped_s"] == 1.5
    if duration == "2 s":
        assert 1.7 < short["finished_s"] < 1.8
        assert short["delivered_bytes"] == short["sent_bytes"]
    else:
        assert short["finished_s"] is None
        assert short["delivered_bytes"] < short["sent_bytes"]
    assert short["mean_rate_bps"] == pytest.approx(4e6, rel=0.01)


def test_a_connection_that_finished_before_the_warm_up_ended_has_no_rate():
    assert short_of("run.warm_up=1900 ms")["mean_rate_bps"] is None


def test_only_one_that_sent_its_amount_is_complete():
    # 100 kB take 0.2 s of 4 Mbit/s, and 1 MB more than the second that it has.
    few, many = (short_of(f"connection.1.amount={amount}") for amount in ("100 kB", "1 MB"))
    assert (few["sent_bytes"], few["completion_s"]) == (100_000, few["finished_s"] - 0.5)
    assert many["sent_bytes"] < 1_000_000
    assert (many["stopped_s"], many["completion_s"]) == (1.5, None)
    assert many["finished_s"] > 1.5


def test_the_error_is_null_only_where_there_is_none():
    # A link that carries nothing at all from 1 s on: granted and fair are 0 in the end.
    dead = LINK.replace('delay = "5 ms"', 'delay = "5 ms"\ncapacity_changes = [{ at = "1 s", capacity = "0 bit/s" }]')
    result = run(dead)
    rows = result.series["connections"].filter(connection="long")
    late = rows.filter(pl.col("time_s") > 1.5)
    assert late.select("granted_bps", "fair_bps", "error").unique().rows() == [(0.0, 0.0, 0.0)]
    # In between it is still granted something, and nothing is relative to 0.
    between = rows.filter(pl.col("fair_bps") == 0.0, pl.col("granted_bps") > 0.0)
    assert between["error"].null_count() == len(between)
    there = rows.filter(pl.col("fair_bps") > 0.0)
    assert there["error"].null_count() == 0


def test_there_are_no_errors_without_connections():
    result = run(LINK[: LINK.index("[[connection]]")])
    with pytest.raises(ScenarioError, match="there are no connections, so there are no errors"):
        result.errors()


def test_capacities_are_in_the_series_if_any_changes():
    changing = LINK.replace(
        'delay = "5 ms"', 'delay = "5 ms"\ncapacity_changes = [{ at = "1 s", capacity = "2 Mbit/s" }]'
    )
    links = run(changing).series["links"]
    now = pl.col("time_s")
    # The way back changes with it.
    wanted = links.select(pl.when(now < 1.0 - 1e-9).then(8e6).otherwise(2e6))
    assert links["capacity_bps"].to_list() == wanted.to_series().to_list()
    assert "capacity_bps" not in run(LINK).series["links"]


def test_a_connection_that_never_began_has_no_rate():
    result = run(LINK, sets=["run.duration=400 ms"])
    short = result.connections.row(by_predicate=pl.col("connection") == "short", named=True)
    assert (short["mean_rate_bps"], short["granted_bps"], short["fair_bps"], short["stopped_s"]) == (None,) * 4


def test_without_data_rates_are_granted_and_nothing_is_sent():
    result = run(LINK, sets=["run.data=false"])
    assert result.connections["mean_rate_bps"].null_count() == 2
    assert result.connections["granted_bps"][0] == pytest.approx(8e6, rel=2e-3)
    for column in ("sent_bytes", "delivered_bytes", "lost_bytes"):
        assert result.connections[column].to_list() == [0, 0]
        assert result.subflows[column].to_list() == [0, 0]
    assert result.links["carried_bytes"].to_list() == [0, 0]
    # Control packets go all the same.
    assert result.meta["packet_hops"] > 0


def test_the_utilisation_counts_what_a_link_could_carry():
    changing = LINK.replace(
        'delay = "5 ms"', 'delay = "5 ms"\ncapacity_changes = [{ at = "1 s", capacity = "2 Mbit/s" }]'
    )
    # 1 Mbit/s for 1.5 s, of 8 for half a second and 2 for a whole one: 1.5 of 6 Mbit.
    one = changing[: changing.index('[[connection]]\nname = "short"')] + 'demand = "1 Mbit/s"\n'
    assert run(one, sets=["run.warm_up=500 ms"]).links["utilisation"][0] == pytest.approx(0.25, rel=0.01)
    # Idle before, then full: the 2 Mbit of the second half, still of 6; the first packets come a little late.
    late = run(one, sets=["run.warm_up=500 ms", "connection.0.start=1 s", "connection.0.demand=2 Mbit/s"])
    assert late.links["utilisation"][0] == pytest.approx(2.0 / 6.0, rel=0.02)


def test_what_is_not_recorded_is_not_there():
    result = run(LINK, sets=['run.record=["links"]'])
    assert list(result.series) == ["links"]
    assert "fair_bps" not in result.series["links"]
    with pytest.raises(ScenarioError, match='"connections" was not recorded; add it to record under'):
        result.series["connections"]
    with pytest.raises(KeyError, match="there is no kind 'link'; there are connections, subflows, links, run"):
        result.series["link"]
    assert result.grants is None
    assert result.connections["fair_bps"].null_count() == 2
    with pytest.raises(ScenarioError, match='add "connections" and "fairness" to record'):
        result.errors()
    with pytest.raises(ScenarioError, match='add "connections" or "grants" to record'):
        result.settling()


def test_windows_are_recorded_where_there_are_any():
    result = run(LINK, sets=['run.record=["windows"]', "connection.1.protocol=reno"])
    series = result.series["subflows"]
    assert series["subflow"].unique(maintain_order=True).to_list() == ["long/1", "short/1"]
    assert series.filter(subflow="long/1").select("window_bytes", "rtt_s").null_count().row(0) == (500, 500)
    # There for a second of two, and a way there and back takes 10 ms.
    there = series.filter(subflow="short/1").drop_nulls("rtt_s")
    assert 230 <= len(there) <= 251
    assert there["window_bytes"].min() >= 1000.0
    assert there["rtt_s"].min() >= 0.01
    # Reno has no pace, and goes by no share of marked packets.
    assert there.select("pace_bps", "marked_share").null_count().row(0) == (len(there), len(there))


def test_dropped_packets_are_told(tmp_path):
    # Ten connections that begin at once each get the whole link before they know of each other.
    many = "".join(f'[[connection]]\nname = "c{i}"\nsource = "a"\ntarget = "b"\n' for i in range(10))
    text = LINK[: LINK.index("[[connection]]")].replace('delay = "5 ms"', 'delay = "5 ms"\nqueue = "2 packets"') + many
    result = run(text)
    dropped = result.links["dropped"].sum()
    assert dropped > 0
    assert f"{dropped} packet" in result.meta["warnings"][0]
    assert f"`a-b` {dropped}" in result.meta["warnings"][0]
    assert result.connections["lost_bytes"].sum() == 1000 * dropped
    result.write(tmp_path / "out")
    assert json.loads((tmp_path / "out/meta.json").read_text())["warnings"] == result.meta["warnings"]


def test_the_same_scenario_and_seed_give_the_same_bytes_in_every_file_but_one():
    first, again = (run(JOIN, seed=5, threads=threads).files() for threads in (1, 2))
    assert list(first) == ["scenario.toml", "meta.json", *(f"{table}.parquet" for table in TABLES), "machine.json"]
    assert [name for name in first if first[name] != again[name]] == ["machine.json"]
    assert set(json.loads(first["machine.json"])) == {"threads", "wall_s", "events_per_s"}


def test_a_folder_has_the_files_of_its_result(tmp_path, joined):
    joined.write(tmp_path / "one")
    assert {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()} == joined.files()


def test_a_folder_without_what_the_run_took_tells_the_rest(tmp_path, joined):
    joined.write(tmp_path / "one")
    (tmp_path / "one/machine.json").unlink()
    again = read_result(tmp_path / "one")
    assert again.meta == joined.meta | {"threads": None, "wall_s": None, "events_per_s": None}
    assert "4 s simulated" in again._repr_html_()
    again.write(tmp_path / "two")
    assert read_result(tmp_path / "two").meta == again.meta


def test_the_scenario_in_the_folder_gives_the_same_result(tmp_path, joined):
    joined.write(tmp_path / "one")
    again = run(tmp_path / "one/scenario.toml")
    assert all(table_of(again, name).equals(table_of(joined, name)) for name in TABLES)
    assert again.scenario == joined.scenario


def test_a_result_is_read_as_it_was_written(tmp_path, joined):
    joined.write(tmp_path / "one")
    again = read_result(tmp_path / "one")
    for name in TABLES:
        assert table_of(again, name).equals(table_of(joined, name)), name
        assert table_of(again, name).schema == table_of(joined, name).schema, name
    assert (again.meta, again.scenario) == (joined.meta, joined.scenario)
    assert again.network.core.link_names == joined.network.core.link_names


def test_what_is_no_result_is_refused(tmp_path, joined):
    with pytest.raises(ScenarioError, match="there is no such folder; name a folder that"):
        read_result(tmp_path / "missing")
    with pytest.raises(ScenarioError, match=r"it has no meta\.json"):
        read_result(tmp_path)
    joined.write(tmp_path / "one")
    (tmp_path / "one/links.parquet").write_bytes(b"noise")
    with pytest.raises(ScenarioError, match="it is no whole result of a run"):
        read_result(tmp_path / "one")
    (tmp_path / "one/machine.json").write_text("[]")
    with pytest.raises(ScenarioError, match=r"machine\.json has no values by name"):
        read_result(tmp_path / "one")
    with pytest.raises(ScenarioError, match="it exists already"):
        joined.write(tmp_path / "one")


def test_progress_ends_at_the_whole_run():
    told = []
    result = run(JOIN, progress=lambda *heard: told.append(heard))
    assert told[-1] == (4.0, 4.0, result.meta["events"])


def test_ctrl_c_leaves_what_there_is_until_then(tmp_path):
    def interrupt(time_s, duration_s, events):
        raise KeyboardInterrupt

    with pytest.raises(RunInterrupted, match=r"the run was stopped at .* s of 100000 s") as stopped:
        run(LINK, sets=["run.duration=100000 s"], progress=interrupt)
    result = stopped.value.result
    assert 0.0 < result.meta["reached_s"] < 1e5
    assert result.meta["finished"] is False
    assert "the run was stopped" in result.meta["warnings"][0]
    result.write(tmp_path / "part")
    assert read_result(tmp_path / "part").connections.equals(result.connections)
    assert "stopped before 100000 s" in repr(result)


def test_a_run_stopped_within_its_warm_up_has_no_means():
    def interrupt(time_s, duration_s, events):
        raise KeyboardInterrupt

    unlimited = LINK + '[[link]]\nsource = "b"\ntarget = "c"\ncapacity = "unlimited"\n'
    with pytest.raises(RunInterrupted) as stopped:
        run(unlimited, sets=["run.duration=100000 s", "run.warm_up=99999 s"], progress=interrupt)
    result = stopped.value.result
    assert result.connections["mean_rate_bps"].null_count() == len(result.connections)
    assert result.links["utilisation"].null_count() == len(result.links)


def test_what_progress_raises_ends_the_run():
    def fail(time_s, duration_s, events):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(LINK, sets=["run.duration=100000 s"], progress=fail)


@pytest.mark.slow
def test_an_onlooker_is_told_of_samples_in_order_and_changes_nothing():
    sets = ['run.duration="400 s"', 'run.sample="1 s"', 'run.record=["connections", "links", "fairness"]']
    unseen = run(JOIN, sets=sets)
    for threads in (1, 2):
        parts: list[dict] = []
        seen = run(JOIN, sets=sets, threads=threads, samples=parts.append)
        assert seen.series.equals(unseen.series)
        # Each sample once, from the first on; the last ones are in the result only.
        times = np.concatenate([part["time_s"] for part in parts])
        assert times.tolist() == unseen.series["connections"]["time_s"].unique().sort().to_list()[: len(times)]
        granted = np.concatenate([part["connection_granted_bps"] for part in parts])
        own = unseen.series["connections"]["granted_bps"].to_numpy().reshape(3, -1)
        np.testing.assert_array_equal(granted.T, own[:, : len(times)])


def test_what_an_onlooker_raises_ends_the_run():
    def refuse(_samples):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        run(JOIN, sets=['run.duration="1000000 s"', 'run.sample="10 s"'], samples=refuse)


# "both" has a link of 1 Mbit/s beside one of any capacity; "slow" has the former alone, and deserves all of it.
BESIDE = """
title = "A large connection beside a small one"

[run]
duration = "4 s"
data = false
record = ["connections", "fairness"]

[[link]]
source = "s"
target = "a"
capacity = "1 Mbit/s"
delay = "1 ms"

[[link]]
source = "a"
target = "t"
capacity = "unlimited"
delay = "1 ms"

[[link]]
source = "s"
target = "t"
capacity = "LARGE bit/s"
delay = "2 ms"

[defaults.connection]
protocol = "d-slen"

[[connection]]
name = "both"
source = "s"
target = "t"
paths = [["s", "a", "t"], ["s", "t"]]

[[connection]]
name = "slow"
source = "s"
target = "t"
paths = [["s", "a", "t"]]
"""


@pytest.mark.parametrize("large", ["2e6", "1e9", "1e15"])
def test_the_fair_rate_of_a_small_connection_is_right_beside_one_of_any_size(large):
    rates = run(BESIDE.replace("LARGE", large)).connections.select("granted_bps", "fair_bps").rows()
    both, slow = rates
    assert slow == pytest.approx((1e6, 1e6), rel=1e-5)
    assert both == pytest.approx((float(large), float(large)), rel=1e-5)


def test_the_residual_is_1_where_a_connection_has_nothing_yet_and_0_where_all_is_fair():
    sets = ["run.sample=4 ms", 'run.record=["connections", "fairness"]']
    # "short" joins at 500 ms, and hears of its rate 10 ms later.
    early, whole = (run(LINK, sets=[f"run.duration={end} ms", *sets]) for end in (504, 1000))
    assert (early.residual, whole.residual) == (1.0, 0.0)
    windows = run(LINK, sets=['defaults.connection.protocol="reno"', *sets])
    unrecorded = run(LINK, sets=['run.record=["connections"]'])
    assert windows.residual is unrecorded.residual is None
