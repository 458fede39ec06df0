"""A unit of systemd for an agent."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

UNIT = """\
[Unit]
Description=anabranch agent of {node}
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
{user}ExecStartPre=+/usr/bin/install -d -m 0700 {owner}{state}
ExecStart={program} agent --config {config}
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=1
TimeoutStopSec=10
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
ReadWritePaths={state}
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
{rights}MemoryMax=2G

[Install]
WantedBy=multi-user.target
"""


RIGHTS = "CapabilityBoundingSet=CAP_NET_ADMIN{more}\nAmbientCapabilities=CAP_NET_ADMIN\n"
"""What a service that keeps traffic to rates may do besides, whatever user it runs as."""

PROBE = " CAP_SYS_ADMIN"
"""What a service of root needs to try the kernel in a network of its own first."""

NO_RIGHTS = "CapabilityBoundingSet=\n"
"""What any other service may do besides: nothing, even as root."""


def unit(node: str, config: Path, state: Path, *, enforces: bool = False, user: str | None = None) -> str:
    """Give the text of a unit that runs an agent; its paths are absolute.

    Parameters
    ----------
    node : str
        The node of the agent.
    config : path
        The file of the agent.
    state : path
        The folder that the agent may write to; the service makes it.
    enforces : bool
        Whether the agent changes the network of the machine.
    user : str, optional
        The user as whom the agent runs; root if not given.
    """
    program = shutil.which("anabranch") or Path(sys.argv[0]).absolute()
    rights = RIGHTS.format(more="" if user else PROBE) if enforces else NO_RIGHTS
    return UNIT.format(
        node=node.replace("%", "%%"),
        program=quoted(program),
        config=quoted(config),
        state=quoted(state),
        rights=rights,
        user=f"User={user}\n" if user else "",
        owner=f"-o {user} " if user else "",
    )


def quoted(path: object) -> str:
    """Give a path as units have it: absolute, in quotes, with ``%`` and quotes escaped."""
    text = str(Path(str(path)).absolute()).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("%", "%%").replace("$", "$$") + '"'
