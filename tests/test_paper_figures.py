"""Figures for papers, and of what windows do: sizes, fonts, formats, and lines that can be told apart."""

import json
import re
from pathlib import Path

import pytest
from matplotlib.colors import to_hex

import anabranch as ab
from anabranch.errors import ScenarioError
from anabranch.figures import draw_bands, draw_result
from anabranch.figures.line_colours import line_colours
from anabranch.figures.paper import paper_of, read_width
from anabranch.figures.protocol_styles import protocol_looks
from anabranch.figures.shades import shades_of
from anabranch.figures.style import COLOURS
from command import run

TWO_LINKS = """
title = "Rivals"
[run]
duration = "2 s"
record = ["connections", "subflows", "links", "fairness", "windows"]
[defaults.link]
queue = "50 packets"
[[link]]
name = "upper"
source = "a"
target = "b"
capacity = "10 Mbit/s"
delay = "5 ms"
[[link]]
name = "lower"
source = "a"
target = "b"
capacity = "5 Mbit/s"
delay = "20 ms"
[[connection]]
name = "phone"
source = "a"
target = "b"
protocol = "lia"
links = [["upper"], ["lower"]]
[[connection]]
name = "one"
source = "a"
target = "b"
protocol = "cubic"
links = [["upper"]]
[[connection]]
name = "two"
source = "a"
target = "b"
protocol = "cubic"
links = [["lower"]]
"""


@pytest.fixture(scope="module")
def rivals():
    return ab.run(TWO_LINKS)


@pytest.fixture(scope="module")
def granted():
    return ab.run(Path(__file__).parents[1] / "scenarios" / "join-and-leave.toml")


def named_lines(figure):
    return {line.get_label(): line for line in figure.axes[0].get_lines() if not line.get_label().startswith("_")}


def words(figure):
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


@pytest.mark.parametrize(("width", "inches"), [("column", 3.5), ("page", 7.16), (5, 5.0)])
def test_a_figure_has_the_width_of_the_paper_and_no_title(rivals, width, inches):
    for draw in (ab.draw_rates, ab.draw_windows, ab.draw_queues, ab.draw_loads):
        figure = draw(rivals, width=width)
        assert figure.get_figwidth() == pytest.approx(inches)
        assert 0.2 * inches < figure.get_figheight() < 1.2 * inches
        assert not any("Rivals" in text for text in words(figure))
    assert any("Rivals" in text for text in words(ab.draw_rates(rivals)))
    assert "Mine" in words(ab.draw_rates(rivals, width=width, title="Mine"))


def test_letters_are_set_in_the_font_and_size(rivals):
    figure = ab.draw_rates(rivals, width="column", font="serif", font_size=7)
    label = figure.axes[0].xaxis.get_label()
    assert (label.get_fontfamily()[0], label.get_size()) == ("STIXGeneral", 7.0)
    assert ab.draw_rates(rivals).axes[0].xaxis.get_label().get_fontfamily() == ["sans-serif"]


def test_nothing_on_a_narrow_paper_is_cut(rivals, granted):
    figures = [draw(rivals, width="column") for draw in (ab.draw_rates, ab.draw_windows, ab.draw_round_trips)]
    figures += [ab.draw_network(result.network, result, width="column") for result in (rivals, granted)]
    figures += [ab.draw_queues(rivals, over="time", width="column"), ab.draw_errors(granted, width="column")]
    for figure in figures:
        figure.draw_without_rendering()
        right, top = figure.bbox.max
        for text in figure.findobj(lambda artist: hasattr(artist, "get_text") and artist.get_text()):
            inside = text.axes is None or text.axes.axison
            if inside and text.get_visible() and text.get_window_extent().width:
                box = text.get_window_extent()
                is_tick = re.fullmatch(r"\W?[\d.+ %e]*", text.get_text())
                is_inside = min(box.x0, box.y0) >= -1 and box.x1 <= right + 1 and box.y1 <= top + 1
                assert is_tick or is_inside, text


def test_a_pdf_has_its_letters_as_truetype_no_date_and_the_same_bytes(tmp_path, rivals):
    for name in ("one.pdf", "two.pdf"):
        ab.draw_rates(rivals, file=tmp_path / name, width="column", font="serif")
    content = (tmp_path / "one.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert content == (tmp_path / "two.pdf").read_bytes()
    assert b"STIXGeneral" in content
    assert b"/CIDFontType2" in content
    assert b"/Type3" not in content
    assert b"Date" not in content
    # 3.5 inches are 252 points.
    assert re.search(rb"/MediaBox \[ 0 0 252 ", content)


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ({"width": "colum"}, "the width of a figure is `colum`; give column, page, or 2 to 40 inches"),
        ({"width": 0.1}, "give column, page, or 2 to 40 inches"),
        ({"width": float("nan")}, "give column, page, or 2 to 40 inches"),
        ({"font": "serifs"}, "there is no font `serifs` on this machine (did you mean `serif`?)"),
        ({"font_size": 400}, "font_size is 400; it must be 4 to 30 points"),
    ],
)
def test_a_paper_that_cannot_be_is_refused(rivals, choice, reason):
    with pytest.raises(ScenarioError, match=re.escape(reason)):
        ab.draw_rates(rivals, **choice)


def test_a_width_is_read_as_it_is_written():
    assert (read_width("column"), read_width("3.3")) == ("column", 3.3)
    with pytest.raises(ScenarioError, match="the width of a figure is `wide`"):
        read_width("wide")


def test_windows_and_round_trips_are_drawn_where_they_were_recorded(tmp_path, rivals, granted):
    draw_result(rivals, tmp_path, formats=["svg"])
    # Windows give no rates that could be in error.
    names = ["loads", "network", "queues", "queues_over_time", "rates", "round_trips", "windows"]
    assert sorted(file.stem for file in tmp_path.iterdir()) == names
    with pytest.raises(ScenarioError, match='add "windows" to record'):
        ab.draw_windows(granted)
    with pytest.raises(ScenarioError, match="there is no picture format `gif`"):
        draw_result(rivals, tmp_path, formats=["gif"])


def test_a_window_is_drawn_for_each_subflow_in_a_unit_that_suits(rivals):
    figure = ab.draw_windows(rivals)
    drawn = named_lines(figure)
    # A connection of one path is called as itself.
    assert list(drawn) == ["phone/1", "phone/2", "one", "two"]
    own = rivals.series["subflows"].filter(subflow="one/1")
    assert drawn["one"].get_ydata()[-1] == pytest.approx(own["window_bytes"][-1] / 1e3)
    assert figure.axes[0].get_ylabel() == "congestion window (kB)"
    assert list(named_lines(ab.draw_round_trips(rivals, connections=["two"]))) == ["two"]
    trip = named_lines(ab.draw_round_trips(rivals))["two"].get_ydata()[-1]
    # Twice 20 ms, and 50 packets of 1000 bytes at 5 Mbit/s, which are 80 ms.
    assert 40.0 <= trip <= 125.0


def test_rivals_of_one_protocol_have_colours_of_their_own(rivals):
    looks = protocol_looks()
    colours = {name: to_hex(line.get_color()) for name, line in named_lines(ab.draw_rates(rivals)).items()}
    assert len(set(colours.values())) == 3
    assert colours["phone"] == looks["LIA"].colour
    assert colours["one"] == looks["CUBIC"].colour
    # As many as there are colours can be told apart, whatever their protocols.
    assert len(set(line_colours(["LIA"] * 7))) == 7
    assert len(set(line_colours(["LIA", "CUBIC", "LIA", "OLIA", "CUBIC", "no protocol", "LIA"]))) == 7
    assert len(line_colours(["LIA"] * 100)) == 100


def test_two_nodes_have_their_links_side_by_side_with_names(rivals):
    figure = ab.draw_network(rivals.network, rivals)
    texts = {text.get_text(): text for text in figure.axes[0].texts}
    assert set(texts) == {"a", "b", "upper, 10 Mbit/s", "lower, 5 Mbit/s"}
    assert texts["upper, 10 Mbit/s"].get_position()[1] > texts["lower, 5 Mbit/s"].get_position()[1] + 20


def test_a_sweep_can_be_drawn_for_a_column():
    import polars as pl

    rows = [("", name, x, 1.0 * x, 0.9 * x, 1.1 * x) for name in ("LIA", "CUBIC") for x in (1.0, 2.0)]
    bands = pl.DataFrame(rows, schema=["panel", "name", "x", "mean", "low", "high"], orient="row")
    with paper_of({"width": "column"}):
        figure = draw_bands(bands, xlabel="delay (s)", ylabel="rate (Mbit/s)", title="")
    assert figure.get_figwidth() == pytest.approx(3.5)


def test_commands_draw_for_a_paper_and_refuse_what_no_paper_is(tmp_path):
    scenario = tmp_path / "rivals.toml"
    scenario.write_text(TWO_LINKS)
    options = ["--figure-format", "pdf", "--figure-width", "column"]
    assert run("run", scenario, "--out", tmp_path / "out", "--figures", *options).returncode == 0
    assert {file.suffix for file in (tmp_path / "out").iterdir()} == {".pdf", ".parquet", ".json", ".toml"}
    assert b"/MediaBox [ 0 0 252 " in (tmp_path / "out" / "windows.pdf").read_bytes()
    assert "--figure-format: there are no figures; add --figures" in run("run", scenario, *options).stderr
    wrong = run("run", scenario, "--out", tmp_path / "no", "--figures", "--figure-format", "gif")
    assert (wrong.returncode, (tmp_path / "no").exists()) == (2, False)
    assert "there is no picture format `gif`; take svg, png or pdf" in wrong.stderr
    wide = run("solve", scenario, "--figure", tmp_path / "map.pdf", "--figure-width", "wide")
    assert "the width of a figure is `wide`; give column, page, or 2 to 40 inches" in wide.stderr


def test_shades_are_those_of_the_page():
    held = json.loads((Path(__file__).parent / "data" / "shades.json").read_text())
    assert {colour: list(shades_of(colour)) for colour in held} == held
    assert set(held) == set(COLOURS)
