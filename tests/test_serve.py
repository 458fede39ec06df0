"""The server: lists runs, checks scenarios, runs them, and tells of them while they run."""

import json
import os
import re
import shutil

import numpy as np
import pytest

import anabranch as ab
from anabranch.errors import ScenarioError
from anabranch.formats.as_toml import as_toml
from anabranch.page import allocation_content, result_content
from anabranch.page.content import read_series
from anabranch.runs.result import read_result
from anabranch.runs.scenario import read_plan
from anabranch.serve import runs as serve_runs
from anabranch.serve.names import address, new_name, place
from served import JOIN, LONG, SCENARIOS, opened, ran, served, wait_for


@pytest.fixture(scope="module")
def result():
    return ab.run(SCENARIOS / "join-and-leave.toml")


@pytest.fixture
def folder(tmp_path, result):
    """A folder with a run, one deeper, and what is none."""
    result.write(tmp_path / "one")
    result.write(tmp_path / "sweep" / "seed 1")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "meta.json").write_text("{")
    (tmp_path / "cut").mkdir()
    shutil.copytree(tmp_path / "one", tmp_path / "cut", dirs_exist_ok=True)
    links = tmp_path / "cut" / "series_links.parquet"
    links.write_bytes(links.read_bytes()[:100])
    (tmp_path / "cut" / "connections.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / ".aside").mkdir()
    (tmp_path / "away").symlink_to(tmp_path / "one", target_is_directory=True)
    return tmp_path


@pytest.fixture
def client(folder):
    with served(folder) as client:
        yield client


# --- runs ----------------------------------------------------------------------------------------------------------


def test_runs_are_listed_with_their_facts_and_others_with_a_reason(client):
    found = client.get("/api/runs").json()
    runs = {run["folder"]: run for run in found["runs"]}
    assert set(runs) == {"one", "sweep/seed 1"}
    one = runs["one"]
    assert (one["title"], one["protocols"], one["connections"]) == ("Join and leave", ["d-SLEN"], 3)
    assert (one["seed"], one["duration_s"], one["finished"]) == (1, 4.0, True)
    assert runs["sweep/seed 1"]["id"] == "sweep:seed~201"
    reasons = {broken["folder"]: broken["reason"] for broken in found["unreadable"]}
    assert set(reasons) == {"empty", "broken", "cut"}
    assert "no meta.json" in reasons["empty"]
    assert "no whole result" in reasons["broken"]
    assert found["whole"]


@pytest.mark.slow
def test_the_header_and_the_blob_of_a_run_are_those_of_a_report(client, result):
    content = result_content(result, name="sweep/seed 1")
    header = client.get("/api/runs/sweep:seed~201").json()
    assert header == json.loads(json.dumps(content.header))
    assert client.get("/api/runs/sweep:seed~201/data").content == content.blob()


def test_allocations_stand_among_the_runs(tmp_path):
    scenario = ab.read_scenario(SCENARIOS / "two-paths.toml")
    solved = ab.solve(scenario.network, scenario.demands, paths=scenario.demands.paths)
    solved.write(tmp_path / "solved")
    solved.write(tmp_path / "older")
    (tmp_path / "older" / "paths.parquet").unlink()
    with served(tmp_path) as client:
        found = client.get("/api/runs").json()
        [facts] = found["runs"]
        assert (facts["kind"], facts["folder"], facts["protocols"]) == ("allocation", "solved", [solved.method])
        assert (facts["seed"], facts["duration_s"], facts["warnings"]) == (None, None, 0)
        assert facts["connections"] == len(solved.connections)
        [older] = found["unreadable"]
        assert "solve the network again" in older["reason"]
        content = allocation_content(solved, name="solved")
        header = client.get("/api/runs/solved").json()
        assert header["connections"] == json.loads(json.dumps(content.header))["connections"]
        assert client.get("/api/runs/solved/data").content == content.blob()


@pytest.mark.slow
def test_a_second_look_needs_no_data_until_the_run_changes(client, folder, result):
    first = client.get("/api/runs/one/data")
    again = client.get("/api/runs/one/data", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    shutil.rmtree(folder / "one")
    result.write(folder / "one")
    os.utime(folder / "one" / "meta.json", ns=(1, 1))
    changed = client.get("/api/runs/one/data", headers={"if-none-match": first.headers["etag"]})
    assert changed.status_code == 200


def test_data_are_packed_only_for_those_who_take_that(client):
    packed = client.get("/api/runs/one/data")
    plain = client.get("/api/runs/one/data", headers={"accept-encoding": "identity"})
    none = client.get("/api/runs/one/data", headers={"accept-encoding": "gzip;q=0"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content == none.content
    assert int(packed.headers["content-length"]) < len(plain.content) / 3


@pytest.mark.slow
def test_only_so_many_runs_are_held(folder, result, monkeypatch):
    monkeypatch.setattr(serve_runs, "MOST_HELD", 1)
    runs = serve_runs.Runs(folder)
    for id in ("one", "sweep:seed~201"):
        runs.prepared(id, runs.etag(id))
    assert list(runs.held) == ["sweep:seed~201"]


@pytest.mark.parametrize("id", ["broken", "cut", "empty"])
def test_a_broken_run_is_told_of_when_it_is_asked_for(client, id):
    answer = client.get(f"/api/runs/{id}")
    assert answer.status_code == 422
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "id",
    [
        "nobody",
        "..",
        ".",
        "%2e%2e",
        "~2e~2e:~2e~2e:etc",
        "one:..:one",
        "away",
        "~2f",
        ".aside",
        "one~00",
        "~2Fetc",
        "a" * 5000,
    ],
)
def test_an_id_never_leads_out_of_the_folder(client, id):
    assert client.get(f"/api/runs/{id}/data").status_code == 404


def test_a_run_that_takes_too_much_memory_is_not_called_broken(folder, monkeypatch):
    def read(_folder):
        raise MemoryError

    monkeypatch.setattr(serve_runs, "read_folder", read)
    with pytest.raises(ScenarioError, match=r"^it takes more memory than is free; look at it by `anabranch report`"):
        serve_runs.prepare(None, folder, "one", "")


@pytest.mark.parametrize("name", ["scenario.toml", "machine.json"])
def test_a_run_with_a_link_in_it_is_not_shown(client, folder, tmp_path_factory, name):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / name
    shutil.copy(folder / "one" / name, elsewhere)
    (folder / "one" / name).unlink()
    (folder / "one" / name).symlink_to(elsewhere)
    assert "no ordinary file" in client.get("/api/runs/one").json()["error"]


@pytest.mark.slow
def test_a_folder_that_is_itself_a_run_is_listed(folder):
    with served(folder / "one") as client:
        run = client.get("/api/runs").json()["runs"][0]
        assert client.get(f"/api/runs/{run['id']}").json()["name"] == "one"


def test_folders_are_searched_to_a_depth(tmp_path, result):
    result.write(tmp_path / "a/b/c/d")
    result.write(tmp_path / "a/b/c/e/f")
    with served(tmp_path) as client:
        found = client.get("/api/runs").json()
    assert [run["folder"] for run in found["runs"]] == ["a/b/c/d"]


def test_names_and_addresses_are_each_others_reverse(tmp_path):
    for parts in [("a", "b c"), ("ü:~", "-"), (os.fsdecode(b"\xff"),)]:
        folder = tmp_path.joinpath(*parts)
        folder.mkdir(parents=True)
        own = address(parts)
        assert re.fullmatch(r"[A-Za-z0-9._:~-]+", own)
        assert place(tmp_path, own) == folder


def test_new_names_are_safe_and_new(tmp_path):
    (tmp_path / "run").mkdir()
    assert new_name("run", (), tmp_path) == "run-2"
    assert new_name("run", ("run-2",), tmp_path) == "run-3"
    assert new_name("../../etc/passwd", (), tmp_path) == "etc-passwd"
    assert new_name(".", (), tmp_path) == "run-2"
    assert len(new_name("x" * 500, (), tmp_path)) == 80


# --- scenarios -----------------------------------------------------------------------------------------------------


def test_scenarios_are_given_as_text_and_as_values(client):
    ids = [scenario["id"] for scenario in client.get("/api/scenarios").json()]
    assert "join-and-leave.toml" in ids
    one = client.get("/api/scenarios/join-and-leave.toml").json()
    assert (one["text"], one["value"]["title"]) == (JOIN, "Join and leave")
    assert client.get("/api/scenarios/..:README.md").status_code == 404


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_values_make_the_same_plan_as_the_text(client, file):
    one = client.get(f"/api/scenarios/{file.name}").json()
    text = as_toml(one["value"]).text
    assert read_plan(text).resolved == read_plan(one["text"]).resolved


def test_check_says_what_a_scenario_has(client):
    answer = client.post("/api/check", json={"scenario": JOIN, "sets": ['run.duration="9 s"']}).json()
    assert answer["right"]
    assert (answer["facts"]["connections"], answer["facts"]["duration_s"]) == (3, 9.0)


def test_check_says_where_a_mistake_is(client):
    text = 'title = "x"\n[[link]]\nsource = "a"\ntarget = "b"\ncapacity = "10 apples"\n'
    problem = client.post("/api/check", json={"scenario": text}).json()["problem"]
    assert (problem["line"], problem["column"]) == (5, 12)
    assert "not a unit of rate" in problem["error"]


def test_check_says_which_key_of_the_values_is_wrong(client):
    links = [{"source": "a", "target": "b", "capacity": "1 Mbit/s"}, {"source": "b", "target": "c", "capacity": "1 m"}]
    value = {"defaults": {"connection": {"protocol": "reno"}}, "link": links}
    problem = client.post("/api/check", json={"scenario": value}).json()["problem"]
    assert problem["key"] == "link.1.capacity"
    value["link"][1]["capacity"] = None
    assert client.post("/api/check", json={"scenario": value}).json()["problem"]["key"] == "link.1.capacity"


def test_a_text_is_never_taken_for_the_name_of_a_file(client):
    answer = client.post("/api/check", json={"scenario": str(SCENARIOS / "join-and-leave.toml")}).json()
    assert not answer["right"]


@pytest.mark.parametrize("route", ["check", "jobs"])
@pytest.mark.parametrize(
    "scenario",
    [
        '[network]\nfile = "{secret}"',
        '[network]\nfile = "../{name}"',
        '[network]\nfile = "link.csv"',
        '[demands]\nfile = "{secret}"\n[[link]]\nsource = "a"\ntarget = "b"\ncapacity = "1 Mbit/s"',
        '[[link]]\nsource = "a"\ntarget = "b"\ncapacity = "1 Mbit/s"\ntrace = "{secret}"',
    ],
)
def test_a_scenario_reads_only_files_in_its_folders(tmp_path, scenario, route):
    folder, scenarios, secret = tmp_path / "runs", tmp_path / "scenarios", tmp_path / "secret.csv"
    folder.mkdir()
    scenarios.mkdir()
    secret.write_text("source,target,capacity\nalpha,beta,1 Mbit/s\n")
    (scenarios / "link.csv").symlink_to(secret)
    with served(folder, scenarios=scenarios) as client:
        text = scenario.format(secret=secret, name=secret.name)
        answer = client.post(f"/api/{route}", json={"scenario": text}).json()
        error = answer["error"] if route == "jobs" else answer["problem"]["error"]
    assert "may not be read from here" in error
    assert "alpha" not in error


def test_a_scenario_reads_files_beside_the_one_it_began_from(tmp_path):
    scenarios = tmp_path / "scenarios" / "deeper"
    scenarios.mkdir(parents=True)
    (scenarios / "links.csv").write_text("source,target,capacity\nalpha,beta,1 Mbit/s\n")
    (scenarios / "own.toml").write_text('[network]\nfile = "links.csv"\n')
    with served(tmp_path, scenarios=tmp_path / "scenarios") as client:
        source = {"scenario": '[network]\nfile = "links.csv"\n'}
        assert client.post("/api/check", json=source | {"origin": "deeper:own.toml"}).json()["right"]
        assert not client.post("/api/check", json=source).json()["right"]
        assert not client.post("/api/check", json=source | {"origin": "nobody.toml"}).json()["right"]


# --- jobs ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_job_writes_the_tables_that_the_command_would(client, folder, tmp_path_factory):
    job = ran(client, name="by the page", seed=7)
    assert (job["state"], job["name"], job["run"]) == ("done", "by-the-page", "by-the-page")
    other = tmp_path_factory.mktemp("command") / "run"
    ab.run(SCENARIOS / "join-and-leave.toml", seed=7).write(other)
    names = sorted(file.name for file in other.iterdir())
    assert sorted(file.name for file in (folder / "by-the-page").iterdir()) == names
    for name in names:
        if name != "machine.json":
            assert (folder / "by-the-page" / name).read_bytes() == (other / name).read_bytes(), name
    assert client.get("/api/runs/by-the-page").json()["seed"] == 7


@pytest.mark.slow
def test_a_job_from_values_is_the_job_from_their_text(client, folder):
    value = client.get("/api/scenarios/join-and-leave.toml").json()["value"]
    first, second = ran(client, name="text"), ran(client, value, name="values")
    tables = [folder / job["run"] / "series_links.parquet" for job in (first, second)]
    assert tables[0].read_bytes() == tables[1].read_bytes()


@pytest.mark.slow
def test_a_job_takes_no_name_that_is_taken(client, folder):
    assert ran(client, name="one")["run"] == "one-2"
    assert ran(client)["run"] == "Join-and-leave"
    assert ran(client)["run"] == "Join-and-leave-2"


@pytest.mark.slow
def test_a_stopped_job_keeps_what_it_has(client, folder):
    job = client.post("/api/jobs", json={"scenario": JOIN, "sets": LONG, "name": "long"}).json()
    wait_for(client, job, "running", samples=3)
    assert client.get(f"/api/jobs/{job['id']}").json()["job"]["left_s"] > 0
    client.delete(f"/api/jobs/{job['id']}")
    facts = wait_for(client, job, "stopped")
    result = read_result(folder / facts["run"])
    assert not result.meta["finished"]
    assert 0.0 < result.meta["reached_s"] < 1e6
    assert len(result.series) > 0
    assert not next(run for run in client.get("/api/runs").json()["runs"] if run["id"] == facts["run"])["finished"]


@pytest.mark.slow
@pytest.mark.parametrize("sets", [LONG, [*LONG, 'run.record=["errors"]'], [*LONG, 'run.record=["fairness","links"]']])
def test_samples_of_a_growing_run_are_those_of_the_result(client, folder, sets):
    job = client.post("/api/jobs", json={"scenario": JOIN, "sets": sets}).json()
    facts = wait_for(client, job, "running", samples=20)
    count = facts["samples"]
    header = client.get(f"/api/jobs/{job['id']}").json()["header"]
    parts = []
    for first, last in [(0, 7), (7, 8), (8, count)]:
        answer = client.get(f"/api/jobs/{job['id']}/data", params={"first": first, "count": last})
        head, blob = opened(answer.content)
        assert (head["first"], len(head["times_s"])) == (first, last - first)
        parts.append((head, read_series(head, blob)))
    client.delete(f"/api/jobs/{job['id']}")
    run = client.get(f"/api/runs/{wait_for(client, job, 'stopped')['run']}").json()
    whole = read_series(run, client.get(f"/api/runs/{run['name']}/data").content)
    times = [time for head, _ in parts for time in head["times_s"]]
    assert times == run["times_s"][:count]
    for key in ("nodes", "links", "connections", "subflows"):
        assert {name: column for name, column in run[key].items() if name in header[key]} == header[key]
    assert set(whole) == set(parts[0][1])
    assert ("errors", "link") in whole
    for key in whole:
        grown = np.concatenate([tables[key] for _, tables in parts], axis=1)
        np.testing.assert_allclose(grown, whole[key][:, :count], rtol=2e-4, atol=1e-6, err_msg=str(key))


def events_of(client, job, last=None):
    """Give the events of a stream until it ends."""
    headers = {} if last is None else {"last-event-id": str(last)}
    text = client.get(f"/api/jobs/{job['id']}/events", headers=headers).text
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((fields["event"], int(fields["id"]), json.loads(fields["data"])))
    return found


@pytest.mark.slow
def test_the_stream_tells_of_each_sample_once_and_of_the_end(client):
    sets = ['run.duration="4000 s"', 'run.sample="20 s"']
    job = client.post("/api/jobs", json={"scenario": JOIN, "sets": sets}).json()
    found = events_of(client, job)
    assert found[-1][0] == "done"
    assert found[-1][2]["run"] == job["name"]
    samples = [data for kind, _, data in found if kind == "samples"]
    ends = [0, *(data["count"] for data in samples)]
    assert [data["first"] for data in samples] == ends[:-1]
    assert [id for kind, id, _ in found if kind == "samples"] == ends[1:]
    assert any(kind == "progress" and data["state"] == "running" for kind, _, data in found)


@pytest.mark.slow
def test_who_comes_back_to_the_stream_is_told_of_what_was_missed(client):
    job = client.post("/api/jobs", json={"scenario": JOIN, "sets": LONG}).json()
    count = wait_for(client, job, "running", samples=5)["samples"]
    app_job = client.app.app.state.desk.jobs.known[job["id"]]
    for last, first in [(3, 3), (count + 10**6, 0), ("odd", 0)]:
        told = []

        async def look(last=last, told=told):
            from anabranch.serve.events import events, known_samples

            async for event in events(app_job, known_samples(str(last)), lambda: True):
                told.append(event.decode())

        client.portal.call(look)
        samples = [event for event in told if "event: samples" in event]
        assert json.loads(samples[0].rsplit("data: ", 1)[1])["first"] == first
    client.delete(f"/api/jobs/{job['id']}")
    wait_for(client, job, "stopped")


@pytest.mark.slow
def test_jobs_beyond_the_number_wait_and_can_be_stopped_there(client, folder):
    first = client.post("/api/jobs", json={"scenario": JOIN, "sets": LONG, "name": "a"}).json()
    second = client.post("/api/jobs", json={"scenario": JOIN, "name": "b"}).json()
    wait_for(client, first, "running")
    assert [job["state"] for job in client.get("/api/jobs").json()["jobs"]] == ["waiting", "running"]
    assert client.delete(f"/api/jobs/{second['id']}").json()["state"] == "stopped"
    assert not (folder / "b").exists()
    client.delete(f"/api/jobs/{first['id']}")
    assert wait_for(client, first, "stopped")["run"] == "a"


@pytest.mark.slow
def test_the_end_of_the_server_stops_jobs_and_keeps_what_they_have(tmp_path):
    with served(tmp_path) as client:
        job = client.post("/api/jobs", json={"scenario": JOIN, "sets": LONG, "name": "kept"}).json()
        wait_for(client, job, "running", samples=2)
    assert not read_result(tmp_path / "kept").meta["finished"]


@pytest.mark.slow
def test_a_run_that_cannot_be_written_has_failed_and_the_next_one_runs(client, folder):
    away = folder.with_name("away")
    folder.rename(away)
    folder.write_text("no folder")
    job = ran(client, name="nowhere")
    folder.unlink()
    away.rename(folder)
    assert job["state"] == "failed"
    assert "it cannot be made (Not a directory)" in job["error"]
    assert [kind for kind, _, _ in events_of(client, job)] == ["failed"]
    assert ran(client, name="next")["state"] == "done"


def test_data_of_a_job_that_is_over_are_in_its_run(client):
    job = ran(client)
    assert client.get(f"/api/jobs/{job['id']}/data").status_code == 204
    assert client.get(f"/api/jobs/{job['id']}").json()["header"] is None
    assert client.delete(f"/api/jobs/{job['id']}").json()["state"] == "done"


def test_a_wrong_scenario_makes_no_job(client):
    answer = client.post("/api/jobs", json={"scenario": "[[link]]\n"})
    assert (answer.status_code, answer.json()["line"]) == (422, 1)
    assert client.get("/api/jobs").json()["jobs"] == []


# --- documentation of itself ---------------------------------------------------------------------------------------


def test_every_route_says_what_it_does_and_what_it_answers(client):
    schema = client.get("/api/openapi.json").json()
    routes = [(path, route) for path, methods in schema["paths"].items() for route in methods.values()]
    assert len(routes) == 22
    for path, route in routes:
        assert route["summary"], path
        assert {"200", "201"} & set(route["responses"]), path
        for status in ("401", "403", "413", "415", "421", "422"):
            assert route["responses"][status]["content"]["application/json"]["schema"]["$ref"].endswith("Problem"), path
    page = client.get("/api/docs").text
    assert all(path in page for path, _ in routes)
    assert "http" not in re.sub(r"</?\w+[^>]*>", "", page).lower()
