"""Runs that are changed from the page: titles, folders, the trash; and who may do that."""

import json
import math
import tomllib

import pytest

import anabranch as ab
from anabranch.runs.result import read_result
from anabranch.serve.card import _finite
from served import AS_JSON, LONG, SCENARIOS, served, wait_for

LINKED = SCENARIOS / "join-and-leave.toml"


@pytest.fixture(scope="module")
def result():
    return ab.run(LINKED, sets=["run.duration=0.2 s"])


@pytest.fixture
def folder(tmp_path, result):
    result.write(tmp_path / "one")
    result.write(tmp_path / "sweep" / "seed 1")
    (tmp_path / "sweep" / "sweep.toml").write_text("")
    return tmp_path


@pytest.fixture
def client(folder):
    with served(folder) as client:
        yield client


def folders(client):
    return sorted(run["folder"] for run in client.get("/api/runs").json()["runs"])


def test_a_title_changes_in_the_facts_and_in_the_scenario(client, folder, result):
    title = 'Two "ways" \\ über\nlines'
    answer = client.post("/api/runs/one", json={"title": title})
    assert answer.json()["title"] == 'Two "ways" \\ über lines'
    assert tomllib.loads((folder / "one" / "scenario.toml").read_text())["title"] == answer.json()["title"]
    again = read_result(folder / "one")
    assert again.meta["title"] == answer.json()["title"]
    assert again.connections.equals(result.connections)
    assert client.get("/api/runs/one").json()["title"] == answer.json()["title"]


def test_a_folder_is_renamed_safely_beside_where_it_was(client, folder):
    moved = client.post("/api/runs/sweep:seed~201", json={"folder": "../../best one"}).json()
    assert (moved["folder"], moved["id"]) == ("sweep/best-one", "sweep:best-one")
    assert folders(client) == ["one", "sweep/best-one"]
    client.post("/api/jobs", json={"scenario": LINKED.read_text(), "sets": ["run.duration=0.2 s"], "name": "two"})
    # What is taken gets a number; what has the name already keeps it.
    assert client.post("/api/runs/one", json={"folder": "sweep"}).json()["folder"] == "sweep-2"
    assert client.post("/api/runs/sweep-2", json={"folder": "sweep-2"}).json()["folder"] == "sweep-2"


def test_a_name_that_a_job_will_take_is_not_free(client, folder):
    job = client.post("/api/jobs", json={"scenario": LINKED.read_text(), "sets": LONG, "name": "soon"}).json()
    assert client.post("/api/runs/one", json={"folder": "soon"}).json()["folder"] == "soon-2"
    client.delete(f"/api/jobs/{job['id']}")
    assert wait_for(client, job, "stopped")["run"] in (None, "soon")


def test_a_deleted_run_comes_back_from_the_trash(client, folder):
    gone = client.delete("/api/runs/sweep:seed~201").json()
    assert (gone["folder"], gone["bytes"] > 1000) == ("sweep/seed 1", True)
    assert folders(client) == ["one"]
    assert client.get("/api/runs/sweep:seed~201").status_code == 404
    assert client.get("/api/trash").json()["runs"] == [gone]
    (folder / "sweep" / "sweep.toml").unlink()
    (folder / "sweep").rmdir()
    back = client.post(f"/api/trash/{gone['id']}", json={}).json()
    assert back["folder"] == "sweep/seed 1"
    assert read_result(folder / "sweep" / "seed 1").meta["finished"]
    assert client.get("/api/trash").json()["runs"] == []
    assert client.post(f"/api/trash/{gone['id']}", json={}).status_code == 404


def test_a_run_comes_back_beside_one_that_took_its_place(client, folder, result):
    gone = client.delete("/api/runs/one").json()
    result.write(folder / "one")
    assert client.post(f"/api/trash/{gone['id']}", json={}).json()["folder"] == "one-2"


def test_only_an_emptied_trash_removes_anything(client, folder):
    client.delete("/api/runs/one")
    kept = list((folder / ".trash").glob("*/run/connections.parquet"))
    assert len(kept) == 1
    assert client.request("DELETE", "/api/trash").json() == {"runs": []}
    assert not (folder / ".trash").exists()
    assert folders(client) == ["sweep/seed 1"]


@pytest.mark.parametrize("id", ["nobody", "..", "~2e~2e", "away", ".trash", "sweep", "~"])
def test_nothing_but_runs_within_the_folder_is_changed(client, folder, tmp_path_factory, id):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "meta.json").write_text("{}")
    (folder / "away").symlink_to(outside, target_is_directory=True)
    for answer in (client.delete(f"/api/runs/{id}"), client.post(f"/api/runs/{id}", json={"folder": "x"})):
        assert answer.status_code in (404, 405, 422)
        assert answer.json()["error"]
    assert (outside / "meta.json").exists()
    assert folders(client) == ["one", "sweep/seed 1"]


def test_a_served_run_itself_is_not_changed(folder):
    with served(folder / "one") as client:
        [run] = client.get("/api/runs").json()["runs"]
        assert client.delete(f"/api/runs/{run['id']}").status_code == 422
        assert client.post(f"/api/runs/{run['id']}", json={"title": "x"}).status_code == 422


def test_a_damaged_trash_is_told_of_and_leads_nowhere(client, folder):
    gone = client.delete("/api/runs/one").json()
    origin = folder / ".trash" / gone["id"] / "from.json"
    for content, status in [("{", 422), ('{"folder": "../../away"}', 422), ('{"folder": ".trash/x"}', 422)]:
        origin.write_text(content)
        assert client.post(f"/api/trash/{gone['id']}", json={}).status_code == status
    assert client.post("/api/trash/..", json={}).status_code in (404, 405)
    origin.write_text(json.dumps({"folder": ".hidden"}))
    assert client.post(f"/api/trash/{gone['id']}", json={}).json()["folder"] == "hidden"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "/api/runs/one", '{"title": "x"}'), ("DELETE", "/api/runs/one", None), ("DELETE", "/api/trash", None)],
)
def test_pages_of_other_sites_change_nothing(client, folder, method, path, body):
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "http://evil.example"}):
        answer = client.request(method, path, content=body, headers=AS_JSON | headers)
        assert answer.status_code == 403
    assert folders(client) == ["one", "sweep/seed 1"]
    with served(folder, token="correct-horse") as other:
        assert other.request(method, path, content=body, headers=AS_JSON).status_code == 401


def test_a_card_has_a_small_picture_and_the_numbers(client, folder):
    card = client.get("/api/runs/one/card")
    assert card.json()["headline"]["queue_packets"] >= 1
    picture = card.json()["picture"]
    assert picture["kind"] == "rates"
    assert [line["name"] for line in picture["lines"]] == ["through", "first", "last"]
    assert len({line["colour"] for line in picture["lines"]}) == 3
    assert all(
        0 <= place < picture["bins"] and rate <= picture["most"]
        for line in picture["lines"]
        for place, rate in line["points"]
    )
    assert len(card.content) < 10_000
    again = client.get("/api/runs/one/card", headers={"if-none-match": card.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/api/runs/nobody/card").status_code == 404


def test_a_card_of_a_run_whose_connections_are_there_for_an_instant_is_its_map(tmp_path):
    ab.run(SCENARIOS / "classics" / "incast.toml").write(tmp_path / "incast")
    with served(tmp_path) as client:
        (run,) = client.get("/api/runs").json()["runs"]
        picture = client.get(f"/api/runs/{run['id']}/card").json()["picture"]
    assert picture["kind"] == "map"
    # Ten servers, the switch and the client.
    assert len(picture["nodes"]) == 12


def test_a_card_of_an_allocation_is_its_map(tmp_path):
    scenario = ab.read_scenario(LINKED)
    ab.solve(scenario.network, scenario.demands, paths=scenario.demands.paths).write(tmp_path / "solved")
    with served(tmp_path) as client:
        card = client.get("/api/runs/solved/card").json()
    assert card["summary"]["connections"] == 3
    assert len(card["picture"]["nodes"]) == 3
    # Three cables, and one of them is full.
    assert sorted(cable[2] for cable in card["picture"]["cables"])[-1] == pytest.approx(1.0, abs=1e-3)
    assert {cable[3] for cable in card["picture"]["cables"]} == {1}


def test_a_broken_run_has_no_card_and_says_why(client, folder):
    (folder / "one" / "connections.parquet").write_bytes(b"PAR1")
    answer = client.get("/api/runs/one/card")
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_a_card_of_a_large_network_stays_small(tmp_path):
    scenarios = tmp_path / "scenarios"
    scenarios.mkdir()
    (scenarios / "large.toml").write_text("[network.generate.grid]\ncolumns = 60\nrows = 50\ncapacity = '1 Gbit/s'\n")
    with served(tmp_path, scenarios=scenarios) as client:
        card = client.get("/api/scenarios/large.toml/card")
    assert card.status_code == 200, card.text
    picture = card.json()["picture"]
    assert len(picture["cables"]) == 600
    assert all(end < len(picture["nodes"]) for cable in picture["cables"] for end in cable[:2])
    assert len(card.content) < 60_000


def test_numbers_that_json_cannot_hold_are_null_on_a_card():
    assert _finite({"a": [1.0, math.inf, {"b": math.nan}], "c": "x"}) == {"a": [1.0, None, {"b": None}], "c": "x"}
