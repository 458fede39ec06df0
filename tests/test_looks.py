"""How protocols look: each in its own way, wherever it is drawn."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
from matplotlib.colors import to_hex

import anabranch as ab
from anabranch import _core
from anabranch.figures import draw_boxes, draw_estimates, draw_longest_queue, draw_queues
from anabranch.figures.protocol_styles import DRAWN, MARKERS, RIVALS, looks_of, protocol_looks
from anabranch.figures.style import COLOURS

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios" / "join-and-leave.toml"
TITLES = {name: title for name, title, *_ in _core.protocols()}


def test_no_two_protocols_look_the_same() -> None:
    looks = protocol_looks()
    assert list(looks) == list(TITLES.values())
    assert len(set(looks.values())) == len(looks)
    assert {look.marker for look in looks.values()} <= set(MARKERS) == set(DRAWN)


def test_rivals_have_different_colours_and_markers() -> None:
    looks = protocol_looks()
    assert len({name for row in RIVALS for name in row}) == sum(map(len, RIVALS))
    for row in RIVALS:
        own = [looks[TITLES[name]] for name in row]
        assert len({look.colour for look in own}) == len({look.marker for look in own}) == len(row)


def test_a_protocol_that_no_row_names_gets_a_look_of_its_own(monkeypatch) -> None:
    monkeypatch.setattr(_core, "protocols", lambda: [("slbn", "SLBN", ""), ("new", "New", ""), ("newer", "Newer", "")])
    looks = protocol_looks()
    assert len(set(looks.values())) == 3


def test_others_take_the_colours_that_protocols_leave() -> None:
    looks = looks_of(["first", "LIA", "nmcc", "second", "LIA"])
    known = protocol_looks()
    assert (looks["LIA"], looks["nmcc"]) == (known["LIA"], known["NMCC"])
    # NMCC and LIA have the first two colours.
    assert [looks[name].colour for name in ("first", "second")] == list(COLOURS[2:4])
    # More names than colours begin again.
    assert len({look.colour for look in looks_of(map(str, range(20))).values()}) == len(COLOURS)


def test_a_protocol_keeps_its_colour_beside_any_other() -> None:
    # d-SLEN and uncoupled have the same: the second is hatched where there are no markers, whichever that is.
    for names in (["d-slen", "Uncoupled"], ["uncoupled", "d-SLEN"]):
        first, second = looks_of(names).values()
        assert first.colour == second.colour == protocol_looks()["d-SLEN"].colour
        assert first.marker != second.marker
        assert (first.hatch, second.hatch) == ("", "//")
    bars = pl.DataFrame({"group": ["a", "a"], "name": ["d-SLEN", "Uncoupled"], "value": [1.0, 2.0]})
    bars = bars.with_columns(half_width=pl.lit(None, pl.Float64), is_given=pl.lit(value=False))
    drawn = draw_estimates(bars, ylabel="", xlabel="", title="").axes[0].containers
    assert [bar.patches[0].get_hatch() for bar in drawn] == [None, "//"]


def test_lines_bars_and_boxes_of_protocols_have_their_colours() -> None:
    known = protocol_looks()
    names = ["Vo-Le-Tran (reconstruction)", "d-SLEN"]
    sets = ("defaults.connection.protocol=vo-le-tran", "run.duration=1 s", 'run.record=["links", "errors"]')
    results = {names[0]: ab.run(SCENARIO, sets=sets), names[1]: ab.run(SCENARIO, sets=sets[1:])}
    expected = [known[name].colour for name in names]
    lines = draw_longest_queue(results).axes[0].lines
    assert [to_hex(line.get_color()) for line in lines] == expected
    bars = draw_queues(results).axes[0].containers
    assert [to_hex(bar.patches[0].get_facecolor()) for bar in bars] == expected
    measured = pl.DataFrame({"group": ["a", "a"], "name": names, "value": [1.0, 2.0]})
    measured = measured.with_columns(half_width=pl.lit(None, pl.Float64), is_given=pl.lit(value=False))
    drawn = draw_estimates(measured, ylabel="", xlabel="", title="").axes[0].containers
    assert [to_hex(bar.patches[0].get_facecolor()) for bar in drawn] == expected
    percentiles = {f"p{p}": [float(p), p + 1.0] for p in (5, 25, 75, 95)} | {"median": [50.0, 51.0]}
    boxes = pl.DataFrame({"group": ["a", "a"], "name": names} | percentiles)
    patches = draw_boxes(boxes, ylabel="", xlabel="", logarithmic=False, title="").axes[0].patches
    assert [to_hex(patch.get_edgecolor()) for patch in patches] == expected


def test_long_names_of_groups_do_not_overlap() -> None:
    groups = [f"s-PERC, as {n} authors run it" for n in "abcdefghij"]
    bars = pl.DataFrame({"group": groups, "name": "x", "value": 1.0, "is_given": False})
    bars = bars.with_columns(half_width=pl.lit(None, pl.Float64))
    figure = draw_estimates(bars, ylabel="", xlabel="protocols", title="")
    axes = figure.axes[0]
    labels = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in pairwise(labels))
    assert min(label.y0 for label in labels) > axes.xaxis.label.get_window_extent().y1
