"""A scenario run with real packets, in one call: real connections over the emulator's links."""

from __future__ import annotations

import platform
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from anabranch import _core
from anabranch.errors import NoLivePartError, RunInterrupted, ScenarioError
from anabranch.interrupts import held_interrupts
from anabranch.runs.result import CONTROL, Result
from anabranch.runs.scenario import read_plan
from anabranch.runs.scenario_text import text_of
from anabranch.runs.tables import Measured

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from anabranch.runs.scenario import Plan

    Progress = Callable[[float, float, int], None]


PUNCTUALITY = ("lateness_p50_s", "lateness_p99_s", "lateness_max_s", "ends_lateness_p99_s", "has_precedence")
"""Values that say how late packets were delivered and how late the ends of connections acted."""


def live(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    seed: int | None = None,
    sets: Sequence[str] = (),
    progress: Progress | None = None,
) -> Result:
    """Run a scenario with real packets, in real time.

    Its network is that of `anabranch emulate`; each connection is one of multipath QUIC between two hosts of it, under
    the scenario's protocol. Needs Linux, root, and the program ip (iproute2).

    Parameters
    ----------
    scenario : path, str or mapping
        A scenario file; its text, if there is a line break in it; or its tables as plain values (`scenario`).
    seed : int, optional
        Instead of that of the file: of faults on links and of what queue disciplines draw.
    sets : sequence of str
        Values that replace those of the file.
    progress : callable, optional
        Told some times a second how far the run is: time and duration in seconds, and packets that entered a link. What
        it raises ends the run.

    Returns
    -------
    Result
        The tables of `anabranch.run`. Bytes are those of whole packets. What cannot be known is null: fair rates,
        errors, repeated bytes. ``meta`` has besides: ``live``; ``valid`` and ``faults`` (a run that was late is not
        valid); ``lateness_p50_s``, ``lateness_p99_s``, ``lateness_max_s`` of packets, and ``ends_lateness_p99_s`` of
        the ends of connections; ``kernel``; ``data_bytes`` of each connection, without headers; ``relays``: for each
        loop that ends at one, how much waited there at most; ``agents``, where links
        grant rates: how many there are, how many control packets their links ``counted``, and found ``stale`` or
        ``lost``, ``refused`` or answered for a neighbour (``overdue``), how many answers were to nothing (``unknown``),
        how many messages were false (``false_messages``), how many neighbours were ``given_up``, how often sums were
        made anew (``renewals``), how many sources ended without a word (``lapsed``), and whether links hold nothing of
        any of them at the end (``is_clear``).

    Raises
    ------
    ScenarioError
        A mistake in the scenario, or something in it that cannot be run live: all of that.
    OSError
        The kernel refuses the emulator, or a connection failed.
    RunInterrupted
        Ctrl-C; with what came of the run until then as its ``result``.
    """
    return live_plan(read_plan(text_of(scenario), seed=seed, sets=sets), progress=progress)


def check_live(plan: Plan) -> None:
    """Make sure that a plan can be run live, and here.

    Raises
    ------
    ScenarioError
        Something in it cannot; the message has all reasons.
    OSError
        The kernel refuses, or this build has no live part.
    """
    if not _core.HAS_LIVE:
        raise NoLivePartError
    if not hasattr(_core, "run_live"):
        raise OSError("a live run needs Linux")
    if reasons := plan.core.live_refusals():
        raise ScenarioError(f"the scenario cannot be run live: {'; '.join(reasons)}")
    if reason := _core.Lab.refusal():
        raise OSError(f"a live run is refused here: {reason}")


def live_plan(plan: Plan, *, progress: Progress | None = None) -> Result:
    """Run live a plan that `read_plan` prepared; see `live`."""
    check_live(plan)
    with held_interrupts() as interrupts:
        begin = time.perf_counter()
        outcome, raised = _core.run_live(plan.core, interrupts.teller(progress, plan.core.duration_s))
        result = _result(plan, outcome, time.perf_counter() - begin)
        if interrupts.came or isinstance(raised, KeyboardInterrupt):
            raise RunInterrupted(result) from raised
    if raised is not None:
        raise raised
    return result


def _result(plan: Plan, outcome: _core.LiveOutcome, wall_s: float) -> Result:
    # It has all that these tables take; of waits and grants there are none.
    measured = Measured(plan.network, plan.core, cast("_core.Outcome", outcome))
    report = outcome.report()
    meta: dict[str, Any] = {
        "anabranch": version("anabranch"),
        "title": plan.title,
        "description": plan.description,
        "seed": plan.core.seed,
        "finished": outcome.is_whole,
        "reached_s": outcome.reached_s,
        "duration_s": plan.core.duration_s,
        "warm_up_s": plan.core.warm_up_s,
        "sample_s": plan.core.sample_s,
        "events": outcome.hops,
        "packet_hops": outcome.hops,
        "strays": 0,
        **dict.fromkeys(CONTROL),
        "warnings": list(_warnings(plan, outcome, report)),
        "live": True,
        "valid": report["is_valid"],
        "faults": report["faults"],
        **{name: report[name] for name in PUNCTUALITY},
        "kernel": platform.release(),
        "agents": outcome.agents(),
        "data_bytes": dict(zip(measured.names, outcome.data_bytes.tolist(), strict=True)),
        "relays": [
            {
                "connection": measured.names[loop],
                "next": measured.names[following],
                "buffer_bytes": buffer,
                "most_waiting_bytes": most,
            }
            for loop, following, buffer, most in outcome.relays
        ],
        "threads": None,
        "wall_s": round(wall_s, 6),
        "events_per_s": round(outcome.hops / wall_s) if wall_s > 0 else 0,
    }
    subflows = measured.subflows().with_columns(pl.col("repeated_bytes").cast(pl.UInt64))
    tables = {"connections": measured.connections(), "links": measured.links()}
    return Result(meta, plan.resolved, plan.network, subflows=subflows, series=measured.series(), **tables)


def _warnings(plan: Plan, outcome: _core.LiveOutcome, report: dict[str, Any]) -> Iterator[str]:
    """Give what a reader of the numbers must know."""
    if not outcome.is_whole:
        yield f"the run was stopped at {outcome.reached_s:g} s"
    planned, sent = plan.core.packet_bytes, plan.core.live_packet_bytes
    differs = planned != sent
    for size, other in dict.fromkeys(zip(planned[differs].tolist(), sent[differs].tolist(), strict=True)):
        yield f"packets of {size:.0f} bytes have {other:.0f} live: QUIC takes 1228 at least, and Ethernet 1500 at most"
    if np.isfinite(plan.core.amount_bytes).any():
        yield "amounts are of whole packets, so there are some parts in a hundred less data in them"
    if outcome.agents():
        yield "agents hand out at most 97 % of each link, so rates are up to 3 % below those of a simulation"
    if not report["has_precedence"]:
        yield "the kernel gave the emulator no precedence (SCHED_FIFO), so packets may be late"
    if report["strangers"]:
        yield f"{report['strangers']} packets were between addresses of different paths"
