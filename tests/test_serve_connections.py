"""Connections on which no whole request comes, and requests beside long work: a real server, and real sockets."""

import json
import re
import signal
import socket
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import pytest
import uvicorn

from anabranch.serve import Settings, connections, make_app
from anabranch.serve.connections import MOST_WAITING
from served import AS_JSON, command

pytestmark = pytest.mark.slow

HALF = b"GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@contextmanager
def listening(folder):
    """Give the address of a server over a folder."""
    with command(folder, "--port", "0", "--no-open") as process:
        try:
            yield re.search(r"http://\S+", process.stdout.readline())[0]
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0


def connect(address):
    port = int(re.search(r":(\d+)/", address)[1])
    return socket.create_connection(("127.0.0.1", port), timeout=30)


@pytest.fixture
def hasty(tmp_path, monkeypatch):
    """Give the address of a server in this process that waits for half a second."""

    monkeypatch.setattr(connections, "WAITED_FOR", dict.fromkeys(connections.WAITED_FOR, 0.5))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(make_app(Settings(tmp_path)), http=connections.Connection, ws="none", log_level="error")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        server.should_exit = True
        thread.join(20)


def is_closed(peer):
    """Whether the other end has closed it; what it had not read makes that a reset."""
    peer.settimeout(5)
    try:
        return peer.recv(1) == b""
    except ConnectionResetError:
        return True


def test_whoever_holds_connections_open_keeps_nobody_out(tmp_path):
    with listening(tmp_path) as address, ExitStack() as stack:
        held = [stack.enter_context(connect(address)) for _ in range(MOST_WAITING + 310)]
        for half in held:
            with suppress(OSError):  # closed already
                half.sendall(HALF)
        with urllib.request.urlopen(f"{address}api/runs", timeout=5) as answer:
            assert answer.status == 200
        # The first were closed for the last, of which as many are left as may be.
        assert is_closed(held[0])
        held[-1].sendall(b"\r\n")
        assert held[-1].recv(12) == b"HTTP/1.1 200"


def grid(side):
    """Give a scenario with a large network, whose mistake is found once that is there."""
    network = (
        f'[network]\ngenerate.grid = {{ rows = {side}, columns = {side}, capacity = "1 Gbit/s", delay = "1 ms" }}\n'
    )
    return network + '[[connection]]\nsource = "n0.0"\ntarget = "nowhere"\n'


def check(address, scenario):
    """Give what is said of a scenario."""
    body = json.dumps({"scenario": scenario}).encode()
    request = urllib.request.Request(f"{address}api/check", body, AS_JSON)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def longest_wait(address, pool):
    """How long others wait for an answer while a large network is made, as a share of the time that takes."""
    begin = time.monotonic()
    asked = pool.submit(check, address, grid(600))
    longest = 0.0
    while not asked.done():
        start = time.monotonic()
        urllib.request.urlopen(f"{address}api/jobs", timeout=120).close()
        longest = max(longest, time.monotonic() - start)
    assert "nowhere" in asked.result()["problem"]["error"]
    return longest / (time.monotonic() - begin)


def test_others_are_answered_while_a_large_network_is_made(tmp_path):
    with listening(tmp_path) as address, ThreadPoolExecutor() as pool:
        # The machine itself may halt meanwhile, but not each time.
        assert any(longest_wait(address, pool) < 1 / 3 for _ in range(3))


def test_the_server_ends_while_a_large_network_is_made(tmp_path):
    with ThreadPoolExecutor() as pool:
        with listening(tmp_path) as address:
            asked = pool.submit(check, address, grid(1000))
            time.sleep(1)
            assert not asked.done()
            begin = time.monotonic()
        assert time.monotonic() - begin < 10
        assert asked.exception() is not None


def test_too_large_a_network_is_refused_before_it_is_made(tmp_path):
    with listening(tmp_path) as address:
        begin = time.monotonic()
        problem = check(address, grid(30_000))["problem"]
        assert "it would make 900000000 nodes; there may be 5000000" in problem["error"]
        assert problem["line"] == 2
        assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        HALF,
        HALF + b"\r\n" + HALF,
        b"POST /api/check HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n",
    ],
    ids=["nothing", "half a head", "half a second head", "no body"],
)
def test_a_request_that_does_not_come_to_its_end_is_not_waited_for(hasty, begin):
    with connect(hasty) as peer:
        peer.sendall(begin)
        start = time.monotonic()
        # What still drips in moves no limit.
        while time.monotonic() - start < 10:
            try:
                peer.sendall(b"x")
            except OSError:
                break
            time.sleep(0.1)
        assert time.monotonic() - start < 5
