"""The solver as Python users meet it: problems, networks, tables, proofs."""

import warnings

import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab


@pytest.fixture
def diamond():
    """a - b - d and a - c - d, 10 and 4 Mbit/s, and e cut off."""
    graph = nx.Graph()
    for ends, capacity in {"ab": "10 Mbit/s", "bd": "10 Mbit/s", "ac": "4 Mbit/s", "cd": "4 Mbit/s"}.items():
        graph.add_edge(*ends, capacity=capacity)
    graph.add_node("e")
    return ab.from_networkx(graph)


def test_a_network_is_solved_with_levels_bottlenecks_and_proof(diamond):
    # Both connections may use all 14 Mbit/s: 7 each.
    demands = ab.demands(diamond, ["a", "a"], ["d", "d"], name=["one", "two"])
    allocation = ab.solve(diamond, demands, paths=2, fairness="upward-max-min")
    assert allocation.connections["name"].to_list() == ["one", "two"]
    np.testing.assert_allclose(allocation.connections["rate_bps"], 7e6, rtol=1e-9)
    assert allocation.subflows["path"].to_list() == ["a > b > d", "a > c > d"] * 2
    np.testing.assert_allclose(allocation.subflows["portion"], [10 / 14, 4 / 14] * 2, rtol=1e-9)
    assert set(allocation.subflows["bottleneck"]) == {"a-b", "a-c"}
    used = allocation.links.filter(pl.col("load_bps") > 0)
    assert used["name"].to_list() == ["a-b", "a-c", "b-d", "c-d"]
    np.testing.assert_allclose(used["utilisation"], 1.0)
    assert allocation.certify().holds


def test_demands_weights_and_qos_are_kept(diamond):
    # One path of 10 Mbit/s. "small" asks for 1; of the other 9, "heavy" has weight 2 and "low" the QoS factor 0.5, so
    # they share in the proportion 2 : 1 : 0.5.
    names = ["small", "heavy", "plain", "low"]
    demands = ab.demands(
        diamond,
        ["a"] * 4,
        ["b"] * 4,
        name=names,
        demand_bps=[1e6, None, None, None],
        weight=[1, 2, 1, 1],
        qos=[1, 1, 1, 0.5],
    )
    allocation = ab.solve(diamond, demands, paths=1)
    assert allocation.method == "progressive-filling"
    rates = dict(zip(names, allocation.connection_rates / 1e6, strict=True))
    assert rates == pytest.approx({"small": 1.0, "heavy": 9 * 2 / 3.5, "plain": 9 / 3.5, "low": 9 * 0.5 / 3.5})
    assert allocation.connections["bottleneck"].to_list() == [None, "a-b", "a-b", "a-b"]
    assert allocation.connections["held_by"].to_list() == ["demand", "link", "link", "link"]
    assert allocation.connections["claim"].to_list() == [1.0, 2.0, 1.0, 0.5]
    assert allocation.connections["met"].to_list() == [1.0, None, None, None]


def test_max_min_over_several_paths_gives_the_short_connection_all_of_the_slow_way(diamond):
    # "both" may go either way, "short" from c only by c-d or round by c-a-b-d. Max-min: 14 Mbit/s reach d, and each
    # gets 7: "short" has the 4 of c-d and 3 round by a; "both" has the other 7 of a-b-d.
    demands = ab.demands(diamond, ["a", "c"], ["d", "d"], name=["both", "short"])
    exact = ab.solve(diamond, demands, paths=1, fairness="max-min")
    assert exact.method == "progressive-filling"
    exact = ab.solve(diamond, demands, paths=2, fairness="max-min")
    assert exact.method == "dual-simplex"
    np.testing.assert_allclose(exact.connection_rates, 7e6, rtol=1e-9)
    exact.certify()


def test_a_demand_that_cannot_be_routed_is_refused_unless_allowed(diamond):
    demands = ab.demands(diamond, ["a", "a"], ["d", "e"])
    with pytest.raises(ab.ScenarioError, match=r"from `a` to `e` \(the network has 2 parts.*--allow-unreachable"):
        ab.solve(diamond, demands)
    allocation = ab.solve(diamond, demands, allow_unreachable=True)
    assert allocation.connections["rate_bps"].to_list()[1] == 0.0
    assert allocation.connections["held_by"].to_list() == ["link", "nothing"]
    allocation.certify()


def test_paths_may_be_found_otherwise_or_given_by_hand(diamond):
    demands = ab.demands(diamond, ["a"], ["d"])
    disjoint = ab.find_paths(demands, 4, kind="disjoint")
    assert ab.solve(diamond, demands, paths=disjoint).connection_rates[0] == pytest.approx(14e6)
    by_hand = ab.given_paths(demands, [[["a", "c", "d"]]])
    assert ab.solve(diamond, demands, paths=by_hand).connection_rates[0] == pytest.approx(4e6)
    with pytest.raises(ab.ScenarioError, match="no link leads from node `a` to node `d`"):
        ab.given_paths(demands, [[["a", "d"]]])
    with pytest.raises(ab.ScenarioError, match=r"path 1: it comes to node `a` twice"):
        ab.given_paths(demands, [[["a", "b", "a", "c", "d"]]])
    with pytest.raises(ValueError, match="metric is"):
        ab.find_paths(demands, 4, metric="length")


def test_a_problem_may_come_as_arrays_in_any_order():
    problem = ab.Problem([6, 9, 8, 4, 5], range(9), [0, 2, 1, 3, 1, 4, 2, 2], [0, 1, 0, 2, 1, 3, 2, 3])
    allocation = ab.solve(problem, tolerance=1e-6)
    np.testing.assert_allclose(allocation.connection_rates, 8.0, rtol=1e-5)
    np.testing.assert_allclose(allocation.path_rates, [6, 1, 2, 4, 7, 5, 4, 3], rtol=1e-3)
    assert not allocation.path_rates.flags.writeable
    assert allocation.connections.columns[:2] == ["connection", "rate"]
    assert allocation.subflows["rank"].to_list() == [1, 1, 2, 1, 2, 1, 2, 2]


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (([-1.0], [0, 1], [0], [0]), "link 0: capacity is -1"),
        (([np.nan], [0, 1], [0], [0]), "link 0: capacity is NaN"),
        (([1.0], [0, 1], [7], [0]), "there is no link 7"),
        (([1.0], [0, 1], [-7], [0]), "path_links has -7"),
        (([1.0], [0, 1], [0.5], [0]), "path_links holds float64 values; it must hold whole numbers"),
        (([1.0], [0, 2], [0, 0], [0]), "takes link 0 twice"),
        (([1.0], [0, 0], [], [0]), "path 0: it has no links"),
        (([1.0], [0], [0], [0]), "path_offsets has 1 values"),
        (([[1.0]], [0, 1], [0], [0]), "capacity has 2 axes"),
        ((["x"], [0, 1], [0], [0]), "capacity holds"),
        (([np.inf], [0, 1], [0], [0]), "would be infinite"),
    ],
)
def test_bad_arrays_are_told_with_their_place(arrays, said):
    with pytest.raises(ValueError, match=said):
        ab.Problem(*arrays)


def test_options_out_of_range_are_told():
    problem = ab.Problem([1.0, 1.0], [0, 1, 2], [0, 1], [0, 0])
    for options, said in [
        ({"fairness": "fair"}, 'fairness is "fair"; it must be one of'),
        (
            {"fairness": "upward-max-min", "method": "lp"},
            "^lp finds max-min fair rates, not upward-max-min fair ones; leave out the fairness, or take one of",
        ),
        ({"method": "newton"}, 'method is "newton"; it must be one of c-slen, iewf, '),
        ({"method": "progressive-filling"}, "has 2 paths"),
        ({"tolerance": 0}, "tolerance is 0"),
        ({"method": "c-slen", "max_passes": 0}, "max_passes is 0"),
        ({"method": "c-slen", "start": "random"}, 'start is "random"'),
        ({"method": "c-slen", "start": 2.0}, "over 0 and at most 1"),
        ({"method": "c-slen", "start": [1.0]}, "1 starting portions for 2 paths"),
        ({"method": "c-slen", "start": [[1.0, 1.0]]}, "start has 2 axes"),
        ({"method": "c-slen", "start": [1.0, 0.0]}, "path 1: its starting portion is 0; it must be positive"),
        ({"method": "c-slen", "stop_change": 0}, "stop_change is 0; it must be positive"),
        ({"method": "c-slen", "stop_change": "1 kbit/s"}, "the problem has a unit of its own"),
        ({"unit": 0.1}, "the usual method for max-min takes none; leave it out, or name a method that takes it: iewf"),
        ({"method": "dual-simplex", "max_passes": 5}, "max_passes was given, and dual-simplex takes none"),
        ({"method": "lp", "stop_change": 0.1}, "stop_change was given, and lp takes none"),
        ({"paths": 3}, "with demands, paths or a metric besides"),
        ({"method": "iewf", "unit": 1e-12}, "give one of"),
        (
            {"method": "dual-simplex", "start": 0.3},
            "start was given, and dual-simplex takes none; leave it out, or name a method that takes it: c-slen, iewf",
        ),
        ({"fairness": "max-min", "start": "equal"}, "the usual method for max-min takes none; leave it out, or name"),
        (
            {"fairness": "proportional", "start": 0.3},
            "for proportional takes none; leave it out; it is for c-slen, iewf",
        ),
    ]:
        with pytest.raises(ValueError, match=said):
            ab.solve(problem, **options)


def test_a_solver_that_is_not_done_says_so_and_how_far_it_is():
    # c1 on A or B, c2 on A, both links of 2: the answer (2, 2) is approached like 1/n.
    problem = ab.Problem([2.0, 2.0], [0, 1, 2, 3], [0, 1, 0], [0, 0, 1])
    with pytest.warns(
        ab.ConvergenceWarning,
        match=r"stopped after 5 passes with a residual of 0\.1 \(tolerance 0\.01\): raise max_passes",
    ):
        allocation = ab.solve(problem, method="c-slen", start="equal", max_passes=5)
    assert not allocation.converged
    with pytest.raises(ab.CertificateError, match=r"no link holds it back: its best one is 0\.1 short"):
        allocation.certify()


def test_arguments_of_the_wrong_kind_are_told(diamond):
    demands = ab.demands(diamond, ["a"], ["d"])
    for arguments, said in [
        ((3,), "the first argument is a int; it must be a Network or a Problem"),
        ((demands, diamond), "the first argument is a Demands"),
        ((diamond,), "the second argument is missing; it must be the Demands"),
        ((diamond, 3), "the second argument is a int; it must be the Demands on the network, or their file"),
    ]:
        with pytest.raises(TypeError, match=said):
            ab.solve(*arguments)


def test_upward_max_min_starts_from_geometric_portions():
    # c0 has a link of 3 first and a short cut of 1 second, c1 has two links of 2 and shares the first.
    problem = ab.Problem([3.0, 1.0, 2.0], [0, 1, 2, 4, 5], [0, 1, 0, 2, 2], [0, 0, 1, 1])
    for method in ("c-slen", "iewf"):
        found, tilted, equal = (
            ab.solve(problem, method=method, tolerance=0.05, **start).path_rates
            for start in ({}, {"start": 0.3}, {"start": "equal"})
        )
        assert found.tolist() == tilted.tolist()
        assert found.tolist() != equal.tolist()
    # Where each connection has one path there is nothing to choose, and a start does no harm.
    single = ab.Problem([3.0], [0, 1, 2], [0, 0], [0, 1])
    assert ab.solve(single, fairness="upward-max-min", start=0.5).connection_rates.tolist() == [1.5, 1.5]


def test_numpy_scalars_will_do_for_options():
    problem = ab.Problem([1.0, 1.0], [0, 1, 2], [0, 1], [0, 0])
    options = {"start": np.float32(0.5), "tolerance": np.float64(1e-3), "max_passes": np.int64(50)}
    allocation = ab.solve(problem, method="c-slen", **options)
    np.testing.assert_allclose(allocation.connection_rates, 2.0)


@pytest.mark.parametrize("method", ["c-slen", "iewf", "lp", "dual-simplex"])
def test_renumbering_connections_paths_and_links_renumbers_the_answer(method):
    rng = np.random.default_rng(11)
    fairness = "max-min" if method in {"lp", "dual-simplex"} else "upward-max-min"
    for _ in range(40):
        links, connections = int(rng.integers(2, 9)), int(rng.integers(1, 9))
        paths = [rng.permutation(links)[: int(rng.integers(1, 4))] for _ in range(3 * connections)]
        owner = np.repeat(np.arange(connections), 3)
        capacity = rng.uniform(1.0, 9.0, links)
        # The order of a connection's paths stays: it is part of the problem (ranks), as are the rates of its subflows.
        link_order, owner_order = rng.permutation(links), rng.permutation(connections)
        path_order = np.concatenate([np.flatnonzero(owner == c) for c in owner_order])
        link_place, owner_place = np.argsort(link_order), np.argsort(owner_order)
        renumbered = [link_place[paths[p]] for p in path_order]

        def solve(capacity, paths, owner):
            offsets = np.cumsum([0, *map(len, paths)])
            problem = ab.Problem(capacity, offsets, np.concatenate(paths), owner)
            options = {"unit": 0.013} if method == "iewf" else {}
            return ab.solve(problem, fairness=fairness, method=method, tolerance=0.05, **options).connection_rates

        one = solve(capacity, paths, owner)
        two = solve(capacity[link_order], renumbered, owner_place[owner[path_order]])
        # IEWF takes whole steps, and its plain comparison may fall one step earlier or later by rounding.
        np.testing.assert_allclose(two[owner_place], one, rtol=1e-6, atol=0.03 if method == "iewf" else 0.0)


def test_iewf_overloads_links_and_the_certificate_tells():
    problem = ab.Problem([6, 9, 8, 4, 5], range(9), [0, 1, 1, 2, 2, 3, 2, 4], [0, 0, 1, 1, 2, 2, 3, 3])
    allocation = ab.solve(problem, method="iewf", unit=0.05, tolerance=0.05)
    with pytest.raises(ab.CertificateError, match=r"link \d: its load is .* over its capacity"):
        allocation.certify()
    allocation.certify(allow_overload=0.02)


@pytest.mark.slow
def test_iewf_ends_within_seconds_where_its_unit_is_too_small_for_the_problem():
    # c1 on A or B, c2 on A, both links of 2: the answer is approached like 1/n, and a pass takes 2 million steps.
    problem = ab.Problem([2.0, 2.0], [0, 1, 2, 3], [0, 1, 0], [0, 0, 1])
    with pytest.warns(ab.ConvergenceWarning, match=r"its passes took .* steps of 1e-06; give a greater unit"):
        allocation = ab.solve(problem, method="iewf", start="equal", unit=1e-6, stop_change=1e-9, tolerance=1e-6)
    assert not allocation.converged


def test_a_connection_is_not_certified_at_a_part_of_its_fair_rate():
    # Connection 0 has links of 1 and 1000, connection 1 the first alone: it must have all of it.
    problem = ab.Problem([1.0, 1000.0], [0, 1, 2, 3], [0, 1, 0], [0, 0, 1])
    allocation = ab.solve(problem, method="c-slen")
    np.testing.assert_allclose(allocation.connection_rates, [1000.0, 1.0], rtol=1e-2)
    with pytest.raises(ab.CertificateError, match="no link holds it back"):
        ab.Allocation(
            problem, np.array([0.43, 1000.0, 0.57]), fairness="upward-max-min", method="lp", tolerance=1e-2, passes=1
        ).certify()


def test_an_allocation_is_written_whole_or_not_at_all(diamond, tmp_path):
    allocation = ab.solve(diamond, ab.demands(diamond, ["a"], ["d"]))
    allocation.write(tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "connections.parquet",
        "levels.parquet",
        "links.parquet",
        "meta.json",
        "nodes.parquet",
        "paths.parquet",
        "subflows.parquet",
    ]
    links = pl.read_parquet(tmp_path / "out" / "links.parquet")
    assert links.drop("delay_s", "twin").equals(allocation.links)
    assert links.select("delay_s", "twin").equals(diamond.links.select("delay_s", "twin"))
    with pytest.raises(ab.ScenarioError, match="it exists already"):
        allocation.write(tmp_path / "out")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ab.ScenarioError, match="cannot be made"):
        allocation.write(tmp_path / "file" / "out")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "out"]


@st.composite
def problems(draw):
    """A random multipath problem: capacities, paths of each connection, demands."""
    links = draw(st.integers(1, 12))
    capacity = draw(st.lists(st.floats(0.01, 1e4), min_size=links, max_size=links))
    connections = draw(st.integers(1, 12))
    path = st.lists(st.integers(0, links - 1), min_size=1, max_size=4, unique=True)
    paths = draw(st.lists(st.lists(path, min_size=1, max_size=4), min_size=connections, max_size=connections))
    demand = draw(st.lists(st.floats(0.0, 1e4) | st.just(np.inf), min_size=connections, max_size=connections))
    return np.array(capacity), paths, np.array(demand)


@given(problems())
@settings(max_examples=300)
def test_every_answer_is_feasible_fair_and_finite(made):
    capacity, paths, demand = made
    flat = [(c, path) for c, own in enumerate(paths) for path in own]
    offsets = np.cumsum([0, *(len(path) for _, path in flat)])
    problem = ab.Problem(
        capacity, offsets, [link for _, path in flat for link in path], [c for c, _ in flat], demand=demand
    )
    allocation = ab.solve(problem, tolerance=1e-2)
    assert np.isfinite(allocation.path_rates).all()
    found = allocation.certify()
    assert found.overload <= 1e-9


def test_global_max_min_is_certified_and_dominates_on_random_problems():
    rng = np.random.default_rng(7)
    for _ in range(60):
        links, connections = int(rng.integers(2, 10)), int(rng.integers(1, 10))
        flat = []
        for c in range(connections):
            count = int(rng.integers(1, 4))
            lengths = rng.integers(1, min(links, 4) + 1, size=count)
            flat += [(c, rng.permutation(links)[:length]) for length in lengths]
        offsets = np.cumsum([0, *(len(path) for _, path in flat)])
        demand = np.where(rng.random(connections) < 0.4, rng.uniform(0, 5, connections), np.inf)
        problem = ab.Problem(
            rng.integers(1, 8, links).astype(float),
            offsets,
            np.concatenate([path for _, path in flat]),
            [c for c, _ in flat],
            demand=demand,
            weight=rng.choice([0.5, 1.0, 2.0], connections),
        )
        exact = ab.solve(problem, fairness="max-min", method="lp", tolerance=1e-6)
        exact.certify()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ab.ConvergenceWarning)
            upward = ab.solve(problem, fairness="upward-max-min", tolerance=1e-3)
        # Leximin order: the sorted levels of the exact answer are at least those of any other, at the first difference.
        ours, other = np.sort(exact.certificate.levels), np.sort(upward.certificate.levels)
        differ = np.flatnonzero(np.abs(ours - other) > 1e-6)
        assert not len(differ) or ours[differ[0]] > other[differ[0]]


def test_ctrl_c_keeps_the_passes_made_until_then():
    # The problem above, which no number of passes solves to 1e-12; Ctrl-C comes after the first.
    problem = ab.Problem([2.0, 2.0], [0, 1, 2, 3], [0, 1, 0], [0, 0, 1])

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(ab.SolveInterrupted, match=r"c-slen was stopped after 1 pass$") as stopped:
        ab.solve(problem, method="c-slen", tolerance=1e-12, progress=stop)
    allocation = stopped.value.allocation
    assert not allocation.converged
    assert "it was stopped" in allocation.shortcoming
    assert allocation.problem.core.certify(allocation.path_rates, 0.5).overload <= 1e-9


@pytest.mark.parametrize(("method", "passes"), [("iewf", 3), ("c-slen", 7)])
def test_how_long_passes_take_decides_nothing(monkeypatch, method, passes):
    # The certificate holds to 0.02 long before rates cease to change by a billionth: for c-SLEN after 4 passes.
    paths = [0, 1, 1, 2, 2, 3, 2, 4]
    shared = ab.Problem([6.0, 9.0, 8.0, 4.0, 5.0], range(9), paths, [0, 0, 1, 1, 2, 2, 3, 3])
    for look_s in (1e-9, 1e9):
        monkeypatch.setattr("anabranch.solvers.iterate.LOOK_S", look_s)
        solved = ab.solve(shared, method=method, stop_change=1e-9, tolerance=0.02, max_passes=500)
        assert (solved.passes, look_s) == (passes, look_s)
