"""No small file takes long, or much memory, or ends in anything else than a sentence."""

import itertools
import json
import resource
import time

import pytest

from labs import PAIR
from limited import CPU_S, outcomes

pytestmark = pytest.mark.slow

K100 = 100_000
M1 = 1_000_000


def within(open, close, times):
    return open * times + "1" + close * times


def lines(count, line):
    return "".join(line.format(i) for i in range(count))


TOML = {
    "dots": ".".join("a" * K100) + " = 1",
    "dots in a header": "[" + ".".join("a" * K100) + "]",
    "dots in many headers": lines(7000, "[" + ".".join("a" * 60) + ".b{}]\n"),
    "lists in lists": "a = " + within("[", "]", 500),
    "many lists in lists": "a = " + within("[", "]", K100),
    "tables in tables": "a = " + within("{ a = ", "}", K100),
    "dotted tables in tables": within(".".join("a" * 60) + " = {", "}", 70),
    "many keys": lines(100_000, "a{} = 1\n"),
    "many tables": "[[connection]]\n" * 60_000,
    "many dotted keys": lines(75_000, "a.b{} = 1\n"),
    "a long list": "a = [" + "1," * (M1 // 2 - 10) + "]",
    "many tables in a list": "a = [" + "{}," * (M1 // 3 - 10) + "]",
    "a long key": "a" * K100 + " = 1",
    "a long number": "a = " + "1" * K100,
    "a long number in its place": f"[run]\nseed = {'1' * K100}\n" + PAIR,
    "a long text": 'title = "' + "a" * K100,
    "a long name": PAIR + f'[[connection]]\nsource = "{"a" * K100}"\ntarget = "b"\n',
    "a long time": f'[run]\nduration = "{"1" * K100} s"\n' + PAIR,
    "a long comment": "#" * M1,
    "many quotes": '"' * M1,
    "blanks": "a" + " " * M1 + "=",
}

SWEEPS = {
    "a long range": 'seed = "1..{}"'.format("9" * K100),
    "blanks in a range": 'seed = "1{}"'.format(" " * K100),
    "blanks and a break in a quantity": 'a = { first = "1a' + " " * K100 + '\\nb", last = "2a", count = 2 }',
    "a long number in a quantity": 'a = { first = "' + "1" * K100 + '", last = "2 s", count = 2 }',
    "a long word": 'a = "{}"'.format("." * K100),
    "a value many times": "seed = [" + "1," * K100 + "]",
    "many seeds": f'seed = "1..{K100}"',
}

EXPRESSIONS = {
    "a long sum": "1" + "+1" * (K100 // 2),
    "many brackets": within("(", ")", K100 // 2),
    "many signs": "-" * K100 + "1",
    "a long name": "a" * K100,
}

TRACES = {
    "digits": "1" * K100,
    "digits and a word": "1" * K100 + "x",
    "two numbers": "1" * (K100 // 2) + " " + "1" * (K100 // 2) + "x",
    "blanks": "1" + " " * K100 + "x",
    "points": "." * K100,
    "quotes": "`" * K100,
    "a run": "Run 1" + " " * K100 + "x",
    "rates": "Run 1\n" + "1," * (K100 // 2),
    "commas": "time_s,capacity_bps\n" + "," * K100,
    "a recording": "Timestamp," + "a," * (K100 // 2),
    "many lines": "1\n" * (M1 // 2),
    "many breaks": "\n" * M1,
}

NETWORKS = {
    "x.graphml": "<graphml>" + "<graph>" * (K100 // 7),
    "long.graphml": "<graphml><graph><node id='" + "a" * K100,
    "attributes.graphml": "<graphml " + lines(10_000, "a{}='1' "),
    "x.xml": "<network>" + "<a>" * (K100 // 3),
    "x.gml": "graph [" + " a [" * (K100 // 4),
    "number.gml": "graph [ a " + "1" * K100,
    "word.gml": "a" * K100,
    "text.gml": 'graph [ a "' + "&" * K100,
    "entities.gml": 'graph [ node [ id 1 label "' + "&#1" * (K100 // 3) + '" ] ]',
    "x.json": "[" * K100,
    "tables.json": '{"a":' * (K100 // 5),
    "number.json": '{"nodes": ' + "1" * K100 + "}",
    "x.csv": "source,target," + "a," * (K100 // 2),
    "quote.csv": 'source,target\n"' + "a" * K100,
    "name.csv": "source,target\n" + "a" * K100 + ",b",
    "quotes.csv": "source,target\n" + '"' * K100,
    "x.txt": "NODES (" + "(" * K100,
    "meta.txt": "META (" + " " * K100 + "x",
    "brackets.txt": "?SNDlib native\nNODES (\n" + "( " * (K100 // 2),
    "x.intra": "a" * K100 + " b 1",
    "number.intra": "a b " + "1" * K100,
    "blanks.intra": "a" + " " * K100,
    "x.unknown": " " * K100,
}


def small(files):
    assert {name for name, text in files.items() if len(text) > 1.25 * M1} == set()
    return files


def written(folder, files, suffix):
    """Write files; give where they are, by name."""
    places = {}
    for number, (name, text) in enumerate(small(files).items()):
        places[name] = folder / (f"{number}{suffix}" if suffix else name)
        places[name].write_text(text, encoding="utf-8")
    return places


def check(tmp_path, cases):
    """Run a command on each file; every one ends in a sentence, soon."""
    told = outcomes([command for _, command in cases], tmp_path / "told")
    wrong = []
    for (name, command), (code, said, cpu_s) in itertools.zip_longest(cases, told, fillvalue=(-1, "not reached", 0.0)):
        is_fine = code in (0, 2) and len(said.encode()) < 4000 and cpu_s < CPU_S and "Traceback" not in said
        if not is_fine:
            wrong.append(f"{name}, {command[0]}: {code} after {cpu_s:.2f} s: {said[:200]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("command", ["check", "run", "sweep", "solve"])
def test_no_toml_file_takes_long_or_much(tmp_path, command):
    files = written(tmp_path, TOML, ".toml")
    check(tmp_path, [(name, [command, str(file)]) for name, file in files.items()])


def test_no_sweep_file_takes_long_or_much(tmp_path):
    (tmp_path / "pair.toml").write_text(PAIR, encoding="utf-8")
    begin = 'scenario = "pair.toml"\n[sweep]\n'
    table = '{}seed = "1..2"\n[[table]]\nfile = "t"\nof = "connections"\nvalue = "{}"\n'
    texts = {name: begin + text + "\n" for name, text in SWEEPS.items()}
    texts |= {f"{name} to compute": table.format(begin, text) for name, text in EXPRESSIONS.items()}
    files = written(tmp_path, texts, ".sweep.toml")
    check(tmp_path, [(name, ["check", str(file)]) for name, file in files.items()])


def test_no_trace_takes_long_or_much(tmp_path):
    files = written(tmp_path, TRACES, ".down")
    check(tmp_path, [(name, ["trace", "info", str(file)]) for name, file in files.items()])


def test_no_network_or_demands_take_long_or_much(tmp_path):
    pair = tmp_path / "pair.toml"
    pair.write_text(PAIR, encoding="utf-8")
    files = written(tmp_path, NETWORKS, "")
    cases = [(name, ["topology", "info", str(file)]) for name, file in files.items()]
    check(tmp_path, cases + [(name, ["solve", str(pair), "--demands", str(file)]) for name, file in files.items()])


def limited_check(teller, scenarios, source):
    """Check a scenario; the system ends this process if that takes much of a processor."""
    from anabranch.serve import work

    most = int(time.process_time() + 5 * CPU_S)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    return work.check(teller, scenarios, source)


def test_a_server_refuses_nasty_bodies_soon(tmp_path, monkeypatch):
    from anabranch.serve import work
    from served import AS_JSON, served

    # The child itself has the function as it is: what is replaced here is what the server asks it for.
    monkeypatch.setattr(work, "check", limited_check)
    with served(tmp_path) as client:
        for name, text in TOML.items():
            answer = client.post("/api/check", content=json.dumps({"scenario": text}), headers=AS_JSON)
            assert answer.status_code == 200, f"{name}: {answer.text[:200]}"
            assert answer.json()["right"] is False, name
            assert len(answer.json()["problem"]["error"]) < 4000, name
