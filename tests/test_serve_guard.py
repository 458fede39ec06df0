"""What the server refuses, and the headers that all its answers carry."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from anabranch.errors import ScenarioError
from anabranch.serve import Settings, make_app
from anabranch.serve.guard import MOST_BODY_BYTES
from anabranch.serve.pages import policy
from anabranch.serve.server import token_for
from served import AS_JSON, JOIN, command, served

pytestmark = pytest.mark.slow

TOKEN = "correct-horse"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with served(tmp_path_factory.mktemp("runs")) as client:
        yield client


@pytest.fixture
def locked(tmp_path):
    with served(tmp_path, token=TOKEN) as client:
        yield client


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "127.9.9.9:1", "[::1]:8000", "LOCALHOST:8000"])
def test_this_computer_may_be_named_in_any_way(client, host):
    assert client.get("/api/runs", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:8000", "10.0.0.1", "", "localhost@evil.example", "[::1", "0.0.0.0"]
)
def test_another_name_for_this_computer_is_refused(client, host):
    assert client.get("/api/runs", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_pages_of_other_servers_change_nothing(client, headers):
    assert client.post("/api/jobs", json={"scenario": JOIN}, headers=headers).status_code == 403
    assert client.delete("/api/jobs/none", headers=headers).status_code == 403
    assert client.get("/api/jobs").json()["jobs"] == []


def test_the_page_itself_may_change_things(client):
    headers = {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "same-origin"}
    assert client.post("/api/check", json={"scenario": JOIN}, headers=headers).json()["right"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_a_form_can_send_is_refused(client, kind):
    body = json.dumps({"scenario": JOIN})
    assert client.post("/api/jobs", content=body, headers={"content-type": kind}).status_code == 415


def test_a_long_body_is_refused_whether_it_says_so_or_not(client):
    long = AS_JSON
    assert client.post("/api/check", content=b" " * (MOST_BODY_BYTES + 1), headers=long).status_code == 413
    pieces = (b" " * (1 << 20) for _ in range(6))
    assert client.post("/api/check", content=pieces, headers=long).status_code == 413
    says = long | {"content-length": "9" * 30}
    assert client.post("/api/check", content=b"{}", headers=says).status_code == 413


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "HEAD", "odd"])
def test_other_methods_are_refused(client, method):
    answer = client.request(method, "/api/jobs")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST, DELETE")


def test_a_method_that_a_route_has_not_is_refused_with_those_it_has(client):
    answer = client.delete("/api/runs")
    assert (answer.status_code, answer.json()["error"]) == (405, "DELETE is not served here; there is GET")


def test_every_refusal_stands_in_the_description_of_the_routes(client):
    for methods in client.get("/api/openapi.json").json()["paths"].values():
        for route in methods.values():
            assert {"400", "401", "403", "405", "413", "415", "421", "422", "503"} <= set(route["responses"])


@pytest.mark.parametrize("body", [b"\xff", b'{"scenario": "\xe9"}', b'{"seed": ' + b"9" * 5000 + b"}"])
def test_a_body_that_cannot_be_read_is_refused_with_what_would_do(client, body):
    answer = client.post("/api/check", content=body, headers=AS_JSON)
    assert (answer.status_code, "send text in UTF-8" in answer.json()["error"]) == (400, True)


def test_more_requests_than_there_is_room_for_are_refused(client, monkeypatch):
    monkeypatch.setattr("anabranch.serve.guard.MOST_REQUESTS", 0)
    answer = client.get("/api/runs")
    assert (answer.status_code, "ask again" in answer.json()["error"]) == (503, True)


def test_a_seed_may_be_text_so_that_no_digit_is_lost(client):
    # 2^53 + 1, which a number of JavaScript cannot hold.
    for seed in ("9007199254740993", 9007199254740993):
        answer = client.post("/api/check", json={"scenario": JOIN, "seed": seed}).json()
        assert answer["facts"]["seed"] == 9007199254740993
    for seed in ("", "-1", "1.0", " 1", "٣", str(2**63), "1" * 30, True, 1.0):
        assert client.post("/api/check", json={"scenario": JOIN, "seed": seed}).status_code == 422, seed


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"scenario": NaN}',
        b'{"scenario": 1}',
        b'{"scenario": {"run": {"seed": NaN}}}',
        b'{"scenario": {"run": {"seed": 1e999}}}',
        b'{"scenario": {"run": {"seed": ' + b"9" * 5000 + b"}}}",
        b'{"scenario": {"title": "\\ud800"}}',
        b'{"scenario": "title = \\"\\ud800\\""}',
        b'{"scenario": "x", "sets": ["\\u0000=1"]}',
        b'{"scenario": "x", "other": 1}',
        b'{"scenario": "x", "seed": -1}',
        b'{"scenario": "x", "seed": "1"}',
        b'{"scenario": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"scenario": ' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}",
        b'{"scenario": {"a": ' + b"[" * 200 + b"]" * 200 + b"}}",
        json.dumps({"scenario": "a = " + "[" * 50_000}).encode(),
        json.dumps({"scenario": "a" + ".a" * 50_000 + " = 1"}).encode(),
        json.dumps({"scenario": "x", "sets": ["run"]}).encode(),
        json.dumps({"scenario": "x", "sets": ["a=1"] * 101}).encode(),
    ],
)
def test_a_wrong_body_is_refused_with_a_reason(client, body):
    answer = client.post("/api/jobs", content=body, headers=AS_JSON)
    assert answer.status_code in (400, 422), answer.text[:200]
    assert answer.json()["error"]


def test_all_answers_carry_the_headers(client, locked):
    answers = [
        client.get("/"),
        client.get("/api/runs"),
        client.get("/api/docs"),
        client.get("/none"),
        client.get("/api/runs", headers={"host": "evil.example"}),
        client.post("/api/check", json={"scenario": 1}),
        locked.get("/api/runs"),
    ]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


def test_only_the_scripts_of_the_page_may_run():
    own = policy('<script>run()</script><script type="application/json" id="x">1</script><style>a{}</style>')
    assert own.count("sha256-") == 2
    assert "unsafe" not in own
    assert "script-src 'none'" in policy("<p>no script</p>")


# --- the token -----------------------------------------------------------------------------------------------------


def test_without_the_token_nothing_is_told(locked):
    for path in ("/", "/api/runs", "/api/openapi.json", "/none", "/?token=wrong", f"/api/runs?token={TOKEN}"):
        answer = locked.get(path)
        assert answer.status_code == 401, path
        assert "set-cookie" not in answer.headers
    for bearer in ("Bearer wrong", "Bearer", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \xe9"):
        headers = [(b"authorization", bearer.encode("latin-1"))]
        assert locked.get("/api/runs", headers=headers).status_code == 401


def test_the_token_in_the_address_becomes_a_cookie(locked):
    answer = locked.get(f"/?token={TOKEN}")
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    # The client has kept it.
    assert locked.get("/api/runs").status_code == 200
    # Another origin may still not use it to change something.
    assert locked.post("/api/jobs", json={"scenario": JOIN}, headers={"origin": "http://evil"}).status_code == 403


def test_two_servers_on_one_computer_keep_their_cookies_apart(tmp_path):
    # Browsers keep cookies by the name of the computer alone.
    kept = {}
    for port, token in [(8000, "one"), (8001, "two")]:
        with served(tmp_path, token=token) as client:
            answer = client.get(f"/?token={token}", headers={"host": f"127.0.0.1:{port}"})
            kept |= dict([answer.headers["set-cookie"].partition(";")[0].split("=")])
    assert len(kept) == 2
    cookies = "; ".join(f"{name}={value}" for name, value in kept.items())
    for port, token in [(8000, "one"), (8001, "two")]:
        with served(tmp_path, token=token) as client:
            headers = {"host": f"127.0.0.1:{port}", "cookie": cookies}
            assert client.get("/api/runs", headers=headers).status_code == 200


def test_who_opens_the_page_without_the_token_reads_a_page(locked):
    answer = locked.get("/")
    assert (answer.status_code, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "<p>A token is needed; open the address that `anabranch serve` has printed" in answer.text
    assert "script-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["www-authenticate"] == "Bearer"


def test_programs_send_the_token_in_a_header(locked):
    headers = {"authorization": f"Bearer {TOKEN}", "host": "lab.example:8000"}
    assert locked.get("/api/runs", headers=headers).status_code == 200


def test_a_token_is_needed_wherever_others_can_reach_the_server():
    assert token_for("127.0.0.1", None) is token_for("::1", None) is token_for("localhost", None) is None
    made = {token_for(host, None) for host in ("0.0.0.0", "::", "10.0.0.1", "lab.example")}
    assert len(made) == 4
    assert all(len(token) >= 32 for token in made)
    assert token_for("127.0.0.1", "own") == "own"
    for wrong in ("", "a b", 'a"', "a;b", "é"):
        with pytest.raises(ScenarioError):
            token_for("0.0.0.0", wrong)


# --- anything ------------------------------------------------------------------------------------------------------

TEXT = st.text(max_size=30)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)
KEYS = st.sampled_from(["scenario", "seed", "sets", "origin", "name", "other"])
BODY = st.dictionaries(KEYS, VALUE | TEXT, max_size=5) | VALUE
SEGMENT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ["..", ".", "~", "~2e~2e", ":", "a:..:b", "%00", "%2e%2e%2f", "con", "one~2fdata"]
)
HEADER = st.sampled_from(
    [
        "if-none-match",
        "accept-encoding",
        "last-event-id",
        "origin",
        "cookie",
        "authorization",
        "content-length",
        "range",
    ]
)
LINE = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=40)


@pytest.fixture(scope="module")
def any_client(tmp_path_factory):
    app = make_app(Settings(tmp_path_factory.mktemp("any")))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield client


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(
    method=st.sampled_from(["GET", "POST", "DELETE", "HEAD"]),
    route=st.sampled_from(
        ["runs/{}", "runs/{}/data", "jobs/{}", "jobs/{}/data", "jobs/{}/events", "scenarios/{}", "{}"]
    ),
    segment=SEGMENT,
    headers=st.dictionaries(HEADER, LINE, max_size=3),
)
def test_no_address_and_no_header_breaks_the_server(any_client, method, route, segment, headers):
    from urllib.parse import quote

    own = [(name.encode(), value.strip().encode("latin-1")) for name, value in headers.items()]
    path = "/api/" + route.format(quote(segment, safe=":~"))
    assert any_client.request(method, path, headers=own).status_code < 500


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(route=st.sampled_from(["check", "jobs"]), body=BODY)
def test_no_body_breaks_the_server(any_client, route, body):
    content = json.dumps(body).encode()
    answer = any_client.post(f"/api/{route}", content=content, headers=AS_JSON)
    assert answer.status_code < 500, answer.text


# --- the command ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_end_the_server_soon_and_it_keeps_what_jobs_have(tmp_path, name):
    import signal

    with command(tmp_path, "--port", "0", "--no-open") as process:
        address = re.search(r"http://\S+", process.stdout.readline())[0]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        body = json.dumps({"scenario": JOIN, "name": "kept", "sets": ['run.duration="100000 s"']}).encode()
        request = urllib.request.Request(f"{address}api/jobs", body, AS_JSON)
        with urllib.request.urlopen(request) as answer:
            job = json.load(answer)
        # A stream of events is open, and does not keep the server from ending.
        with urllib.request.urlopen(f"{address}api/jobs/{job['id']}/events") as stream:
            while b"samples" not in stream.readline():
                pass
            begin = time.monotonic()
            process.send_signal(signal.Signals[name])
            assert process.wait(30) == 0
            assert time.monotonic() - begin < 10
            assert "what jobs had until then is kept" in process.stderr.read()
    assert not json.loads((tmp_path / "kept" / "meta.json").read_text())["finished"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_that_the_caller_ignores_leaves_the_server_alone(tmp_path, name):
    import signal

    number = signal.Signals[name]
    with command(tmp_path, "--port", "0", preexec_fn=lambda: signal.signal(number, signal.SIG_IGN)) as process:
        try:
            address = re.search(r"http://\S+", process.stdout.readline())[0]
            process.send_signal(number)
            # A server that had heeded it would end within this time.
            time.sleep(1.0)
            with urllib.request.urlopen(f"{address}api/runs") as answer:
                assert answer.status == 200
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nowhere"], "there is no such folder"),
        ([__file__], "it is no folder"),
        (["/proc"], "since the system refuses to make it in /proc"),
        ([".", "--scenarios", "nowhere"], "--scenarios"),
        ([".", "--token", "a b"], "--token"),
        ([".", "--host", "no.such.host.invalid"], "no server can be there"),
    ],
)
def test_what_cannot_be_served_is_said_at_once(tmp_path, arguments, reason):
    with command(*arguments, "--port", "0", cwd=tmp_path) as process:
        _, told = process.communicate(timeout=60)
    assert process.returncode == 2
    assert reason in told


def test_a_port_in_use_is_said(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with command(tmp_path, "--port", port) as process:
            _, told = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"port {port}" in told


def test_other_commands_do_not_wait_for_the_server_to_load():
    code = "import sys, anabranch.cli; print({'fastapi', 'uvicorn', 'starlette'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "set()"


@pytest.mark.parametrize("route", ["check", "jobs"])
@pytest.mark.parametrize("scenario", ["title = '\ud800'\n", {"title": "\ud800"}, {"\ud800": 1}])
def test_half_a_character_is_a_bad_request(client, route, scenario):
    answer = client.post(f"/api/{route}", content=json.dumps({"scenario": scenario}), headers=AS_JSON)
    reason = "a text holds `\\ud800`, which is half of a character; write the character"
    assert (answer.status_code, answer.json()["error"]) == (400, reason)


def test_messages_repeat_the_beginning_of_what_is_long(client):
    text = f'[run]\nduration = "{"1" * 5000}"\n'
    told = client.post("/api/check", json={"scenario": text}).json()["problem"]["error"]
    assert "1111..." in told
    assert len(told) < 300
