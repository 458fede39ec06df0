"""Clients of an exit and a relay that a file names: their limits, and their shares of the lines of a relay."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from anabranch import _core
from anabranch.commands.clients import accounts
from anabranch.commands.usage import MOST, PERIODS, Usage, current, is_over
from anabranch.errors import ScenarioError
from command import run
from running_programs import LONG_S, Lines, end, start
from test_proxy import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no proxies"),
    pytest.mark.skipif(sys.platform != "linux", reason="targets have several addresses of this machine"),
]

PIECE = bytes(1 << 16)


class Target:
    """A server that sends for ever, or receives, as the first byte of a connection says."""

    def __init__(self) -> None:
        self.door = socket.create_server(("127.0.0.1", 0))
        self.received: dict[bytes, int] = {}
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.door.getsockname()[1])

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self.door.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(peer,), daemon=True).start()

    def _answer(self, peer: socket.socket) -> None:
        with peer:
            try:
                asked = peer.recv(1)
                while asked == b"s":
                    peer.sendall(PIECE)
                while asked and (came := len(peer.recv(1 << 16))):
                    self.received[asked] = self.received.get(asked, 0) + came
            except OSError:
                pass


@pytest.fixture
def target() -> Iterator[Target]:
    target = Target()
    yield target
    target.door.close()


@pytest.fixture
def programs() -> Iterator[list[Lines]]:
    programs: list[Lines] = []
    yield programs
    end(*reversed(programs))


def connect(socks: str, port: int, host: str = "127.0.0.1") -> socket.socket | None:
    """Connect to a port of this machine through a proxy; None if it says no."""
    door = socks.removeprefix("socks5h://").rsplit(":", 1)
    own = socket.create_connection((door[0], int(door[1])), LONG_S)
    own.sendall(b"\x05\x01\x00\x05\x01\x00\x01" + socket.inet_aton(host) + struct.pack(">H", port))
    with own.makefile("rb", buffering=0) as said:
        answer = b"".join(said.read(1) or b"" for _ in range(12))
    if answer[3] == 0:
        return own
    own.close()
    return None


def reaches(socks: str, port: int) -> bool:
    own = connect(socks, port)
    if own is not None:
        own.close()
    return own is not None


def url_of(program: Lines) -> str:
    return program.until("anabranch proxy ").split("'")[1]


def listen() -> tuple[str, str]:
    return "--listen", f"127.0.0.1:{free_port(socket.SOCK_DGRAM)}"


def proxied(programs: list[Lines], url: str, token: Path) -> str:
    """Start a proxy; give its door."""
    programs.append(start("proxy", url, "--token-file", str(token), "--socks", "127.0.0.1:0"))
    return programs[-1].until("socks5h://")


def sent_mbps(stack: ExitStack, socks: str, port: int, count: int) -> Callable[[], float]:
    """Receive over some connections; gives a function that gives the rate since its last call."""
    had = [0] * count

    def take(number: int, own: socket.socket) -> None:
        try:
            while came := len(own.recv(1 << 18)):
                had[number] += came
        except OSError:
            pass

    for number in range(count):
        own = connect(socks, port)
        assert own is not None
        stack.enter_context(closing(own))
        own.sendall(b"s")
        threading.Thread(target=take, args=(number, own), daemon=True).start()
    last = [0, time.monotonic()]

    def rate() -> float:
        now, sum_ = time.monotonic(), sum(had)
        mbps = 8e-6 * (sum_ - last[0]) / (now - last[1])
        last[:] = sum_, now
        return mbps

    return rate


def given_mbps(stack: ExitStack, socks: str, target: Target, mark: bytes, count: int) -> Callable[[], float]:
    """Send over some connections; gives a function that gives the rate of arrival since its last call."""

    def give(own: socket.socket) -> None:
        try:
            own.sendall(mark)
            while True:
                own.sendall(PIECE)
        except OSError:
            pass

    for _ in range(count):
        own = connect(socks, target.port)
        assert own is not None
        stack.enter_context(closing(own))
        threading.Thread(target=give, args=(own,), daemon=True).start()
    last = [0, time.monotonic()]

    def rate() -> float:
        now, sum_ = time.monotonic(), target.received.get(mark, 0)
        mbps = 8e-6 * (sum_ - last[0]) / (now - last[1])
        last[:] = sum_, now
        return mbps

    return rate


@pytest.mark.alone
@pytest.mark.slow
def test_a_client_has_the_rate_and_the_connections_of_its_own(
    target: Target, programs: list[Lines], tmp_path: Path
) -> None:
    (tmp_path / "clients.toml").write_text(
        '[office]\ntoken-file = "office.token"\nrate = "20 Mbit/s"\nconnections = 2\n'
        '[guest]\ntoken-file = "guest.token"\n',
        encoding="utf-8",
    )
    allow = ("--allow", "127.0.0.0/8")
    programs.append(start("exit", "--clients", str(tmp_path / "clients.toml"), *listen(), *allow))
    url = url_of(programs[0])
    office, guest = (proxied(programs, url, tmp_path / f"{name}.token") for name in ("office", "guest"))
    with ExitStack() as stack:
        down = sent_mbps(stack, office, target.port, 1)
        up = given_mbps(stack, office, target, b"u", 1)
        time.sleep(1)
        down(), up()
        time.sleep(2)
        # Each direction has its own 20 Mbit/s.
        assert down() == pytest.approx(20, rel=0.1)
        assert up() == pytest.approx(20, rel=0.1)
        assert connect(office, target.port) is None
        # Who has no limits is not held up.
        free = sent_mbps(stack, guest, target.port, 3)
        time.sleep(1)
        assert free() > 60
    deadline = time.monotonic() + LONG_S
    while (again := connect(office, target.port)) is None:
        assert time.monotonic() < deadline, "connections that have ended do not count"
    again.close()
    end(programs.pop())
    assert "guest 127.0.0.1:" in programs[0].until("guest 127.0.0.1:")


def test_a_client_reaches_its_own_targets_alone(target: Target, programs: list[Lines], tmp_path: Path) -> None:
    lines = [
        *("[office]", 'token-file = "office.token"'),
        *("[guest]", 'token-file = "guest.token"', f'allow = ["127.0.0.1:{target.port}"]'),
    ]
    (tmp_path / "clients.toml").write_text("\n".join(lines), encoding="utf-8")
    programs.append(start("exit", "--clients", str(tmp_path / "clients.toml"), *listen(), "--allow", "127.0.0.0/8"))
    office, guest = (proxied(programs, url_of(programs[0]), tmp_path / f"{name}.token") for name in ("office", "guest"))
    other = Target()
    with closing(other.door):
        reached = [reaches(door, port) for door in (office, guest) for port in (target.port, other.port)]
    assert reached == [True, True, True, False]


def received(socks: str, port: int) -> int:
    """Receive over a connection until it is reset or ends, or is refused; give the number of bytes."""
    own, count = connect(socks, port), 0
    if own is None:
        return 0
    with own:
        own.sendall(b"s")
        try:
            while came := len(own.recv(1 << 18)):
                count += came
        except ConnectionResetError:
            return count
    pytest.fail("it ends as if all were there")


@pytest.mark.parametrize("is_relayed", [False, True])
def test_a_client_has_its_quota_and_no_more_until_the_next_period_whatever_is_restarted(
    target: Target, programs: list[Lines], tmp_path: Path, is_relayed: bool
) -> None:
    file, usage = tmp_path / "clients.toml", tmp_path / "clients.usage.json"
    file.write_text('[office]\ntoken-file = "office.token"\nquota = "5 MB"\n[guest]\ntoken-file = "guest.token"\n')
    here, token = listen(), tmp_path / "exit.token"
    serve: tuple[str, ...] = ("exit", "--allow", "127.0.0.1")
    if is_relayed:
        programs.append(start(*serve, "--token-file", str(token), *listen()))
        serve = ("relay", url_of(programs[0]), "--exit-token-file", str(token))
    programs.append(start(*serve, "--clients", str(file), *here, "--watch", "127.0.0.1:0"))
    url = url_of(programs[-1])
    shown = programs[-1].until("shown at ").removeprefix("shown at ").rstrip("/")
    office, guest = (proxied(programs, url, tmp_path / f"{name}.token") for name in ("office", "guest"))
    # What is under way in relays and proxies when the quota is used up is lost.
    assert 1e6 < received(office, target.port) <= 5e6 + (1 << 18)
    assert received(office, target.port) == 0
    assert reaches(guest, target.port)
    # What clients have carried is shown, also when they have gone.
    end(programs.pop(-2))
    of = {own["client"]: own for own in told_at(shown, "/api/v1/status", json.loads)["clients"]}
    figures = told_at(shown, "/metrics", str)
    assert (of["office"]["quota_bytes"], of["office"]["flows"]) == (5e6, 1)
    assert "quota_bytes" not in of["guest"]
    assert of["office"]["from_targets_bytes"] >= 5e6
    assert of["office"]["used_bytes"] >= 5e6
    kind = "relay" if is_relayed else "exit"
    assert f'anabranch_{kind}_client_flows_total{{client="guest"}} 1' in figures
    assert f'anabranch_{kind}_client_quota_used_bytes{{client="office"}} {of["office"]["used_bytes"]}' in figures
    office = proxied(programs, url, tmp_path / "office.token")
    programs.insert(-1, programs.pop())

    for period, count in (("month", 0), ("another", 4)):
        end(programs.pop(-3))
        assert json.loads(usage.read_text())["office"]["bytes"] >= 5e6
        if period == "another":
            usage.write_text('{"office": {"period": "1999-12", "bytes": 5000000}, "gone": {"period": "1", "bytes": 2}}')
        programs.insert(-2, start(*serve, "--clients", str(file), *here))
        url_of(programs[-3])
        deadline = time.monotonic() + LONG_S
        while not reaches(guest, target.port):
            assert time.monotonic() < deadline
        assert (received(office, target.port) > 1e6) == (count > 0)
    end(programs.pop(-3))
    assert json.loads(usage.read_text())["gone"] == {"period": "1", "bytes": 2}


def told_at(url: str, path: str, read: Callable[[str], Any]) -> Any:
    with urllib.request.urlopen(url + path, timeout=LONG_S) as answer:
        return read(answer.read().decode())


class Counted:
    """An exit that counts what its only client uses."""

    def __init__(self) -> None:
        self.count = 0

    def used(self) -> list[tuple[str, int]]:
        return [("office", self.count)]

    def renew(self, name: str) -> None:
        assert name == "office"
        self.count = 0


def test_quotas_are_renewed_when_their_period_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day = "2026-11-28"
    monkeypatch.setattr("anabranch.commands.usage.current", lambda period: day if period == "day" else "ever")
    usage, own = Usage.read(tmp_path / "usage.json"), Counted()
    assert usage.begin("office", "day") == 0
    own.count = 100
    usage.follow(own, at_once=True)
    assert Usage.read(usage.file).begin("office", "day") == 100
    assert Usage.read(usage.file).begin("office", "ever") == 0, "another period"
    day = "2026-11-29"
    usage.follow(own, at_once=True)
    assert own.count == 0
    assert Usage.read(usage.file).begin("office", "day") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["usage.json"]


def test_usage_that_cannot_be_kept_is_told_once_and_a_file_of_another_kind_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usage, own = Usage.read(tmp_path / "gone" / "usage.json"), Counted()
    usage.begin("office", "month")
    for own.count in (1, 2):
        usage.follow(own, at_once=True)
    assert capsys.readouterr().err.count("what was used is not kept") == 1
    usage.file.parent.mkdir()
    usage.follow(own, at_once=True)
    assert json.loads(usage.file.read_text())["office"]["bytes"] == 2, "it is tried again"
    file = tmp_path / "usage.json"
    for text in (
        "",
        "[]",
        "{",
        '{"a": 1}',
        '{"a": {"period": "x"}}',
        '{"a": {"period": "x", "bytes": 1e999}}',
    ):
        file.write_text(text)
        with pytest.raises(ScenarioError, match="mend it, or remove it"):
            Usage.read(file)
    file.write_bytes(b"\xff")
    with pytest.raises(ScenarioError, match="mend it, or remove it"):
        Usage.read(file)
    file.write_text('{"office": {"period": "ever", "bytes": 1e30}}')
    assert Usage.read(file).begin("office", "ever") == MOST


def test_periods_are_days_weeks_of_iso_8601_and_months_in_utc() -> None:
    west = timezone(timedelta(hours=-2))
    # 23:30 on the last day of 2026, two hours west of Greenwich, is 01:30 on the first of 2027, a Friday.
    for time_, names in (
        (datetime(2026, 12, 31, 12, tzinfo=UTC), ["2026-12-31", "2026-W53", "2026-12", "ever"]),
        (datetime(2026, 12, 31, 23, 30, tzinfo=west), ["2027-01-01", "2026-W53", "2027-01", "ever"]),
        (datetime(2027, 1, 4, tzinfo=UTC), ["2027-01-04", "2027-W01", "2027-01", "ever"]),
    ):
        assert [current(period, time_) for period in PERIODS] == names


def test_a_clock_that_goes_back_renews_no_quota_and_another_kind_of_period_does() -> None:
    for last, now, over in (
        ("2026-11", "2026-12", True),
        ("2026-12", "1970-01", False),
        ("2026-12", "2026-12", False),
        ("2026-W48", "2026-12", True),
        ("2026-12-01", "2026-W01", True),
        ("ever", "ever", False),
        ("", "ever", True),
    ):
        assert is_over(last, now) == over, (last, now)


def test_a_clock_that_went_back_at_the_start_forgets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    month = "2026-11"
    monkeypatch.setattr("anabranch.commands.usage.current", lambda _: month)
    usage, own = Usage.read(tmp_path / "usage.json"), Counted()
    usage.begin("office", "month")
    own.count = 100
    usage.follow(own, at_once=True)
    month = "1970-01"
    usage = Usage.read(usage.file)
    assert usage.begin("office", "month") == 100
    usage.follow(own, at_once=True)
    month = "2026-11"
    usage.follow(own, at_once=True)
    assert own.count == 100


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("direction", ["up", "down"])
def test_clients_share_the_lines_of_a_relay_by_weight_however_many_connections_they_have(
    target: Target, programs: list[Lines], tmp_path: Path, direction: str
) -> None:
    (tmp_path / "clients.toml").write_text(
        '[office]\ntoken-file = "office.token"\nweight = 3\n[guest]\ntoken-file = "guest.token"\n', encoding="utf-8"
    )
    token = ("--token-file", str(tmp_path / "exit.token"))
    towards = ("--client-capacity", "40 Mbit/s") if direction == "down" else ()
    programs.append(start("exit", *token, *listen(), "--allow", "127.0.0.1", *towards))
    onward = ("--capacity", "40 Mbit/s") if direction == "up" else ()
    programs.append(
        start(
            *("relay", url_of(programs[0]), "--exit-token-file", str(tmp_path / "exit.token"), *onward),
            *("--clients", str(tmp_path / "clients.toml"), *listen()),
        )
    )
    url = url_of(programs[1])
    doors = [proxied(programs, url, tmp_path / f"{name}.token") for name in ("office", "guest")]
    with ExitStack() as stack:
        rates = []
        for door, count, mark in zip(doors, (1, 6), (b"o", b"g"), strict=True):
            if direction == "up":
                rates.append(given_mbps(stack, door, target, mark, count))
            else:
                rates.append(sent_mbps(stack, door, target.port, count))
        time.sleep(3)
        for rate in rates:
            rate()
        time.sleep(4)
        office, guest = (rate() for rate in rates)
        assert office + guest > 0.85 * 40
        assert office / guest == pytest.approx(3, rel=0.2)


def test_a_file_of_clients_that_cannot_be_used_is_refused_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "clients.toml"
    for text, said in (
        ("", "it names no client; one is [office]"),
        ("x", "clients.toml: "),
        ("office = 1", "`office` must be a table [office] with token-file"),
        ("[office]", 'needs token-file or certificate, and has neither; one is token-file = "office.token"'),
        ('[office]\ntoken-file = "t"\ncertificate = "c"', "has both; keep one of them"),
        ("[office]\ncertificate = 1", "certificate must be a text"),
        ("[office]\ntoken-file = 1", "token-file must be a text"),
        ('[office]\ntoken-file = "t"\nraet = 2', "has no key `raet` (did you mean"),
        ('[office]\ntoken-file = "t"\nrate = 2', 'rate must be a text with a unit, such as "50 Mbit/s"'),
        ('[office]\ntoken-file = "t"\nrate = "fast"', "[office] rate: "),
        ('[office]\ntoken-file = "t"\nconnections = 0', "connections must be at least 1"),
        ('[office]\ntoken-file = "t"\nallow = "public"', "allow must be a list of texts"),
        ('["a b"]\ntoken-file = "t"', "is no name"),
        ('[office]\ntoken-file = "t"\nquota = 5', 'quota must be a text with a unit, such as "50 GB"'),
        ('[office]\ntoken-file = "t"\nquota = "much"', "[office] quota: "),
        ('[office]\ntoken-file = "t"\nquota = "0 B"', "quota must be at least a byte"),
        ('[office]\ntoken-file = "t"\nperiod = "day"', "period is that of a quota"),
        ('[office]\ntoken-file = "t"\nquota = "1 GB"\nperiod = "year"', "period must be day, week, month, ever"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ScenarioError) as error:
            accounts(None, file, with_targets=True)
        assert said in str(error.value), text
    with pytest.raises(ScenarioError, match="by --clients"):
        accounts(None, None, with_targets=True)
    file.write_text('[office]\ntoken-file = "t"\nallow = ["public"]', encoding="utf-8")
    with pytest.raises(ScenarioError, match="the exit alone decides on targets"):
        accounts(None, file, with_targets=False)
    file.write_text('[office]\ntoken-file = "t"\nweight = "2"', encoding="utf-8")
    with pytest.raises(ScenarioError, match="weight must be a number"):
        accounts(None, file, with_targets=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[a]\ntoken-file = "t"\n[b]\ntoken-file = "t"', "`a` and `b` have the same token"),
        ('[a]\ntoken-file = "t"\nweight = 2', "has no key `weight`; a relay alone shares its lines by weight"),
        ('[a]\ntoken-file = "t"\nrate = "1 bit/s"', "the rate of `a` must be at least 64 kbit/s"),
        ('[a]\ntoken-file = "t"\nallow = ["*"]', "`a`: `*` allows nothing"),
    ],
)
def test_clients_that_cannot_be_are_refused_by_the_exit(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "clients.toml").write_text(text, encoding="utf-8")
    done = run("exit", "--clients", str(tmp_path / "clients.toml"), "--listen", "127.0.0.1:0")
    assert done.returncode == 2, done
    assert said in done.stderr
