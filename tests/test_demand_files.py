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
