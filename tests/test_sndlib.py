"""SNDlib's instances and dynamic traffic against the tables in their README."""

import pytest

from anabranch import read_demands, read_network

DIRECTED = {"brain", "giul39", "janos-us", "janos-us-ca", "sun"}
"""The instances that list both directions of each link."""

UNIT_BPS = {"MBITPERSEC": 1e6, "BITSPERSEC": 1.0, "": 1e6, "Mb/s": 1e6}


@pytest.fixture(scope="module")
def folder(shared_data):
    return shared_data / "sndlib"


def table(folder, first):
    """The rows, as dictionaries, of the README's table whose header begins with `first`."""
    lines = (folder / "README.md").read_text().splitlines()
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    starts = [i for i, row in enumerate(cells) if row[0] == first]
    header = cells[starts[0]]
    rows = []
    for row in cells[starts[0] + 2 :]:
        if len(row) != len(header):
            break
        rows.append(dict(zip(header, row, strict=True)))
    return rows


@pytest.fixture(scope="module")
def instances(folder):
    """For each row of the table: the row, the network, the demands."""
    found = []
    for row in table(folder, "instance"):
        path = next((folder / "native").glob(f"{row['instance']}.txt*"))
        network = read_network(path)
        found.append((row, network, read_demands(path, network)))
    return found


@pytest.mark.slow
def test_all_instances_have_the_sizes_of_the_table(instances):
    assert len(instances) == 26
    for row, network, demands in instances:
        name = row["instance"]
        links = len(network.core.link_names)
        assert len(network) == int(row["nodes"]), name
        assert links == int(row["links"]) * (1 if name in DIRECTED else 2), name
        assert len(demands) == int(row["demands"]), name
        total = float(demands.core.demand_bps.sum()) / UNIT_BPS[row["unit"]]
        assert total == pytest.approx(float(row["total demand"]), rel=1e-5), name
        assert int(network.parts.max()) + 1 == int(row["components"]), name


def test_every_link_has_a_twin_and_a_capacity(instances):
    for row, network, _ in instances:
        assert (network.core.twin >= 0).all(), row["instance"]
        assert (network.core.capacity_bps > 0).all(), row["instance"]


def test_capacities_are_installed_ones_or_smallest_modules(instances):
    least = {row["instance"]: float(network.core.capacity_bps.min()) for row, network, _ in instances}
    # Abilene has 9920 and 2480 installed, polska modules of 155 and 622, brain 1e9 and 1e10 bit/s.
    assert (least["abilene"], least["polska"], least["brain"]) == (2480e6, 155e6, 1e9)


def test_coordinates_off_the_globe_are_dropped(instances):
    placed = {row["instance"] for row, network, _ in instances if network.core.positions[0] is not None}
    assert {"abilene", "polska", "germany50", "geant"} <= placed
    assert not placed & {"atlanta", "norway", "sun", "pioro40", "zib54"}


def test_admissible_paths_come_with_the_demands(instances):
    counts = {row["instance"]: len(demands.paths) if demands.paths else 0 for row, _, demands in instances}
    for row, _, _ in instances:
        assert counts[row["instance"]] == int(row["admissible paths"])


def test_dynamic_traffic_has_the_totals_of_the_table(folder):
    for row in table(folder, "folder"):
        name = row["folder"].removeprefix("dynamic/")
        network = read_network(folder / "native" / f"{name}.txt")
        files = sorted((folder / "dynamic" / name).glob("*.xml"))
        read = [read_demands(path, network) for path in files]
        assert len(read) == int(row["files"])
        counts = [len(demands) for demands in read]
        assert f"{min(counts)} to {max(counts)}" == row["demands per file"]
        totals = [float(demands.core.demand_bps.sum()) / UNIT_BPS[row["unit"]] for demands in read]
        assert f"{min(totals):.1f} to {max(totals):.1f}" == row["total demand, least to most"]
