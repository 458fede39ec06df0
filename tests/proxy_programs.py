"""Programs of labs with proxies: ``source`` sends for ever or echoes, ``sink`` receives through a proxy."""

import json
import socket
import struct
import sys
import threading
import time
from statistics import median

PORT = 5001
DOOR = ("127.0.0.1", 1080)
BULK, ECHO, RENO = b"b", b"e", b"r"
BEGIN_S = 4.0
"""Time after which rates count: windows have grown by then."""


def answer(peer: socket.socket) -> None:
    """Do what the first byte asks for, until the peer has gone."""
    try:
        asked = peer.recv(1)
        while asked == ECHO and (came := peer.recv(4096)):
            peer.sendall(came)
        if asked == RENO:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        while asked in (BULK, RENO):
            peer.sendall(bytes(1 << 18))
    except OSError:
        pass


def source(address: str) -> None:
    """Serve all who connect."""
    with socket.create_server((address, PORT), backlog=64) as door:
        while True:
            peer, _ = door.accept()
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=answer, args=(peer,), daemon=True).start()


def connect(host: str, asked: bytes, *, is_direct: bool = False) -> socket.socket:
    """Connect through the proxy, which may have to connect itself first; or past it."""
    if is_direct:
        own = socket.create_connection((host, PORT))
    else:
        name = host.encode()
        for _ in range(100):
            try:
                own = socket.create_connection(DOOR)
                own.sendall(b"\x05\x01\x00\x05\x01\x00\x03" + bytes([len(name)]) + name + struct.pack(">H", PORT))
                with own.makefile("rb", buffering=0) as said:
                    answered = b"".join(said.read(1) for _ in range(12))
                if answered[3] == 0:
                    break
            except (OSError, IndexError):
                time.sleep(0.1)
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    own.sendall(asked)
    return own


def exchange_s(peer: socket.socket, count: int) -> float:
    """Give the median time of small exchanges."""
    times = []
    for _ in range(count):
        begin, came = time.monotonic(), 0
        peer.sendall(bytes(100))
        while came < 100:
            came += len(peer.recv(100))
        times.append(time.monotonic() - begin)
        time.sleep(0.03)
    return median(times)


def sink(host: str, direct: str, bulk: int, reno: int, seconds: float) -> dict:
    """Receive over bulk flows through the proxy and Reno flows past it; give rates, and the time of exchanges."""
    echo = connect(host, ECHO)
    time.sleep(1)
    idle_s = exchange_s(echo, 30)
    begin, counts = time.monotonic(), [0] * (bulk + reno)

    def receive(number: int) -> None:
        is_direct = number >= bulk
        own = connect(direct if is_direct else host, RENO if is_direct else BULK, is_direct=is_direct)
        piece = bytearray(1 << 18)
        while (at := time.monotonic() - begin) < seconds:
            came = own.recv_into(piece)
            counts[number] += came if at > BEGIN_S else 0

    threads = [threading.Thread(target=receive, args=(number,), daemon=True) for number in range(bulk + reno)]
    for thread in threads:
        thread.start()
    time.sleep(BEGIN_S)
    busy_s = exchange_s(echo, 60)
    time.sleep(max(0.0, begin + seconds + 1 - time.monotonic()))
    mbps = [8e-6 * count / (seconds - BEGIN_S) for count in counts]
    return {"idle_s": idle_s, "busy_s": busy_s, "bulk": mbps[:bulk], "reno": mbps[bulk:]}


if __name__ == "__main__":
    if sys.argv[1] == "source":
        source(sys.argv[2])
    host, direct, *numbers, seconds = sys.argv[2:]
    print(json.dumps(sink(host, direct, *map(int, numbers), float(seconds))))
