"""Demands in CSV: units, defaults, and mistakes with their lines."""

import pytest

from anabranch import ScenarioError, demands, read_demands
from format_samples import GML, read


def two_nodes(tmp_path):
    """a - b."""
    return read(tmp_path, "two.csv", "source,target,capacity_bps,two_way\na,b,1e6,yes\n")


def test_csv_demands_take_units_and_defaults(tmp_path):
    network = two_nodes(tmp_path)
    path = tmp_path / "demands.csv"
    path.write_text("source,target,demand,weight,qos,start,stop_s,name\na,b,40 kbit/s,2,0.5,5 ms,8,x\nb,a,,,,,,\n")
    found = read_demands(path, network).connections
    expected = demands(
        network,
        ["a", "b"],
        ["b", "a"],
        demand_bps=[40e3, None],
        name=["x", None],
        weight=[2, 1],
        qos=[0.5, 1],
        start_s=[0.005, 0],
        stop_s=[8, None],
    )
    assert found.equals(expected.connections)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "source,target\na,c\n",
            "demands.csv, line 2: there is no node `c` (there is `a`, `b`); name one of the network's 2 nodes",
        ),
        ("source,target\na,a\n", "demands.csv, line 2: source and target are both node `a`; they must differ"),
        ("source,target,name\na,b,x\nb,a,x\n", "demands.csv, line 3: the name `x` is already taken"),
        ("source,target,weight\na,b,0\n", "demands.csv, line 2: weight is `0`; it must be over 0 and finite"),
        ("source,target,qos\na,b,1.5\n", "demands.csv, line 2: qos is `1.5`; it must be over 0 and at most 1"),
        ("source,target,demand\na,b,fast\n", "demands.csv, line 2: demand: `fast` is not a rate"),
        ("source,target,start_s,stop_s\na,b,2,1\n", "demands.csv, line 2: it stops at 1.0 s and starts at 2.0 s"),
        ("source,target,stop,stop_s\n", "demands.csv, line 1: there are both `stop` and `stop_s`; keep one"),
    ],
)
def test_a_mistake_in_csv_demands_is_said_with_its_line(tmp_path, text, message):
    network = two_nodes(tmp_path)
    path = tmp_path / "demands.csv"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        read_demands(path, network)
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(message)


def test_a_network_is_not_demands(tmp_path):
    network = two_nodes(tmp_path)
    (tmp_path / "inland.gml").write_text(GML)
    with pytest.raises(ScenarioError, match="a file of format gml does not hold this"):
        read_demands(tmp_path / "inland.gml", network)


def triangle(tmp_path):
    """Oslo - Rome - Paris - Oslo."""
    text = "source,target,capacity_bps,two_way\nOslo,Rome,1e6,yes\nRome,Paris,1e6,yes\nOslo,Paris,1e6,yes\n"
    return read(tmp_path, "three.csv", text)


def rates(tmp_path, network, text, name="matrix.csv"):
    (tmp_path / name).write_text(text)
    return dict(read_demands(tmp_path / name, network).connections.select("name", "demand_bps").iter_rows())


def test_a_matrix_has_senders_in_lines_and_receivers_in_columns(tmp_path):
    network = triangle(tmp_path)
    expected = {"Oslo>Paris": 2e6, "Rome>Oslo": 3e6, "Paris>Rome": 5e5}
    text = "Mbit/s,Oslo,Paris,Rome\nOslo,0,2,\nRome,3,0,0\nParis,,,0.5\n"
    assert rates(tmp_path, network, text) == expected
    # Each cell with its unit, and another order of lines; a word in the corner says nothing.
    text = "from/to,Oslo,Paris,Rome\nParis,,,500 kbit/s\nRome,3 Mbit/s,,\nOslo,0,2 Mbit/s,0\n"
    assert rates(tmp_path, network, text) == expected


@pytest.mark.parametrize(("sign", "name"), [(";", "m.csv"), ("\t", "m.tsv"), ("\t", "m.csv")])
def test_semicolons_and_tabs_separate_cells_too(tmp_path, sign, name):
    network = triangle(tmp_path)
    listed = "source,target,demand\nOslo,Rome,2 Mbit/s\n".replace(",", sign)
    assert rates(tmp_path, network, listed, name) == {"Oslo>Rome": 2e6}
    matrix = "Mbit/s,Oslo,Rome\nOslo,,2\n".replace(",", sign)
    assert rates(tmp_path, network, matrix, name) == {"Oslo>Rome": 2e6}
    links = read(tmp_path, name, "source,target,capacity\na,b,2 Mbit/s\n".replace(",", sign))
    assert links.links["capacity_bps"].to_list() == [2e6]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",Oslo,Rome\nOslo,,2\n", "matrix.csv, line 2, to `Rome`: demand is `2`, without a unit; name the unit in the"),
        (",Oslo,Rom\nOslo,,2\n", "matrix.csv, line 1: there is no node `Rom` (did you mean `Rome`?); name one of"),
        ("Mbit/s,Oslo,Rome\nOsla,,2\n", "matrix.csv, line 2: there is no node `Osla` (did you mean `Oslo`?)"),
        ("Mbit/s,Oslo,Rome\nOslo,,-2\n", "matrix.csv, line 2, to `Rome`: demand is `-2`; it must be finite and 0 or"),
        ("Mbit/s,Oslo,Rome\nOslo,,fast\n", "matrix.csv, line 2, to `Rome`: demand: `fast` is not a rate"),
        ("Mbit/s,Oslo,Rome\nOslo,1,2\n", "matrix.csv, line 2, to `Oslo`: source and target are both node `Oslo`"),
        ("Mbit/s,Oslo,Rome\nOslo,,2\nOslo,,3\n", "matrix.csv, line 3: node `Oslo` has a line already; keep one"),
        ("Mbit/s,Oslo,Rome\nOslo,2\n", "matrix.csv, line 2: it has 2 cells and the header 3"),
        ("Mbit/s,Oslo,Rome\nOslo,0,\n", "matrix.csv: it holds no demands; give a rate in some cell"),
        ("Mbit/s,Oslo,Rome,Rome\nOslo,,1,2\n", "matrix.csv, line 1: node `Rome` is there twice; keep one"),
        ("sorce,target\nOslo,Rome\n", "matrix.csv, line 1: there is no column `sorce` (did you mean `source`?)"),
    ],
)
def test_a_mistake_in_a_matrix_is_said_with_its_cell(tmp_path, text, message):
    network = triangle(tmp_path)
    with pytest.raises(ScenarioError) as caught:
        rates(tmp_path, network, text)
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(message)
