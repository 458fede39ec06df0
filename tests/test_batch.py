"""Many cases at once: the answers of `solve`, in order, and what is said of failures."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import networkx as nx
import numpy as np
import polars as pl
import pytest

import anabranch as ab
from anabranch import cli, generate
from anabranch.solvers.fairness import FAIRNESS
from anabranch.solvers.methods import methods_for

EVERY = [(fairness, method) for fairness in FAIRNESS for method in methods_for(fairness)]


@pytest.fixture
def bridge():
    """a - b - c in a triangle of 4 Mbit/s, and c - d, the only way to d, of 3."""
    graph = nx.Graph()
    for ends in ("ab", "bc", "ac"):
        graph.add_edge(*ends, capacity="4 Mbit/s")
    graph.add_edge("c", "d", capacity="3 Mbit/s")
    return ab.from_networkx(graph)


def cases(paths_each):
    """Links of 6, 9, 8 and 4; four connections of one path, or of that and another; one link fails, or demands grow."""
    links = [[0], [1], [2], [3]] if paths_each == 1 else [[0], [1], [2], [3], [1], [2], [3, 0], [2, 1]]
    offsets = np.append(0, np.cumsum([len(own) for own in links]))
    connection = np.arange(len(links)) % 4
    problem = ab.Problem([6, 9, 8, 4], offsets, np.concatenate(links), connection, [3.0, 5.0, 9.0, 2.0])
    failed = [case.problem for case in ab.single_failures(problem)]
    return [problem, *failed, problem.changed(demand=[9.0, 9.0, 9.0, 9.0]), problem.changed(weight=[1, 2, 3, 4])]


@pytest.mark.parametrize(("fairness", "method"), EVERY)
@pytest.mark.filterwarnings("ignore::anabranch.ConvergenceWarning")
def test_answers_are_those_of_solve_to_the_last_bit_on_any_number_of_threads(fairness, method):
    given = cases(1 if method == "progressive-filling" else 2)
    choice = {"fairness": fairness, "method": method, "alpha": 2.0 if fairness == "alpha" else None}
    if method == "iewf":
        choice["unit"] = 0.01
    alone = [ab.solve(problem, **choice) for problem in given]
    for threads in (1, 2, 5):
        together = list(ab.solve_many(given, **choice, threads=threads))
        assert [solved.name for solved in together] == [str(number) for number in range(len(given))]
        for one, solved in zip(alone, together, strict=True):
            assert one.path_rates.tobytes() == solved.allocation.path_rates.tobytes()
            assert (one.passes, one.method) == (solved.allocation.passes, solved.allocation.method)
            assert one.certificate.residual == solved.allocation.certificate.residual


def test_demands_on_one_network_are_solved_with_the_paths_found_once(bridge):
    nodes = bridge.core.node_names
    matrices = [ab.gravity(bridge, f"{rate} Mbit/s", seed=seed) for seed, rate in enumerate((5, 10, 20))]
    assert nodes == ["a", "b", "c", "d"]
    searched = []
    found = list(ab.solve_many(bridge, matrices, paths=2, threads=2, progress=lambda stage, *_: searched.append(stage)))
    for demands, solved in zip(matrices, found, strict=True):
        assert solved.allocation.path_rates.tolist() == ab.solve(bridge, demands, paths=2).path_rates.tolist()
        assert solved.allocation.paths.demands is demands
    assert len({id(solved.allocation.paths.core) for solved in found}) == 1
    assert [stage for stage in searched if stage == "cases"] == ["cases"] * 3
    # Those of other connections get paths of their own, and so do names.
    other = {"both": matrices[0], "one": ab.demands(bridge, ["a"], ["d"])}
    both, one = ab.solve_many(bridge, other, paths=2)
    assert (both.name, one.name) == ("both", "one")
    assert one.allocation.path_rates.tolist() == ab.solve(bridge, other["one"], paths=2).path_rates.tolist()


def test_paths_given_by_hand_serve_all_demands_between_the_same_nodes(bridge):
    small, large = (ab.demands(bridge, ["a"], ["c"], demand_bps=[rate]) for rate in (1e6, 9e6))
    # Only round by b, where 4 Mbit/s are; the demand of 1 fits.
    by_hand = ab.given_paths(small, [[["a", "b", "c"]]])
    rates = [solved.allocation.connection_rates[0] for solved in ab.solve_many(bridge, [small, large], paths=by_hand)]
    assert rates == pytest.approx([1e6, 4e6])
    with pytest.raises(
        ValueError,
        match="case `0`: the demands are of connections between other nodes than the paths; find some for them",
    ):
        list(ab.solve_many(bridge, [ab.demands(bridge, ["a"], ["d"])], paths=by_hand))


@pytest.mark.parametrize("fairness", ["upward-max-min", "max-min", "proportional"])
def test_a_bridge_that_fails_leaves_its_connections_at_nothing_and_the_rest_is_certified(bridge, fairness):
    # a>d and b>c. Whole: 3 Mbit/s over c-d; b>c has 4 straight and what a>d leaves of b-a-c. Without c-d: nothing for
    # a>d, and all 8 of both ways for b>c, which asks for 6.
    demands = ab.demands(bridge, ["a", "b"], ["d", "c"], demand_bps=[5e6, 6e6])
    paths = ab.find_paths(demands, 2)
    failures = ab.single_failures(paths)
    assert [case.name for case in failures] == ["a-b, b-a", "a-c, c-a", "b-c, c-b", "c-d, d-c"]
    solved = list(ab.solve_many(failures, fairness=fairness))
    without = solved[-1].allocation
    assert without.connection_rates[0] == 0.0
    assert without.connection_rates[1] == pytest.approx(6e6, rel=1e-2)
    assert without.links.filter(pl.col("name") == "c-d")["capacity_bps"].item() == 0.0
    table = ab.summarise(solved)
    assert table["certified"].all()
    assert table["cut_off"].to_list() == [0, 0, 0, 1]
    last = table.row(3, named=True)
    assert (last["case"], last["least_met"], last["least_level_bps"]) == ("c-d, d-c", 0.0, 0.0)
    assert (last["carried_bps"], last["met"]) == pytest.approx((6e6, 6 / 11), rel=1e-2)


def test_paths_that_a_failure_hits_are_found_anew_unless_they_were_given():
    # Two ways from a to c, of 4 by b and of 1 by d and e; the one path that is asked for goes by b.
    graph = nx.Graph()
    for ends, capacity in {"ab": "4", "bc": "4", "ad": "1", "de": "1", "ec": "1"}.items():
        graph.add_edge(*ends, capacity=f"{capacity} Mbit/s")
    network = ab.from_networkx(graph)
    demands = ab.demands(network, [("a", "c", "2 Mbit/s"), ("a", "b", "1 Mbit/s")])
    found = ab.find_paths(demands, 1)
    failures = ab.single_failures(found, intact=True)
    assert failures.names[:2] == ["nothing", "a-b, b-a"]
    table = ab.summarise(ab.solve_many(failures))
    # Without a-b both go round by d and e, and share 1 Mbit/s.
    assert table["carried_bps"].to_list()[:2] == pytest.approx([3e6, 1e6])
    assert table["cut_off"].to_list()[:2] == [0, 0]
    assert failures[1].paths.nodes().to_list() == ["a > d > e > c", "a > d > e > c > b"]
    kept = ab.summarise(ab.solve_many(ab.single_failures(found, reroute=False)))
    assert kept["cut_off_names"].to_list()[0] == ["a>c", "a>b"]
    by_hand = ab.given_paths(demands, [[["a", "b", "c"]], [["a", "b"]]])
    given = ab.summarise(ab.solve_many(ab.single_failures(by_hand)))
    assert given["cut_off"].to_list()[0] == 2
    with pytest.raises(ValueError, match="reroute is True, and the paths were given"):
        ab.single_failures(by_hand, reroute=True)
    with pytest.raises(ValueError, match="a problem of arrays has no network"):
        ab.single_failures(ab.problem_of(found), reroute=True)


@pytest.mark.parametrize("kind", ["shortest", "equal-cost"])
def test_paths_found_anew_are_those_of_a_search_without_the_failed_links(kind):
    network = generate.grid(4, 4)
    demands = ab.random_pairs(network, 30, seed=2)
    capacity = network.core.capacity_bps
    for case in ab.single_failures(ab.find_paths(demands, 3, kind=kind)):
        left = capacity.copy()
        left[[network.core.link_names.index(name) for name in case.name.split(", ")]] = 0.0
        whole = ab.find_paths(demands.on(network.with_capacities(left)), 3, kind=kind)
        assert case.paths.links().equals(whole.links())


def test_links_fail_alone_if_asked_or_if_nothing_is_known_of_cables(bridge):
    paths = ab.find_paths(ab.demands(bridge, ["a"], ["d"]), 2)
    assert [case.name for case in ab.single_failures(paths, each="link")] == bridge.core.link_names
    problem = ab.Problem([4.0, 3.0], [0, 1, 2], [0, 1], [0, 0])
    assert [(case.name, case.problem.capacity.tolist()) for case in ab.single_failures(problem)] == [
        ("0", [0.0, 3.0]),
        ("1", [4.0, 0.0]),
    ]
    with pytest.raises(ValueError, match='each is "node"; it must be "cable" or "link"'):
        ab.single_failures(problem, each="node")


def test_a_summary_knows_no_share_where_demands_have_no_limit_and_leaves_out_who_wants_nothing():
    problem = ab.Problem([4.0], [0, 1, 2], [0, 0], [0, 1])
    none, some = ab.summarise(ab.solve_many([problem, problem.changed(demand=[0.0, 2.0])])).iter_rows(named=True)
    assert (none["carried"], none["met"], none["least_met"], none["least_level"]) == (4.0, None, None, 2.0)
    assert (some["carried"], some["met"], some["least_level"], some["cut_off"]) == (2.0, 1.0, 2.0, 0)


def test_a_summary_of_no_cases_has_the_columns_of_others():
    problem = ab.Problem([4.0], [0, 1], [0], [0])
    assert ab.summarise([]).schema == ab.summarise(ab.solve_many([problem])).schema
    assert ab.summarise([]).is_empty()


def test_an_error_names_its_case_and_comes_after_the_answers_before_it(bridge):
    good = ab.demands(bridge, ["a"], ["d"])
    graph = nx.Graph([("a", "x", {"capacity": "1 Mbit/s"})])
    elsewhere = ab.from_networkx(graph)
    answers = ab.solve_many(bridge, [good, good, ab.demands(elsewhere, ["a"], ["x"]), good], threads=2)
    assert [next(answers).name, next(answers).name] == ["0", "1"]
    with pytest.raises(ValueError, match="case `2`: the demands are on another network: there is no node `x`"):
        next(answers)
    several = ab.Problem([1.0, 1.0], [0, 1, 2], [0, 1], [0, 0])
    single = ab.Problem([1.0], [0, 1], [0], [0])
    answers = ab.solve_many([single, ab.Case("two ways", several)], method="progressive-filling")
    assert next(answers).allocation.path_rates.tolist() == [1.0]
    with pytest.raises(ValueError, match="case `two ways`: connection 0 has 2 paths"):
        next(answers)
    with pytest.raises(TypeError, match="case `1`: it is a str; it must be a Case or a Problem"):
        list(ab.solve_many([single, "x"]))


def test_mistakes_that_concern_all_cases_are_told_at_once(bridge):
    problem = ab.Problem([1.0], [0, 1], [0], [0])
    for arguments, options, kind, said in [
        (([problem],), {"threads": 0}, ValueError, "threads is 0; it must be 1 or more"),
        (
            ([problem],),
            {"fairness": "alpha", "alpha": 2, "method": "lp"},
            ValueError,
            "^lp finds max-min fair rates, not",
        ),
        (([problem],), {"paths": 3}, ValueError, "with demands, paths or a metric besides"),
        (([problem],), {"fairness": "fair"}, ValueError, "^fairness is"),
        (([problem],), {"method": "dual-simplex", "start": 0.3}, ValueError, "^start was given"),
        (([problem],), {"method": "c-slen", "start": "quick"}, ValueError, "^start is"),
        (([problem],), {"method": "c-slen", "start": 2.0}, ValueError, "^the ratio of the starting portions is 2"),
        (([problem],), {"method": "c-slen", "start": [0.0]}, ValueError, "^path 0: its starting portion is 0"),
        (([problem],), {"fairness": "alpha", "alpha": 1000.0}, ValueError, "^alpha is 1000; it must be 0.1 to 100"),
        (([problem],), {"unit": 0.1}, ValueError, "^unit was given"),
        (([problem],), {"method": "c-slen", "stop_change": -1.0}, ValueError, "^stop_change is -1.0"),
        (([problem],), {"bins": 3}, ValueError, "^bins was given, and the usual method for max-min takes none"),
        (([problem],), {"speed": 3}, TypeError, "unexpected keyword argument 'speed'"),
        ((bridge, []), {"paths": 0}, ValueError, "^the number of paths for each connection is 0"),
        ((bridge, []), {"metric": "length"}, ValueError, '^metric is "length"'),
        ((problem,), {}, TypeError, "the first argument is a Problem"),
        ((bridge,), {}, TypeError, "the second argument is a NoneType; it must be many Demands"),
        ((bridge, ab.demands(bridge, ["a"], ["d"])), {}, TypeError, "the second argument is a Demands"),
    ]:
        with pytest.raises(kind, match=said):
            ab.solve_many(*arguments, **options)


def test_a_case_that_does_not_converge_is_warned_of_by_name():
    # c1 on A or B, c2 on A, both links of 2: the answer (2, 2) is approached like 1/n.
    slow = ab.Problem([2.0, 2.0], [0, 1, 2, 3], [0, 1, 0], [0, 0, 1])
    with pytest.warns(ab.ConvergenceWarning, match="case `slow`: c-slen stopped after 5 passes"):
        (solved,) = ab.solve_many([ab.Case("slow", slow)], method="c-slen", max_passes=5)
    assert not solved.allocation.converged


def test_cases_are_taken_as_they_are_needed_and_threads_end_with_the_iterator():
    problem = ab.Problem([1.0], [0, 1], [0], [0])
    taken = []

    def endless():
        while True:
            taken.append(len(taken))
            yield problem

    answers = ab.solve_many(endless(), threads=2)
    for _ in range(3):
        next(answers)
    assert len(taken) <= 3 + 4
    answers.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("anabranch")]


INTERRUPTED = """
import signal, anabranch as ab
signal.signal(signal.SIGINT, signal.default_int_handler)
# c-SLEN needs passes without end for the second case: the answer (2, 2) is approached like 1/n.
slow = ab.Problem([2.0, 2.0], [0, 1, 2, 3], [0, 1, 0], [0, 0, 1])
quick = ab.Problem([1.0], [0, 1], [0], [0])
done = []
try:
    options = {"method": "c-slen", "tolerance": 1e-14, "max_passes": 10**12}
    for solved in ab.solve_many([quick, slow, slow, slow], threads=2, **options):
        done.append(solved.name)
        print("first", flush=True)
except KeyboardInterrupt:
    print(done, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal")
def test_ctrl_c_ends_all_threads_soon_and_keeps_what_is_done():
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "first\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[0] == "['0']\n"
        assert process.returncode == 0
    finally:
        process.kill()


def test_paths_serve_only_the_same_connections():
    ring = generate.ring(4)
    nodes = ring.core.node_names
    paths = ab.find_paths(ab.demands(ring, nodes[:2], nodes[2:]), 2)
    same = ab.demands(ring, nodes[:2], nodes[2:], demand_bps=[1.0, 2.0])
    assert paths.serving(same).demands is same
    with pytest.raises(ValueError, match="between other nodes than the paths"):
        paths.serving(ab.demands(ring, nodes[2:], nodes[:2]))


def test_the_command_prints_and_writes_what_was_done_before_ctrl_c(tmp_path, monkeypatch, capsys):
    @contextmanager
    def pressed_at_the_third():
        def tell(stage, done, _total):
            if (stage, done) == ("cases", 3):
                raise KeyboardInterrupt

        yield tell

    continent = Path(__file__).parents[1] / "scenarios" / "continent.toml"
    out = tmp_path / "part"
    arguments = ["solve", continent, "--demands", "gravity:1Tbit/s", "--each-failure", "--out", out]
    monkeypatch.setattr("anabranch.commands.solve.progress_bar", pressed_at_the_third)
    monkeypatch.setattr(sys, "argv", ["anabranch", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 130
    told = capsys.readouterr()
    assert told.err == "anabranch: stopped after 2 of 57 cases\n"
    assert "max-min by dual-simplex: 2 cases, 2 certified" in told.out
    assert len(pl.read_parquet(out / "cases.parquet")) == 2
    assert json.loads((out / "meta.json").read_text(encoding="utf-8"))["finished"] is False
