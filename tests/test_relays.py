"""Relays lose, delay, keep and garble as they are told."""

from __future__ import annotations

import math
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from relays import Relay, Relays, Weather

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 2000


@contextmanager
def ends() -> Iterator[tuple[socket.socket, socket.socket, Relay]]:
    """Give one who calls, one who is called, and the relay between them."""
    caller, called = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with caller, called, Relays(3) as relays:
        called.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        called.bind(("127.0.0.1", 0))
        relay = relays.add(called.getsockname())
        caller.connect(relay.address)
        called.settimeout(0.5)
        caller.settimeout(0.5)
        yield caller, called, relay


def sent(caller: socket.socket, called: socket.socket) -> list[int]:
    """Send numbers, and give those that come in the order in which they come."""
    for number in range(COUNT):
        caller.send(number.to_bytes(4, "little"))
        if number % 100 == 99:
            time.sleep(0.002)  # The room at sockets is bounded.
    came = []
    while True:
        try:
            came.append(int.from_bytes(called.recv(100), "little"))
        except TimeoutError:
            return came


def test_all_passes_in_order_and_answers_come_back() -> None:
    with ends() as (caller, called, relay):
        assert sent(caller, called) == list(range(COUNT))
        caller.send(b"question")
        question, where = called.recvfrom(100)
        called.sendto(b"answer", where)
        assert (question, caller.recv(100)) == (b"question", b"answer")
        assert (relay.came, relay.lost) == (COUNT + 2, 0)


def test_a_tenth_is_lost_if_it_is_to_be() -> None:
    with ends() as (caller, called, relay):
        relay.weather = Weather(loss=0.1)
        came = sent(caller, called)
        lost = COUNT - len(came)
        # Five standard deviations of a binomial distribution.
        assert abs(lost - 0.1 * COUNT) < 5 * math.sqrt(COUNT * 0.1 * 0.9)
        assert (relay.came, relay.lost, came) == (COUNT, lost, sorted(came))


def test_jitter_delays_each_by_another_time() -> None:
    with ends() as (caller, called, relay):
        relay.weather = Weather(jitter_s=0.1)
        begin = time.monotonic()
        came = sent(caller, called)
        took = time.monotonic() - begin - 0.5
        assert sorted(came) == list(range(COUNT))
        assert came != sorted(came)
        assert 0.08 < took < 1.0


def test_a_delay_keeps_the_order() -> None:
    with ends() as (caller, called, relay):
        relay.weather = Weather(delay_s=0.05)
        begin = time.monotonic()
        assert sent(caller, called) == list(range(COUNT))
        assert 0.05 < time.monotonic() - begin - 0.5 < 1.0


def test_what_is_cut_passes_again_once_it_is_mended() -> None:
    with ends() as (caller, called, relay):
        relay.weather = Weather(is_cut=True)
        assert sent(caller, called) == []
        relay.weather = Weather()
        assert sent(caller, called) == list(range(COUNT))


def test_datagrams_can_be_changed_and_doubled() -> None:
    with ends() as (caller, called, relay):
        relay.weather = Weather(changed=lambda datagram: [datagram, datagram[:1]])
        caller.send(b"two")
        assert [called.recv(100), called.recv(100)] == [b"two", b"t"]


def test_an_end_that_is_away_for_a_while_harms_no_other_hop() -> None:
    with ends() as (caller, called, _), Relays(1) as others:
        place = called.getsockname()
        other = others.add(place)
        called.close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as second:
            second.connect(other.address)
            for _ in range(3):
                caller.send(b"nobody")
                second.send(b"nobody")
                time.sleep(0.01)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
                again.bind(place)
                again.settimeout(1.0)
                second.send(b"somebody")
                assert again.recv(100) == b"somebody"
