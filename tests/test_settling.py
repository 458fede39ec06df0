"""How far rates are from fair, and how soon they settle: by hand, and against a slow and simple count."""

import itertools
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.runs.derived import relative_errors
from anabranch.runs.result import Result
from anabranch.runs.series import Series


def result_of(connections, grants=None, samples=(), fair=None, end=10.0):
    """A result of connections (name, start, stop), grants (time, subflow, rate) and samples (time, name, rate)."""
    names = [name for name, _, _ in connections]
    rows = pl.DataFrame(
        {
            "connection": names,
            "start_s": [start for _, start, _ in connections],
            "stopped_s": [stop for _, _, stop in connections],
        },
        schema_overrides={"stopped_s": pl.Float64},
    )
    sampled = [(t, n, r, fair(t, n)) for t, n, r in samples]
    kinds = {"time_s": pl.Float64, "connection": pl.String, "granted_bps": pl.Float64, "fair_bps": pl.Float64}
    rates = pl.DataFrame(sampled, schema=kinds, orient="row")
    errors = relative_errors(rates["granted_bps"].to_numpy(), rates["fair_bps"].to_numpy())
    series = Series({"connections": rates.with_columns(error=pl.Series(errors, nan_to_null=True))})
    frame = None
    if grants is not None:
        columns = {"time_s": pl.Float64, "connection": pl.String, "subflow": pl.String, "granted_bps": pl.Float64}
        table = [(t, s.partition("/")[0], s, r) for t, s, r in grants]
        frame = pl.DataFrame(table, schema=columns, orient="row")
    meta = {"reached_s": end, "title": "", "finished": True, "duration_s": end}
    empty = pl.DataFrame()
    network = SimpleNamespace()
    return Result(meta, "", network, rows, empty, empty, series, frame)


def fair_by_count(there):
    """The fair rates where all that are there share 12 equally."""
    return lambda time, name: 12.0 / len(there(time)) if name in there(time) else None


def there_at(connections):
    return lambda time: [n for n, start, stop in connections if start <= time and (stop is None or stop > time)]


def test_settling_ends_when_the_last_connection_is_within_the_tolerance_for_good():
    # Alone "a" has its 12 at 1 s. "b" joins at 4 s and has its 6 at 5 s, but "a" is off again from 6 to 7 s. From 8 s
    # on "a" is alone, and has all from 8.5 s on.
    connections = [("a", 0.0, None), ("b", 4.0, 8.0)]
    grants = [(1.0, "a/1", 12.0), (4.5, "a/1", 6.0), (5.0, "b/1", 6.0), (6.0, "a/1", 7.0), (7.0, "a/1", 6.0)]
    grants += [(8.0, "b/1", 0.0), (8.5, "a/1", 12.0)]
    there = there_at(connections)
    samples = [(t + 0.75, n, 0.0) for t in range(10) for n in "ab"]
    result = result_of(connections, grants, samples, fair_by_count(there))
    frame = result.settling()
    assert frame["time_s"].to_list() == [0.0, 4.0, 8.0]
    assert frame["until_s"].to_list() == [4.0, 8.0, 10.0]
    assert frame.select("joined", "left", "present").rows() == [(1, 0, 1), (1, 0, 2), (0, 1, 1)]
    assert frame["settling_s"].to_list() == [1.0, 3.0, 0.5]
    # 7 is within a fifth of 6: after 4.5 s "a" never counts as off.
    assert result.settling(0.2)["settling_s"].to_list() == [1.0, 1.0, 0.5]
    assert result.settling(of="final")["settling_s"].to_list() == [1.0, 3.0, 0.5]


def test_the_subflows_of_a_connection_count_together():
    # 4 and 8 on two paths make 12 only when both are there; the change between them at 3 s takes a second.
    grants = [(1.0, "a/1", 4.0), (2.0, "a/2", 8.0), (3.0, "a/1", 6.0), (4.0, "a/2", 6.0)]
    result = result_of([("a", 0.0, None)], grants, [(5.0, "a", 0.0)], lambda *_: 12.0)
    assert result.rates()["granted_bps"].to_list() == [4.0, 12.0, 14.0, 12.0]
    assert result.settling()["settling_s"].to_list() == [4.0]
    assert result.rates(subflows=True)["name"].to_list() == ["a/1", "a/2", "a/1", "a/2"]


def test_rates_that_do_not_settle_before_the_next_instant_have_no_time():
    connections = [("a", 0.0, None), ("b", 2.0, None)]
    grants = [(1.0, "a/1", 11.0), (3.0, "a/1", 6.0), (4.0, "b/1", 5.0)]
    result = result_of(connections, grants, [(t + 0.5, n, 0.0) for t in range(10) for n in "ab"], lambda *_: 6.0)
    assert result.settling()["settling_s"].to_list() == [None, None]
    assert result.settling(of="final")["settling_s"].to_list() == [1.0, 2.0]


def test_a_rate_that_drifts_or_swings_to_the_end_has_not_settled():
    # Alone "a" rises by 1 of 100 each 0.5 s until "b" comes at 10 s: just before that it is near where it ends, for
    # 0.5 s, less than a tenth of the 10 s. Then both swing each 0.05 s until "c" comes at 11 s, and stand still.
    connections = [("a", 0.0, None), ("b", 10.0, None), ("c", 11.0, None)]
    grants = [(0.5 * i, "a/1", 80.0 + i) for i in range(20)]
    grants += [(10.0 + 0.05 * i, f"{n}/1", 50.0 + 10.0 * (i % 2)) for i in range(20) for n in "ab"]
    grants += [(11.5, f"{n}/1", 30.0) for n in "abc"]
    result = result_of(connections, grants, [(12.0, "a", 30.0)], lambda *_: 30.0, end=12.0)
    assert result.settling(0.001, of="final")["settling_s"].to_list() == [None, None, 0.5]
    # To 6 % the drift is there for 2.5 s and more, from 94 on; the swing is still off.
    assert result.settling(0.06, of="final")["settling_s"].to_list() == [7.0, None, 0.5]


def test_how_long_rates_must_stay_where_they_end_can_be_said():
    # "a" has its rate at 4.5 s, and "b" joins at 5 s.
    samples = [(1.0, "a", 6.0), (6.0, "a", 6.0), (6.0, "b", 6.0)]
    grants = [(4.0, "a/1", 3.0), (4.5, "a/1", 6.0), (5.0, "b/1", 6.0)]
    result = result_of([("a", 0.0, None), ("b", 5.0, None)], grants, samples, lambda *_: 6.0)
    assert result.settling(of="final")["settling_s"].to_list() == [4.5, 0.0]
    assert result.settling(of="final", hold_s=0.6)["settling_s"].to_list() == [None, 0.0]
    # The fair rate is what it is, however late it is reached.
    assert result.settling(hold_s=0.6)["settling_s"].to_list() == [4.5, 0.0]
    with pytest.raises(ValueError, match="hold_s is -1; it must be 0 or more"):
        result.settling(hold_s=-1)


def test_without_grants_samples_tell_to_the_time_between_them():
    # Granted from 1 s on, seen at the sample of 1.5 s.
    samples = [(t / 2, "a", 12.0 if t >= 3 else 3.0) for t in range(1, 21)]
    result = result_of([("a", 0.0, None)], None, samples, lambda *_: 12.0)
    assert result.settling()["settling_s"].to_list() == [1.5]


def test_without_a_sample_between_two_instants_there_is_no_telling():
    connections = [("a", 0.0, None), ("b", 0.25, None)]
    samples = [(t + 1.0, n, 6.0) for t in range(9) for n in "ab"]
    result = result_of(connections, None, samples, lambda *_: 6.0)
    assert result.settling()["settling_s"].to_list() == [None, 0.75]


def test_errors_are_told_by_percentiles_of_those_that_are_granted_a_rate():
    # At 1 s errors of -50, 0, 50 and 100 %: the 10th percentile lies 0.3 of the way from the least to the next. "e" is
    # gone; "f" has no rate yet, and nobody has one at 3 s.
    rates = {"a": 5.0, "b": 10.0, "c": 15.0, "d": 20.0, "e": 99.0, "f": 0.0}
    samples = [(1.0, n, r) for n, r in rates.items()] + [(2.0, "a", 11.0), (3.0, "a", 0.0)]
    result = result_of([("a", 0.0, None)], None, samples, lambda _, name: None if name == "e" else 10.0)
    frame = result.errors()
    assert frame.columns == ["time_s", "present", "mean", "magnitude", "least", "p10", "p50", "p90", "most"]
    assert frame.row(0) == pytest.approx((1.0, 4, 0.25, 0.5, -0.5, -0.35, 0.25, 0.85, 1.0))
    assert frame.row(1) == pytest.approx((2.0, 1, *[0.1] * 7))
    assert len(frame) == 2
    assert result.errors((25.0,)).columns == ["time_s", "present", "mean", "magnitude", "least", "p25", "most"]
    with pytest.raises(ValueError, match="a percentile is 101; it must be 0 to 100"):
        result.errors((101,))


def test_an_unknown_aim_and_a_tolerance_of_nothing_are_refused():
    result = result_of([("a", 0.0, None)], None, [(1.0, "a", 1.0)], lambda *_: 1.0)
    with pytest.raises(ValueError, match='of is "fast"; it must be one of fair, final'):
        result.settling(of="fast")
    with pytest.raises(ValueError, match="tolerance is 0; it must be positive"):
        result.settling(0)


def slow_settling(connections, grants, fair, tolerance, end):
    """Walk through time, from one change of anything to the next."""
    times = sorted({t for _, start, stop in connections for t in (start, stop) if t is not None and t <= end})
    found = []
    for time, until in zip(times, [*times[1:], end], strict=True):
        there = there_at(connections)(time)
        moments = [time, *sorted(t for t, _, _ in grants if time < t < until), until]
        settled = time
        for begin, finish in itertools.pairwise(moments):
            rates = dict.fromkeys(there, 0.0)
            latest = {subflow: rate for t, subflow, rate in grants if t <= begin}
            for subflow, rate in latest.items():
                if subflow[0] in rates:
                    rates[subflow[0]] += rate
            if any(abs(rates[n] - fair(time, n)) > tolerance * fair(time, n) for n in there):
                settled = finish
        found.append(None if not there or settled >= until else settled - time)
    return found


@st.composite
def runs(draw):
    """Connections at whole seconds, and grants anywhere between."""
    connections = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        start = draw(st.integers(0, 8))
        stop = draw(st.none() | st.integers(start + 1, 10))
        connections.append((name, float(start), None if stop is None else float(stop)))
    grants = []
    for quarter in range(40):
        for name, start, stop in connections:
            if start <= quarter / 4 < (stop or 11.0) and draw(st.booleans()):
                subflow = f"{name}/{draw(st.integers(1, 2))}"
                grants.append((quarter / 4, subflow, draw(st.sampled_from([0.0, 2.0, 3.0, 4.0, 6.0, 12.0]))))
    return connections, grants


@given(runs())
def test_settling_times_are_those_of_a_slow_and_simple_count(drawn):
    connections, grants = drawn
    fair = fair_by_count(there_at(connections))
    samples = [(t + 0.5, n, 0.0) for t in range(10) for n, _, _ in connections]
    result = result_of(connections, grants, samples, fair)
    assert result.settling(0.01)["settling_s"].to_list() == slow_settling(connections, grants, fair, 0.01, 10.0)
