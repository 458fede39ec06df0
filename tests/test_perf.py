"""Measuring between two ends on this machine: the command, its JSON, and what it refuses."""

import json
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from anabranch import _core
from anabranch.cli import app
from labs import PROGRAM

pytestmark = pytest.mark.slow

PATIENCE_S = 20


@pytest.fixture
def url():
    server = _core.Perf.serve("127.0.0.1:0", None, None, None)
    told = server.wait(PATIENCE_S)
    assert told is not None
    assert told[0] == "serving"
    yield told[1]
    server.stop()


def perf(*words: str):
    return CliRunner().invoke(app, ["perf", *words])


def test_json_has_the_shape_of_iperf3_with_a_stream_for_each_path(url):
    done = perf(url, "--via", "127.0.0.1,127.0.0.2", "--amount", "5 MB", "--control", "olia", "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["end"]["sum_received"]["bytes"] == 5_000_000
    assert report["end"]["sum_sent"]["bytes"] == 5_000_000
    assert [stream["path"].split(" - ")[0] for stream in report["end"]["streams"]] == ["127.0.0.1", "127.0.0.2"]
    assert report["start"]["test_start"]["congestion"] == "olia"
    assert report["end"]["cpu_utilization_percent"]["host_total"] >= 0


def test_text_has_a_line_for_each_path_and_one_for_all(url):
    done = perf(url, "--amount", "5 MB", "--reverse")
    assert done.exit_code == 0, done.output
    *_, path, total = done.stdout.splitlines()
    assert path.startswith("127.0.0.1:")
    assert "lost" not in path
    assert total.startswith("received 5 MB in ")
    assert " packets lost; processor " in total


@pytest.mark.parametrize("reverse", [[], ["--reverse"]])
def test_groups_of_paths_are_told_to_the_sender(url, reverse):
    words = ("--via", "127.0.0.1,127.0.0.2", "--control", "nmcc", "--groups", "0", "--groups", "1", "--amount", "5 MB")
    done = perf(url, *words, *reverse)
    assert done.exit_code == 0, done.output
    # Groups that are told are heard: a control that does not go by them refuses.
    other = ["lia" if word == "nmcc" else word for word in words]
    assert "leave out the groups of paths, or choose nmcc" in str(perf(url, *other, *reverse).exception)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "perf needs either the URL of a server"),
        (["http://h:1/"], "`http://h:1/` is no URL of a server: it does not begin with anabranch://"),
        (["anabranch://127.0.0.1:9/", "--control", "lgc"], "LGC needs the capacities of its links"),
        (
            ["anabranch://127.0.0.1:9/", "--control", "formulas"],
            "Formulas needs its formulas, which stand in a scenario file that `anabranch live` runs; choose one of",
        ),
        (["anabranch://127.0.0.1:9/", "--time", "2h"], "the time is 7200 s; it must be more than 0"),
        (["anabranch://127.0.0.1:9/", "--via", "wlan77"], "`wlan77` is neither an address nor an interface"),
        (["anabranch://127.0.0.1:9/", "--groups", "0"], "leave out the groups of paths, or choose nmcc"),
        (["anabranch://127.0.0.1:9/", "--groups", "-1"], "-1 is no number of a group of paths"),
        (
            ["anabranch://127.0.0.1:9/", "--control", "nmcc", "--groups", "0,1"],
            "the number of groups is 2; it must be 1, one for each path",
        ),
        (["--serve", "here"], "`here` is no address to serve at"),
    ],
)
def test_wrong_input_is_refused_with_what_would_do(words, said, monkeypatch, capsys):
    from anabranch import cli

    monkeypatch.setattr(sys, "argv", ["anabranch", "perf", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == cli.WRONG_INPUT
    assert said in capsys.readouterr().err


def test_another_fingerprint_is_refused(url, monkeypatch, capsys):
    from anabranch import cli

    wrong = url[:-1] + ("0" if url[-1] != "0" else "1")
    monkeypatch.setattr(sys, "argv", ["anabranch", "perf", wrong, "--amount", "1 MB"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == cli.FAILED
    assert "the server's certificate has the fingerprint" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [(("-t", "x"), "--time"), (("-P", "3", "-R"), "--reverse, --streams"), (("-C", "formulas"), "--control")],
)
def test_a_server_refuses_what_its_clients_decide(words, named):
    assert f"give {named} to `anabranch perf URL`" in str(perf("--serve", "127.0.0.1:0", *words).exception)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_a_server_and_a_measurement(number):
    words = [*PROGRAM, "perf"]
    server = subprocess.Popen(
        [*words, "--serve", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    assert server.stderr is not None
    url = server.stdout.readline().strip()
    assert server.stderr.readline() == f"on the other machine: anabranch perf '{url}'\n"
    client = subprocess.Popen([*words, url, "--time", "30s"], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    assert "Mbit/s" in client.stdout.readline()
    start = time.monotonic()
    for process, code in ((client, 128 + number), (server, 0)):
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == code
        process.communicate()
    assert time.monotonic() - start < 5
