"""A build without a live part says so, and what would do."""

import sys

import pytest

from anabranch import _core, cli

PAIR = '[[link]]\nsource = "a"\ntarget = "b"\ncapacity = "10 Mbit/s"\ndelay = "1 ms"\n'


@pytest.mark.parametrize(
    "words",
    [
        ["perf", "--serve", "127.0.0.1:0"],
        ["share", "."],
        ["send", "pair.toml"],
        ["fetch", "anabranch://host.example:4433/file"],
        ["live", "pair.toml", "--out", "result"],
        ["agent", "--config", "agent.toml"],
    ],
    ids=lambda words: words[0],
)
def test_commands_that_need_real_connections_say_what_the_build_lacks(words, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pair.toml").write_text(PAIR)
    monkeypatch.setattr(_core, "HAS_LIVE", False)
    monkeypatch.setattr(sys, "argv", ["anabranch", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 1
    said = capsys.readouterr().err
    assert "this build of anabranch has no live part" in said
    assert "`make install` without LIVE=0" in said
