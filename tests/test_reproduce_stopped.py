"""Reproductions that are stopped, or cannot write their report: what is done is kept, and the rest is told."""

from __future__ import annotations

import json
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from anabranch.cli import main
from anabranch.reproduce import reproduction as module
from anabranch.reproduce.execute.execute import execute
from anabranch.reproduce.experiment import read_experiment
from anabranch.reproduce.report import all_papers, reproduce_all, reproduce_to
from anabranch.reproduce.reproduction import reproduce
from anabranch.reproduce.rows import ReproductionInterrupted
from anabranch.reproduce.size import sized
from anabranch.runs.scenario import read_plan
from labs import PROGRAM

pytestmark = pytest.mark.slow

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"
PAPER = "upward-max-min"
REPRODUCE = [*PROGRAM, "reproduce"]


@pytest.fixture
def experiments(tmp_path: Path) -> Path:
    """A table that takes no time, a figure that is simulated for hours, and a paper after that."""
    copy = tmp_path / "experiments"
    for name in (f"{PAPER}-scenario-1", f"{PAPER}-table-7", f"{PAPER}-figure-3", "lgcc-section-3"):
        shutil.copytree(EXPERIMENTS / name, copy / name)
    place = copy / f"{PAPER}-scenario-1" / "scenario.toml"
    text = re.sub(r'(?m)^(duration|sample) = "', r'\g<1> = "10000', place.read_text())
    place.write_text(text)
    shutil.copy(EXPERIMENTS / "papers.toml", copy)
    return copy


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Someone presses Ctrl-C as soon as anything is simulated."""

    def stopped(run, *rest, **options):
        if run.method == "simulate":
            raise KeyboardInterrupt
        return execute(run, *rest, **options)

    monkeypatch.setattr(module, "execute", stopped)


def test_rows_that_are_done_come_with_the_interrupt(experiments, stopping) -> None:
    with pytest.raises(ReproductionInterrupted, match="stopped; 1 of 2 tables and figures are done") as stopped:
        reproduce(PAPER, experiments=experiments)
    rows = stopped.value.rows
    assert {row.item for row in rows} == {"table-7"}
    assert rows.not_done == ["figure-3"]


def test_the_report_has_what_is_done_and_names_the_rest(experiments, stopping, tmp_path: Path) -> None:
    with pytest.raises(ReproductionInterrupted):
        reproduce_to(tmp_path / "report", PAPER, experiments=experiments)
    rows = json.loads((tmp_path / "report" / "rows.json").read_text())
    assert [row["verdict"] == "not judged" for row in rows] == [False] * (len(rows) - 1) + [True]
    assert (rows[-1]["item"], rows[-1]["quantity"]) == ("figure-3", "not done")
    for page in ("index.html", "report.md"):
        assert "Not done yet: Figure 3." in (tmp_path / "report" / page).read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["experiments", "report"]


def test_the_page_over_all_papers_counts_what_is_done_of_a_stopped_one(experiments, stopping, tmp_path: Path) -> None:
    with pytest.raises(ReproductionInterrupted):
        list(reproduce_all(tmp_path / "site", experiments=experiments))
    text = (tmp_path / "site" / "index.html").read_text()
    assert "1 of 2" in text
    assert text.count("not run yet") == 1


def test_a_signal_between_two_papers_loses_nothing(experiments, tmp_path: Path, monkeypatch, capsys) -> None:
    shutil.rmtree(experiments / f"{PAPER}-figure-3")
    put = all_papers._put_index

    def put_and_stop(folder, papers, done, scale) -> None:
        put(folder, papers, done, scale)
        if done:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(all_papers, "_put_index", put_and_stop)
    words = ("reproduce", "--all", "--json", f"--experiments={experiments}", f"--report={tmp_path / 'site'}")
    monkeypatch.setattr("sys.argv", ["anabranch", *words])
    with pytest.raises(SystemExit, match="130"):
        main()
    printed = capsys.readouterr()
    assert "anabranch: stopped; 0 of 1 tables and figures are done" in printed.err
    items = {(row["item"], row["verdict"] == "not judged") for row in json.loads(printed.out)}
    assert items == {("table-7", False), ("section-3", True)}


def begun(experiments: Path, report: Path, *words: str) -> subprocess.Popen[str]:
    """Start a reproduction; give it once the table is in its report and the figure is simulated."""
    command = [*REPRODUCE, *words, "--json", "--experiments", str(experiments), "--report", str(report)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list(report.parent.glob(f"{report.name}/**/rows.json")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_keep_what_is_done(experiments, tmp_path: Path, number: signal.Signals) -> None:
    process = begun(experiments, tmp_path / "report", PAPER)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert f"anabranch: stopped; 1 of 2 tables and figures are done; their report is in {tmp_path / 'report'}" in err
    printed = json.loads(out)
    assert printed == [{"paper": PAPER, **row} for row in json.loads((tmp_path / "report" / "rows.json").read_text())]
    assert [row["item"] for row in printed if row["verdict"] == "not judged"] == ["figure-3"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["experiments", "report"]


def test_of_all_papers_those_that_were_not_begun_are_named_too(experiments, tmp_path: Path) -> None:
    process = begun(experiments, tmp_path / "site", "--all")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    rest = [(row["paper"], row["item"]) for row in json.loads(out) if row["verdict"] == "not judged"]
    assert rest == [(PAPER, "figure-3"), ("lgcc", "section-3")]


def test_a_kill_keeps_what_is_done_and_hides_nothing(experiments, tmp_path: Path) -> None:
    process = begun(experiments, tmp_path / "report", PAPER)
    while not (tmp_path / "report" / "index.html").exists():
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert "Not done yet: Figure 3." in (tmp_path / "report" / "index.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["experiments", "report"]


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["nothing"], 2, "there is no paper `nothing`"),
        (
            [PAPER, "table-8"],
            2,
            "there is no `table-8` of upward-max-min (did you mean `table-7`?); there is table-7, fig",
        ),
        ([PAPER, "table-7", "--report", "/proc/report"], 2, "it cannot be put there"),
        ([PAPER, "--scale", "0"], 2, "scale is 0.0; it must be over 0 and at most 1"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(experiments, words: list[str], code: int, reason: str) -> None:
    command = [*REPRODUCE, *words, "--experiments", str(experiments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert reason in done.stderr


def test_a_report_that_finds_no_room_is_one_sentence(experiments, tmp_path: Path) -> None:
    place = experiments / f"{PAPER}-figure-1"
    shutil.copytree(EXPERIMENTS / f"{PAPER}-figure-1", place)
    command = [*REPRODUCE, PAPER, "figure-1", "--experiments", str(experiments), "--report", str(tmp_path / "report")]
    # As on a full disk, but that the reason is another: no file may have more than 1,000 bytes.
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "report: it cannot be written (File too large); raise the limit on the size of files" in done.stderr
    assert done.stderr.endswith("; what was written before is there\n")
    assert list((tmp_path / "report").iterdir()) == []


def test_a_smaller_network_has_fewer_connections_over_slower_links() -> None:
    whole = read_experiment(EXPERIMENTS / "slbn-experiment-1a")
    run = sized(whole, 0.2).runs["slbn-corrected"]
    assert run.sets[-7:] == (
        "traffic.0.count=8000",
        "traffic.1.count=2000",
        "traffic.2.count=2000",
        "network.generate.transit-stub.hosts=40",
        # A fifth of what the preset has: 5 Gbit/s, 1 Gbit/s and 100 Mbit/s.
        "network.generate.transit-stub.transit=1000000000.0 bit/s",
        "network.generate.transit-stub.stub=200000000.0 bit/s",
        "network.generate.transit-stub.host=20000000.0 bit/s",
    )
    few = [f"traffic.{n}.count=20" for n in range(3)]
    little = ["network.generate.transit-stub.routers=100", "network.generate.transit-stub.hosts=2"]
    plan = read_plan(run.scenario, sets=[*run.sets, *few, *little])
    assert set(plan.network.links["capacity_bps"].to_list()) == {1e9, 2e8, 2e7}
    assert sized(whole, 1.0) is whole


def test_small_experiments_are_run_as_they_are_and_judged_at_any_scale(experiments) -> None:
    rows = reproduce(PAPER, "table-7", scale=0.1, experiments=experiments)
    assert not any(row.is_changed or row.verdict == "not judged" for row in rows)
