"""``anabranch grant``: any program at the rate that an agent grants."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from anabranch import _core
from anabranch.agents import cgroups
from anabranch.agents.granted import FIRST_S, wait_for_rates
from anabranch.agents.reached import agent_of
from anabranch.agents.session import AgentSession
from anabranch.errors import NoLivePartError, ScenarioError, did_you_mean

HELP = """Run any program at a rate that an agent grants.

FROM is the node of the agent, and TO the node where the packets go. The program follows --. Where the agent keeps
traffic to rates (its file has a table [enforce]) and this program may make a control group, as root may, the kernel
keeps all packets of the program to the rates, over all paths. Otherwise its TCP connections are paced, which needs no
rights, and take the ordinary path.
"""

CONFIG = Path("/etc/anabranch/agent.toml")
"""The file of the agent, if none is named."""

LOOK_S = 0.1
"""The time between two looks at the program and its connections."""

By = Literal["kernel", "pacing"]


def command(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The node of the agent.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The node where the packets go.")],
    program: Annotated[list[str], typer.Argument(metavar="-- COMMAND", help="The program with its arguments.")],
    config: Annotated[
        Path, typer.Option("--config", help="The file of the agent, or of a client where it is elsewhere.")
    ] = CONFIG,
    demand: Annotated[str | None, typer.Option(metavar="RATE", help="The most that the program can use.")] = None,
    paths: Annotated[int, typer.Option(min=1, max=16, help="The greatest number of paths.")] = 2,
    weight: Annotated[float, typer.Option(help="The claim relative to other sessions.")] = 1.0,
    reserved: Annotated[str | None, typer.Option(metavar="RATE", help="The part of the rate before its share.")] = None,
    by: Annotated[
        By | None, typer.Option(help="What keeps the program to the rate; by default what is possible.")
    ] = None,
) -> None:
    """Run a program at a granted rate, and end with its exit code."""
    if not _core.HAS_LIVE:
        raise NoLivePartError
    if shutil.which(program[0]) is None:
        raise ScenarioError(f"there is no program `{program[0]}`; write it after --, with its arguments")
    agent = agent_of(config)
    if agent.node != source:
        hint = did_you_mean(source, [agent.node])
        raise ScenarioError(f"the agent of {config} is that of {agent.node}, not of {source}{hint}")
    # What an agent elsewhere keeps to rates is not the traffic of this machine.
    shown = {} if agent.state is None else _shown(config, agent.state)
    with ExitStack() as stack:
        name = f"grant {os.getpid()} {Path(program[0]).name[:40]}"
        group = stack.enter_context(cgroups.group(f"anabranch-grant-{os.getpid()}")) if by != "pacing" else None
        can_enforce = shown.get("enforcement", {}).get("backend") == "kernel"
        if by == "kernel" and (group is None or not can_enforce):
            why = "this program may make no control group" if can_enforce else "the agent keeps no traffic to rates"
            raise ScenarioError(f"the kernel cannot keep the program to rates: {why}")
        match = [{"cgroup": group[1]}] if group is not None and can_enforce else []
        try:
            opened = AgentSession(
                config,
                target,
                demand=demand,
                paths=paths,
                weight=weight,
                reserved=reserved,
                name=name,
                match=match,
            )
            session = stack.enter_context(opened)
        except ValueError as error:
            raise ScenarioError(str(error)) from error
        wait_for_rates(session, target)
        if match and not session.wait_until_kept(FIRST_S):
            raise ScenarioError(f"the agent does not keep the program to rates: {session.problem}")
        start = cgroups.entering(group[0], program) if match and group is not None else program
        how = "kept by the kernel" if match else "kept by pacing, on the ordinary path"
        _say(f"granted {_total(session)} from {source} to {target} over {len(session.paths)} paths, {how}")
        code = _followed(start, session, is_paced=not match)
    if code:
        raise typer.Exit(code)


def _shown(config: Path, state: Path) -> dict[str, Any]:
    """Return what the agent of this machine shows of itself."""
    try:
        shown: dict[str, Any] = json.loads(_core.ask_agent(state, "show", 5.0))["answer"]
    except OSError as error:
        raise ScenarioError(f"{error}; start it: anabranch agent --config {config}") from error
    return shown


def _followed(start: list[str], session: AgentSession, *, is_paced: bool) -> int:
    """Run a program to its end; return its exit code, that of a shell where a signal ended it."""
    from anabranch.agents.pacing import Pacer

    children: list[subprocess.Popen[bytes]] = []
    is_over = False
    problem = None

    def end(*_: object) -> None:
        nonlocal is_over
        is_over = True
        for child in children:
            child.terminate()

    # The program gets signals of the terminal itself, and ends first. Handlers are not handed on to it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    on_term = signal.signal(signal.SIGTERM, end)
    try:
        child = subprocess.Popen(start, preexec_fn=_end_with_parent)
        children.append(child)
        pacer = Pacer(child.pid)
        if is_over:
            child.terminate()
        while True:
            with suppress(subprocess.TimeoutExpired):
                code = child.wait(LOOK_S)
                return 128 - code if code < 0 else code
            if not is_paced and session.problem != problem:
                problem = session.problem
                _say(f"warning: the program is kept to no rate: {problem}" if problem else "it is kept to rates again")
            if is_paced:
                try:
                    pacer.pace(max(sum(session.rates_bps), session.floor_bps))
                except PermissionError as error:
                    child.terminate()
                    child.wait()
                    raise ScenarioError(f"the kernel lets nothing pace the program: {error}") from error
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, on_term)


_libc = ctypes.CDLL(None)
"""Found before a program is started: nothing may be looked for between."""

PR_SET_PDEATHSIG = 1
"""The option of prctl by which the kernel ends a program when its parent has ended."""


def _end_with_parent() -> None:
    """Have this process ended when its parent is killed: nobody would keep it to its rate any more."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _total(session: AgentSession) -> str:
    return _core.format_rate(sum(session.rates_bps))


def _say(line: str) -> None:
    typer.echo(f"anabranch: {line}", err=True)
