"""The folder of a network of agents: an authority, and for each node the files of its agent."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from anabranch import _core
from anabranch.errors import ScenarioError, did_you_mean
from anabranch.folder import check_new, new_folder, put_file
from anabranch.formats.as_toml import as_toml
from anabranch.runs.scenario_text import scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.model.network import Network

PORT = 4434
"""The port at which neighbours call, if none is given."""

DOOR = "127.0.0.1:4435"
"""The address at which applications of the same machine ask."""

AUTHORITY, AUTHORITY_KEY = "authority.pem", "authority-key.pem"


def folder_of(node: str) -> str:
    """Give the name of the folder of a node: its name, with what file systems cannot hold as ``%XX``."""
    return quote(node, safe=" ").replace(".", "%2E") if node.startswith(".") else quote(node, safe=" ")


def make_network(
    network: Network, folder: Path, addresses: Mapping[str, str], *, protocol: str = "d-slen", days: int = 365
) -> list[str]:
    """Write the files of the agents of a network into a new folder.

    The folder has the certificate and the key of a new authority, and for each node a folder with ``agent.toml``, the
    certificate and the key of its agent, the certificate of the authority and the network. The key of the authority is
    needed only to issue further certificates.

    Parameters
    ----------
    network : Network
        The network; its nodes are the agents.
    folder : path
        Where to write; nothing has this name yet.
    addresses : mapping of str to str
        For each node the address at which its neighbours call it, ``IP`` or ``IP:PORT``.
    protocol : str
        ``"d-slen"`` or ``"slbn"``.
    days : int
        How long the certificates of agents last.

    Returns
    -------
    list of str
        The folders of the agents, in the order of the nodes.

    Raises
    ------
    ScenarioError
        An address is missing or belongs to no node, the folder is there already, or it cannot be written.
    StorageError
        The folder cannot be written to its end, as on a full disk.
    """
    nodes = network.core.node_names
    placed = _placed(nodes, addresses)
    check_new(folder)
    text = scenario(network=network)
    certificate, key = _core.made_authority(network.name or folder.name)
    around = _around(network)
    with new_folder(folder) as aside:
        put_file(certificate, aside / AUTHORITY)
        _put_secret(key, aside / AUTHORITY_KEY)
        for node in nodes:
            own = aside / folder_of(node)
            own.mkdir()
            put_file(str(text), own / "network.toml")
            put_file(certificate, own / AUTHORITY)
            issued, issued_key = _core.issued_certificate(certificate, key, True, node, days)
            _put_secret(issued + issued_key, own / "agent.pem")
            tables = {
                "node": node,
                "network": "network.toml",
                "listen": placed[node],
                "applications": DOOR,
                "state": "state",
                "authority": AUTHORITY,
                "certificate": "agent.pem",
                "protocol": protocol,
                "neighbours": {other: placed[other] for other in sorted(around[node])},
            }
            put_file(as_toml(tables).text + "\n", own / "agent.toml")
            _core.agent_config(own / "agent.toml")
    return [folder_of(node) for node in nodes]


def issue_certificate(folder: Path, name: str, target: Path, *, days: int = 365, is_agent: bool = False) -> None:
    """Issue a certificate for an application or an agent, by the authority in the folder that `make_network` wrote.

    Raises
    ------
    ScenarioError
        The folder has no authority or, for an agent, no such node, or the file is there already or cannot be written.
    """
    check_new(target)
    try:
        certificate = (folder / AUTHORITY).read_text(encoding="utf-8")
        key = (folder / AUTHORITY_KEY).read_text(encoding="utf-8")
    except OSError as error:
        reason = f"its authority cannot be read from {error.filename} ({error.strerror})"
        raise ScenarioError(f"{folder}: {reason}; name the folder that `anabranch agent init` wrote") from error
    if is_agent and not (folder / folder_of(name)).is_dir():
        raise ScenarioError(f"{folder}: there is no node `{name}`{_hint(folder, name)}")
    issued, issued_key = _core.issued_certificate(certificate, key, is_agent, name, days)
    _put_secret(issued + issued_key, target)


def door_of(folder: Path, node: str) -> str:
    """Give the address at which applications ask the agent of a node.

    Raises
    ------
    ScenarioError
        There is no such node, or its file cannot be used.
    """
    config = folder / folder_of(node) / "agent.toml"
    if not config.is_file():
        raise ScenarioError(f"{folder}: there is no node `{node}`{_hint(folder, node)}")
    try:
        return str(tomllib.loads(config.read_text(encoding="utf-8"))["applications"])
    except (OSError, ValueError, KeyError) as error:
        raise ScenarioError(f"{config}: the address of `applications` cannot be read: {error}") from error


def _hint(folder: Path, node: str) -> str:
    return did_you_mean(
        node, [unquote(own.name) for own in folder.iterdir() if own.is_dir()] if folder.is_dir() else []
    )


def write_client(folder: Path, node: str, certificate: Path) -> tuple[Path, str]:
    """Write the file of a client beside the certificate of an application, and the certificate of the authority.

    Returns
    -------
    path, str
        The file, and the address at which the client asks the agent of the node.

    Raises
    ------
    ScenarioError
        There is no such node, or a file is there already.
    """
    address = door_of(folder, node)
    target, authority = certificate.with_suffix(".toml"), certificate.with_name(AUTHORITY)
    check_new(target)
    text = (folder / AUTHORITY).read_text(encoding="utf-8")
    if not authority.exists():
        put_file(text, authority)
    elif authority.read_text(encoding="utf-8") != text:
        raise ScenarioError(f"{authority}: it is that of another network; write the certificate into another folder")
    tables = {"agent": {"address": address, "node": node, "authority": AUTHORITY, "certificate": certificate.name}}
    put_file(as_toml(tables).text + "\n", target)
    return target, address


def _placed(nodes: list[str], addresses: Mapping[str, str]) -> dict[str, str]:
    """Give the address of each node with its port."""
    for name in addresses:
        if name not in nodes:
            raise ScenarioError(f"--address {name}: there is no node `{name}`{did_you_mean(name, nodes)}")
    missing = [node for node in nodes if node not in addresses]
    if missing:
        more = f" and of {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ScenarioError(
            f"there is no address of the node `{missing[0]}`{more}; give one for each node, such as "
            f"--address '{missing[0]}=192.0.2.7'"
        )
    return {node: _with_port(addresses[node]) for node in nodes}


def _with_port(address: str) -> str:
    """Give an address with a port: that of agents, if it has none."""
    if address.startswith("["):
        return address if "]:" in address else f"{address}:{PORT}"
    if address.count(":") == 1:
        return address
    return f"[{address}]:{PORT}" if ":" in address else f"{address}:{PORT}"


def _around(network: Network) -> dict[str, set[str]]:
    """Give the neighbours of each node."""
    names = network.core.node_names
    around: dict[str, set[str]] = {name: set() for name in names}
    for source, target in zip(network.core.link_source, network.core.link_target, strict=True):
        around[names[source]].add(names[target])
        around[names[target]].add(names[source])
    return around


def _put_secret(text: str, file: Path) -> None:
    """Write a file that its owner alone can read, before anything is in it."""
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(text, encoding="utf-8")
