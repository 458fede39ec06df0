"""Pictures of runs: drawn without warnings, the same bytes each time, and saying what they must."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.text import Text

import anabranch as ab
from anabranch.errors import ScenarioError
from anabranch.figures import (
    draw_completions,
    draw_errors,
    draw_loads,
    draw_longest_queue,
    draw_network,
    draw_queues,
    draw_rates,
    draw_result,
)
from anabranch.figures.network import UTILISATION
from anabranch.figures.panels import MOST_LINES, rate_unit
from anabranch.runs.series import Series

JOIN = Path(__file__).parents[1] / "scenarios" / "join-and-leave.toml"
DRAWINGS = {
    "rates": draw_rates,
    "subflows": lambda results, **options: draw_rates(results, subflows=True, **options),
    "errors": draw_errors,
    "queues": draw_queues,
    "queues over time": lambda results, **options: draw_queues(results, over="time", **options),
    "longest queue": draw_longest_queue,
    "completions": draw_completions,
    "bottlenecks": lambda results, **options: draw_errors(results, of="link", **options),
    "loads": draw_loads,
    "loads over time": lambda results, **options: draw_loads(results, over="time", **options),
}


@pytest.fixture(scope="module")
def result():
    return ab.run(JOIN, sets=['run.record=["connections", "subflows", "links", "fairness", "grants", "errors"]'])


@pytest.fixture(scope="module")
def other():
    record = 'run.record=["connections", "subflows", "links", "fairness", "errors"]'
    return ab.run(JOIN, sets=["defaults.connection.protocol=vo-le-tran", record])


def lines(figure, panel=0):
    """The lines of a panel by label; dashed ones have none."""
    return {line.get_label(): line for line in figure.axes[panel].get_lines() if not line.get_label().startswith("_")}


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())
def test_a_picture_of_one_or_several_results_repeats_byte_for_byte(tmp_path, result, other, draw):
    for name in ("first.svg", "again.svg"):
        draw({"one": result, "two": other, "three": result, "four": other}, file=tmp_path / name)
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()
    draw(result, file=tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_rates_are_steps_from_grant_to_grant_in_the_unit_that_suits(result):
    figure = draw_rates(result)
    through = lines(figure)["through"]
    assert through.get_drawstyle() == "steps-post"
    assert through.get_ydata()[-1] == pytest.approx(7.0, rel=1e-3)
    assert through.get_xdata()[-1] == 4.0
    assert figure.axes[0].get_ylabel() == "rate of the connection (Mbit/s)"
    # "last" ends with its last byte, though the run goes on.
    assert lines(figure)["last"].get_xdata()[-1] == pytest.approx(2.02, abs=0.01)


def test_without_grants_rates_are_drawn_from_sample_to_sample(other):
    line = lines(draw_rates(other))["through"]
    assert line.get_drawstyle() == "default"
    assert len(line.get_xdata()) == 500


def test_panels_have_the_same_axes_and_names(result, other):
    figure = draw_rates({"d-SLEN": result, "Vo-Le-Tran (reconstruction)": other}, window_s=(0.5, 1.5))
    left, right = figure.axes
    assert (left.get_xlim(), left.get_ylim()) == (right.get_xlim(), right.get_ylim())
    assert left.get_xlim() == (0.5, 1.5)
    most = max(line.get_ydata().max() for panel in (0, 1) for line in lines(figure, panel).values())
    assert left.get_ylim()[0] == 0.0
    assert left.get_ylim()[1] > most
    assert [axes.get_title(loc="left") for axes in (left, right)] == ["d-SLEN", "Vo-Le-Tran (reconstruction)"]


def test_the_axis_of_rates_suits_what_is_seen(result, other):
    # Until 1 s "through" and "last" have 6 Mbit/s; before 0.5 s the other protocol grants many times that.
    assert draw_rates(other).axes[0].get_ylim()[1] > 15.0
    assert draw_rates(result, window_s=(0.5, 0.9)).axes[0].get_ylim()[1] == pytest.approx(6.3, rel=0.01)
    cut = draw_rates({"one": result, "two": other}, most_bps=12e6)
    assert [axes.get_ylim() for axes in cut.axes] == [(0.0, 12.0)] * 2


def test_the_subflows_of_chosen_connections_are_drawn(result):
    assert set(lines(draw_rates(result, connections=["through"], subflows=True))) == {"through/1", "through/2"}


def test_too_many_lines_are_cut_and_told():
    text = JOIN.read_text(encoding="utf-8")
    head, link = (
        text[: text.index("[[connection]]")],
        '[[connection]]\nname = "c{}"\nsource = "west"\ntarget = "east"\n',
    )
    many = ab.run(head.replace("4 s", "500 ms") + "".join(link.format(i) for i in range(9)))
    figure = draw_rates(many)
    assert list(lines(figure)) == [f"c{i}" for i in range(MOST_LINES)]
    assert "the first 7 of 9 connections" in " ".join(text.get_text() for text in figure.texts)


def test_bars_stand_for_the_links_in_use_greatest_first(result, other):
    axes = draw_queues({"one": result, "two": other}).axes[0]
    assert len(axes.containers) == 2
    names = [label.get_text() for label in axes.get_yticklabels()]
    most = dict(result.links.select("link", "most_packets").iter_rows())
    assert set(names) == {"west-middle", "middle-east", "west-east"}
    assert [bar.get_width() for bar in axes.containers[0]] == [most[name] for name in names]


def test_loads_over_time_are_in_percent_of_the_capacity(result):
    figure = draw_loads(result, over="time", links=["west-east"])
    shown = lines(figure)["west-east"].get_ydata()
    carried = result.series["links"].filter(link="west-east")["carried_bps"]
    assert list(shown) == pytest.approx((carried / 4e6 * 100).to_list())


def test_a_network_is_coloured_by_the_loads_of_a_run(tmp_path, result):
    figure = draw_network(result.network, result, file=tmp_path / "map.svg")
    # Links are drawn the idle ones first, the busiest last.
    groups = [group for group in figure.axes[0].collections if isinstance(group, PolyCollection)]
    colours = [colour for group in groups for colour in group.get_facecolor().tolist()]
    # 3 ways back without traffic, then 68 %, 80 % and 99 %; see the run in docs/how-to/simulate.md.
    assert colours[:3] == [list(to_rgba("#c6cfda"))] * 3
    assert colours == UTILISATION([0.0, 0.0, 0.0, *result.links["utilisation"].sort()[3:]]).tolist()
    redness = [red - blue for red, _, blue, _ in colours[2:]]
    assert redness[0] < 0.0 < min(redness[1:])
    assert sum(colours[-1][:3]) < sum(colours[-2][:3]) < sum(colours[0][:3])
    with pytest.raises(ScenarioError, match="the result is of 6 links and the network has 10"):
        draw_network(ab.generate.ring(5), result)


CHANGING = """
title = "Half of it"
[defaults.connection]
protocol = "d-slen"

[run]
duration = "2 s"
[[link]]
source = "a"
target = "b"
capacity = "8 Mbit/s"
delay = "5 ms"
capacity_changes = [{ at = "1 s", capacity = "4 Mbit/s" }]
[[connection]]
source = "a"
target = "b"
demand = "2 Mbit/s"
"""


def test_loads_over_time_are_of_the_capacity_at_that_time():
    # 2 of 8 Mbit/s, then 2 of 4; a sample before and after the change are as the others.
    line = lines(draw_loads(ab.run(CHANGING), over="time", links=["a-b"]))["a-b"]
    load = dict(zip(line.get_xdata().round(6), line.get_ydata(), strict=True))
    for start, end, wanted in ((0.5, 1.0, 25.0), (1.5, 2.0, 50.0)):
        seen = [value for time, value in load.items() if start < time <= end]
        assert sum(seen) / len(seen) == pytest.approx(wanted, rel=0.01)
    assert max(load.values()) <= 100.0


def test_more_links_than_colours_are_all_drawn_and_told(result):
    ring = '[network]\ngenerate.ring = { nodes = 9 }\n[run]\nduration = "1 ms"\n'
    nine = ab.run(ring + '[[connection]]\nsource = "n0"\ntarget = "n4"\npaths = 1\nprotocol = "d-slen"\n')
    names = nine.links["link"].to_list()[:9]
    for draw in (draw_queues, draw_loads):
        figure = draw(nine, over="time", links=names)
        assert list(lines(figure)) == names
        assert "9 links; colours repeat" in " ".join(text.get_text() for text in figure.texts)
        bars = draw(nine, links=names[:3])
        assert [label.get_text() for label in bars.axes[0].get_yticklabels()] == names[:3]


def test_a_link_must_be_in_every_result(result):
    single = ab.run(CHANGING)
    for over in ("links", "time"):
        with pytest.raises(ScenarioError, match="there is no link `west-east` in `two`; name one of its 2"):
            draw_queues({"one": result, "two": single}, over=over, links=["west-east"])
    with pytest.raises(ScenarioError, match="there is no connection `through` in `two`"):
        draw_rates({"one": result, "two": single}, connections=["through"])


@pytest.mark.parametrize("name", sorted(DRAWINGS.keys() - {"completions"}))
def test_a_window_must_begin_before_it_ends(result, name):
    draw = DRAWINGS[name]
    with pytest.raises(ValueError, match=r"it must begin before it ends|bars are of the whole run"):
        draw(result, window_s=(1, 0))


def test_queues_are_linear_up_to_ten_and_logarithmic_beyond(result, other):
    few = draw_queues(result, over="time")
    assert few.axes[0].get_yscale() == "linear"
    many = draw_queues({"one": result, "two": other}, over="time")
    assert other.links["most_packets"].max() > 10
    assert {axes.get_yscale() for axes in many.axes} == {"symlog"}
    assert "the axis is linear up to 10 and logarithmic beyond" in " ".join(text.get_text() for text in many.texts)


def test_fair_rates_are_steps_where_rates_are(result, other):
    for own, style in ((result, "steps-post"), (other, "default")):
        dashed = [line for line in draw_rates(own).axes[0].get_lines() if line.get_linestyle() == "--"]
        assert [line.get_drawstyle() for line in dashed] == [style] * 3


def test_titles_name_the_scenario(result):
    for draw in DRAWINGS.values():
        assert draw(result).texts[0].get_text().endswith(": Join and leave")


def test_legends_read_row_by_row():
    text = JOIN.read_text(encoding="utf-8")
    head = text[: text.index("[[connection]]")].replace("4 s", "100 ms")
    link = '[[connection]]\nname = "{}"\nsource = "west"\ntarget = "east"\n'
    names = [f"connection number {i}" for i in range(7)]
    figure = draw_rates(ab.run(head + "".join(link.format(name) for name in names)))
    figure.canvas.draw()
    renderer = FigureCanvasAgg(figure).get_renderer()
    places = {t.get_text(): t.get_window_extent(renderer) for t in figure.legends[0].get_texts()}
    assert sorted(names, key=lambda name: (-round(places[name].y0), places[name].x0)) == names
    assert len({round(place.y0) for place in places.values()}) > 1


def nasty(result, extent=1.0):
    """A result of long names, whose granted rates are so many times as great."""
    long = "something with a name that is much longer than any name ought to be "
    title = result.meta | {"title": "A scenario with a title that goes on and on, " * 5}

    def renamed(frame, column):
        return frame.with_columns((pl.lit(long) + pl.col(column)).alias(column))

    scaled = cs.by_name("granted_bps", "error", require_all=False) * extent
    names = {"connections": "connection", "subflows": "subflow", "links": "link"}
    tables = {kind: table.with_columns(scaled) for kind, table in result.series.items()}
    series = Series({kind: renamed(own, names[kind]) if kind in names else own for kind, own in tables.items()})
    frames = {"connections": renamed(result.connections, "connection"), "links": renamed(result.links, "link")}
    subflows = renamed(renamed(result.subflows, "connection"), "subflow")
    return replace(result, meta=title, series=series, grants=None, subflows=subflows, **frames)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS.keys())
def test_all_text_lies_inside_the_page(result, other, draw, count):
    for results in ([result, other], [nasty(other, 1000.0), nasty(result)]):
        figure = draw({f"result number {i} of {count}, with a long name": results[i % 2] for i in range(count)})
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        page = figure.bbox
        texts = {text for text in figure.findobj(Text) if text.get_visible() and text.get_text()}
        for text in texts - undrawn(figure):
            box = text.get_window_extent(canvas.get_renderer())
            assert page.x0 <= box.x0, text
            assert box.x1 <= page.x1, text
            assert page.y0 <= box.y0, text
            assert box.y1 <= page.y1, text


def undrawn(figure):
    """Ticks beyond the end of their axis, and those of places without a panel."""
    found = set()
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not axes.axison or not min(limits) <= tick.get_loc() <= max(limits):
                    found |= {tick.label1, tick.label2}
    return found


def test_all_figures_of_a_result_are_drawn_but_those_without_data(tmp_path, result):
    draw_result(result, tmp_path)
    assert len(list(tmp_path.iterdir())) == 12
    bare = ab.run(JOIN, sets=['run.record=["links"]', "run.duration=200 ms"])
    (tmp_path / "bare").mkdir()
    draw_result(bare, tmp_path / "bare")
    assert sorted(p.stem for p in (tmp_path / "bare").glob("*.svg")) == [
        "loads",
        "network",
        "queues",
        "queues_over_time",
    ]


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda result: draw_rates(result, connections=["nobody"]), "there is no connection `nobody` in the result"),
        (lambda result: draw_queues(result, over="time", links=["none"]), "there is no link `none` in the result"),
        (lambda result: draw_errors(replace(result, series=Series({}), spread=None)), "errors need rates"),
        (lambda result: draw_longest_queue(replace(result, series=Series({}))), "queues were not recorded"),
        (lambda result: draw_completions(replace(result, connections=result.connections[:2])), "no transfer was"),
        (lambda result: draw_loads(result, links=["none"]), "there is no link `none` in the result"),
        (
            lambda result: draw_loads(replace(result, series=Series({})), over="time"),
            "links were not recorded",
        ),
        (lambda result: draw_rates(result, file="rates.gif"), "there is no picture format"),
    ],
)
def test_what_cannot_be_drawn_is_refused(result, draw, words):
    with pytest.raises(ScenarioError, match=words):
        draw(result)


def test_numbers_of_links_are_drawn_over_links_or_time(result):
    for draw in (draw_queues, draw_loads):
        with pytest.raises(ValueError, match='over is "tim"; it must be one of links, time'):
            draw(result, over="tim")
        with pytest.raises(ValueError, match="bars are of the whole run; leave out window_s"):
            draw(result, window_s=(0.0, 1.0))


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match="there are no results to draw"):
        draw_rates({})


@pytest.mark.parametrize(
    ("bps", "unit"), [(0.0, "bit/s"), (999.0, "bit/s"), (1e3, "kbit/s"), (8e6, "Mbit/s"), (2e12, "Tbit/s")]
)
def test_rates_have_the_unit_that_suits_them(bps, unit):
    assert rate_unit(bps)[1] == unit


def test_the_longest_queue_and_completions_have_a_line_for_each_result(result, other):
    both = {"one": result, "two": other}
    queues = lines(draw_longest_queue(both))
    rows = result.series["links"].group_by("time_s", maintain_order=True)
    assert list(queues) == ["one", "two"]
    assert queues["one"].get_ydata().tolist() == rows.agg(pl.col("peak_packets").max())["peak_packets"].to_list()
    # One connection has an amount, 1.5 MB, that it sends in some 2 s.
    size, time = lines(draw_completions(both))["one"].get_data()
    assert (size.tolist(), time.tolist()) == ([1500.0], [pytest.approx(2.0, rel=0.05)])


def test_results_without_a_completed_transfer_have_no_line(result):
    amounts = result.connections.with_columns(completion_s=pl.lit(None, dtype=pl.Float64))
    unfinished = replace(result, connections=amounts)
    assert list(lines(draw_completions({"some": result, "none": unfinished}))) == ["some"]
    with pytest.raises(ScenarioError, match="no transfer was completed"):
        draw_completions({"none": unfinished, "none again": unfinished})


def test_errors_are_drawn_as_their_mean_and_the_band_from_the_10th_to_the_90th_percentile(result):
    found = result.errors()
    drawn = lines(draw_errors(result))
    assert list(drawn) == ["greatest and least", "mean"]
    assert drawn["mean"].get_ydata().tolist() == (100.0 * found["mean"]).to_list()
    panel = draw_errors(result).axes[0]
    band = panel.collections[0].get_datalim(panel.transData)
    assert (band.y0, band.y1) == pytest.approx((100.0 * found["p10"].min(), 100.0 * found["p90"].max()))


def test_errors_without_extremes_are_on_a_linear_axis_that_fits_what_is_seen(result):
    # Once rates have settled, all errors are far below 1 %; before, connections that have just joined are 100 % off.
    figure = draw_errors(result, window_s=(0.5, 0.9), extremes=False)
    panel = figure.axes[0]
    assert list(lines(figure)) == ["mean"]
    assert panel.get_yscale() == "linear"
    assert -1.0 < panel.get_ylim()[0] <= 0.0 <= panel.get_ylim()[1] < 1.0
    assert draw_errors(result).axes[0].get_yscale() == "symlog"


def test_queues_that_are_hundreds_of_times_as_long_as_others_leave_these_to_be_seen(result):
    def with_peaks(packets):
        peaks = result.series["run"].with_columns(peak_packets=packets)
        return replace(result, series=Series({**result.series, "run": peaks}))

    axes = draw_longest_queue({"bounded": with_peaks(2_446), "unbounded": with_peaks(634_210)}).axes[0]
    low, high = (axes.transAxes.inverted().transform(axes.transData.transform((0.0, y)))[1] for y in (2_446, 634_210))
    # More than half as high, though it is a 260th.
    assert low > 0.5 * high > 0.4
