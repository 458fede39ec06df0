"""``anabranch emulate``: real programs over the network of a scenario, in real time."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from typing import Annotated, Any

import typer

from anabranch import _core
from anabranch.commands.exit_codes import DOES_NOT_HOLD, FAILED, INTERRUPTED
from anabranch.commands.of_scenario import Scenario, Seed, Sets
from anabranch.commands.tables import column
from anabranch.commands.tables.table import print_table, print_text
from anabranch.commands.text import count_text, printable, time_text
from anabranch.errors import ScenarioError
from anabranch.runs.scenario import read_plan

HELP = """Run programs over the network of a scenario, in real time and with real packets.

Each node at which paths begin or end becomes a host, a network namespace on this machine. Each path has an address at
both ends. Packets between the two addresses take the links of the path, and back their twins, with queues, capacities,
delays and faults. Only the programs send: the connections of the scenario stay silent.

A program finds the addresses of its host in ANABRANCH_ADDRESSES, and those of the other ends, in the same order, in
ANABRANCH_PEERS. The lab ends when all programs of --at have ended, or at Ctrl-C; those of --serve are stopped then.
Needs Linux, root, and the program ip (iproute2).
"""

LOOK_S = 0.02
"""The time between two checks whether programs have ended."""

PATIENCE_S = 2.0
"""The time that programs have to end after a request."""

At = Annotated[
    list[str] | None,
    typer.Option("--at", metavar="NODE=COMMAND", help="Run a command line at a node, and wait for it. Repeatable."),
]
Serve = Annotated[
    list[str] | None,
    typer.Option(
        "--serve",
        metavar="NODE=COMMAND",
        help="Start a command line at a node before the others, and do not wait for it. Repeatable.",
    ),
]


class Programs:
    """The programs of a lab: each a group of processes, and whether it is waited for."""

    def __init__(self, lab: _core.Lab, aside: bool) -> None:
        self.lab, self.aside = lab, aside
        self.groups: list[tuple[int, str, bool]] = []

    def start(self, node: str, line: str, is_awaited: bool) -> None:
        """Start a command line at a node."""
        ends = [(p.source, p.source_address, p.target_address) for p in self.lab.paths]
        ends += [(p.target, p.target_address, p.source_address) for p in self.lab.paths]
        own = [(address, peer) for name, address, peer in ends if name == node]
        environment = [
            ("ANABRANCH_NODE", node),
            ("ANABRANCH_ADDRESSES", " ".join(address for address, _ in own)),
            ("ANABRANCH_PEERS", " ".join(peer for _, peer in own)),
        ]
        self.groups.append((self.lab.start(node, line, environment, self.aside), f"{node}={line}", is_awaited))

    def wait(self) -> None:
        """Wait until all have ended that are waited for; for ever if none is."""
        awaited = [place for place, (_, _, is_awaited) in enumerate(self.groups) if is_awaited]
        while not awaited or None in [self.lab.codes()[place] for place in awaited]:
            time.sleep(LOOK_S)

    def stop(self) -> None:
        """Ask all that run to end, and wait a little; the lab kills those that do not, with all that they started."""
        for (group, _, _), code in zip(self.groups, self.lab.codes(), strict=True):
            if code is None:
                with suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGTERM)
        end = time.monotonic() + PATIENCE_S
        # A second signal ends the wait.
        with suppress(KeyboardInterrupt):
            while None in self.lab.codes() and time.monotonic() < end:
                time.sleep(LOOK_S)

    def outcomes(self) -> list[dict[str, Any]]:
        """Give the command line of each that was waited for, and its exit code."""
        rows = zip(self.groups, self.lab.codes(), strict=True)
        return [{"program": program, "code": code} for (_, program, is_awaited), code in rows if is_awaited]


def command(
    scenario: Scenario,
    at: At = None,
    serve: Serve = None,
    seed: Seed = None,
    sets: Sets = None,
    mtu: Annotated[int, typer.Option(metavar="BYTES", help="The largest packet that hosts send.")] = 1500,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON instead; output of programs goes to stderr.")
    ] = False,
) -> None:
    """Run `HELP`."""
    wanted = [(*_split(text), False) for text in serve or ()] + [(*_split(text), True) for text in at or ()]
    if not hasattr(_core, "Lab"):
        raise OSError("the emulator needs Linux")
    lab = _core.Lab(read_plan(scenario, seed=seed, sets=sets or (), for_programs=True).core, mtu)
    if not as_json:
        _print_paths(lab.paths)
    programs, stopped = Programs(lab, as_json), False
    try:
        for node, line, is_awaited in wanted:
            programs.start(node, line, is_awaited)
        programs.wait()
    except KeyboardInterrupt:
        stopped = True
    finally:
        outcomes = programs.outcomes()
        programs.stop()
        report = lab.finish()
    assert report is not None, "a lab ends once"
    if as_json:
        typer.echo(json.dumps({"programs": outcomes, **report}, indent=1, allow_nan=False))
    else:
        _print(report, outcomes)
    if stopped:
        raise typer.Exit(INTERRUPTED)
    if not report["is_valid"]:
        raise typer.Exit(DOES_NOT_HOLD)
    if any(outcome["code"] for outcome in outcomes):
        raise typer.Exit(FAILED)


def _split(text: str) -> tuple[str, str]:
    node, sign, line = text.partition("=")
    if not sign or not line.strip():
        raise ScenarioError(f"{text}: it must be NODE=COMMAND, such as 'west=ping -c 3 $ANABRANCH_PEERS'")
    return node, line


def _print_paths(paths: list[_core.LabPath]) -> None:
    print_table(
        [
            column.names("connection", (path.connection for path in paths)),
            column.names("from", (path.source for path in paths)),
            column.labels("address", (path.source_address for path in paths)),
            column.names("to", (path.target for path in paths)),
            column.labels("address", (path.target_address for path in paths)),
        ]
    )
    typer.echo()


def _print(report: dict[str, Any], outcomes: list[dict[str, Any]]) -> None:
    links = report["links"]
    typer.echo()
    print_table(
        [
            column.names("link", (link["link"] for link in links)),
            column.counts("packets", (link["packets"] for link in links)),
            column.counts("bytes", (link["bytes"] for link in links), leaves=2),
            column.counts("dropped", (link["dropped"] for link in links), unit="packets"),
            column.counts("marked", (link["marked"] for link in links), unit="packets", leaves=1),
            column.counts("longest queue", (link["most_packets"] for link in links), unit="packets"),
        ]
    )
    typer.echo()
    for outcome in outcomes:
        ended = {None: "was still running", 0: "ended well"}.get(outcome["code"], f"ended with {outcome['code']}")
        print_text(f"{printable(outcome['program'])}: {ended}")
    p50, p99, most = (time_text(report[f"lateness_{name}_s"]) for name in ("p50", "p99", "max"))
    packets = f"{count_text(report['delivered_packets'])} packets in {time_text(report['lasted_s'])}"
    print_text(f"{packets}; late by {p50} (median), {p99} (99th percentile), {most} (maximum)")
    if report["strangers"]:
        print_text(f"note: {report['strangers']} packets were between addresses of different paths")
    if not report["has_precedence"]:
        print_text("note: the kernel gave the emulator no precedence (SCHED_FIFO), so packets may be late")
    for fault in report["faults"]:
        print_text(f"NOT VALID: {fault}")
