"""The command line as a whole: help, completion, start-up, exit codes, names that are not there, output in the way."""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from anabranch.cli import GROUPS, SUMMARIES
from anabranch.commands.exit_codes import MEANINGS
from command import run

ROOT = Path(__file__).parents[1]
SCENARIOS = ROOT / "scenarios"
TOPOLOGY = "source,target,capacity\na,b,1 Mbit/s\nb,a,1 Mbit/s\nb,c,2 Mbit/s\nc,b,2 Mbit/s\n"
PROGRAM = [sys.executable, "-c", "from anabranch.cli import program; program()"]
HEAVY = {"polars", "networkx", "matplotlib", "scipy", "highspy", "numpy"}


def complete(*words: str) -> list[str]:
    """Give what bash offers for the last word."""
    place = {"COMP_WORDS": " ".join(("anabranch", *words)), "COMP_CWORD": str(len(words))}
    environment = os.environ | place | {"_ANABRANCH_COMPLETE": "complete_bash"}
    done = subprocess.run(PROGRAM, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.split()


def on_terminal(*words: str) -> str:
    """Give what a command prints on a terminal."""
    controller, terminal = pty.openpty()
    subprocess.run([*PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal, check=True)
    os.close(terminal)
    shown = b""
    with suppress(OSError):
        while part := os.read(controller, 65536):
            shown += part
    os.close(controller)
    return shown.decode()


def loaded(code: str, *arguments: str) -> tuple[set[str], float]:
    """Run Python code in a process of its own; give the modules that it loads, and its CPU time in seconds."""
    whole = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit: pass\n"
        "import resource; used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(); print(*sorted({name.partition('.')[0] for name in sys.modules}), used.ru_utime + used.ru_stime)"
    )
    done = subprocess.run([sys.executable, "-c", whole, *arguments], capture_output=True, text=True, check=True)
    *names, used = done.stdout.splitlines()[-1].split()
    return set(names), float(used)


def test_every_command_is_in_a_group_of_the_help_with_a_whole_description():
    done = run("--help")
    assert done.returncode == 0
    assert "..." not in done.stdout.replace("[ARGS]...", "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    for heading, group in GROUPS.items():
        assert f"\n{heading}:\n" in done.stdout
        for name, summary in group.items():
            assert any(line.split(maxsplit=1) == [name, summary] for line in done.stdout.splitlines()), name


def test_every_command_of_the_folder_is_listed():
    files = {file.stem for file in (ROOT / "python/anabranch/commands").glob("*.py")}
    commands = {
        name
        for name in files
        if f'"""``anabranch {name}``' in (ROOT / f"python/anabranch/commands/{name}.py").read_text(encoding="utf-8")
    }
    assert commands == set(SUMMARIES)


@pytest.mark.parametrize("name", SUMMARIES)
def test_h_describes_every_command(name):
    done = run(name, "-h")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run(name, "--help").stdout
    assert done.stdout.startswith(f"Usage: anabranch {name} ")


def test_v_prints_the_version():
    assert run("-V").stdout == run("--version").stdout != ""


def test_a_shell_completes_commands_and_options_and_loads_one_command_at_most():
    assert complete("s") == ["solve", "sweep", "serve", "share", "send", "show"]
    assert {"--seed", "--set"} <= set(complete("run", "--s"))
    assert complete("list", "pro") == ["protocols"]
    assert complete("perf", "--control", "cu") == ["cubic"]
    assert complete("solve", "--method", "sw") == ["swan"]


def test_bash_completes_by_the_script_that_is_printed(tmp_path):
    program = tmp_path / "anabranch"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{PROGRAM[-1]}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    words = 'COMP_WORDS=(anabranch completion f); COMP_CWORD=2; _anabranch_completion anabranch; echo "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", f'eval "$(anabranch completion bash)"; {words}'],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert (done.stdout, done.stderr) == ("fish\n", "")


@pytest.mark.parametrize(("shell", "word"), [("bash", "complete "), ("zsh", "compdef"), ("fish", "complete --command")])
def test_each_shell_has_a_script(shell, word):
    done = run("completion", shell)
    assert (done.returncode, word in done.stdout) == (0, True)
    assert "anabranch" in done.stdout


def test_the_package_and_the_help_load_no_tables_and_no_figures():
    assert not HEAVY & loaded("import anabranch")[0]
    assert not HEAVY & loaded("from anabranch import cli; cli.main()", "--help")[0]
    for words in (["perf", "-h"], ["fetch", "-h"], ["share", "-h"], ["list", "protocols"]):
        assert not HEAVY & loaded("from anabranch import cli; cli.main()", *words)[0], words


@pytest.mark.parametrize("words", [["check"], ["list", "nodes"], ["list", "links"]], ids=" ".join)
def test_commands_that_make_no_tables_load_no_polars(words):
    names, _ = loaded("from anabranch import cli; cli.main()", *words, str(SCENARIOS / "join-and-leave.toml"))
    assert not {"polars", "networkx", "matplotlib", "scipy"} & names


def test_the_package_and_the_help_take_little_processor_time():
    # They take 0.02 s and 0.06 s where nothing else runs.
    assert loaded("import anabranch")[1] < 0.15
    assert loaded("from anabranch import cli; cli.main()", "--help")[1] < 0.25


@pytest.mark.parametrize(
    "words", [["topology"], ["topology", "generate"], ["trace"], ["list"]], ids=lambda words: " ".join(words)
)
def test_the_help_of_several_commands_has_their_first_sentences_whole(words):
    done = run(*words, "--help")
    rows = done.stdout.partition("Commands:\n")[2]
    assert "..." not in rows
    assert len(re.findall(r"\.$", rows, re.MULTILINE)) == len(re.findall(r"^  \S", rows, re.MULTILINE)) > 1


@pytest.mark.parametrize("what", ["papers", "protocols", "disciplines", "methods", "rules", "generators", "formats"])
def test_a_list_in_a_pipe_has_no_line_of_more_than_160_columns(what):
    done = run("list", what)
    assert max(map(len, done.stdout.splitlines())) <= 160
    # No column is left out for that, and no name is cut.
    assert "(no room for" not in done.stdout
    assert {row["name"] for row in json.loads(run("list", what, "--json").stdout)} <= set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["slove"], "there is no command `slove` (did you mean `solve`?)"),
        (["list", "protocol"], "protocols"),
        (["run", "--sed", "3"], "--seed"),
        (["solve", "n.csv", "--method", "swen"], "(did you mean `swan`?); it must be one of c-slen"),
        (["solve", "n.csv", "--path-kind", "equal-cots"], "(did you mean `equal-cost`?)"),
        (["solve", "n.csv", "--demands", "gravty:1Gbit/s"], "(did you mean `gravity`?)"),
        (["topology", "info", "n.csv", "--format", "grapml"], "(did you mean `graphml`?)"),
        (["topology", "generate", "rng", "x.gml"], "ring"),
        (["paths", "net.toml", "--sources", "Roma", "--target", "Athens"], "(did you mean `Rome`?)"),
        (
            ["paths", "net.toml", "--sources", "Rome", "--target", "Athens", "--without", "Rom-Athens"],
            "(did you mean `Rome-Athens`?)",
        ),
        (["run", "net.toml", "--set", "run.time=5s"], "(did you mean `duration`?)"),
        (["run", "net.toml", "--set", "link.Copenhagen-Hamburg.delay=5ms"], "(did you mean `Hamburg-Copenhagen`?)"),
        (["reproduce", "upward-maxmin"], "(did you mean `upward-max-min`?)"),
        (["reproduce", "upward-max-min", "tabel-7"], "(did you mean `table-7`?)"),
        (["run", "net.toml", "--set", "defaults.connection.protocol=cubik"], "(did you mean `cubic`?)"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_is_not_there_is_refused_with_the_nearest_name(words, said, tmp_path):
    (tmp_path / "n.csv").write_text(TOPOLOGY, encoding="utf-8")
    shutil.copy(SCENARIOS / "continent.toml", tmp_path / "net.toml")
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check", "join.toml"], 0),
        (["solve", "n.csv", "--demands", "uniform:4Mbit/s", "--max-passes", "1", "--method", "c-slen", "-v"], 1),
        (["share", "nowhere"], 2),
        (["send", "nowhere"], 2),
        (["fetch", "nowhere"], 2),
        (["report", "nowhere"], 2),
        (["solve", "nowhere"], 2),
        (["run", "nowhere"], 2),
        (["run", "--nonsense"], 2),
        (["serve", "nowhere"], 2),
        (["perf"], 2),
        (["perf", "x", "--time", "5parsecs"], 2),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else " ".join(value),
)
def test_an_exit_code_has_one_meaning(words, code, tmp_path):
    (tmp_path / "n.csv").write_text(TOPOLOGY + "a,c,1 Mbit/s\nc,a,1 Mbit/s\n", encoding="utf-8")
    shutil.copy(SCENARIOS / "join-and-leave.toml", tmp_path / "join.toml")
    done = run(*words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert str(code) in MEANINGS
    assert sorted(file.name for file in tmp_path.iterdir()) == ["join.toml", "n.csv"]


@pytest.mark.parametrize("command", ["share", "send"])
def test_a_path_that_is_not_there_is_not_served(command):
    assert run(command, "nowhere").stderr == "anabranch: nowhere: there is no such file or folder; check the name\n"


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_network_in_place_of_a_scenario_is_named_with_what_takes_it(command, tmp_path):
    (tmp_path / "ring.graphml").write_text("", encoding="utf-8")
    run("topology", "generate", "ring", "ring.graphml", "--force", cwd=tmp_path)
    done = run(command, "ring.graphml", cwd=tmp_path)
    assert done.returncode == 2
    assert "it is a network (graphml), not a scenario" in done.stderr
    assert "`anabranch solve ring.graphml`" in done.stderr
    assert '[network] and file = "ring.graphml"' in done.stderr


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("protocols", "cubic"),
        ("controls", "lia"),
        ("disciplines", "red"),
        ("methods", "c-slen"),
        ("rules", "gravity"),
        ("generators", "fat-tree"),
        ("formats", "graphml"),
        ("papers", "upward-max-min"),
    ],
)
def test_list_names_everything_that_commands_take(kind, least):
    rows = json.loads(run("list", kind, "--json").stdout)
    names = [row["name"] for row in rows]
    assert least in names
    assert len(set(names)) == len(names)
    table = run("list", kind).stdout.splitlines()
    assert table[0].split()[0] == "name"
    # A row may go on in the next line, which then begins with blanks.
    assert [line.split()[0] for line in table[1:] if not line.startswith(" ")] == names


def test_names_that_list_gives_are_taken(tmp_path):
    for row in json.loads(run("list", "generators", "--json").stdout):
        assert run("topology", "generate", row["name"], f"{row['name']}.graphml", cwd=tmp_path).returncode == 0
    (tmp_path / "n.csv").write_text(TOPOLOGY, encoding="utf-8")
    for row in json.loads(run("list", "rules", "--json").stdout):
        assert run("solve", "n.csv", "--demands", row["example"], cwd=tmp_path).returncode == 0
    assert "table-7" in next(
        row["items"] for row in json.loads(run("list", "papers", "--json").stdout) if row["name"] == "upward-max-min"
    )


def test_list_gives_the_nodes_and_links_of_a_network_and_the_scenarios_of_a_folder(tmp_path):
    (tmp_path / "n.csv").write_text(TOPOLOGY, encoding="utf-8")
    nodes = run("list", "nodes", "n.csv", cwd=tmp_path).stdout.splitlines()
    assert [line.split() for line in nodes] == [["node", "links"], ["a", "1"], ["b", "2"], ["c", "1"]]
    links = run("list", "links", "n.csv", cwd=tmp_path).stdout.splitlines()
    assert [line.split() for line in links[:3]] == [
        ["link", "from", "to", "capacity"],
        ["Mbit/s"],
        ["a-b", "a", "b", "1"],
    ]
    assert [row["name"] for row in json.loads(run("list", "links", "n.csv", "--json", cwd=tmp_path).stdout)] == [
        "a-b",
        "b-a",
        "b-c",
        "c-b",
    ]
    scenarios = json.loads(run("list", "scenarios", SCENARIOS, "--json").stdout)
    assert {"Continent", "Join and leave"} <= {row["title"] for row in scenarios}


def test_topology_info_says_which_capacities_there_are_and_that_there_are_no_delays(tmp_path):
    (tmp_path / "n.csv").write_text(TOPOLOGY, encoding="utf-8")
    facts = dict(line.split(maxsplit=1) for line in run("topology", "info", "n.csv", cwd=tmp_path).stdout.splitlines())
    assert facts["capacities"] == "1 Mbit/s (2), 2 Mbit/s (2)"
    assert facts["delays"] == "no delays"


OUTPUTS = [
    (["run", "join.toml", "--out"], "folder"),
    (["solve", "n.csv", "--demands", "uniform:1Mbit/s", "--out"], "folder"),
    (["solve", "n.csv", "--demands", "uniform:1Mbit/s", "--each-failure", "--out"], "folder"),
    (["solve", "n.csv", "--demands", "uniform:1Mbit/s", "--figure"], "a.svg"),
    (["solve", "n.csv", "--demands", "uniform:1Mbit/s", "--report"], "a.html"),
    (["reproduce", "upward-max-min", "table-10", "--brief", "--report"], "folder"),
    (["topology", "convert", "n.csv"], "a.gml"),
    (["topology", "generate", "ring"], "a.gml"),
    (["trace", "convert", "trace.csv"], "a.csv"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "place"), OUTPUTS, ids=lambda value: value if isinstance(value, str) else value[0])
def test_output_is_never_overwritten_unless_it_is_forced(words, place, tmp_path):
    (tmp_path / "n.csv").write_text(TOPOLOGY, encoding="utf-8")
    (tmp_path / "trace.csv").write_text("time_s,capacity_bps\n0,1000000\n1,2000000\n", encoding="utf-8")
    shutil.copy(SCENARIOS / "join-and-leave.toml", tmp_path / "join.toml")
    assert run(*words, place, cwd=tmp_path).returncode == 0
    before = (tmp_path / place).stat().st_ino
    names = sorted(file.name for file in tmp_path.iterdir())
    done = run(*words, place, cwd=tmp_path)
    assert done.returncode == 2
    assert f"{place}: it exists already; name another place, or replace it with --force" in done.stderr
    assert (tmp_path / place).stat().st_ino == before
    assert run(*words, place, "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / place).stat().st_ino != before
    assert sorted(file.name for file in tmp_path.iterdir()) == names


def test_a_report_is_not_overwritten_either(tmp_path):
    shutil.copy(SCENARIOS / "join-and-leave.toml", tmp_path / "join.toml")
    assert run("run", "join.toml", "--out", "one", cwd=tmp_path).returncode == 0
    assert run("report", "one", cwd=tmp_path).returncode == 0
    done = run("report", "one", cwd=tmp_path)
    assert done.returncode == 2
    assert "report.html: it exists already" in done.stderr
    assert run("report", "one", "--force", cwd=tmp_path).returncode == 0


def test_force_replaces_no_folder_that_no_command_wrote(tmp_path):
    shutil.copy(SCENARIOS / "join-and-leave.toml", tmp_path / "join.toml")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter.tex").write_text("", encoding="utf-8")
    done = run("run", "join.toml", "--out", "thesis", "--force", cwd=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / "thesis/chapter.tex").is_file()


def test_a_run_that_fails_leaves_what_it_was_to_replace(tmp_path, monkeypatch):
    shutil.copy(SCENARIOS / "join-and-leave.toml", tmp_path / "join.toml")
    assert run("run", "join.toml", "--out", "one", cwd=tmp_path).returncode == 0
    before = (tmp_path / "one/meta.json").read_bytes()
    monkeypatch.setattr("anabranch.runs.result.Result.write", lambda *_: (_ for _ in ()).throw(OSError("no room")))
    assert run("run", "join.toml", "--out", "one", "--force", "--seed", "7", cwd=tmp_path).returncode == 1
    assert (tmp_path / "one/meta.json").read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["join.toml", "one"]


SWEEP = """scenario = "join.toml"
[sweep]
seed = "1..2"
[[table]]
file = "rates"
of = "connections"
where = "{where}"
value = "{value}"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("start_s < 5", "mean_rate_bps", None),
        ("nonsense = 'cubic'", "mean_rate_bps", "`where`: there is no column `nonsense`"),
        ("start_s < 5", "mean_rat_bps", "did you mean `mean_rate_bps`?"),
        ("start_s < 5", "protocol", "is of type String"),
    ],
)
def test_check_finds_a_wrong_column_of_a_sweep_before_anything_runs(where, value, said, tmp_path):
    shutil.copy(SCENARIOS / "join-and-leave.toml", tmp_path / "join.toml")
    (tmp_path / "sweep.toml").write_text(SWEEP.format(where=where, value=value), encoding="utf-8")
    done = run("check", "sweep.toml", cwd=tmp_path)
    assert done.returncode == (0 if said is None else 2), done.stderr
    assert said is None or said in done.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["join.toml", "sweep.toml"]


def test_check_of_a_sweep_takes_no_longer_than_a_moment_of_a_long_run(tmp_path):
    text = (SCENARIOS / "wifi-and-cellular.toml").read_text(encoding="utf-8")
    (tmp_path / "join.toml").write_text(text, encoding="utf-8")
    sweep = SWEEP.format(where="start_s < 5", value="mean_rate_bps")
    (tmp_path / "sweep.toml").write_text('set = ["run.duration=1000000 s"]\n' + sweep, encoding="utf-8")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    assert run("check", "sweep.toml", cwd=tmp_path).returncode == 0
    # The whole run would take hours.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 30


def test_check_prints_the_description_of_a_scenario_and_run_on_a_terminal_its_first_paragraph(tmp_path):
    text = (SCENARIOS / "join-and-leave.toml").read_text(encoding="utf-8")
    story = 'description = """\nThree connections share three links.\n\nLook at the rates.\n"""'
    text = re.sub('description = """.*?"""', story, text, count=1, flags=re.DOTALL)
    (tmp_path / "join.toml").write_text(text, encoding="utf-8")
    done = run("check", "join.toml", cwd=tmp_path)
    assert done.stdout.rstrip().endswith("Three connections share three links.\n\nLook at the rates.")
    assert run("run", "join.toml", cwd=tmp_path).stdout.startswith("connection")
    shown = on_terminal("run", str(tmp_path / "join.toml"))
    assert shown.index("Join and leave") < shown.index("Three connections share three links.")
    assert "Look at" not in shown
