"""A large run in a report: 1,000 connections, 2,000 links and 1,000 samples fit into 20 MB."""

import numpy as np
import pytest

import anabranch as ab
from anabranch.page import result_content, write_report
from anabranch.page.content import read_series

LARGE = """
title = "Large"

[network]
generate.random-regular = { nodes = 500, degree = 4, capacity = "20 Mbit/s", delay = "2 ms" }

[defaults.connection]
protocol = "lia"
paths = 3

[[traffic]]
count = 1000

[run]
duration = "2 s"
sample = "2 ms"
record = ["connections", "subflows", "windows", "links", "fairness"]
"""


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    file = tmp_path_factory.mktemp("large") / "large.toml"
    file.write_text(LARGE, encoding="utf-8")
    return result_content(ab.run(file))


def test_a_large_run_fits_into_twenty_megabytes(content, tmp_path):
    header = content.header
    sizes = [len(header[of]["name"]) for of in ("connections", "links")] + [len(header["times_s"])]
    assert sizes == [1000, 2000, 1000]
    # Windows swing all the time, so that little stays the same from sample to sample.
    assert np.nanstd(read_series(header, content.blob())["subflow", "window_bytes"]) > 1000.0
    write_report([content], tmp_path / "large.html")
    assert (tmp_path / "large.html").stat().st_size < 20e6
