"""Several methods on one problem: the table, its columns, and what is refused."""

import json

import polars as pl
import pytest

import anabranch as ab
from command import run

FORK = ab.Problem([4.0, 10.0], [0, 1, 2, 3, 4], [0, 1, 0, 1], [0, 0, 1, 2])
"""Links of 4 and 10. Connection 0 may take either, connection 1 the first, connection 2 the second: 5, 4 and 5."""


def test_each_method_has_a_row_beside_exact_rates():
    table = ab.compare(FORK, methods=["water-filling", "dual-simplex"])
    assert table["method"].to_list() == ["water-filling", "dual-simplex"]
    assert table["fairness"].to_list() == ["max-min", "max-min"]
    filled, exact = table.iter_rows(named=True)
    assert (exact["q"], exact["total"], exact["worst"]) == (1.0, 1.0, 1.0)
    assert exact["carried"] == pytest.approx(14.0)
    # Each subflow by itself: 2 and 2 on the first link, 5 and 5 on the second, so 7, 2 and 5. Exact are 5, 4 and 5.
    assert filled["carried"] == pytest.approx(14.0)
    assert filled["worst"] == pytest.approx(2 / 4)
    assert filled["q"] == pytest.approx((5 / 7 * 2 / 4) ** (1 / 3))


def test_the_reference_is_exact_also_where_no_method_is():
    alone = ab.compare(FORK, methods=["water-filling"])
    assert alone["worst"].to_list() == pytest.approx([0.5])


def test_options_go_to_the_methods_that_take_them():
    table = ab.compare(FORK, methods=["c-slen", "dual-simplex"], start="equal", max_passes=1000)
    assert table["certified"].all()
    with pytest.raises(
        ValueError, match="bins was given, and none of the methods takes it; it is for equi-depth-binner"
    ):
        ab.compare(FORK, methods=["c-slen"], bins=3)
    with pytest.raises(ValueError, match="method swan is there twice; name each once"):
        ab.compare(FORK, methods=["swan", "swan"])
    with pytest.raises(ValueError, match="methods is 'swan'; give a list"):
        ab.compare(FORK, methods="swan")
    with pytest.raises(ValueError, match=r'method is "swann" \(did you mean `swan`\?\); it must be one of'):
        ab.compare(FORK, methods=["swann"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        ab.compare(FORK, methods=["swan"], speed=3)
    with pytest.raises(ValueError, match="swan finds max-min fair rates, not upward-max-min fair ones"):
        ab.compare(FORK, methods=["c-slen", "swan"], fairness="upward-max-min")


def test_a_comparison_prints_its_numbers():
    exact, filled = ab.solve(FORK), ab.solve(FORK, method="water-filling")
    found = filled.compare(exact)
    assert str(found).endswith("carried 100.0% of the reference; the worst-off connection has 50.0% of its rate there")
    assert repr(found).startswith("<Comparison q 0.7095, total 1, worst 0.5, theta")


def test_the_command_compares_several_methods(tmp_path):
    text = "source,target,capacity,two_way\na,b,4 Mbit/s,yes\nb,c,10 Mbit/s,yes\na,c,10 Mbit/s,yes\n"
    (tmp_path / "net.csv").write_text(text, encoding="utf-8")
    words = ("solve", "net.csv", "--demands", "uniform:9Mbit/s", "--method", "dual-simplex", "--method", "swan")
    done = run(*words, "--out", "out", "--csv", "csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[2:4]] == ["dual-simplex", "swan"]
    assert "exact max-min rates carry" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "connections.parquet",
        "meta.json",
        "methods.parquet",
    ]
    assert pl.read_csv(tmp_path / "csv" / "methods.csv")["method"].to_list() == ["dual-simplex", "swan"]
    rows = json.loads(run(*words, "--json", cwd=tmp_path).stdout)["methods"]
    assert rows[0]["total"] == 1.0
    for more, said in (
        (["--each-failure"], "several --method compare one case"),
        (["--figure", "a.svg"], "a.svg: there are several methods, and a picture or page shows one"),
        (["--method", "swann"], 'method is "swann" (did you mean `swan`?)'),
    ):
        done = run(*words, *more, cwd=tmp_path)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    done = run("report", "out", cwd=tmp_path)
    assert "it holds a comparison of methods, and a page shows one" in done.stderr
