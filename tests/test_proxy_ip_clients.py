"""IP packets of a client of others: connect-ip-go asks an exit for addresses, and sends echoes through it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from anabranch import _core
from ip_site import PRIVATE, TARGETS, Site, skip_without_devices
from masque_clients import build
from running_programs import LONG_S

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no exits"),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such devices"),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the client, for which Go and the modules of go.sum have to be there."""
    return build(tmp_path_factory.mktemp("client"), Path(__file__).with_name("connect_ip"))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    skip_without_devices()
    site = Site.new(tmp_path)
    try:
        yield site
    finally:
        site.end()


def asked(site: Site, client: Path, *targets: str) -> list[str]:
    """Run the client at the machine of the user; give what it says."""
    token = site.token.read_text(encoding="utf-8").strip()
    command = site.user.command(client, "10.1.0.2:4434", token, *targets)
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * LONG_S, check=False)
    assert done.returncode == 0, (done, [program.lines for program in site.running])
    return done.stdout.splitlines()


def test_a_client_of_others_has_addresses_and_reaches_what_rules_allow(site: Site, client: Path) -> None:
    site.exit("--tun", "anab0")
    assert asked(site, client, TARGETS[4], TARGETS[6], PRIVATE) == [
        "assigned [{0 10.77.0.2/32} {0 fd77::2/128}]",
        "route 0.0.0.0 255.255.255.255 0",
        "route :: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 0",
        # There is one address of each kind: the second wish is refused, and what it did not ask for stays.
        "asked [{1 10.77.0.99/32} {2 0.0.0.0/32} {0 fd77::2/128}]",
        f"answer 0 0 {TARGETS[4]}",
        f"answer 129 0 {TARGETS[6]}",
        "answer 3 13 10.77.0.1",
    ]


def test_a_client_of_others_hears_that_an_exit_has_no_device(site: Site, client: Path) -> None:
    site.exit()
    assert asked(site, client) == ["refused 501 anabranch; error=proxy_configuration_error"]
