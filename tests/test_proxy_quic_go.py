"""An exit and a client on quic-go, another implementation of QUIC and HTTP/3: connections, packets and refusals."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from anabranch import _core
from exits import TOKEN, echoing, echoing_packets, running_exit, token_file
from masque_clients import ask, build

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no exits"), pytest.mark.slow]

LARGE = 50_000_000
"""More than all windows together, so that it passes only where credit is given as data are read."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def exit_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with running_exit("--token-file", str(token_file(tmp_path_factory.mktemp("exit")))) as at:
        yield at


@pytest.mark.parametrize(("size", "streams"), [(0, 1), (1, 1), (LARGE, 1), (100_000, 100)])
def test_bytes_go_there_and_back_whole(client: Path, exit_at: tuple[str, int], size: int, streams: int) -> None:
    with echoing() as port:
        came = ask(client, exit_at, "-token", TOKEN, "connect", f"127.0.0.1:{port}", str(size), str(streams))
    assert (came["status"], came["received"], came["same"]) == (200, size * streams, True)


def test_packets_go_there_and_back_in_datagrams_and_in_a_capsule(client: Path, exit_at: tuple[str, int]) -> None:
    with echoing_packets() as port:
        came = ask(client, exit_at, "-token", TOKEN, "packets", "127.0.0.1", str(port), "20")
    assert (came["status"], came["capsules"], came["same"]) == (200, "?1", True)
    assert (came["datagrams"], came["packets"]) == (20, 1)


def test_a_refusal_says_why(client: Path, exit_at: tuple[str, int]) -> None:
    with closing(socket.socket()) as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{unused.getsockname()[1]}"
        own = ("-token", TOKEN)
        for words, status, reason in (
            (("connect", nobody, "1", "1"), 407, "http_request_denied"),
            (("-token", "another-token-than-that", "connect", nobody, "1", "1"), 407, "http_request_denied"),
            (("-token", "another-token-than-that", "packets", "127.0.0.1", "53", "1"), 407, "http_request_denied"),
            ((*own, "connect", nobody, "1", "1"), 502, "connection_refused"),
            ((*own, "connect", "127.0.0.9:80", "1", "1"), 403, "destination_ip_prohibited"),
            ((*own, "packets", "127.0.0.9", "53", "1"), 403, "destination_ip_prohibited"),
            ((*own, "packets", "127.0.0.1", "0", "1"), 400, None),
        ):
            came = ask(client, exit_at, *words)
            assert (came["status"], came["proxy_status"]) == (status, f"anabranch; error={reason}" if reason else "")
