"""Clients that an exit or a relay knows by certificates, beside those with tokens; ours and others."""

from __future__ import annotations

import asyncio
import http.server
import ssl
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from aioquic.asyncio.client import connect
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from cryptography.x509.oid import ExtendedKeyUsageOID

from anabranch import _core
from anabranch.commands.clients import accounts
from anabranch.errors import ScenarioError
from certificates import Certificate, made
from command import run
from exits import TOKEN, echoing, token_file
from masque_clients import ask, build
from running_programs import Lines, end, start
from test_proxy import Quiet, curl
from test_proxy_clients import Client

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(not _core.HAS_LIVE, reason="this build has no exits"),
    pytest.mark.skipif(sys.platform != "linux", reason="paths take several addresses of this machine"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Certificate:
    return made(folder, "authority", is_authority=True)


@pytest.fixture(scope="module")
def office(folder: Path, authority: Certificate) -> Certificate:
    return made(folder, "office", authority)


@pytest.fixture(scope="module")
def exit_(folder: Path, authority: Certificate) -> Iterator[Lines]:
    """Run an exit for all with certificates by the authority, and for those with a token."""
    known = ("--client-authorities", str(authority.file), "--token-file", str(token_file(folder)))
    own = start("exit", *known, "--listen", "127.0.0.1:0", "--allow", "127.0.0.1")
    yield own
    end(own)


@pytest.fixture
def programs() -> Iterator[list[Lines]]:
    """Give a list of programs that end with the test."""
    started: list[Lines] = []
    yield started
    end(*reversed(started))


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    """Serve the folder of tests; give the URL of a file."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def url_of(program: Lines) -> str:
    return program.until("anabranch proxy ").split("'")[1]


def place_of(program: Lines) -> tuple[str, int]:
    return "127.0.0.1", int(url_of(program).split(":")[2].split("/")[0])


def showing(own: Certificate, prefix: str = "") -> tuple[str, ...]:
    return f"--{prefix}certificate", str(own.file), f"--{prefix}key", str(own.key_file)


def proxied(programs: list[Lines], url: str, *shows: str) -> Lines:
    programs.append(start("proxy", url, *shows, "--via", "127.0.0.2,127.0.0.3", "--http", "127.0.0.1:0"))
    return programs[-1]


def status(proxy: Lines, url: str) -> bytes:
    return curl("-x", proxy.until("http://"), "--output", "/dev/null", "--write-out", "%{http_code}", url).stdout


def test_a_proxy_with_a_certificate_needs_no_token_and_one_with_a_token_no_certificate(
    exit_: Lines, office: Certificate, folder: Path, web: str, programs: list[Lines]
) -> None:
    for shows in (showing(office), ("--token-file", str(folder / "exit.token"))):
        assert status(proxied(programs, url_of(exit_), *shows), web) == b"200"


def test_a_proxy_hears_why_its_certificate_is_not_taken(
    exit_: Lines, authority: Certificate, tmp_path: Path, programs: list[Lines]
) -> None:
    other = made(tmp_path, "other", is_authority=True)
    for name, own, why in (
        ("foreign", {"by": other}, "none of the authorities that are trusted there has signed it"),
        ("itself", {}, "none of the authorities that are trusted there has signed it"),
        ("old", {"by": authority, "days": (-30, -1)}, "it has expired"),
        ("early", {"by": authority, "days": (1, 30)}, "it is not valid yet"),
        ("server", {"by": authority, "usage": ExtendedKeyUsageOID.SERVER_AUTH}, "it is not one for clients of TLS"),
    ):
        proxy = proxied(programs, url_of(exit_), *showing(made(tmp_path, name, **own)))
        proxy.until(f"no connection to the exit: the exit does not take the certificate: {why}")


def test_a_certificate_says_nothing_to_an_exit_that_knows_tokens_alone(
    office: Certificate, tmp_path: Path, programs: list[Lines]
) -> None:
    programs.append(start("exit", "--token-file", str(token_file(tmp_path)), "--listen", "127.0.0.1:0"))
    proxy = proxied(programs, url_of(programs[0]), *showing(office))
    proxy.until("no connection to the exit: the exit does not know the certificate, or knows clients by tokens alone")


def test_a_file_gives_limits_to_clients_by_name_and_by_fingerprint(
    authority: Certificate, office: Certificate, tmp_path: Path, web: str, programs: list[Lines]
) -> None:
    guest, stranger = made(tmp_path, "guest"), made(tmp_path, "stranger", authority)
    (tmp_path / "clients.toml").write_text(
        f'[office]\ncertificate = "office.example"\nallow = ["127.0.0.1"]\n\n'
        f'[guest]\ncertificate = "{guest.fingerprint}"\nallow = ["public"]\n',
        encoding="utf-8",
    )
    known = ("--clients", str(tmp_path / "clients.toml"), "--client-authorities", str(authority.file))
    programs.append(start("exit", *known, "--listen", "127.0.0.1:0"))
    url = url_of(programs[0])
    assert programs[0].until("anabranch proxy ").endswith("--certificate NAME.pem --key NAME.key")
    for own, expected in ((office, b"200"), (guest, b"403")):
        assert status(proxied(programs, url, *showing(own)), web) == expected
    # The authority has signed this one, and no client has it.
    proxied(programs, url, *showing(stranger)).until(
        "no connection to the exit: the exit does not know the certificate"
    )


def test_a_relay_knows_its_clients_and_is_known_by_certificates(
    exit_: Lines, authority: Certificate, office: Certificate, tmp_path: Path, web: str, programs: list[Lines]
) -> None:
    relay = made(tmp_path, "relay", authority)
    known = ("--client-authorities", str(authority.file), "--listen", "127.0.0.1:0")
    programs.append(start("relay", url_of(exit_), *showing(relay, "exit-"), *known))
    assert status(proxied(programs, url_of(programs[0]), *showing(office)), web) == b"200"


@pytest.mark.slow
def test_a_client_on_quic_go_is_known_by_its_certificate(exit_: Lines, office: Certificate, tmp_path: Path) -> None:
    program, at = build(tmp_path), place_of(exit_)
    shows = ("-certificate", str(office.file), "-key", str(office.key_file))
    with echoing() as port:
        target = ("connect", f"127.0.0.1:{port}", "100000", "2")
        assert ask(program, at, *shows, *target)["same"]
        assert ask(program, at, *target)["status"] == 407
        # A token that is shown counts.
        assert ask(program, at, *shows, "-token", "another-token-than-that", *target)["status"] == 407
        assert ask(program, at, *shows, "-token", TOKEN, *target)["status"] == 200


def test_a_client_on_aioquic_is_known_by_its_certificate(exit_: Lines, office: Certificate) -> None:
    async def go(port: int) -> None:
        settings = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE)
        settings.load_cert_chain(office.file, office.key_file)
        async with connect(*place_of(exit_), configuration=settings, create_protocol=Client) as own:
            own.ask((":authority", f"127.0.0.1:{port}"), token=None)
            assert (await own.status())[0] == "200"

    with echoing() as port:
        asyncio.run(go(port))


def test_mistakes_with_certificates_say_what_would_do(
    authority: Certificate, office: Certificate, tmp_path: Path
) -> None:
    url, none = "anabranch://127.0.0.1:9/?pin=" + "0" * 64, str(tmp_path / "none.pem")
    (tmp_path / "clients.toml").write_text('[office]\ncertificate = "office.example"\n', encoding="utf-8")
    for words, said in (
        (("proxy", url), "give --token-file, or --certificate and --key"),
        (("proxy", url, "--certificate", str(office.file)), "--certificate and --key go together"),
        (("proxy", url, "--certificate", none, "--key", none), f"cannot read {none}"),
        (("proxy", url, "--certificate", str(office.file), "--key", str(authority.key_file)), "cannot be used"),
        (("relay", url, "--exit-key", none), "--exit-certificate and --exit-key go together"),
        (("relay", url), "give --exit-token-file, or --exit-certificate and --exit-key"),
        (("exit",), "or they show certificates of --client-authorities"),
        (("exit", "--client-authorities", none), f"cannot read {none}"),
        (("exit", "--client-authorities", str(office.key_file)), "it has no certificate in PEM"),
        (("exit", "--clients", str(tmp_path / "clients.toml")), "the certificate of `office` has to be signed"),
    ):
        done = run(*words)
        assert done.returncode == 2, (words, done)
        assert said in done.stderr, (words, done.stderr)


def test_all_by_the_authorities_are_served_unless_a_file_names_certificates(tmp_path: Path) -> None:
    file = tmp_path / "clients.toml"
    for text, expected in (
        ('[a]\ntoken-file = "t"\n', ["token", "certificate"]),
        ('[a]\ncertificate = "a"\n', ["certificate"]),
        ('[a]\ncertificate = "a"\n[b]\ncertificate = "*"\n', ["certificate", "certificate"]),
    ):
        file.write_text(text, encoding="utf-8")
        found, *_ = accounts(None, file, tmp_path / "authorities.pem", with_targets=True)
        assert [shows[0] for _, shows, *_ in found] == expected
    file.write_text('[a]\ntoken-file = "t"\ncertificate = "a"\n', encoding="utf-8")
    with pytest.raises(ScenarioError, match="has both"):
        accounts(None, file, with_targets=True)
