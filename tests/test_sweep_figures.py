"""Tables and figures over the runs of a sweep: what stands in them, how it is drawn, and the files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection, LineCollection
from matplotlib.colors import to_hex

from anabranch import figures
from anabranch.errors import ScenarioError
from anabranch.figures.protocol_styles import protocol_looks
from anabranch.sweeps.figure_data import STEPS, drawn_numbers
from anabranch.sweeps.order import in_order, words_of
from anabranch.sweeps.outputs import draw_figure, make_table, write_summaries
from anabranch.sweeps.quantity import SweepFigure, SweepTable
from anabranch.sweeps.words import words_for

# Two protocols, two delays from the longer one on, three seeds: OLIA has 10, 11, 12 at 0.02 s and twice that at 0.01 s;
# LIA 100 more.
ROWS = [
    (f"{protocol}{delay}{seed}", protocol, delay, seed, (10.0 + seed) * times + more)
    for protocol, more in (("olia", 0.0), ("lia", 100.0))
    for delay, times in ((0.02, 1.0), (0.01, 2.0))
    for seed in range(3)
]
FRAME = pl.LazyFrame(ROWS, schema=["run", "protocol", "delay_s", "seed", "rate"], orient="row")
LOOKS = protocol_looks()


def plan(**keys: object) -> SweepFigure:
    own = {"of": "connections", "value": "rate", "file": "f", "draw": "lines", "x": "delay_s", "lines": "protocol"}
    return SweepFigure.model_validate(own | keys)


def table(**keys: object) -> SweepTable:
    return SweepTable.model_validate({"of": "connections", "value": "rate", "file": "t"} | keys)


def curves(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    """Give the points of each line that is named."""
    named = (line for line in axes.lines if not str(line.get_label()).startswith("_"))
    return {str(line.get_label()): list(zip(*line.get_data(), strict=True)) for line in named}


# Tables.


def test_a_table_has_numbers_ascending_and_text_as_it_appears() -> None:
    made = make_table(FRAME, table(by=["protocol", "delay_s"]))
    found = [("olia", 0.01, 22.0), ("olia", 0.02, 11.0), ("lia", 0.01, 122.0), ("lia", 0.02, 111.0)]
    assert made.select("protocol", "delay_s", "mean").rows() == found
    assert made["count"].to_list() == [3] * 4
    # Deviation 1 of 10, 11, 12, and t = 4.3027 of two degrees of freedom.
    assert made["half_width"][1] == pytest.approx(4.3027 / 3.0**0.5, abs=1e-4)
    assert make_table(FRAME, table())["count"].to_list() == [12]


def test_a_table_counts_what_is_left_out_of_runs_of_which_nothing_is_left_too() -> None:
    value = "case when delay_s = 0.01 then rate end"
    made = make_table(FRAME, table(by=["protocol"], value=value))
    assert made.select("protocol", "count", "left_out").rows() == [("olia", 3, 3), ("lia", 3, 3)]
    assert make_table(FRAME, table(value=value))["left_out"].to_list() == [6]


def test_words_are_titles_of_protocols_and_numbers_with_what_they_are_of() -> None:
    assert words_of(pl.Series(["lia", "codel", None]), "protocol").to_list() == ["LIA", "codel", "none"]
    # Two names that differ stay so.
    assert words_of(pl.Series(["lia", "LIA"])).to_list() == ["lia", "LIA"]
    assert words_of(pl.Series([0.1 + 0.2, 1e6]), "delay_s").to_list() == ["delay_s = 0.3", "delay_s = 1000000"]
    assert words_of(pl.Series([True, False])).to_list() == ["true", "false"]


def test_numbers_have_as_few_digits_as_tell_them_apart() -> None:
    def words(*numbers: float) -> list[str]:
        return words_of(pl.Series(numbers)).to_list()

    assert words(0.012599210499, 0.031748021039) == ["0.0126", "0.0317"]
    # At three digits both would be 0.0126.
    assert words(0.012599210499, 0.012612345678, 0.5) == ["0.0126", "0.01261", "0.5"]
    # Whole numbers stay, and what differs stays different.
    assert words(1048576.0, 31622776.6) == ["1048576", "31600000"]
    assert words(0.3, 0.1 + 0.2) == ["0.3", "0.30000000000000004"]


def test_numbers_at_a_logarithmic_axis_do_not_run_into_each_other() -> None:
    numbers = (0.012, 0.013, 0.032)
    frame = pl.LazyFrame({"run": list("abc"), "delay_s": numbers, "rate": [1.0, 2.0, 3.0]})
    axes = draw_figure(frame, plan(lines=None, log=["x"])).axes[0]
    assert axes.get_xticks().tolist() == list(numbers)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.012", "", "0.032"]


def test_an_axis_has_round_numbers_where_the_values_are_none() -> None:
    numbers = (0.01, 0.0251188643, 0.0630957344, 0.16)
    frame = pl.LazyFrame({"run": list("abcd"), "delay_s": numbers, "rate": [1.0, 2.0, 3.0, 4.0]})
    axes = draw_figure(frame, plan(lines=None, log=["x"])).axes[0]
    axes.figure.draw_without_rendering()
    texts = [label.get_text() for label in axes.get_xticklabels(which="both")]
    assert {"0.01", "0.02", "0.05", "0.1"} <= set(texts)
    assert all(text.strip("0.") in ("", "1", "2", "5") for text in texts)


@pytest.mark.parametrize(
    ("expression", "join", "words"),
    [
        ("mean_rate_bps / 1e6", "mean", "mean rate (Mbit/s)"),
        ("1000 * completion_s", "median", "median of completion (ms)"),
        ('"link.0.delay_s"', "mean", "link.0.delay (s)"),
        ("mean_rate_bps", "jain", "Jain's index of mean rate"),
        ("peak_packets", "most", "greatest peak (packets)"),
        ("utilisation * 100", "mean", "utilisation (%)"),
        ("dropped", "sum", "sum of dropped"),
        ("rate", "mean", "rate"),
        # Only what is surely understood is put into words.
        ("mean_rate_bps / 7", "mean", "mean_rate_bps / 7"),
        ("a_s + b_s", "mean", "a_s + b_s"),
    ],
)
def test_an_axis_is_labelled_in_words_with_its_unit(expression: str, join: str, words: str) -> None:
    assert words_for(expression, join) == words


def test_more_than_two_lines_have_bars_in_place_of_bands() -> None:
    third = FRAME.with_columns(pl.lit("balia").alias("protocol"), pl.col("rate") + 7.0)
    crowded = pl.concat([FRAME, third.unique(["delay_s", "seed"])])
    for frame, name in ((FRAME, "band"), (crowded, "bar")):
        figure = draw_figure(frame, plan())
        has_bands = any(isinstance(own, FillBetweenPolyCollection) for own in figure.axes[0].collections)
        assert has_bands == (name == "band")
        assert any(f"; {name}: its 95 %" in text.get_text().replace("\n", " ") for text in figure.texts)


def test_nothing_has_a_word_of_its_own_in_a_legend() -> None:
    assert words_of(pl.Series(["", None, "lia"])).to_list() == ['""', "none", "LIA"]
    assert words_of(pl.Series(["none", None])).to_list() == ["none", "null"]
    frame = pl.LazyFrame({"run": ["a", "b"], "queue": ["", "codel"], "rate": [1.0, 2.0]})
    figure = draw_figure(frame, plan(draw="cdf", x=None, lines="queue"))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ['""', "codel"]


def test_null_comes_last_in_its_order() -> None:
    frame = pl.DataFrame({"name": ["b", None, "a", "b"], "x": [2.0, 1.0, None, 1.0]})
    assert in_order(frame, ["x"])["x"].to_list() == [1.0, 1.0, 2.0, None]
    assert in_order(frame, ["name", "x"]).rows() == [("b", 1.0), ("b", 2.0), (None, 1.0), ("a", None)]


# Lines with bands.


def test_lines_go_through_the_means_in_the_colours_of_their_protocols() -> None:
    axes = draw_figure(FRAME, plan()).axes[0]
    assert curves(axes) == {"OLIA": [(0.01, 22.0), (0.02, 11.0)], "LIA": [(0.01, 122.0), (0.02, 111.0)]}
    colours = {str(line.get_label()): to_hex(line.get_color()) for line in axes.lines}
    assert {name: colours[name] for name in ("OLIA", "LIA")} == {name: LOOKS[name].colour for name in ("OLIA", "LIA")}
    band = axes.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == pytest.approx((11.0 - 2.4841, 22.0 + 2 * 2.4841), abs=1e-3)


def test_all_panels_are_seen_whole_on_one_axis_from_0() -> None:
    figure = draw_figure(FRAME, plan(panels="protocol", lines=None))
    first, second = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["OLIA", "LIA"]
    assert first.get_ylim() == second.get_ylim()
    assert first.get_ylim()[0] == 0.0
    assert first.get_ylim()[1] > 122.0 + 2 * 2.4841


def test_words_along_the_axis_stand_as_they_appear() -> None:
    axes = draw_figure(FRAME, plan(x="protocol", lines="delay_s")).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["OLIA", "LIA"]
    points = curves(axes)
    assert list(points) == ["delay_s = 0.01", "delay_s = 0.02"]
    # Beside each other, a bit to the left and to the right.
    assert points["delay_s = 0.01"] == [(pytest.approx(-0.04), 22.0), (pytest.approx(0.96), 122.0)]


def test_nothing_joins_the_points_of_words() -> None:
    figure = draw_figure(FRAME, plan(x="protocol", lines="delay_s"))
    axes = figure.axes[0]
    named = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    assert [line.get_linestyle() for line in named] == ["None", "None"]
    # Bars alone, one for each point, and no band.
    assert [(type(own), len(own.get_segments())) for own in axes.collections] == [(LineCollection, 2)] * 2
    note = figure.texts[1].get_text().replace("\n", " ")
    assert note == "point: mean over 3 runs; bar: its 95 % confidence interval (Student's t)"


def test_more_points_of_words_than_colours_are_filled_otherwise() -> None:
    frame = pl.LazyFrame({"run": map(str, range(9)), "seed": range(9), "x": ["a"] * 9, "rate": [1.0] * 9})
    axes = draw_figure(frame, plan(x="x", lines="seed")).axes[0]
    named = [line for line in axes.lines if not str(line.get_label()).startswith("_")]
    assert len({(line.get_color(), line.get_fillstyle()) for line in named}) == 9


def test_logarithmic_axes_leave_out_what_they_do_not_have_and_say_so() -> None:
    frame = FRAME.with_columns(delay_s=pl.col("delay_s") - 0.01)
    figure = draw_figure(frame, plan(log=["x", "y"]))
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert curves(axes) == {"OLIA": [(0.01, 11.0)], "LIA": [(0.01, 111.0)]}
    assert any("2 points at or below 0 are not drawn" in text.get_text().replace("\n", " ") for text in figure.texts)


def test_an_axis_that_cannot_be_logarithmic_is_told() -> None:
    with pytest.raises(ScenarioError, match="figure `f`: `protocol` is no number"):
        draw_figure(FRAME, plan(x="protocol", lines=None, log=["x"]))
    with pytest.raises(ScenarioError, match="figure `f`: nothing is over 0 along y"):
        draw_figure(FRAME, plan(value="-rate", log=["y"]))
    with pytest.raises(ScenarioError, match="figure `f`: nothing is over 0 along x"):
        draw_figure(FRAME, plan(value="-rate", log=["x"], draw="cdf", x=None))


def test_a_band_below_0_ends_at_the_edge_of_a_logarithmic_axis() -> None:
    frame = FRAME.filter(pl.col("seed") < 2).with_columns(rate=pl.col("seed") + 1.0)
    # Of 1 and 2 the interval is 1.5 ± 6.35.
    axes = draw_figure(frame, plan(log=["y"])).axes[0]
    assert axes.collections[0].get_paths()[0].vertices[:, 1].min() == pytest.approx(0.8 * 1.5)


def test_equal_numbers_have_room_on_a_logarithmic_axis() -> None:
    least, most = draw_figure(FRAME, plan(value="5", log=["y"])).axes[0].get_ylim()
    assert least < 4.0 < 6.0 < most


def test_more_lines_than_colours_are_dashed() -> None:
    frame = pl.LazyFrame({"run": map(str, range(9)), "seed": range(9), "x": [1] * 9, "rate": [1.0] * 9})
    lines = [
        line
        for line in draw_figure(frame, plan(x="x", lines="seed")).axes[0].lines
        if not str(line.get_label()).startswith("_")
    ]
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 9


def test_the_note_says_of_how_many_runs_means_are() -> None:
    def note(frame: pl.LazyFrame) -> str:
        return draw_figure(frame, plan()).texts[1].get_text().replace("\n", " ")

    assert note(FRAME) == "line: mean over 3 runs; band: its 95 % confidence interval (Student's t)"
    assert note(FRAME.filter(seed=0)) == "line: mean over 1 run"
    assert "over 2 to 3 runs" in note(FRAME.filter(pl.col("run") != "lia0.021"))


def test_the_note_says_what_differs_among_the_runs_of_a_mean() -> None:
    def note(varied: list[str], **keys: object) -> str:
        text = draw_figure(frame, plan(**keys), varied=varied).texts[1].get_text().replace("\n", " ")
        return text.partition(";")[0]

    # The queue goes with the delay, so at one delay there is one queue.
    frame = FRAME.with_columns(queue=1.0 / pl.col("delay_s"))
    varied = ["protocol", "delay_s", "queue", "seed"]
    assert note(varied) == "line: mean over 3 runs, over seed"
    assert note(varied, x="protocol", lines=None).endswith("point: mean over 6 runs, over delay_s, queue and seed")
    assert note(varied, x="seed", lines=None, where="protocol = 'lia'").endswith("over 2 runs, over delay_s and queue")
    assert note([*varied, "gone"], x="seed", lines="delay_s").endswith("over 2 runs, over protocol")


# Boxes and distributions.


def test_boxes_are_of_the_numbers_of_all_runs() -> None:
    numbers = drawn_numbers(FRAME, plan(draw="boxes"))
    assert numbers.columns == ["protocol", "delay_s", "count", "runs", "p5", "p25", "median", "p75", "p95"]
    # Of 20, 22, 24 the quarters are 21 and 23.
    assert numbers.row(0)[:4] == ("olia", 0.01, 3, 3)
    assert numbers.row(0)[5:8] == (21.0, 22.0, 23.0)
    axes = draw_figure(FRAME, plan(draw="boxes", log=["y"])).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.01", "0.02"]
    assert [to_hex(patch.get_edgecolor()) for patch in axes.patches[::2]] == [LOOKS[n].colour for n in ("OLIA", "LIA")]


def test_a_curve_steps_up_to_the_share_that_is_no_greater() -> None:
    frame = pl.LazyFrame({"run": list("abcd"), "rate": [3.0, 1.0, 1.0, 2.0]})
    numbers = drawn_numbers(frame, plan(draw="cdf", x=None, lines=None, join="each"))
    assert numbers.rows() == [(1.0, 0.5), (2.0, 0.75), (3.0, 1.0)]
    axes = draw_figure(frame, plan(draw="cdf", x=None, lines=None, label="rate (bit/s)")).axes[0]
    assert curves(axes) == {"rate (bit/s)": [(1.0, 0.0), (1.0, 0.5), (2.0, 0.75), (3.0, 1.0)]}
    assert (axes.get_xlabel(), axes.lines[0].get_drawstyle()) == ("rate (bit/s)", "steps-post")


def test_curves_keep_apart_what_by_names_and_stand_in_the_order_of_the_runs() -> None:
    frame = pl.concat([FRAME.with_columns(name=pl.lit(name)) for name in "ab"])
    numbers = drawn_numbers(frame, plan(draw="cdf", x=None, by=["name"]))
    assert numbers["protocol"].unique(maintain_order=True).to_list() == ["olia", "lia"]
    assert numbers.filter(protocol="olia")["share"].to_list() == pytest.approx(np.arange(1, 7) / 6)


@pytest.mark.parametrize("draw", ["lines", "boxes", "cdf"])
def test_what_is_drawn_may_have_any_name(draw: str) -> None:
    # Series have a column `name`, subflows one of `rank`.
    frame = FRAME.rename({"protocol": "name", "delay_s": "rank", "seed": "panel"})
    own = {"draw": draw, "x": None if draw == "cdf" else "rank", "lines": "name"}
    own |= {} if draw == "boxes" else {"panels": "panel"}
    figure = draw_figure(frame, plan(**own))
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {"OLIA", "LIA"}
    assert len(figure.axes) == (1 if draw == "boxes" else 3)
    draw_figure(frame, plan(draw="cdf", x=None, lines="rank", panels="name"))


def test_on_a_logarithmic_axis_a_curve_begins_with_the_share_below() -> None:
    frame = pl.LazyFrame({"run": list("abcd"), "rate": [0.0, 0.0, 2.0, 4.0]})
    figure = draw_figure(frame, plan(draw="cdf", x=None, lines=None, log=["x"], label="r"))
    assert curves(figure.axes[0]) == {"r": [(2.0, 0.75), (4.0, 1.0)]}
    assert any("values up to 0 count" in text.get_text() for text in figure.texts)


@settings(max_examples=30)
@given(st.integers(1, 5 * STEPS))
def test_curves_of_many_numbers_are_thinned_and_stay_as_they_are(count: int) -> None:
    frame = pl.LazyFrame({"run": ["r"] * count, "rate": np.arange(count, dtype=float)})
    numbers = drawn_numbers(frame, plan(draw="cdf", x=None, lines=None, join="each"))
    assert len(numbers) <= STEPS + 1
    assert (numbers["value"][0], numbers["value"][-1], numbers["share"][-1]) == (0.0, count - 1.0, 1.0)
    # What is left is where it was, and between there is no greater step than one of all, or of the thinned.
    assert numbers["share"].to_list() == pytest.approx(((numbers["value"] + 1.0) / count).to_list())
    assert numbers["share"].diff().fill_null(0.0).max() <= 1.0 / count + 1.0 / STEPS


# Files.


def test_every_plan_becomes_files_and_the_same_ones_again(tmp_path: Path) -> None:
    plans = [plan(file="lines"), plan(file="boxes", draw="boxes"), plan(file="cdf", draw="cdf", x=None)]
    tables = {"connections": lambda: FRAME}
    written = write_summaries(tables, [table(by=["delay_s"])], plans, tmp_path / "a" / "b")
    names = ["t.csv", *(f"{name}.{suffix}" for name in ("lines", "boxes", "cdf") for suffix in ("svg", "png", "csv"))]
    assert [file.name for file in written] == names
    assert sorted(file.name for file in (tmp_path / "a" / "b").iterdir()) == sorted(names)
    assert pl.read_csv(written[0])["mean"].to_list() == [72.0, 61.0]
    contents = [file.read_bytes() for file in written]
    assert [file.read_bytes() for file in write_summaries(tables, [table(by=["delay_s"])], plans, tmp_path / "c")] == (
        contents
    )


def test_mistakes_are_told_before_anything_is_written(tmp_path: Path) -> None:
    for of, twin, message in (
        ("links", "f", "table `t`: the runs have no table `connections`; take one of links"),
        ("connections", "T", "figure `T`: another table or figure has this `file`"),
    ):
        with pytest.raises(ScenarioError, match=message):
            write_summaries({of: lambda: FRAME}, [table()], [plan(file=twin)], tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_made_is_told_with_its_name_once_all_others_are_there(tmp_path: Path) -> None:
    frame = pl.LazyFrame({"run": map(str, range(31)), "seed": range(31), "rate": [1e301] + [1.0] * 30})
    small = {"where": "rate < 9", "x": "seed", "lines": None}
    plans = [plan(file="many", **(small | {"where": None, "panels": "seed", "draw": "cdf", "x": None})), plan(**small)]
    tables = [table(file="u", where="rate < 9"), table()]
    with pytest.raises(ScenarioError, match=r"^figure `many`: there are 31 panels to draw"):
        write_summaries({"connections": lambda: frame}, tables[:1], plans, tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["f.csv", "f.png", "f.svg", "u.csv"]
    # The first of two is told.
    with pytest.raises(ScenarioError, match=r"^table `t`: there are numbers over 1e\+300"):
        write_summaries({"connections": lambda: frame}, tables[::-1], plans, tmp_path / "a")
    assert len(list((tmp_path / "a").iterdir())) == 4


@pytest.mark.parametrize(("of", "record"), [("waits", "waits"), ("spread", "errors")])
def test_a_table_that_was_not_recorded_is_told(tmp_path: Path, of: str, record: str) -> None:
    frame = pl.LazyFrame({"run": ["r"], "point": [0], "delay_s": [0.01]}).clear()
    own = table(of=of, value="1", join="count")
    message = f'^table `t`: the runs have no table `{of}`; add "{record}" to `record` under \\[run\\] of the scenario$'
    with pytest.raises(ScenarioError, match=message):
        write_summaries({of: lambda: frame}, [own], [], tmp_path, varied=["delay_s"])
    with pytest.raises(ScenarioError, match=f"figure `f`: the runs have no table `{of}`"):
        draw_figure(frame, plan(of=of), varied=["delay_s"])
    # Of what was varied a number can be made, of each run.
    write_summaries({"runs": lambda: frame}, [table(of="runs", value="delay_s")], [], tmp_path, varied=["delay_s"])


def test_nothing_to_draw_is_told() -> None:
    with pytest.raises(ScenarioError, match="figure `f`: there is nothing to draw"):
        draw_figure(FRAME, plan(where="seed > 9"))
    rows = {"panel": map(str, range(31)), "name": "n", "value": 1.0, "share": 1.0}
    with pytest.raises(ScenarioError, match="there are 31 panels to draw; there must be some, 30 at most"):
        figures.draw_distributions(pl.DataFrame(rows), xlabel="x", title="t")
