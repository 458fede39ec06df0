"""The command line as a person meets it: what it prints, what it refuses, what it leaves behind."""

import base64
import json
import random
import re
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

import anabranch as ab
from anabranch import cli
from anabranch.reproduce.rows import Row
from command import run
from labs import PROGRAM

SCENARIOS = Path(__file__).parents[1] / "scenarios"

GML = """graph [
  node [ id 0 label "a" ]
  node [ id 1 label "b" ]
  node [ id 2 label "c" ]
  edge [ source 0 target 1 LinkSpeedRaw 1000000 ]
  edge [ source 1 target 2 LinkSpeedRaw 4000000 ]
]
"""


@pytest.fixture
def topology(tmp_path):
    path = tmp_path / "abc.gml"
    path.write_text(GML, encoding="utf-8")
    return path


@pytest.mark.slow
def test_solve_prints_rates_levels_bottlenecks_and_proof(topology):
    done = run("solve", topology, "--demands", "uniform:3Mbit/s", "--seed", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:6] == ["connection", "rate", "demand", "met", "level", "bottleneck"]
    assert "certified: every subflow has a bottleneck to 1e-06" in done.stdout
    assert done.stderr == ""


def test_a_command_that_holds_connections_leaves_without_words_where_nobody_reads_on():
    with subprocess.Popen([*PROGRAM, "exit", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        program.stdout.close()
        assert program.stderr.read() == b""
    assert program.returncode == 1


@pytest.mark.slow
def test_solve_writes_tables_and_a_figure_and_nothing_else(topology, tmp_path):
    out, figure = tmp_path / "runs" / "one", tmp_path / "pictures" / "abc.svg"
    done = run("solve", topology, "--demands", "gravity:3Mbit/s", "--out", out, "--figure", figure)
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in out.iterdir()) == [
        "connections.parquet",
        "links.parquet",
        "meta.json",
        "nodes.parquet",
        "paths.parquet",
        "subflows.parquet",
    ]
    assert pl.read_parquet(out / "connections.parquet").height == 6
    assert figure.read_text(encoding="utf-8").lstrip().startswith("<?xml")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["abc.gml", "pictures", "runs"]


@pytest.mark.slow
def test_solve_gives_json_to_machines(topology):
    done = run("solve", topology, "--demands", "uniform:9Mbit/s", "--json", "--paths", "2")
    answer = json.loads(done.stdout)
    assert answer["summary"]["certified"] is True
    assert {row["name"] for row in answer["links"]} == {"a-b", "b-a", "b-c", "c-b"}
    assert len(answer["connections"]) == 6


@pytest.mark.slow
def test_a_scenario_brings_its_own_connections():
    done = run("solve", SCENARIOS / "two-paths.toml", "--json", "--tolerance", "1e-6")
    rates = {row["name"]: row["rate_bps"] for row in json.loads(done.stdout)["connections"]}
    assert rates == pytest.approx({"both": 6e6, "fast-only": 6e6, "slow-only": 6e6}, rel=1e-5)


@pytest.mark.slow
def test_an_approximation_says_what_it_is_and_is_no_failure(topology):
    options = ("--demands", "uniform:9Mbit/s", "--paths", "2", "--fairness", "max-min", "--method")
    done = run("solve", topology, *options, "water-filling")
    assert done.returncode == 0, done.stderr
    assert "max-min, approximated by water-filling" in done.stdout
    done = run("solve", topology, *options, "swan", "--ratio", "1.5", "--first-level", "10 kbit/s", "--json")
    assert json.loads(done.stdout)["summary"]["approximation"] is True
    done = run("solve", topology, *options, "swan", "--bins", "3")
    assert done.returncode == 2
    assert "bins was given, and swan takes none" in done.stderr


@pytest.mark.slow
def test_every_scenario_is_solved():
    for scenario in sorted(SCENARIOS.glob("*.toml")):
        has_connections = "[[connection]]" in scenario.read_text(encoding="utf-8")
        demands = () if has_connections else ("--demands", "gravity:1Tbit/s")
        done = run("solve", scenario, *demands)
        assert done.returncode == 0, (scenario, done.stderr)
        assert "\ncertified" in done.stdout


@pytest.mark.slow
def test_the_method_is_named_with_its_reason(topology):
    done = run("solve", topology, "--demands", "uniform:1Gbit/s", "-v")
    assert "progressive-filling, since no connection has more than one path" in done.stderr
    done = run("solve", topology, "--demands", "uniform:1Gbit/s", "--method", "c-slen", "-v")
    assert "c-slen, since it was asked for" in done.stderr


@pytest.mark.slow
def test_many_cases_name_their_methods_and_keep_to_the_pairs_of_their_paths(topology, tmp_path):
    for name, pairs in {"there.csv": "a,c", "back.csv": "c,a"}.items():
        (tmp_path / name).write_text(f"source,target,demand\n{pairs},1Mbit/s\n", encoding="utf-8")
    both = ("--demands", tmp_path / "there.csv", "--demands", tmp_path / "back.csv")
    done = run("solve", topology, *both, "-v", "--json")
    assert "progressive-filling, since no connection has more than one path" in done.stderr
    shown = json.loads(done.stdout)
    assert shown["finished"]
    assert [case["method"] for case in shown["cases"]] == ["progressive-filling"] * 2
    done = run("solve", topology, *both, "--path-kind", "disjoint")
    assert done.returncode == 2
    assert "back.csv: it has other pairs of nodes than the first" in done.stderr


@pytest.mark.slow
def test_a_solver_that_is_not_done_fails_and_says_how_far_it_is(topology, tmp_path):
    scenario = tmp_path / "tie.toml"
    link = '[[link]]\nname = "{}"\nsource = "a"\ntarget = "b"\ncapacity = "2 Mbit/s"\n'
    connection = '[[connection]]\nname = "{}"\nsource = "a"\ntarget = "b"\nlinks = {}\n'
    parts = (
        link.format("A"),
        link.format("B"),
        connection.format("c1", '[["A"], ["B"]]'),
        connection.format("c2", '[["A"]]'),
    )
    scenario.write_text("".join(parts), encoding="utf-8")
    done = run("solve", scenario, "--method", "c-slen", "--start", "equal", "--max-passes", "5")
    assert done.returncode == 1
    assert "c-slen stopped after 5 passes with a residual of 0.1 (tolerance 0.01): raise max_passes" in done.stderr
    assert "NOT certified" in done.stdout


def test_ctrl_c_keeps_the_passes_made_until_then_and_leaves_by_its_own_code(tmp_path, monkeypatch, capsys):
    @contextmanager
    def pressed_after_the_first_pass():
        def tell(stage, _done, _total):
            if stage == "passes":
                signal.raise_signal(signal.SIGINT)

        yield tell

    out = tmp_path / "part"
    words = ["solve", SCENARIOS / "continent.toml", "--demands", "gravity:1Tbit/s", "--rows", "1", "--out", out]
    words += ["--fairness", "upward-max-min"]
    monkeypatch.setattr("anabranch.commands.solve.progress_bar", pressed_after_the_first_pass)
    monkeypatch.setattr(sys, "argv", ["anabranch", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 130
    told = capsys.readouterr()
    assert re.search(r"^anabranch: c-slen stopped after 1 pass with .*: it was stopped", told.err)
    assert "... and 1055 more" in told.out
    assert "NOT certified" in told.out
    part = ab.read_allocation(out)
    assert part.passes == 1
    assert part.connection_rates.sum() > 0
    assert "it was stopped" in part.unmet


@pytest.mark.slow
def test_topology_info_convert_and_generate_go_round(topology, tmp_path):
    facts = json.loads(run("topology", "info", topology, "--json").stdout)
    assert (facts["nodes"], facts["directed_links"], facts["diameter_hops"]) == (3, 4, 2)
    target = tmp_path / "abc.graphml"
    assert run("topology", "convert", topology, target).returncode == 0
    again = json.loads(run("topology", "info", target, "--json").stdout)
    assert again | {"name": ""} == facts | {"name": ""}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "nodes"),
    [
        ("dumbbell", 6),
        ("parking-lot", 12),
        ("ring", 8),
        ("grid", 16),
        ("fat-tree", 36),
        ("leaf-spine", 22),
        ("waxman", 50),
        ("random-regular", 20),
        ("transit-stub", 110),
    ],
)
def test_every_kind_of_network_is_generated_alike_by_the_same_seed(kind, nodes, tmp_path):
    files = [tmp_path / name for name in ("one.graphml", "two.graphml")]
    for file in files:
        done = run("topology", "generate", kind, file)
        assert done.returncode == 0, done.stderr
    assert files[0].read_bytes() == files[1].read_bytes()
    facts = json.loads(run("topology", "info", files[0], "--json").stdout)
    assert (facts["nodes"], facts["parts"]) == (nodes, 1)


@pytest.mark.slow
def test_wrong_input_is_refused_in_one_sentence_and_leaves_nothing(topology, tmp_path):
    (tmp_path / "noise.gml").write_bytes(random.Random(1).randbytes(10_000_000))
    (tmp_path / "words.gml").write_bytes(base64.b64encode(random.Random(2).randbytes(7_500_000)))
    (tmp_path / "bare.gml").write_text(GML.replace("LinkSpeedRaw 4000000", ""), encoding="utf-8")
    (tmp_path / "negative.csv").write_text("source,target,capacity_bps\na,b,-1\n", encoding="utf-8")
    (tmp_path / "nan.csv").write_text("source,target,capacity_bps\na,b,nan\n", encoding="utf-8")
    (tmp_path / "twice.csv").write_text("source,target,capacity_bps,name\na,b,1,x\nb,a,1,x\n", encoding="utf-8")
    (tmp_path / "demands.csv").write_text("source,target\na,nowhere\n", encoding="utf-8")
    (tmp_path / "apart.csv").write_text("source,target,capacity_bps\na,b,1\n", encoding="utf-8")
    (tmp_path / "back.csv").write_text("source,target\nb,a\n", encoding="utf-8")
    path = '[[link]]\nsource = "a"\ntarget = "b"\ncapacity = "1 Mbit/s"\n[[link]]\nsource = "b"\ntarget = "c"\n'
    path += 'capacity = "1 Mbit/s"\n[[connection]]\nsource = "a"\ntarget = "c"\npaths = [{}]\n'
    (tmp_path / "gap.toml").write_text(path.format('["a", "c"]'), encoding="utf-8")
    (tmp_path / "loop.toml").write_text(path.format('["a", "b", "a", "b", "c"]'), encoding="utf-8")
    (tmp_path / "syntax.toml").write_text("[[link]\n", encoding="utf-8")
    rule = ("--demands", "gravity:1Gbit/s")
    cases = [
        (("missing.gml", *rule), "missing.gml: there is no such file"),
        (("noise.gml", *rule), "noise.gml: it is binary"),
        (("words.gml", *rule), "words.gml"),
        (
            ("abc.gml", "--demands", "gravity:1Gbit/s", "--figure", "abc.gml/x.png", "--out", "new"),
            "is no folder",
        ),
        (("gap.toml", "--capacity", "1 Gbit/s"), "--capacity does nothing for a scenario"),
        (
            ("bare.gml", *rule),
            "link `b-c`: the file gives no capacity (1 of 2 links have none); fill them with --capacity",
        ),
        (("negative.csv", *rule), "-1"),
        (("nan.csv", *rule), "nan"),
        (("twice.csv", *rule), "already taken"),
        (("abc.gml", "--demands", "demands.csv"), "there is no node `nowhere`"),
        (("abc.gml", "--demands", "absent.csv"), "there is no such file"),
        (("abc.gml", "--demands", "magic:1Gbit/s"), "neither a file nor a rule"),
        (("abc.gml", "--demands", "gravity"), "the rule has no rate"),
        (("abc.gml", "--demands", "gravity:1"), "it has no unit"),
        (("abc.gml",), "the file has no demands; give them with --demands"),
        (("apart.csv", "--demands", "back.csv"), "there is no path from `b` to `a`"),
        (("gap.toml",), "line 12, column 9: connection `a>c`, path 1: no link leads from node `a` to node `c`"),
        (("loop.toml",), "it comes to node `a` twice"),
        (("syntax.toml",), "line 1, column"),
        (("abc.gml", *rule, "--start", "quick"), "--start quick"),
        (("abc.gml", *rule, "--tolerance", "0"), "tolerance is 0"),
        (
            ("abc.gml", *rule, "--fairness", "upward-max-min", "--method", "lp"),
            "lp finds max-min fair rates, not upward",
        ),
        (("abc.gml", *rule, "--out", "abc.gml"), "it exists already"),
        (("abc.gml", *rule, "--figure", "picture.xyz", "--out", "new"), "there is no picture format `.xyz`"),
    ]
    before = sorted(p.name for p in tmp_path.iterdir())
    for arguments, said in cases:
        done = run("solve", *arguments, cwd=tmp_path)
        assert done.returncode == 2, (arguments, done.returncode, done.stderr)
        assert said in done.stderr, (arguments, done.stderr)
        assert done.stderr.startswith("anabranch: ")
        assert done.stderr.count("\n") == 1, (arguments, done.stderr)
        assert done.stdout == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("topology", "generate", "ring", "x.gml", "--nodes", "-1"),
        ("topology", "generate", "ring", "x.gml", "--nodes", "99999999999999999999"),
        ("topology", "generate", "grid", "x.gml", "--rows", "-5"),
        ("topology", "generate", "waxman", "x.gml", "--seed", "18446744073709551616"),
        ("topology", "generate", "transit-stub", "x.gml", "--hosts", "-1"),
        ("solve", "abc.gml", "--demands", "gravity:1Gbit/s", "--seed", "18446744073709551616"),
        ("solve", "abc.gml", "--demands", "gravity:1Gbit/s", "--paths", "99999999999999999999999"),
        ("solve", "abc.gml", "--demands", "gravity:1Gbit/s", "--fairness", "fair"),
    ],
)
def test_options_out_of_range_are_refused_without_a_traceback(arguments, topology, tmp_path):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["abc.gml"]


@pytest.mark.slow
def test_json_has_no_infinity(tmp_path):
    (tmp_path / "n.csv").write_text("source,target,capacity_bps\na,b,inf\nb,c,1000000\n", encoding="utf-8")
    (tmp_path / "d.csv").write_text("source,target\na,c\n", encoding="utf-8")
    done = run("solve", "n.csv", "--demands", "d.csv", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert [row["capacity_bps"] for row in answer["links"]] == [None, 1e6]


@pytest.mark.slow
def test_names_cannot_move_the_cursor(tmp_path):
    nodes = [{"id": "\x1b[31mX"}, {"id": "b"}]
    links = [{"source": "\x1b[31mX", "target": "b", "capacity_bps": 1e6}]
    graph = {"directed": False, "multigraph": False, "graph": {}, "nodes": nodes, "links": links}
    (tmp_path / "n.json").write_text(json.dumps(graph), encoding="utf-8")
    done = run("solve", "n.json", "--demands", "uniform:1Mbit/s", cwd=tmp_path)
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_full_disk_ends_in_one_sentence(topology):
    with open("/dev/full", "w", encoding="utf-8") as full:
        command = [*PROGRAM, "solve", str(topology), "--demands", "uniform:1Mbit/s", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_reproduce_has_codes_and_json():
    done = run("reproduce", "upward-max-min", "table-10", "--json")
    rows = json.loads(done.stdout)
    assert done.returncode == 0
    assert set(rows[0]) == {"paper", *Row.__dataclass_fields__}
    assert run("reproduce", "no-such-paper").returncode == 2


@pytest.mark.slow
def test_the_demo_of_the_makefile_runs(tmp_path):
    root = Path(__file__).parents[1]
    recipe = subprocess.run(["make", "-n", "demonstrated"], cwd=root, capture_output=True, text=True, check=True).stdout
    commands = [shlex.split(line)[1:] for line in recipe.splitlines() if line.startswith(".venv/bin/anabranch ")]
    assert len(commands) == 6
    for name in ("scenarios", "experiments"):
        (tmp_path / name).symlink_to(root / name)
    (tmp_path / "runs").mkdir()
    for command in commands:
        done = run(*command, cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    assert done.stdout == "runs/report.html\n"
    # d-SLEN beside Vo-Le-Tran, and a solved network.
    page = (tmp_path / "runs" / "report.html").read_text(encoding="utf-8")
    assert [json.loads(header)["kind"] for header in re.findall(r'id="run-\d">(.*?)</script>', page)] == [
        "run",
        "run",
        "allocation",
    ]


def test_the_version_is_printed():
    assert run("--version").stdout.startswith("anabranch 0.")


def test_each_failure_is_a_row_the_worst_first(topology, tmp_path):
    # a-b of 1 Mbit/s and b-c of 4: without b-c only a and b are left to each other; without a-b, b and c.
    demands = tmp_path / "demands.csv"
    demands.write_text("source,target,demand\na,b,1 Mbit/s\nb,c,2 Mbit/s\n", encoding="utf-8")
    out = tmp_path / "out"
    done = run("solve", topology, "--demands", demands, "--each-failure", "--out", out)
    assert done.returncode == 0, done.stderr
    assert [" ".join(line.split()) for line in done.stdout.splitlines()[:5]] == [
        "fails carried met least met least level cut off such as certified",
        "Mbit/s Mbit/s",
        "b-c, c-b 1 33.3% 0.0% 0 1 b>c yes",
        "a-b, b-a 2 66.7% 0.0% 0 1 a>b yes",
        "nothing 3 100.0% 100.0% 1 yes",
    ]
    assert "carried 3 Mbit/s if nothing fails, at worst 1 Mbit/s (33.3%)" in done.stdout
    assert sorted(p.name for p in out.iterdir()) == ["cases.parquet", "connections.parquet", "meta.json"]
    meta = json.loads((out / "meta.json").read_text(encoding="utf-8"))
    assert (meta["finished"], meta["origin"]["each_failure"]) == (True, True)
    rates = pl.read_parquet(out / "connections.parquet").filter(pl.col("case") == "b-c, c-b")["rate_bps"]
    assert rates.to_list() == [1e6, 0.0]
    done = run("report", out)
    assert done.returncode == 0, done.stderr
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "3 cases, 3 certified." in page
    assert "Carried if nothing fails: 3 Mbit/s. The least is 1 Mbit/s, without b-c, c-b." in page
    assert "<td>b-c, c-b</td>" in page
    assert "<details><summary>1</summary>b&gt;c</details>" in page
    done = run("report", out, out)
    assert (done.returncode, "it holds many cases, which have a page of their own" in done.stderr) == (2, True)


def test_a_failure_is_named_with_its_ends_where_the_name_of_the_link_tells_nothing(tmp_path):
    text = "source,target,capacity,name,two_way\nRome,Oslo,1 Mbit/s,L1,yes\n"
    (tmp_path / "net.csv").write_text(text, encoding="utf-8")
    done = run("solve", "net.csv", "--demands", "uniform:1Mbit/s", "--each-failure", "--json", cwd=tmp_path)
    cases = json.loads(done.stdout)["cases"]
    assert [(case["case"], case["label"]) for case in cases] == [
        ("L1, L1~", "L1 Rome-Oslo, L1~"),
        ("nothing", "nothing"),
    ]


@pytest.mark.slow
def test_several_demands_are_cases_in_the_order_given(topology):
    asked = ["uniform:3Mbit/s", "gravity:1Mbit/s"]
    done = run("solve", topology, "--demands", asked[0], "--demands", asked[1], "--json", "--threads", "1")
    assert done.returncode == 0, done.stderr
    cases = json.loads(done.stdout)["cases"]
    assert [case["case"] for case in cases] == asked
    assert all(case["certified"] for case in cases)
    alone = json.loads(run("solve", topology, "--demands", asked[0], "--json").stdout)
    assert cases[0]["carried_bps"] == alone["summary"]["total_rate_bps"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--demands", "uniform:2Mbit/s", "--each-failure"], "--each-failure goes with one --demands"),
        (["--demands", "uniform:1Mbit/s"], "--demands uniform:1Mbit/s: it is given twice"),
        (["--each-failure", "--figure", "a.svg"], "a.svg: there are many cases"),
        (["--threads", "2"], "--threads is for many cases"),
    ],
)
def test_options_of_cases_that_do_not_go_together_are_refused(topology, options, message):
    done = run("solve", topology, "--demands", "uniform:1Mbit/s", *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_cases_that_do_not_converge_are_counted_and_the_exit_code_tells():
    continent = SCENARIOS / "continent.toml"
    done = run(
        "solve", continent, "--demands", "gravity:3Tbit/s", "--each-failure", "--method", "c-slen", "--max-passes", "1"
    )
    assert done.returncode == 1
    assert re.search(r"57 of 57 cases did not converge; the first: case `nothing`: c-slen stopped", done.stderr)


@pytest.mark.parametrize("words", ["--version", "perf --help", "share --help", "fetch --help"])
def test_what_needs_no_tables_loads_none(words):
    code = (
        "import sys; from anabranch import cli; sys.argv = ['anabranch', *sys.argv[1:]]\n"
        "try: cli.main()\n"
        "except SystemExit: print({'polars', 'numpy', 'networkx', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words.split()], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("set()\n")


@pytest.mark.slow
def test_names_of_the_package_are_loaded_when_asked_for_and_modules_hide_none():
    code = (
        "import sys, anabranch as ab; assert 'polars' not in sys.modules\n"
        "import anabranch.solvers.solve, anabranch.model.demands, anabranch.model.filters\n"
        "assert all(callable(each) for each in (ab.solve, ab.demands, ab.filters))\n"
        "assert all(getattr(ab, name) for name in ab.__all__) and set(ab.__all__) <= set(dir(ab))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="module 'anabranch' has no attribute 'nothing'"):
        ab.nothing  # noqa: B018
