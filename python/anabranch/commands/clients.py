"""The clients of an exit or a relay, as a file names them, with their limits."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from anabranch import _core
from anabranch.commands.grants import granted
from anabranch.commands.tokens import kept_token
from anabranch.commands.usage import PERIODS, Usage
from anabranch.errors import ScenarioError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from anabranch._core import _Account, _Credential

Value = TypeVar("Value")

Clients = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="TOML file that names clients, each with a token or certificate and limits of its own."
    ),
]

ClientAuthorities = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="PEM file of authorities: clients with a certificate by them need no token."),
]

TokenFile = Annotated[
    Path | None,
    typer.Option(
        help="File with the token of all clients; made if it does not exist. Or --clients, or --client-authorities."
    ),
]

KEYS = (
    "token-file",
    "certificate",
    "weight",
    "rate",
    "connections",
    "quota",
    "period",
    "grant",
    "demand",
    "allow",
)

OTHERS = {"allow": "; the exit alone decides on targets", "weight": "; a relay alone shares its lines by weight"}
"""Keys that an exit or a relay alone knows, with what the other says of them."""


def accounts(
    token_file: Path | None, clients: Path | None, authorities: Path | None = None, *, with_targets: bool
) -> tuple[list[_Account], Usage | None, ClientAgents]:
    """Give the clients that are served: all that show a token, and those that a file names.

    Also gives what these have used, and the agents that grant rates to them.

    Where the file names no certificates, all by the authorities are served, too.

    Raises
    ------
    ScenarioError
        There is no file, or one cannot be used.
    """
    if token_file is None and clients is None and authorities is None:
        raise ScenarioError(
            "clients show a token; name a file for it by --token-file, or one that lists clients by --clients; or they "
            "show certificates of --client-authorities"
        )
    found: list[_Account] = []
    usage, grants = None, ClientAgents()
    if token_file is not None:
        found.append((None, ("token", kept_token(token_file)), 1.0, None, None, None, None))
    if clients is not None:
        try:
            tables = tomllib.loads(clients.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ScenarioError(f"{clients}: {error}") from error
        if not tables:
            raise ScenarioError(f'{clients}: it names no client; one is [office] with token-file = "office.token"')
        keys = tuple(key for key in KEYS if key != ("weight" if with_targets else "allow"))
        has_quotas = any("quota" in table for table in tables.values() if isinstance(table, dict))
        usage = (Usage.take if has_quotas else Usage.read)(clients.with_suffix(".usage.json"))
        for name, table in tables.items():
            found.append(_account(clients, name, table, keys, usage))
            if (agent := _agent(clients, name, table)) is not None:
                grants[name] = agent
    if authorities is not None and not any(shows[0] == "certificate" for _, shows, *_ in found):
        found.append((None, ("certificate", SIGNED), 1.0, None, None, None, None))
    return found, usage, grants


ClientAgents = dict[str, tuple[str, str | None]]
"""The agent that grants what is sent to a client, with its node behind a colon, and the most that is of use."""


class ClientGrants:
    """Sessions for what is sent to clients, until the stack ends."""

    def __init__(self, agents: ClientAgents, stack: ExitStack) -> None:
        asked = {name: granted(agent, demand, f"exit {name}", stack) for name, (agent, demand) in agents.items()}
        self._sessions = {name: session for name, session in asked.items() if session is not None}
        self._said: dict[str, float] = {}

    def first(self) -> list[tuple[str, float]]:
        """Give what is granted at first, in bit/s."""
        return [(name, session.total_bps()) for name, session in self._sessions.items()]

    def follow(self, own: _core.Exit) -> None:
        """Tell an exit what is granted now."""
        for name, bps in self.first():
            if self._said.get(name) != bps:
                own.grant(name, bps)
                self._said[name] = bps


def _agent(file: Path, name: str, table: dict[str, Any]) -> tuple[str, str | None] | None:
    """Read which agent grants what is sent to a client, by its path from the file."""
    agent, demand = table.get("grant"), table.get("demand")
    for key, value in (("grant", agent), ("demand", demand)):
        if value is not None and not isinstance(value, str):
            raise ScenarioError(f"{file}: [{name}] {key} must be a text")
    if agent is None:
        if demand is not None:
            raise ScenarioError(f'{file}: [{name}] demand is that of a grant, such as grant = "agent.toml:Lyon"')
        return None
    return str(file.parent / agent), demand


SIGNED = "*"
"""All certificates by the authorities that no client has for itself."""


def _account(file: Path, name: str, table: Any, keys: tuple[str, ...], usage: Usage) -> _Account:
    """Read the table of a client."""
    if not isinstance(table, dict):
        raise ScenarioError(f"{file}: `{name}` must be a table [{name}] with {', '.join(keys)}")
    if not name.isprintable() or len(name) > 64 or " " in name or not name:
        raise ScenarioError(f"{file}: `{name[:64]!a}` is no name; names have 1 to 64 signs and no blanks")
    for key in table:
        if key not in keys:
            hint = OTHERS.get(key) or did_you_mean(key, keys)
            raise ScenarioError(f"{file}: [{name}] has no key `{key}`{hint}; it may have {', '.join(keys)}")

    def take(key: str, kind: type | tuple[type, ...], what: str) -> Any:
        value = table.get(key)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise ScenarioError(f"{file}: [{name}] {key} must be {what}")
        return value

    token = take("token-file", str, 'a text, the name of a file, such as "office.token"')
    certificate = take("certificate", str, 'a text, such as "office.example" or its SHA-256')
    if (token is None) == (certificate is None):
        only = "both; keep one of them" if token else f'neither; one is token-file = "{name}.token"'
        raise ScenarioError(f"{file}: [{name}] needs token-file or certificate, and has {only}")
    weight = take("weight", (int, float), "a number, such as 2")
    connections = take("connections", int, "a whole number")
    if connections is not None and connections < 1:
        raise ScenarioError(f"{file}: [{name}] connections must be at least 1")
    rate = take("rate", str, 'a text with a unit, such as "50 Mbit/s"')
    allow = take("allow", list, 'a list of texts, such as ["public:443"]')
    if allow is not None and not (allow and all(isinstance(text, str) for text in allow)):
        raise ScenarioError(f'{file}: [{name}] allow must be a list of texts, such as ["public:443"]')
    bps = None if rate is None else parsed(_core.parse_rate, rate, f"{file}: [{name}] rate")
    quota = _quota(file, name, take("quota", str, 'a text with a unit, such as "50 GB"'), table.get("period"))
    limits = (float(1.0 if weight is None else weight), bps, connections, allow)
    used = None if quota is None else (quota[0], usage.begin(name, quota[1]))
    shows: _Credential = ("certificate", certificate) if token is None else ("token", kept_token(file.parent / token))
    return name, shows, *limits, used


def _quota(file: Path, name: str, quota: str | None, period: Any) -> tuple[int, str] | None:
    """Read the bytes of a quota, and the period after which it is renewed."""
    if period is not None and quota is None:
        raise ScenarioError(f'{file}: [{name}] period is that of a quota, such as quota = "50 GB"')
    if period is not None and period not in PERIODS:
        raise ScenarioError(f"{file}: [{name}] period must be {', '.join(PERIODS)}")
    if quota is None:
        return None
    most = parsed(_core.parse_bytes, quota, f"{file}: [{name}] quota")
    if most < 1:
        raise ScenarioError(f"{file}: [{name}] quota must be at least a byte")
    return most, period or "month"


def parsed(parse: Callable[[str], Value], text: str, place: str) -> Value:
    """Read a text of this place, whose mistakes name it."""
    try:
        return parse(text)
    except ValueError as error:
        raise ScenarioError(f"{place}: {error}") from error
