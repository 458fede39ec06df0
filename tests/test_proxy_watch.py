"""What a proxy and an exit show by HTTP: figures for Prometheus, answers as their description says, and a page."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from openapi_spec_validator import validate
from prometheus_client.parser import text_string_to_metric_families

from anabranch import _core
from anabranch.agents.page import live_page
from command import run
from running_programs import LONG_S, Lines, end, start
from test_proxy import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no proxies"),
    pytest.mark.skipif(sys.platform != "linux", reason="paths take several addresses of this machine"),
    pytest.mark.skipif(shutil.which("curl") is None, reason="the program curl is missing"),
]

BYTES = 2_000_000


@pytest.fixture(scope="module")
def slow_target() -> Iterator[str]:
    """Give a target that sends some bytes at once and then keeps the connection open."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + bytes(BYTES))
            connection.recv(1)

    threading.Thread(target=serve, daemon=True).start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    listener.close()


class Shown:
    """A proxy over two paths and its exit, which show themselves, and a program that holds a connection."""

    def __init__(self, proxy: Lines, exit_: Lines, target: str) -> None:
        self.programs = {"proxy": proxy, "exit": exit_}
        self.at = {
            kind: one.until("shown at ").removeprefix("shown at http://").rstrip("/")
            for kind, one in self.programs.items()
        }
        self.target = target

    def get(self, kind: str, path: str) -> tuple[int, dict[str, str], str]:
        host, port = self.at[kind].rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=LONG_S)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text

    def json(self, kind: str, path: str) -> Any:
        status, _, text = self.get(kind, path)
        assert status == 200, text
        return json.loads(text)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, slow_target: str) -> Iterator[Shown]:
    token, at = tmp_path_factory.mktemp("watch") / "exit.token", f"127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
    watch = ["--watch", "127.0.0.1:0"]
    exit_ = start("exit", "--token-file", str(token), "--listen", at, "--allow", "127.0.0.1", *watch)
    url = exit_.until("anabranch proxy ").split("'")[1]
    proxy = start(
        *("proxy", url, "--token-file", str(token), "--via", "127.0.0.2,127.0.0.3"),
        *("--socks", "127.0.0.1:0", *watch),
    )
    shown = Shown(proxy, exit_, slow_target)
    holder = subprocess.Popen(
        ["curl", "--silent", "--output", "/dev/null", "-x", proxy.until("socks5h://"), f"http://{slow_target}/"]
    )
    try:
        deadline = time.monotonic() + LONG_S
        while shown.json("proxy", "/api/v1/status")["peers"][0]["from_targets_bytes"] < BYTES:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield shown
    finally:
        holder.terminate()
        holder.wait(LONG_S)
        end(proxy, exit_)


@pytest.mark.parametrize("kind", ["proxy", "exit"])
def test_figures_are_what_prometheus_reads(shown: Shown, kind: str) -> None:
    status, headers, text = shown.get(kind, "/metrics")
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    base = f"anabranch_{kind}"
    assert all(name.startswith(base) and family.documentation for name, family in families.items())
    states = [sample for sample in families[f"{base}_line_state"].samples if sample.value == 1]
    assert [(sample.labels["line"], sample.labels["state"]) for sample in states] == [("0", "up"), ("1", "up")]
    [flows] = families[f"{base}_open_flows"].samples
    [carried] = families[f"{base}_from_targets_bytes"].samples
    assert flows.value == 1
    assert BYTES <= carried.value < BYTES + 1000
    moved = "received" if kind == "proxy" else "sent"
    assert sum(sample.value for sample in families[f"{base}_line_{moved}_bytes"].samples) > BYTES


@pytest.mark.parametrize("kind", ["proxy", "exit"])
def test_answers_are_as_the_description_says(shown: Shown, kind: str) -> None:
    document = shown.json(kind, "/openapi.json")
    validate(document)
    for path in ["/api/v1/status", "/api/v1/flows"]:
        content = document["paths"][path]["get"]["responses"]["200"]["content"]
        schema = content["application/json"]["schema"] | {"components": document["components"]}
        jsonschema.validate(shown.json(kind, path), schema, cls=jsonschema.Draft202012Validator)
    [flow] = shown.json(kind, "/api/v1/flows")["flows"]
    assert (flow["target"], flow["kind"]) == (shown.target, "tcp")
    assert set(flow["lines"]) == {0, 1}
    assert shown.get(kind, "/api/v1/flows?limit=0")[0] == 400
    assert shown.get(kind, "/nothing")[0] == 404


def test_show_prints_lines_and_flows(shown: Shown) -> None:
    for kind in ["proxy", "exit"]:
        done = run("show", shown.at[kind], "--seconds", "0.2")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{kind} ")
        assert "127.0.0.2" in done.stdout
        assert shown.target in done.stdout
    done = run("show", shown.at["proxy"], "--json")
    assert {"kind", "peers", "flows"} <= json.loads(done.stdout).keys()


def test_what_cannot_be_shown_is_refused(shown: Shown, tmp_path) -> None:
    closed = f"127.0.0.1:{free_port(socket.SOCK_STREAM)}"
    for at in (closed, "127.0.0.1:port", "no host"):
        done = run("show", at)
        assert (done.returncode, "nobody answers" in done.stderr) == (2, True), done.stderr
    # A name that is none of the program's is refused by it, and this is told.
    done = run("show", shown.at["proxy"].replace("127.0.0.1", "127.0.0.1.nip.invalid"))
    assert done.returncode == 2
    token = str(tmp_path / "token")
    done = run("exit", "--token-file", token, "--listen", "127.0.0.1:0", "--watch", "0.0.0.0:0")
    assert done.returncode != 0
    assert "--watch-open" in done.stderr
    done = run("exit", "--token-file", token, "--listen", "127.0.0.1:0", "--watch", shown.at["exit"])
    assert done.returncode != 0
    assert "choose another address or port" in done.stderr
    done = run("exit", "--token-file", token, "--watch-open")
    assert "name that, too" in done.stderr


@pytest.mark.skipif(live_page("proxy") is None, reason="the page was not built")
@pytest.mark.parametrize(
    ("kind", "width", "scheme"), [("proxy", 1280, "light"), ("exit", 1280, "dark"), ("proxy", 390, "light")]
)
def test_the_page_follows_lines_and_flows(shown: Shown, browser: Browser, kind: str, width: int, scheme: Any) -> None:
    origin = f"http://{shown.at[kind]}/"
    troubles: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda r: r.url.startswith((origin, "data:")) or troubles.append(r.url))
    page.goto(origin)
    page.wait_for_selector("canvas", timeout=LONG_S * 1000)
    text = page.locator("main").inner_text()
    assert f"follows the {kind}" in text
    assert shown.target in text
    assert text.count("127.0.0.2") >= 1
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_label("filter flows").fill("nothing at all")
    assert "No flow fits" in page.locator("main").inner_text()
    context.close()
    assert troubles == []
