"""Pictures: drawn without warnings, the same bytes each time, and saying what they must."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import polars as pl
import pytest

from anabranch.errors import ScenarioError
from anabranch.figures import draw_convergence, draw_network
from anabranch.figures.network import UTILISATION
from anabranch.model.demands import demands
from anabranch.model.layout import node_positions
from anabranch.model.network import Draft, Edge, Network, from_networkx
from anabranch.solvers.solve import solve

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.allocation.allocation import Allocation

CITIES = {"Oslo": (10.75, 59.91), "Bergen": (5.32, 60.39), "Trondheim": (10.4, 63.43), "Tromsø": (18.96, 69.65)}


def ring(count: int, *, positions: bool = False) -> Network:
    draft = Draft(name="ring")
    for i in range(count):
        turn = 2 * np.pi * i / count
        draft.add_node(f"n{i}", (10 + 5 * float(np.cos(turn)), 50 + 3 * float(np.sin(turn))) if positions else None)
    draft.edges = [Edge(i, (i + 1) % count) for i in range(count)]
    return draft.build(capacity="1 Gbit/s")


def norway() -> Network:
    draft = Draft(name="Norway")
    for name, place in CITIES.items():
        draft.add_node(name, place)
    draft.edges = [Edge(0, 1), Edge(0, 2), Edge(1, 2), Edge(2, 3, capacity_bps=1e8)]
    return draft.build(capacity="1 Gbit/s")


def solved(network: Network) -> Allocation:
    names = network.core.node_names
    return solve(network, demands(network, names[:-1], names[1:]), paths=2)


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
@pytest.mark.parametrize("network", [norway(), ring(9), ring(9, positions=True)], ids=["map", "bare", "placed"])
def test_a_picture_repeats_byte_for_byte(tmp_path: Path, network: Network, suffix: str) -> None:
    first, again = tmp_path / f"first{suffix}", tmp_path / f"again{suffix}"
    draw_network(network, solved(network), file=first)
    draw_network(network, solved(network), file=again)
    assert first.read_bytes() == again.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [again.name, first.name], "nothing is left aside"


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_the_smallest_networks_are_drawn(tmp_path: Path, count: int) -> None:
    draft = Draft()
    for i in range(count):
        draft.add_node(f"n{i}")
    draft.edges = [Edge(0, 1)] if count > 1 else []
    draw_network(draft.build(capacity="1 Gbit/s"), file=tmp_path / "small.png")


def test_parts_parallel_links_and_one_way_links_are_drawn(tmp_path: Path) -> None:
    draft = Draft(name="$odd_names$ <&>")
    for name in ("a$b$", "漢字", "x" * 80, "alone", "_{x}"):
        draft.add_node(name)
    draft.edges = [Edge(0, 1), Edge(0, 1, name="other"), Edge(1, 2, two_way=False), Edge(4, 3)]
    network = draft.build(capacity="1 Gbit/s")
    chosen = demands(network, ["a$b$"], ["x" * 80])
    draw_network(network, solve(network, chosen), file=tmp_path / "odd.svg")
    text = (tmp_path / "odd.svg").read_text()
    assert text.startswith("<?xml")
    assert "<dc:date>" not in text


def test_a_large_network_without_coordinates_is_drawn_fast(tmp_path: Path) -> None:
    network = from_networkx(nx.barabasi_albert_graph(1500, 2, seed=3), capacity="10 Gbit/s")
    draw_network(network, file=tmp_path / "large.png")
    assert np.isfinite(node_positions(network)).all()


def test_overloaded_and_idle_links_are_drawn(tmp_path: Path) -> None:
    network = norway()
    chosen = demands(network, ["Oslo"], ["Tromsø"])
    allocation = solve(network, chosen, method="iewf", unit="30 Mbit/s")
    assert allocation.links["utilisation"].max() > 1.0
    draw_network(network, allocation, file=tmp_path / "over.png")


def test_places_on_the_map_follow_the_coordinates() -> None:
    # At a mean latitude of 63.35 degrees a degree of longitude is 0.4486 degrees of latitude wide.
    places = node_positions(norway())
    oslo, bergen = places[0], places[1]
    assert oslo[0] - bergen[0] == pytest.approx((10.75 - 5.32) * np.cos(np.radians(63.345)), rel=1e-3)
    assert places[3, 1] == places[:, 1].max()


def test_a_network_over_the_pacific_is_cut_in_the_atlantic() -> None:
    draft = Draft()
    for name, place in {"Tokyo": (139.7, 35.7), "Honolulu": (-157.9, 21.3), "Seattle": (-122.3, 47.6)}.items():
        draft.add_node(name, place)
    draft.edges = [Edge(0, 1), Edge(1, 2)]
    x = node_positions(draft.build(capacity="1 Gbit/s"))[:, 0]
    assert x[0] < x[1] < x[2]


def test_a_node_without_coordinates_lies_near_its_neighbours() -> None:
    draft = Draft()
    for name, place in (("a", (0.0, 50.0)), ("b", (2.0, 50.0)), ("far", (60.0, 50.0)), ("lost", None), ("apart", None)):
        draft.add_node(name, place)
    draft.edges = [Edge(0, 3), Edge(3, 1), Edge(1, 2)]
    places = node_positions(draft.build(capacity="1 Gbit/s"))
    middle = (places[0] + places[1]) / 2
    assert np.linalg.norm(places[3] - middle) < np.linalg.norm(places[2] - middle) / 10
    assert np.isfinite(places).all()


def test_nodes_on_one_spot_are_drawn_apart() -> None:
    draft = Draft()
    for i in range(4):
        draft.add_node(f"n{i}", (10.0, 50.0) if i < 3 else (12.0, 50.0))
    draft.edges = [Edge(0, 3)]
    places = node_positions(draft.build(capacity="1 Gbit/s"))
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(places, 2)) > 1e-3


def test_hops_look_like_distances() -> None:
    # On a ring of 12 the opposite node is the farthest of all.
    places = node_positions(ring(12))
    distance = np.linalg.norm(places - places[0], axis=1)
    assert distance.argmax() == 6


def test_colours_darken_with_utilisation() -> None:
    red, green, blue, _ = UTILISATION(np.linspace(0, 1, 64)).T
    lightness = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    assert (np.diff(lightness) < 0.005).all()
    assert lightness[-1] < 0.3 * lightness[0]


def test_an_unknown_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"there is no picture format `\.gif`; end the name with \.svg, \.png or"):
        draw_network(norway(), file=tmp_path / "map.gif")


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be written"):
        draw_network(norway(), file=tmp_path / "missing" / "map.svg")
    (tmp_path / "map.svg").mkdir()
    with pytest.raises(ScenarioError, match="cannot be written"):
        draw_network(norway(), file=tmp_path / "map.svg")
    assert os.listdir(tmp_path) == ["map.svg"], "nothing is left aside"


def test_the_allocation_of_another_network_is_refused() -> None:
    with pytest.raises(ScenarioError, match="draw the network that was solved"):
        draw_network(norway(), solved(ring(9)))


def test_convergence_is_drawn_and_repeats_byte_for_byte(tmp_path: Path) -> None:
    curves = pl.DataFrame(
        {
            "run": ["c-slen"] * 4 + ["iewf"] * 2,
            "pass": [1, 2, 1, 2, 1, 1],
            "time_us": [0.5, 1.0, 0.5, 1.0, 4.0, 4.0],
            "connection": ["c1", "c1", "c2", "c2", "c1", "c2"],
            "rate": [1.0, 1.2, 2.0, 1.8, 1.2, 1.8],
        }
    )
    for name in ("first.svg", "again.svg"):
        draw_convergence(
            curves,
            targets={"c1": 1.2, "c2": 1.8},
            rates_in="Mbit/s",
            title="Convergence",
            caption="words",
            file=tmp_path / name,
        )
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()
