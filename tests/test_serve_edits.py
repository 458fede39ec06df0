"""Scenarios that are edited from the page: their text is changed where it must, and nowhere else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch import _core
from anabranch.serve.models import Edit
from anabranch.serve.scenarios import SHIPPED, edited, first_sentence
from served import JOIN, SCENARIOS, served


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with served(tmp_path_factory.mktemp("runs"), scenarios=None) as client:
        yield client


def checked(client, scenario, *edits):
    changes = [{"path": path.split("."), "value": value} for path, value in edits]
    return client.post("/api/check", json={"scenario": scenario, "edits": changes}).json()


def test_an_edit_keeps_comments_blank_lines_and_order(client):
    answer = checked(client, JOIN, ("run.duration", "9 s"), ("connection.2.amount", "3 MB"))
    assert answer["right"]
    assert answer["facts"]["duration_s"] == 9.0
    assert answer["text"] == JOIN.replace('"4 s"', '"9 s"').replace('"1.5 MB"', '"3 MB"')
    assert answer["value"]["run"]["duration"] == "9 s"


def test_tables_are_added_and_removed(client):
    answer = checked(
        client,
        f"# A lesson.\n{JOIN}",
        ("connection.3", {"source": "west", "target": "east", "protocol": {"d-slen": {"variant": "paper"}}}),
        ("connection.0", None),
        ("title", None),
        ("defaults.connection.packet", "500 B"),
    )
    assert answer["facts"]["connections"] == 3
    # The comment above the title stays, though the title is gone.
    assert answer["text"].startswith('# A lesson.\ndescription = """\n')
    assert "title" not in answer["text"]
    assert '[defaults.connection]\nprotocol = "d-slen"\npacket = "500 B"\n' in answer["text"]


def test_a_mistake_has_its_line_and_its_key(client):
    problem = checked(client, JOIN, ("link.1.capacity", "8 apples"))["problem"]
    assert problem["key"] == "link.1.capacity"
    assert problem["line"] == JOIN[: JOIN.index('"8 Mbit/s"')].count("\n") + 1
    missing = checked(client, JOIN, ("link.1.capacity", None))["problem"]
    assert (missing["key"], "`capacity` is missing" in missing["error"]) == ("link.1", True)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("connection.9.weight", 2, "`connection.9.weight` cannot be changed: there is no entry `9` in a list of 3"),
        ("title.x", 1, "`title.x` cannot be changed: it lies in a value that is no table"),
        ("run.seed", 2**70, "too large a number"),
        ("run.nothing", None, "there is no such key"),
    ],
)
def test_an_edit_that_leads_nowhere_is_told_of(client, path, value, reason):
    answer = checked(client, JOIN, (path, value))
    assert not answer["right"]
    assert reason in answer["problem"]["error"]


def test_shipped_scenarios_are_there_without_a_folder_and_once_with_theirs(client, tmp_path):
    assert SHIPPED.resolve() == SCENARIOS.resolve()
    shipped = client.get("/api/scenarios").json()
    assert {one["file"] for one in shipped} == {
        file.relative_to(SHIPPED).as_posix() for file in SHIPPED.rglob("*.toml")
    }
    assert all(one["shipped"] and one["id"].startswith("~:") for one in shipped)
    one = client.get("/api/scenarios/~:join-and-leave.toml").json()
    assert one["text"] == JOIN
    assert client.get("/api/scenarios/~:..:README.md").status_code == 404
    with served(tmp_path, scenarios=SCENARIOS) as other:
        listed = other.get("/api/scenarios").json()
    assert not any(one["shipped"] for one in listed)
    assert len(listed) == len(shipped)


def test_a_scenario_has_a_card_with_its_network(client):
    card = client.get("/api/scenarios/~:join-and-leave.toml/card").json()
    assert (card["facts"]["nodes"], card["facts"]["protocols"]) == (3, {"d-SLEN": 3})
    assert len(card["picture"]["cables"]) == 3
    assert client.get("/api/scenarios/~:nobody.toml/card").status_code == 404


def test_a_wrong_scenario_has_no_card_and_says_why(tmp_path):
    (tmp_path / "wrong.toml").write_text("[[link]]\n")
    with served(tmp_path, scenarios=tmp_path) as client:
        answer = client.get("/api/scenarios/wrong.toml/card")
        assert answer.status_code == 422
        assert "is missing" in answer.json()["error"]


def test_the_first_sentence_of_a_description_stands_alone():
    assert first_sentence("Who wins? LIA\nbeside CUBIC.\n") == "Who wins?"
    assert (
        first_sentence("\nTwo links of 1.5 Mbit/s\nand one more.\n\n  a -- b\n")
        == "Two links of 1.5 Mbit/s and one more."
    )
    assert first_sentence("no end\n\nanother") == "no end"
    assert first_sentence("") == ""
    assert len(first_sentence("x" * 1000)) == 240


VALUES = st.one_of(st.integers(-9, 9), st.booleans(), st.text(max_size=5), st.lists(st.integers(0, 3), max_size=2))
PATHS = st.sampled_from(["title", "run.seed", "run.data", "connection.0.weight", "link.2.x y", "new.table.key", "a.b"])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(PATHS, VALUES), max_size=6))
def test_what_is_set_is_read_back(changes):
    edits = [Edit(path=path.split("."), value=value) for path, value in changes]
    read = _core.read_toml(edited(JOIN, edits))
    for path, value in dict(changes).items():
        own = read
        for key in path.split("."):
            own = own[int(key)] if isinstance(own, list) else own[key]
        assert own == value
