"""Memory is estimated before it is taken, watched meanwhile, and told of in a sentence."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import anabranch as ab
from anabranch import _core, memory
from anabranch.errors import ScenarioError
from anabranch.number_labels import bytes_text
from anabranch.runs.scenario import plan_facts, read_plan
from labs import PAIR, told

SCENARIOS = Path(__file__).parents[1] / "scenarios"
TRAFFIC = '[[traffic]]\ncount = 30\nprotocol = "reno"\nfrom = ["a"]\nto = ["b"]\n'
WINDOWS = "[run]\nduration = '1 ms'\ntransport.first_window = 1000000\n" + PAIR + TRAFFIC
"""30 connections, each with a million packets at once."""


@pytest.fixture(autouse=True)
def as_before():
    yield
    ab.allow_memory(None)
    _core.limit_memory(0)


def bytes_of(text):
    return plan_facts(read_plan(text))["memory_bytes"]


def test_windows_of_a_million_packets_are_six_gigabytes():
    # 30 million packets of 200 bytes; some 5.9 GB were measured.
    assert 5e9 < bytes_of(WINDOWS) < 7e9


def test_a_window_is_no_larger_than_what_is_to_be_sent():
    assert bytes_of(WINDOWS + 'amount = "15 kB"\n') < 1e7


def test_windows_that_do_not_overlap_are_not_counted_together():
    apart = "".join(
        f'[[connection]]\nsource = "a"\ntarget = "b"\nprotocol = "reno"\namount = "150 MB"\nstart = "{i * 1000} s"\n'
        for i in range(10)
    )
    run = "[run]\nduration = '10000 s'\nsample = '100 s'\ntransport.first_window = 100000\n"
    alone = "".join(apart.partition("[[connection]]\n")[1:])[: apart.index("[[connection]]", 5)]
    assert bytes_of(run + PAIR + apart) < 1.2 * bytes_of(run + PAIR + alone)


def test_samples_are_counted_by_what_is_recorded():
    begin = "[run]\nduration = '1 s'\nsample = '5 us'\n"
    # 200,001 samples of 30 connections, 30 paths, 2 links and the run; of 30 connections.
    all_things, few = (bytes_of(begin + record + PAIR + TRAFFIC) for record in ("", "record = ['connections']\n"))
    assert 2e9 / 2 < all_things < 2e9 * 2
    assert 1.8 < all_things / few < 2.4


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WINDOWS.replace("1000000", "40000"), id="windows"),
        pytest.param("[run]\nduration = '1 s'\nsample = '100 us'\n" + PAIR + TRAFFIC, id="samples"),
    ],
)
def test_estimates_are_right_to_a_factor_of_two(tmp_path, text):
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    code = """
import re, sys
from pathlib import Path
import anabranch as ab
from anabranch.runs.scenario import plan_facts, read_plan
def most():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
file = Path(sys.argv[1])
estimate = plan_facts(read_plan(file))["memory_bytes"]
before = most()
ab.run(file)
print(estimate / (most() - before))
"""
    ran = subprocess.run([sys.executable, "-c", code, tmp_path / "s.toml"], capture_output=True, text=True, check=True)
    assert 0.5 < float(ran.stdout) < 2.0


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_examples_need_no_more_than_a_gigabyte(file):
    try:
        plan = read_plan(file)
    except ScenarioError:
        pytest.skip("it is for the solver alone")
    assert plan_facts(plan)["memory_bytes"] < 1e9


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (12_345_678, "12.3 MB"),
        (999_400_000, "999 MB"),
        (999_600_000, "1 GB"),
        (7_314_000_000, "7.31 GB"),
    ],
)
def test_sizes_have_three_digits_and_a_unit(size, text):
    assert bytes_text(size) == text


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check", "run"])
def test_what_would_take_too_much_is_refused_with_what_would_do(tmp_path, command):
    (tmp_path / "s.toml").write_text(WINDOWS, encoding="utf-8")
    refused = told(command, tmp_path / "s.toml", "--memory", "2GB")
    assert refused.returncode == 2
    assert re.search(
        r"run.* would take some 6 GB of memory, and may take 1.\d+ GB; 30000000 packets of first windows.*: lower "
        r"`run.transport.first_window`.*; or allow more, as by `--memory [78].\d*GB`\n$",
        refused.stderr,
    )


def test_a_limit_on_addresses_counts():
    code = """
import resource
from anabranch import _core, memory
most = _core.memory_in_use()[1] + 100_000_000
resource.setrlimit(resource.RLIMIT_AS, (most, most))
print(memory.room_bytes())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # The machine has more than the 100 MB that the limit leaves.
    assert 0 < int(ran.stdout) <= memory.SHARE * 100e6


def test_many_paths_are_refused_before_they_are_solved(monkeypatch):
    scenario = ab.read_scenario(SCENARIOS / "continent.toml")
    demands = ab.gravity(scenario.network, "1 Tbit/s", seed=1)
    paths = ab.find_paths(demands, 100)
    ab.allow_memory(_core.memory_in_use()[0] + 1e6)
    monkeypatch.setattr(memory, "SMALL_BYTES", 1 << 20)
    with pytest.raises(ScenarioError, match=r"the solver would take .*paths over .* links.*ask for fewer `paths`"):
        ab.solve(scenario.network, demands, paths=paths)


def test_a_search_for_paths_that_takes_too_much_is_ended():
    scenario = ab.read_scenario(SCENARIOS / "continent.toml")
    demands = ab.gravity(scenario.network, "1 Tbit/s", seed=1)
    ab.allow_memory(_core.memory_in_use()[0] + 30e6)
    with pytest.raises(MemoryError, match=r"it has taken .* GB of memory by now.*allow more"):
        ab.find_paths(demands, 65_536)


def test_a_run_that_turns_out_to_take_too_much_is_ended():
    # Nobody knows before how long a queue without a limit grows: 10 s at 1 Gbit/s are a million packets.
    text = f"[run]\nduration = '1000 s'\n{PAIR.replace('10 Mbit/s', '1 Gbit/s')}queue = 'unlimited'\n" + TRAFFIC
    plan = read_plan(text)
    ab.allow_memory(_core.memory_in_use()[0] + 150e6)
    with pytest.raises(MemoryError, match="it has taken"):
        ab.run(text)
    assert plan_facts(plan)["memory_bytes"] < 100e6


@pytest.fixture
def limited_group(tmp_path, monkeypatch):
    """Give a function that puts this process into a group by fake files; the group may have 100 MB more."""

    def put(lines, place, most, current, files):
        group = tmp_path / "groups" / place
        group.mkdir(parents=True)
        (group / most).write_text("1000000000\n")
        (group / current).write_text("920000000\n")
        (group / "memory.stat").write_text(f"anon 5\n{files} 20000000\n")
        (tmp_path / "own").write_text(lines)
        monkeypatch.setattr(memory, "GROUPS", tmp_path / "groups")
        monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "own")
        return group

    return put


FILES_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
FILES_2 = ("memory.max", "memory.current", "inactive_file")


@pytest.mark.parametrize(
    ("lines", "place", "files"),
    [
        ("0::/slurm/job\n", "slurm/job", FILES_2),
        ("0::/slurm/job\n", "slurm", FILES_2),
        ("5:devices:/\n4:cpu,memory:/slurm/job\n0::/\n", "memory/slurm/job", FILES_1),
        ("4:memory:/slurm/job\n0::/\n", "memory/slurm", FILES_1),
        # In a container the group has another name outside, and is the root inside.
        ("4:memory:/docker/x\n0::/\n", "memory", FILES_1),
        ("0::/\n", "", FILES_2),
        ("0::/../other\n", "", FILES_2),
    ],
)
def test_the_least_of_all_limits_counts(limited_group, lines, place, files):
    limited_group(lines, place, *files)
    # The machine has more than the 100 MB that the group leaves.
    assert memory.room_bytes() == int(memory.SHARE * 100e6)


def test_a_group_without_a_limit_does_not_count(limited_group):
    group = limited_group("0::/job\n", "job", *FILES_2)
    (group / "memory.max").write_text("max\n")
    assert memory.room_bytes() > memory.SHARE * 100e6


@pytest.mark.parametrize("most", ["0 B", 0, -1, 0.5, 1e30, float("inf"), float("nan")])
def test_what_is_no_amount_of_memory_cannot_be_allowed(most):
    with pytest.raises(ValueError, match=f"^the memory to allow is {re.escape(str(most))}; it must be from 1 to 2"):
        ab.allow_memory(most)


@pytest.mark.parametrize("most", ["-1 B", "much", "1", "1e30 B"])
def test_what_is_no_size_cannot_be_allowed(most):
    with pytest.raises(ValueError, match=f"^`{most}` is not a size: "):
        ab.allow_memory(most)
