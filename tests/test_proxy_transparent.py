"""Connections that the kernel redirects to a proxy: programs know nothing of it."""

import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from anabranch import _core
from namespaces import Machine
from running_programs import LONG_S, Lines, end, start

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no proxies"),
    pytest.mark.skipif(sys.platform != "linux", reason="the kernel redirects connections on Linux alone"),
]

TARGET = "10.9.0.1"
"""An address beyond the exit, to which there is no other way."""

REDIRECT = f"""
table ip own {{
  chain out {{
    type nat hook output priority -100;
    ip daddr {TARGET} meta l4proto tcp redirect to :1081
  }}
}}
"""

TPROXY = """
table ip lan {
  chain pre {
    type filter hook prerouting priority mangle;
    iifname "lan" meta l4proto tcp tproxy to :1081 meta mark set 1 accept
  }
}
"""


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


@dataclass
class Site:
    """A site with a host and a gateway with two uplinks, and the machine of the exit."""

    host: Machine
    gateway: Machine
    far: Machine
    proxy: Lines

    def get(self, machine: Machine, target: str) -> "subprocess.CompletedProcess[str]":
        command = machine.command("curl", "--silent", "--show-error", "--max-time", LONG_S, f"http://{target}/")
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * LONG_S)


def join(one: Machine, other: Machine, names: tuple[str, str], addresses: tuple[str, str]) -> None:
    """Connect two machines."""
    one.shell(f"ip link add {names[0]} type veth peer name {names[1]} netns {other.pid}")
    for machine, name, address in zip((one, other), names, addresses, strict=True):
        machine.shell(f"ip addr add {address} dev {name}; ip link set {name} up")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    for program in ("unshare", "nsenter", "ip", "nft", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"the program {program} is missing")
    if subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("the kernel refuses network namespaces")
    folder = tmp_path_factory.mktemp("site")
    host, gateway, far = machines = [Machine.new() for _ in range(3)]
    running: list[Lines] = []
    try:
        join(host, gateway, ("lan", "lan"), ("192.168.1.2/24", "192.168.1.1/24"))
        join(gateway, far, ("up0", "down0"), ("10.1.0.1/24", "10.1.0.2/24"))
        join(gateway, far, ("up1", "down1"), ("10.2.0.1/24", "10.2.0.2/24"))
        host.shell("ip route add default via 192.168.1.1")
        # Nothing else leads to the target: its network is there for the kernel to have a way to redirect from.
        gateway.shell("ip route add 10.9.0.0/16 via 10.1.0.2")
        far.shell(f"ip addr add {TARGET}/32 dev lo; ip route add blackhole 192.168.1.0/24")
        for name, rules in (("redirect", REDIRECT), ("tproxy", TPROXY)):
            (folder / name).write_text(rules)
            done = subprocess.run(gateway.command("nft", "-f", folder / name), check=False, capture_output=True)
            if done.returncode != 0:
                pytest.skip(f"the kernel refuses rules: {done.stderr.decode()}")
        gateway.shell("ip rule add fwmark 1 lookup 100; ip route add local default dev lo table 100")
        server = far.inside(lambda: http.server.ThreadingHTTPServer((TARGET, 80), Plain))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        token = folder / "exit.token"
        running.append(
            start(
                "exit",
                "--token-file",
                str(token),
                "--listen",
                "0.0.0.0:4434",
                "--name",
                "10.1.0.2",
                "--allow",
                "10.9.0.0/16",
                before=far.command(),
            )
        )
        url = running[0].until("anabranch proxy ").split("'")[1]
        running.append(
            start(
                "proxy",
                url,
                "--token-file",
                str(token),
                "--via",
                "up0,up1=10.2.0.2",
                "--transparent",
                "0.0.0.0:1081",
                before=gateway.command(),
            )
        )
        running[1].until("redirected connections at 0.0.0.0:1081")
        running[1].until("connected over 10.1.0.1 - 10.1.0.2:4434, 10.2.0.1 - 10.2.0.2:4434")
        yield Site(host, gateway, far, running[1])
        server.shutdown()
        server.server_close()
    finally:
        end(*running)
        for machine in machines:
            machine.end()


@pytest.mark.parametrize("who", ["gateway", "host"])
def test_a_program_that_knows_nothing_reaches_its_target_through_the_exit(site: Site, who: str) -> None:
    done = site.get(getattr(site, who), TARGET)
    assert done.returncode == 0, (done.stderr, site.proxy.lines)
    # The exit is on the target's own machine.
    assert done.stdout == TARGET


@pytest.mark.parametrize("target", [f"{TARGET}:81", "10.9.0.2", "172.16.0.1"])
def test_what_cannot_be_reached_is_reset(site: Site, target: str) -> None:
    done = site.get(site.host, target)
    # To curl it refuses, resets or ends the connection, by the moment at which it hears of it.
    assert done.returncode in (7, 52, 56), done
    assert not done.stdout


def test_nobody_uses_the_door_by_its_address(site: Site) -> None:
    for machine, address in ((site.far, "10.1.0.1"), (site.gateway, "127.0.0.1")):
        done = site.get(machine, f"{address}:1081")
        assert done.returncode in (7, 52, 56), done
        assert not done.stdout
