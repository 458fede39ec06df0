"""``anabranch trace``: facts about traces of links, and conversion to other formats."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from anabranch import _core
from anabranch.commands.places import Force, check_output
from anabranch.commands.subcommands import SubCommands
from anabranch.commands.tables.table import print_facts
from anabranch.commands.text import time_text
from anabranch.errors import ScenarioError
from anabranch.formats.source import load
from anabranch.traces import (
    Capacities,
    Opportunities,
    rates_bps,
    read_trace,
    to_capacities,
    to_opportunities,
    write_trace,
)
from anabranch.traces.irish_5g import Cleaning
from anabranch.traces.read import format_of
from anabranch.traces.trace import OPPORTUNITY_BYTES, Trace

app = typer.Typer(
    cls=SubCommands,
    help="Describe and convert traces of links.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

PERCENTILES = (5, 50, 95)
BIN_S = 1.0
"""Bins of the percentiles."""

MOST_BYTES = (1 << 32) - 1
"""The most that a scenario takes for an opportunity."""

Input = Annotated[Path, typer.Argument(help="Trace (mahimahi, or time_s,capacity_bps) or recording (5Gdataset, ...).")]
Opportunity = Annotated[str | None, typer.Option(metavar="SIZE", help="Size of an opportunity. Default: 1500 B.")]
Bin = Annotated[str, typer.Option(metavar="TIME", help="For mahimahi: the time over which opportunities are counted.")]
Run = Annotated[int, typer.Option(help="For lists of uplink rates: the number of the run.")]
Step = Annotated[str, typer.Option(metavar="TIME", help="For lists of uplink rates: the time that each rate holds.")]
Clock = Annotated[
    Literal["stamps", "rows"],
    typer.Option(help="For 5Gdataset: one second for each time stamp, or the mean time between rows for each row."),
]
Least = Annotated[
    str,
    typer.Option(
        metavar="RATE",
        help="For 5Gdataset: pauses below this rate are left out, and other rates below it are raised to it.",
    ),
]
Pause = Annotated[str, typer.Option(metavar="TIME", help="For 5Gdataset: the least length of a pause.")]
KeepIdle = Annotated[bool, typer.Option("--keep-idle", help="For 5Gdataset: keep rows of the state I.")]


@app.command()
def info(
    input: Input,
    opportunity: Opportunity = None,
    run: Run = 1,
    step: Step = "100 ms",
    clock: Clock = "stamps",
    least: Least = "1 Mbit/s",
    pause: Pause = "1 s",
    keep_idle: KeepIdle = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Print the facts of a trace: its duration, its mean rate, and rates over bins of 1 s."""
    trace = _read(input, run, step, clock, least, pause, keep_idle)
    facts = {"format": format_of(load(input, "a trace")), **describe(trace, _bytes(opportunity))}
    if as_json:
        typer.echo(json.dumps(facts, indent=1, allow_nan=False))
        return
    print_facts(
        (name.removesuffix("_bps").removesuffix("_s").replace("_", " "), _text(name, value))
        for name, value in facts.items()
    )


def describe(trace: Trace, opportunity_bytes: int) -> dict[str, Any]:
    """Give the facts of a trace as plain values; None for a rate that a capacity without limit makes infinite."""
    lines = trace.times_ms if isinstance(trace, Opportunities) else trace.time_s
    duration = trace.duration_s
    if duration <= 0.0:
        raise ScenarioError("the trace ends at 0 s; give it a last line at a later time")
    bin_s = min(BIN_S, duration)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = rates_bps(trace, duration, opportunity_bytes=opportunity_bytes)[0]
        rates = rates_bps(trace, bin_s, opportunity_bytes=opportunity_bytes)
        percentiles = {f"p{p}_bps": _finite(np.percentile(rates, p)) for p in PERCENTILES}
    is_something = rates
    if isinstance(trace, Capacities):
        # What is without limit counts as something too.
        is_something = rates_bps(Capacities(trace.time_s, np.minimum(trace.capacity_bps, 1.0)), bin_s)
    return {
        "lines": len(lines),
        "duration_s": duration,
        "mean_bps": _finite(mean),
        **percentiles,
        "max_bps": _finite(rates.max()),
        "bins": len(rates),
        "empty_bins": int((is_something == 0.0).sum()),
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


@app.command()
def convert(
    input: Input,
    target: Annotated[Path, typer.Argument(help="File to write: .csv for capacities by time, else mahimahi.")],
    force: Force = False,
    bin: Bin = "20 ms",
    opportunity: Opportunity = None,
    run: Run = 1,
    step: Step = "100 ms",
    clock: Clock = "stamps",
    least: Least = "1 Mbit/s",
    pause: Pause = "1 s",
    keep_idle: KeepIdle = False,
) -> None:
    """Write a trace in a format for links of scenarios."""
    check_output(target, force=force)
    trace = _read(input, run, step, clock, least, pause, keep_idle)
    is_table = target.suffix.lower() == ".csv"
    if opportunity is not None and is_table != isinstance(trace, Opportunities):
        raise ScenarioError("--opportunity is for conversions between the two kinds of traces; leave it out")
    if is_table and isinstance(trace, Opportunities):
        trace = to_capacities(trace, bin_s=_core.parse_span(bin), opportunity_bytes=_bytes(opportunity))
    elif not is_table and not isinstance(trace, Opportunities):
        trace = to_opportunities(trace, opportunity_bytes=_bytes(opportunity))
    write_trace(trace, target)


def _read(
    input: Path, run: int, step: str, clock: Literal["stamps", "rows"], least: str, pause: str, keep_idle: bool
) -> Trace:
    cleaning = Cleaning(clock, _core.parse_rate(least), _core.parse_span(pause), keep_idle)
    step_s = _core.parse_span(step)
    if step_s <= 0.0:
        raise ScenarioError(f"a step of {step} cannot be; it must be over 0")
    return read_trace(input, cleaning=cleaning, run=run, step_s=step_s)


def _bytes(size: str | None) -> int:
    text = size or f"{OPPORTUNITY_BYTES} B"
    count = _core.parse_bytes(text)
    if not 1 <= count <= MOST_BYTES:
        raise ScenarioError(f"an opportunity of {text} cannot be; it must be 1 B to {MOST_BYTES} B")
    return count


def _text(name: str, value: Any) -> str:
    if value is None:
        return "without limit"
    if name.endswith("_bps"):
        # A digit more than the traces themselves have.
        return _core.format_rate(float(f"{value:.4g}"))
    return time_text(value) if name.endswith("_s") else str(value)
