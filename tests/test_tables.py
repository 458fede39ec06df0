"""Tables of the command line: one unit a column, names that can be told apart, no number broken."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from anabranch.commands.tables import column
from anabranch.commands.tables.cut import cut, least_width
from anabranch.commands.tables.table import table_lines
from anabranch.commands.tables.units import RATES, TIMES, aligned, unit_of
from anabranch.model.link_labels import link_label

NAMES = ["Budapest>Stockholm", "Budapest>Stuttgart", "Bucharest>Stockholm"]
RATES_BPS = [3.1897e9, 13.7672e9, 21.4e6]


def lines(columns, width=None):
    return table_lines(columns, width)[0]


def test_a_column_has_one_unit_and_three_digits_with_points_below_each_other():
    # 21.4 Mbit/s are 0.0214 Gbit/s: the unit is that of the largest.
    assert lines([column.names("name", ["a", "b", "c"]), column.rates("rate", RATES_BPS)]) == [
        "name     rate",
        "       Gbit/s",
        "a      3.19",
        "b     13.8",
        "c      0.0214",
    ]


def test_a_single_large_number_does_not_hide_the_others():
    # In Tbit/s the median would be 0.00004: the column is in Gbit/s.
    assert unit_of([40e6, 40e6, 50e6, 1e12], RATES) == (1e9, "Gbit/s")
    assert unit_of([40e6, 1e9, 2e9], RATES) == (1e9, "Gbit/s")


@pytest.mark.parametrize(
    ("values", "units", "unit"),
    [
        ([0.0, 0.0], RATES, "bit/s"),
        ([None, None], RATES, ""),
        ([999.96e6], RATES, "Gbit/s"),
        ([math.inf, 5e6], RATES, "Mbit/s"),
        ([0.0021], TIMES, "ms"),
        ([1e-15], TIMES, "ns"),
        ([5000.0], TIMES, "s"),
    ],
)
def test_the_unit_is_that_of_the_largest_number(values, units, unit):
    assert unit_of(values, units)[1] == unit


def test_whole_numbers_have_no_point_if_all_are_whole():
    assert aligned([10e6, 4e6, None], 1e6) == ["10", "4", ""]
    assert aligned([10e6, 4.5e6], 1e6) == ["10.0 ", "4.50"]


def test_numbers_of_any_size_are_written():
    texts = [text.strip() for text in aligned([math.inf, 0.0, 1.25e-9, 123456.7], 1.0)]
    assert texts == ["unlimited", "0", "1.25e-9", "123457"]


@given(st.lists(st.floats(0, 1e15, allow_nan=False), min_size=1))
def test_points_are_below_each_other_and_numbers_are_right_to_three_digits(values):
    scale, _ = unit_of(values, RATES)
    texts = aligned(values, scale)
    width = max(map(len, texts))
    ends = {width - len(text) + (text.index(".") if "." in text else len(text.rstrip())) for text in texts}
    assert len(ends) == 1 or any("e" in text for text in texts)
    for value, text in zip(values, texts, strict=True):
        assert float(text) * scale == pytest.approx(value, rel=5.1e-3, abs=1e-300)


def test_there_are_no_blanks_at_the_ends_of_lines():
    shown = lines([column.names("name", NAMES), column.labels("note", ["", "x", ""])])
    assert all(line == line.rstrip() for line in shown)


def test_names_are_cut_in_the_middle_when_there_is_no_room():
    assert cut(["Copenhagen-Hamburg", "Rome-Athens"], 13) == ["Copenh…amburg", "Rome-Athens"]


def test_names_that_begin_and_end_alike_are_told_apart_when_cut():
    # Four letters at each end say Buda…holm twice; all at the beginning say Budapest…: what differs is in the middle.
    names = ["Buda-west-holm", "Buda-east-holm", "Buda-north-holm"]
    assert len(set(cut(names, least_width(names)))) == 3
    assert len(set(cut(names, 5))) == 3


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z", "M")), max_size=30), unique=True))
def test_cut_names_are_different_and_no_wider_than_the_column(names):
    width = least_width(names)
    short = cut(names, width)
    assert len(set(short)) == len(names)
    assert all(cell_len(text) <= width for text in short)


def test_columns_are_left_out_by_importance_and_named():
    columns = [
        column.names("connection", NAMES),
        column.rates("rate", RATES_BPS),
        column.rates("demand", RATES_BPS, leaves=1),
        column.rates("level", RATES_BPS, leaves=2),
    ]
    shown, headings, left_out = table_lines(columns, 34)
    assert (headings, left_out) == (2, ["level"])
    assert max(map(len, shown)) <= 34
    assert table_lines(columns, 24)[2] == ["level", "demand"]


@given(st.integers(20, 200))
def test_no_line_is_wider_than_the_terminal_and_no_number_is_broken(width):
    columns = [
        column.names("connection", NAMES),
        column.rates("rate", RATES_BPS),
        column.rates("level", RATES_BPS, leaves=1),
        column.words("why", ["the quick brown fox jumps", "over", "the lazy dog"], leaves=2),
    ]
    shown, headings, _ = table_lines(columns, width)
    assert max(map(len, shown)) <= width
    assert sum(bool(re.search(r"(?<!\S)(3\.19|13\.8|0\.0214)(?!\S)", line)) for line in shown[headings:]) == 3


def test_texts_are_broken_between_words_and_stay_in_their_column():
    shown = lines([column.labels("verdict", ["off"]), column.words("claim", ["one two three four five six"])], 27)
    assert shown == ["verdict  claim", "off      one two three four", "         five six"]


def test_a_number_stays_with_its_unit_where_a_text_is_broken():
    shown = lines([column.labels("", ["a"]), column.words("said", ["carried as much as 879 Gbit/s of 1 Tbit/s"])], 24)
    assert shown[1:] == ["a  carried as much as", "   879 Gbit/s of", "   1 Tbit/s"]


def test_control_characters_of_names_are_written_out():
    assert lines([column.names("name", ["\x1b[31mX"])])[1] == "\\x1b[31mX"


@pytest.mark.parametrize(
    ("name", "source", "target", "label"),
    [
        ("L35~", "Berlin", "Leipzig", "L35~ Berlin-Leipzig"),
        ("Berlin-Leipzig", "Berlin", "Leipzig", "Berlin-Leipzig"),
        ("uplink of Berlin", "Berlin", "Leipzig", "uplink of Berlin"),
        ("L12", "1", "2", "L12 1-2"),
        ("1-2", "1", "2", "1-2"),
    ],
)
def test_a_link_whose_name_has_neither_end_is_shown_with_its_ends(name, source, target, label):
    assert link_label(name, source, target) == label
