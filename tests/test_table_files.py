"""Tables as Parquet files: what is read again is what was written, whatever lies in the columns."""

import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from anabranch import _core

DTYPES = {"f": pl.Float64, "i": pl.Int64, "u": pl.UInt64, "w": pl.UInt32, "t": pl.String}
GROUP_ROWS = 1 << 18


def read(content: bytes) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(content))


def assert_same_again(*frames: pl.DataFrame, group_rows: int = GROUP_ROWS) -> None:
    for frame, content in zip(frames, _core.parquet_files(frames, group_rows), strict=True):
        # Types, order of columns and rows, and which are null are compared, too.
        assert_frame_equal(read(content), frame, check_exact=True)


def test_numbers_and_texts_keep_their_types_ends_and_nulls():
    frame = pl.DataFrame(
        {
            "f": [0.1, None, -0.0, 5e-324, 1.7976931348623157e308],
            "i": [-(2**63), 2**63 - 1, None, 0, 1],
            "u": [0, 2**64 - 1, 2**63, None, 1],
            "w": [0, 2**32 - 1, 2**31, 1, None],
            # 12 bytes lie beside the length of a text, 13 elsewhere.
            "t": [None, "", "twelve bytes", "thirteen byte", "Größe → 名前 of a long link"],
        },
        schema=DTYPES,
    )
    assert_same_again(frame)


def test_tables_without_rows_keep_their_columns():
    assert_same_again(pl.DataFrame(schema=DTYPES), pl.DataFrame({"f": [1.0]}).clear())


def test_columns_of_nulls_keep_their_types():
    assert_same_again(pl.DataFrame({name: [None] * 3 for name in DTYPES}, schema=DTYPES))


def test_no_tables_are_no_files():
    assert _core.parquet_files([], GROUP_ROWS) == []


def test_tables_of_several_chunks_are_written_whole():
    one = pl.DataFrame({"f": [1.0, None], "t": ["a", "a text that is longer"]})
    two = pl.DataFrame({"f": [None, 4.0, 5.0], "t": [None, "b", "another that is longer"]})
    frame = pl.concat([one, two, one.clear(), one], rechunk=False)
    assert frame.n_chunks() > 1
    for group_rows in (1, 2, 3, 4, 100):
        assert_same_again(frame, group_rows=group_rows)


def test_columns_with_chunks_of_their_own_stay_row_by_row():
    parts = [pl.Series("f", [1.0, 2.0]), pl.Series("f", [3.0])]
    frame = pl.DataFrame([parts[0].append(parts[1]), pl.Series("t", ["a", "b", None])])
    assert_same_again(frame, group_rows=2)


def test_slices_of_tables_are_written_without_the_rest():
    frame = pl.DataFrame(
        {"f": [float(i) if i % 3 else None for i in range(50)], "t": [f"row {i:012}" for i in range(50)]}
    )
    # Nulls are bits: a slice begins within a byte.
    assert_same_again(frame[3:29], frame[29:], frame[11:11])


def test_a_million_rows_are_the_same_again():
    rows = 1_000_000
    rng = np.random.default_rng(1)
    names = pl.Series([f"connection {i}" for i in range(1000)], dtype=pl.String)
    numbers = pl.Series(rng.integers(0, 2**64, rows, dtype=np.uint64))
    frame = pl.DataFrame(
        {
            "f": pl.Series(np.where(rng.random(rows) < 0.3, np.nan, rng.random(rows)), nan_to_null=True),
            "u": numbers,
            "w": numbers.cast(pl.UInt32, wrap_numerical=True),
            "t": names[rng.integers(0, 1000, rows)],
            # Too many to be listed in a dictionary.
            "each": numbers.cast(pl.String),
        }
    )
    assert_same_again(frame)


def test_only_files_of_several_groups_tell_minima_and_maxima():
    # Statistics are bytes of the values, in the file's end: the greatest number stands in the data, and then there.
    frame = pl.DataFrame({"u": pl.Series([1, 2, 0x1122334455667788], dtype=pl.UInt64)})
    mark = bytes.fromhex("8877665544332211")
    (one,), (two,) = (_core.parquet_files([frame], rows) for rows in (3, 2))
    assert one.count(mark) == 1
    assert two.count(mark) > 1


def test_the_same_tables_are_the_same_bytes():
    frame = pl.DataFrame({"f": [0.5, None], "t": ["a", "b"]})
    assert _core.parquet_files([frame, frame], GROUP_ROWS) == 2 * _core.parquet_files([frame.clone()], GROUP_ROWS)


def test_columns_that_no_result_has_are_refused():
    with pytest.raises(TypeError, match="column `when`: no results have the Arrow type"):
        _core.parquet_files([pl.DataFrame({"when": [None]}, schema={"when": pl.Date})], GROUP_ROWS)


VALUES = {
    "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "i": st.none() | st.integers(-(2**63), 2**63 - 1),
    "u": st.none() | st.integers(0, 2**64 - 1),
    "w": st.none() | st.integers(0, 2**32 - 1),
    "t": st.none() | st.text(st.characters(codec="utf-8"), max_size=40),
}
ROWS = st.lists(st.tuples(*VALUES.values()), max_size=30)


@given(st.lists(ROWS, min_size=1, max_size=4), st.integers(1, 40))
def test_any_table_in_any_chunks_is_the_same_again(chunks, group_rows):
    frames = [pl.DataFrame(rows, schema=DTYPES, orient="row") for rows in chunks]
    assert_same_again(pl.concat(frames, rechunk=False), group_rows=group_rows)
