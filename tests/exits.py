"""An exit that runs, and what tests reach through it: servers that send back what comes."""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from running_programs import end, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "a-token-for-tests-only"


def token_file(folder: Path) -> Path:
    """Write the token of tests into a file."""
    file = folder / "exit.token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    return file


@contextmanager
def running_exit(*options: str) -> Iterator[tuple[str, int]]:
    """Run an exit that allows this machine; give its address."""
    own = start("exit", *options, "--listen", "127.0.0.1:0", "--allow", "127.0.0.1")
    try:
        url = urlsplit(own.until("anabranch proxy ").split("'")[1])
        assert url.port is not None
        yield "127.0.0.1", url.port
    finally:
        end(own)


@contextmanager
def echoing() -> Iterator[int]:
    """Send back what comes over connections of TCP; give the port."""

    class Echo(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while piece := self.request.recv(1 << 16):
                self.request.sendall(piece)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, request_queue_size = True, 128

    with Server(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@contextmanager
def echoing_packets() -> Iterator[int]:
    """Send packets of UDP back; give the port."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as own:
        own.bind(("127.0.0.1", 0))
        own.settimeout(0.1)
        is_over = threading.Event()

        def serve() -> None:
            while not is_over.is_set():
                try:
                    packet, address = own.recvfrom(1 << 16)
                except TimeoutError:
                    continue
                own.sendto(packet, address)

        server = threading.Thread(target=serve)
        server.start()
        yield own.getsockname()[1]
        is_over.set()
        server.join()
