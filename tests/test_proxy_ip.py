"""IP packets through a proxy: all programs of a machine, whatever they speak, leave at the exit."""

from __future__ import annotations

import errno
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from anabranch import _core
from echoes import IP_MTU_DISCOVER, IP_PMTUDISC_DO, IP_PMTUDISC_OMIT
from ip_site import ADDRESSES, EXITS, PRIVATE, TARGETS, Site, skip_without_devices
from running_programs import LONG_S, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no proxies"),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such devices"),
]


class Plain(http.server.BaseHTTPRequestHandler):
    """A web server that says where a request came from."""

    def do_GET(self) -> None:
        body = self.client_address[0].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Web(http.server.ThreadingHTTPServer):
    """A web server at an address of any kind."""

    def __init__(self, address: str) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, 80), Plain)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    skip_without_devices()
    site = Site.new(tmp_path_factory.mktemp("site"))
    try:
        site.exit("--tun", "anab0", "--watch", "127.0.0.1:4437")
        proxy = site.proxy("--watch", "127.0.0.1:4437")
        proxy.until("connected over 10.1.0.1 - 10.1.0.2:4434, 10.2.0.1 - 10.2.0.2:4434")
        proxy.until(ADDRESSES)
        site.route()
        for address in TARGETS.values():
            server = site.target.inside(lambda address=address: Web(address))
            threading.Thread(target=server.serve_forever, daemon=True).start()
        yield site
    finally:
        site.end()


def settled_mtu(site: Site) -> int:
    """Give the MTU of the device once the lines have found out what they carry."""
    deadline, mtu = time.monotonic() + LONG_S, 0
    while mtu < 1400 and time.monotonic() < deadline:
        time.sleep(0.1)
        mtu = int(site.user.shell("ip -o link show anab0").split(" mtu ")[1].split()[0])
    return mtu


@pytest.mark.parametrize("version", [4, 6])
def test_echoes_of_the_target_come_back(site: Site, version: int) -> None:
    echoed = {4: (0, 0), 6: (129, 0)}[version]
    assert site.ask(TARGETS[version]) == (*echoed, TARGETS[version])


@pytest.mark.parametrize(("version", "hop"), [(4, "10.77.0.1"), (6, "fd77::1")])
def test_the_exit_is_the_first_hop_and_the_target_the_second(site: Site, version: int, hop: str) -> None:
    expired = {4: (11, 0), 6: (3, 0)}[version]
    assert site.ask(TARGETS[version], hops=1) == (*expired, hop)
    assert site.ask(TARGETS[version], hops=2)[2] == TARGETS[version]


@pytest.mark.parametrize("version", [4, 6])
def test_a_program_reaches_its_target_and_comes_from_the_exit(site: Site, version: int) -> None:
    host = {4: TARGETS[4], 6: f"[{TARGETS[6]}]"}[version]
    command = site.user.command("curl", "--silent", "--show-error", "--max-time", LONG_S, f"http://{host}/")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * LONG_S)
    assert (done.returncode, done.stdout) == (0, EXITS[version]), (done.stderr, [one.lines for one in site.running])


@pytest.mark.parametrize("target", [PRIVATE, EXITS[4], "10.9.0.254"])
def test_what_no_rule_allows_is_prohibited_at_once(site: Site, target: str) -> None:
    assert site.ask(target) == (3, 13, "10.77.0.1")


def test_the_device_carries_what_the_lines_carry_and_no_more(site: Site) -> None:
    mtu = settled_mtu(site)
    # Of 1452 bytes at the most, QUIC, the number of the stream and the context take some.
    assert 1400 <= mtu <= 1440
    for target in TARGETS.values():
        assert site.ask(target, length=mtu)[2] == target
        with pytest.raises(OSError, match="Message too long") as caught:
            site.ask(target, length=mtu + 1)
        assert caught.value.errno == errno.EMSGSIZE


def test_a_sender_of_packets_that_are_too_big_hears_what_fits(site: Site) -> None:
    mtu = settled_mtu(site)
    here = site.user.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    there = site.target.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    with here, there:
        for own in (here, there):
            own.settimeout(LONG_S)
        there.bind((TARGETS[4], 5300))
        there.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
        here.sendto(b"how much", (TARGETS[4], 5300))
        asked, exit_ = there.recvfrom(100)
        assert (asked, exit_[0]) == (b"how much", EXITS[4])
        there.connect(exit_)
        there.send(bytes(1450))
        deadline = time.monotonic() + LONG_S
        while (heard := there.getsockopt(socket.IPPROTO_IP, 14)) > mtu and time.monotonic() < deadline:
            time.sleep(0.05)
        assert heard == mtu
        # What it heard waits at its socket, too.
        assert there.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.EMSGSIZE
        # Packets that may be divided are not refused, and fill the packets of its own device.
        there.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_OMIT)
        there.send(bytes(3000))
        assert len(here.recv(4000)) == 3000


def iperf3(site: Site, *options: object) -> dict[str, Any]:
    """Measure between the user and the target."""
    if shutil.which("iperf3") is None:
        pytest.skip("the program iperf3 is missing")
    server = site.target.start("iperf3", "--server", "--one-off", "--bind", TARGETS[4], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    command = site.user.command("iperf3", "--json", "--client", TARGETS[4], *options)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * LONG_S)
    server.terminate()
    server.wait()
    report: dict[str, Any] = json.loads(done.stdout)
    assert "error" not in report, report["error"]
    return report


@pytest.mark.alone
@pytest.mark.parametrize("direction", [(), ("--reverse",)])
def test_bulk_passes_by_tcp(site: Site, direction: tuple[str, ...]) -> None:
    rate = iperf3(site, "--time", 3, *direction)["end"]["sum_received"]["bits_per_second"]
    print(f"{rate / 1e6:.0f} Mbit/s")
    assert rate > 20e6


@pytest.mark.alone
@pytest.mark.parametrize("direction", [(), ("--reverse",)])
def test_packets_of_udp_pass_at_their_rate(site: Site, direction: tuple[str, ...]) -> None:
    report = iperf3(site, "--udp", "--bitrate", "10M", "--length", 1200, "--time", 2, *direction)["end"]["sum"]
    print(report)
    assert report["bits_per_second"] > 9e6
    assert report["lost_percent"] < 5


@pytest.mark.alone
def test_a_transfer_goes_on_when_its_line_dies(site: Site) -> None:
    """Take each link away in turn, so that one of them is the line of the transfer."""
    timers = []
    for at_s, link, state in ((1.0, "up1", "down"), (3.0, "up1", "up"), (5.0, "up2", "down"), (7.0, "up2", "up")):
        timers.append(threading.Timer(at_s, site.user.shell, [f"ip link set {link} {state}"]))
        timers[-1].start()
    try:
        report = iperf3(site, "--time", 8, "--interval", 0.5, "--reverse")
    finally:
        for timer in timers:
            timer.join()
    rates = [own["sum"]["bits_per_second"] for own in report["intervals"]]
    print([f"{rate / 1e6:.0f}" for rate in rates])
    # A transfer that waits for retransmissions by TCP alone may wait for a second.
    assert sum(rate < 1e6 for rate in rates) <= 4
    assert all(rate > 1e6 for rate in rates[-1:])


def test_the_tunnel_is_shown_as_a_flow(site: Site) -> None:
    def flows() -> list[dict[str, Any]]:
        with urllib.request.urlopen("http://127.0.0.1:4437/api/v1/flows", timeout=LONG_S) as answer:
            return list(json.load(answer)["flows"])

    site.ask(TARGETS[4])
    for machine in (site.user, site.far):
        (flow,) = machine.inside(flows)
        assert (flow["kind"], flow["target"]) == ("ip", "10.77.0.2, fd77::2")
        assert set(flow["lines"]) == {0, 1}
        assert min(flow["to_target_bytes"], flow["from_target_bytes"]) >= 64


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Site]:
    """A site without programs."""
    skip_without_devices()
    site = Site.new(tmp_path)
    try:
        yield site
    finally:
        site.end()


def test_a_proxy_keeps_its_addresses_when_the_exit_comes_back(bare: Site) -> None:
    first = bare.exit("--tun", "anab0")
    # An exit gives the first address to a client that likes no other.
    bare.user.shell("ip tuntap add dev anab0 mode tun; ip addr add 10.77.0.9/32 dev anab0; ip link set anab0 up")
    proxy = bare.proxy()
    proxy.until("anab0 has 10.77.0.9 and fd77::2")
    bare.route()
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    bare.running.remove(first)
    first.reader.join(LONG_S)
    bare.exit("--tun", "anab0")
    deadline = time.monotonic() + LONG_S
    while True:
        try:
            assert bare.ask(TARGETS[4], wait_s=1)[2] == TARGETS[4]
            break
        except OSError:
            assert time.monotonic() < deadline, proxy.lines
    assert bare.ask(TARGETS[6])[2] == TARGETS[6]
    assert "10.77.0.9/32" in bare.user.shell("ip addr show anab0")
    assert "10.77.0.2/32" not in bare.user.shell("ip addr show anab0")
    assert sum(line.startswith("anab0 has") for line in proxy.lines) == 1


def test_routes_stay_when_another_address_is_given(bare: Site) -> None:
    exit_ = bare.exit("--tun", "anab0")
    proxy = bare.proxy()
    proxy.until(ADDRESSES)
    bare.route()
    exit_.process.send_signal(signal.SIGKILL)
    exit_.process.wait()
    bare.running.remove(exit_)
    exit_.reader.join(LONG_S)
    bare.exit("--tun", "anab0", "--tun-network", "10.78.0.0/24,fd78::/64")
    proxy.until("anab0 has 10.78.0.2 and fd78::2")
    assert bare.ask(TARGETS[4])[2] == TARGETS[4]
    assert bare.ask(TARGETS[6])[2] == TARGETS[6]


def test_everything_takes_the_device_but_what_the_proxy_sends(bare: Site) -> None:
    """Follow the rules that the guide has, with a program of another user than the proxy."""
    bare.exit("--tun", "anab0")
    bare.proxy().until(ADDRESSES)
    bare.user.shell(
        "ip route add default via 10.1.0.2; ip route add default dev anab0 table 77;"
        "ip rule add priority 1000 uidrange 0-0 lookup main;"
        "ip rule add priority 1001 lookup main suppress_prefixlength 0; ip rule add priority 1002 lookup 77"
    )
    server = bare.target.inside(lambda: Web(TARGETS[4]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    curl = ("curl", "--silent", "--show-error", "--max-time", 3, f"http://{TARGETS[4]}/")
    other = ("setpriv", "--reuid=65534", "--clear-groups")
    done = subprocess.run(bare.user.command(*other, *curl), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, EXITS[4]), done
    done = subprocess.run(bare.user.command(*curl), capture_output=True, text=True, check=False)
    assert done.returncode == 28, "packets of root leave by the link, and the target has no way back"


def test_an_exit_without_a_device_says_so(bare: Site) -> None:
    bare.exit()
    bare.proxy().until("no IP packets pass: the exit carries no IP packets")


def test_a_relay_passes_packets_on(bare: Site) -> None:
    bare.exit("--tun", "anab0")
    options = ("--token-file", str(bare.token), "--listen", "10.1.0.2:4435", "--name", "10.1.0.2")
    relay = ("relay", bare.url, "--exit-token-file", str(bare.token), *options)
    bare.running.append(start(*relay, before=bare.far.command()))
    url = bare.running[-1].until("anabranch proxy ").split("'")[1]
    bare.proxy(url=url, via="up1").until(ADDRESSES)
    bare.route()
    for target in TARGETS.values():
        assert bare.ask(target)[2] == target
    assert bare.ask(PRIVATE) == (3, 13, "10.77.0.1")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--tun", "anab0", "--tun-network", "10.0.0.0/31"), "10.0.0.0/31 is too small"),
        (("--tun", "anab0", "--tun-network", "10.0.0.0/8,10.0.0.0/8"), "are of one kind"),
        (("--tun", "anab0", "--tun-network", "10.0.0.0/8,x"), "`x` is no network of addresses"),
        (("--tun-network", "10.0.0.0/8"), "name one by --tun"),
        (("--tun", "a-name-that-is-too-long"), "cannot open the TUN device `a-name-that-is-too-long`"),
    ],
)
def test_devices_that_cannot_be_are_refused(tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    program = start("exit", "--token-file", str(tmp_path / "token"), "--listen", "127.0.0.1:0", *options)
    program.process.wait(LONG_S)
    program.reader.join(LONG_S)
    assert program.process.returncode not in (0, None)
    assert says in " ".join(" ".join(program.lines).split()), program.lines


def test_without_the_right_a_device_is_refused(tmp_path: Path) -> None:
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("the right can be taken away from root alone, by setpriv")
    before = ("setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", "unshare", "--user", "--map-root-user")
    program = start(
        "exit", "--token-file", str(tmp_path / "token"), "--listen", "127.0.0.1:0", "--tun", "anab9", before=before
    )
    program.process.wait(LONG_S)
    program.reader.join(LONG_S)
    said = " ".join(program.lines)
    if "unshare" in said:
        pytest.skip(f"the kernel refuses user namespaces: {said}")
    assert "not permitted" in said, said
    assert "CAP_NET_ADMIN" in said, said
