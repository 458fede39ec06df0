"""The folder of a network of agents: an authority, and for each node the files of its agent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

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


def issue_application(folder: Path, name: str, target: Path, *, days: int = 365) -> None:
    """Issue a certificate for an application, by the authority in the folder that `make_network` wrote.

    Raises
    ------
    ScenarioError
        The folder has no authority, or the file is there already or cannot be written.
    """
    check_new(target)
    try:
        certificate = (folder / AUTHORITY).read_text(encoding="utf-8")
        key = (folder / AUTHORITY_KEY).read_text(encoding="utf-8")
    except OSError as error:
        reason = f"its authority cannot be read from {error.filename} ({error.strerror})"
        raise ScenarioError(f"{folder}: {reason}; name the folder that `anabranch agent init` wrote") from error
    issued, issued_key = _core.issued_certificate(certificate, key, False, name, days)
    _put_secret(issued + issued_key, target)


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
    has_port = "]:" in address if address.startswith("[") else address.count(":") == 1
    if has_port:
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
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")
