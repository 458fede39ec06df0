"""An exit and the clients of others: aioquic asks it for connections and for packets, as the standards have it."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
from aioquic.asyncio import QuicConnectionProtocol
from aioquic.asyncio.client import connect
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DatagramReceived, DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent

from anabranch import _core
from exits import TOKEN, echoing, echoing_packets, running_exit, token_file
from running_programs import LONG_S

pytestmark = pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no exits")


class Client(QuicConnectionProtocol):
    """A client of HTTP/3."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.http = H3Connection(self._quic)
        self.events: asyncio.Queue[H3Event] = asyncio.Queue()

    def quic_event_received(self, event: QuicEvent) -> None:
        for told in self.http.handle_event(event):
            self.events.put_nowait(told)

    def ask(self, *headers: tuple[str, str], token: str | None = TOKEN) -> int:
        """Send the header of a request, whose stream stays open."""
        stream = self._quic.get_next_available_stream_id()
        shown = [] if token is None else [("proxy-authorization", f"Bearer {token}")]
        all_headers = [(":method", "CONNECT"), *headers, *shown]
        self.http.send_headers(stream, [(name.encode(), value.encode()) for name, value in all_headers])
        self.transmit()
        return stream

    def ask_for_packets(self, host: str, port: int) -> int:
        path = f"/.well-known/masque/udp/{host}/{port}/"
        places = ((":scheme", "https"), (":authority", "exit.example"), (":path", path))
        return self.ask((":protocol", "connect-udp"), *places, ("capsule-protocol", "?1"))

    async def next(self, kind: type[Any]) -> Any:
        async with asyncio.timeout(LONG_S):
            while True:
                event = await self.events.get()
                if isinstance(event, kind):
                    return event

    async def status(self) -> tuple[str, dict[str, str]]:
        headers = {name.decode(): value.decode() for name, value in (await self.next(HeadersReceived)).headers}
        return headers.pop(":status"), headers


@pytest.fixture(scope="module")
def exit_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """Run an exit that allows this machine; give its address."""
    with running_exit("--token-file", str(token_file(tmp_path_factory.mktemp("exit")))) as at:
        yield at


@asynccontextmanager
async def client(at: tuple[str, int]) -> AsyncIterator[Client]:
    settings = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, max_datagram_frame_size=65536)
    # Who serves is not what is tried here.
    settings.verify_mode = ssl.CERT_NONE
    async with connect(*at, configuration=settings, create_protocol=Client) as own:
        assert isinstance(own, Client)
        yield own


@pytest.fixture
def echo() -> Iterator[int]:
    with echoing() as port:
        yield port


@pytest.fixture
def packet_echo() -> Iterator[int]:
    with echoing_packets() as port:
        yield port


def test_a_client_of_others_gets_a_connection(exit_at: tuple[str, int], echo: int) -> None:
    async def go() -> None:
        async with client(exit_at) as own:
            stream = own.ask((":authority", f"127.0.0.1:{echo}"))
            assert (await own.status())[0] == "200"
            sent = bytes(range(256)) * 4000
            own.http.send_data(stream, sent, end_stream=True)
            own.transmit()
            came = b""
            while len(came) < len(sent):
                came += (await own.next(DataReceived)).data
            assert came == sent
            assert (await own.next(DataReceived)).stream_ended

    asyncio.run(go())


def test_a_client_of_others_gets_packets_there_and_back(exit_at: tuple[str, int], packet_echo: int) -> None:
    async def go() -> None:
        async with client(exit_at) as own:
            stream = own.ask_for_packets("127.0.0.1", packet_echo)
            status, headers = await own.status()
            assert (status, headers["capsule-protocol"]) == ("200", "?1")
            # The context 0 has packets of UDP; those of others are nobody's.
            own.http.send_datagram(stream, b"\x02not for here")
            own.http.send_datagram(stream, b"\x00in a datagram")
            own.transmit()
            came = await own.next(DatagramReceived)
            assert (came.stream_id, came.data) == (stream, b"\x00in a datagram")
            # A capsule of a type that nobody knows, and one with a packet that is larger than any datagram of QUIC.
            large = bytes(3000)
            capsules = b"\x17\x03abc" + b"\x00" + (0x4000 | 1 + len(large)).to_bytes(2, "big") + b"\x00" + large
            own.http.send_data(stream, capsules, end_stream=False)
            own.transmit()
            back = b""
            while len(back) < 4 + len(large):
                back += (await own.next(DataReceived)).data
            assert back == capsules[5:]

    asyncio.run(go())


def test_a_client_of_others_hears_why_it_is_refused(exit_at: tuple[str, int]) -> None:
    async def go() -> None:
        with closing(socket.socket()) as unused:
            unused.bind(("127.0.0.1", 0))
            nobody = unused.getsockname()[1]
        async with client(exit_at) as own:
            own.ask((":authority", f"127.0.0.1:{nobody}"), token="another-token-than-that")
            status, headers = await own.status()
            assert (status, headers["proxy-status"]) == ("407", "anabranch; error=http_request_denied")
            for ask, wanted, reason in (
                (lambda: own.ask((":authority", f"127.0.0.1:{nobody}")), "502", "connection_refused"),
                (lambda: own.ask((":authority", "127.0.0.9:80")), "403", "destination_ip_prohibited"),
                (lambda: own.ask_for_packets("127.0.0.9", 53), "403", "destination_ip_prohibited"),
                (lambda: own.ask_for_packets("127.0.0.1", 0), "400", None),
                (lambda: own.ask((":authority", "127.0.0.1")), "400", None),
            ):
                ask()
                status, headers = await own.status()
                assert status == wanted
                assert headers.get("proxy-status") == (reason and f"anabranch; error={reason}")

    asyncio.run(go())
