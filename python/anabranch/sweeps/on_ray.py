"""Runs on a Ray cluster: planned here, simulated on any node, and written here, or by the nodes to a shared folder.

A task has the scenario with everything in it, so nodes need no files but the package; it sends back the files of the
result as bytes. A task whose node dies is done again on another.
"""

from __future__ import annotations

import io
import json
import os
import socket
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.errors import ScenarioError, StorageError
from anabranch.interrupts import kept_handlers
from anabranch.runs.result import read_result
from anabranch.runs.scenario import read_plan
from anabranch.runs.simulate import run_plan
from anabranch.sweeps.single_run import (
    TOGETHER,
    Failed,
    FileChangedError,
    SweptRun,
    error_text,
    facts_frame,
    facts_of,
    files_of,
    tables_of,
)
from anabranch.sweeps.store import Store
from anabranch.sweeps.version import code_version, run_name

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from anabranch.sweeps.points import Point
    from anabranch.sweeps.single_run import Base, Digests

RETRIES = 10
"""So often a run is done again whose node has died."""

AHEAD = 3
"""The number of tasks that wait for each processor: enough that none is idle, few enough to plan in time."""

LOOK_S = 0.5

REACH_S = 5.0
"""So long the first node may take to answer."""


@dataclass(frozen=True)
class Sent:
    """The answer of a node about a run.

    Attributes
    ----------
    files : dict
        The files of the result; none if the node has written them itself.
    facts : dict
        Of the node's time, and the size in bytes.
    error : str
        Why it failed; empty if it did not.
    cannot_write : str
        Why the folder of the sweep cannot be written to; empty if it can.
    code : str
        The version of the node.
    """

    files: dict[str, bytes]
    facts: dict[str, Any]
    error: str
    cannot_write: str
    code: str


def run_on_ray(
    base: Base,
    points: Iterable[Point],
    store: Store,
    digests: Digests,
    *,
    address: str | None,
    shared: bool,
    tell: Any,
) -> Iterator[SweptRun | Failed]:
    """Make the runs of points on a cluster, and give each as soon as it is done.

    Raises
    ------
    ScenarioError
        Ray is not installed, there is no cluster at the address, or a node has another version.
    """
    ray = _ray()
    with _cluster(ray, address):
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(simulate)
        place = str(store.folder.resolve()) if shared else None
        under_way: dict[Any, SweptRun] = {}
        todo = iter(points)
        tell({})
        try:
            while True:
                ended = yield from _send(ray, base, todo, store, digests, task, place, under_way)
                if ended and not under_way:
                    return
                ready, _ = ray.wait(list(under_way), timeout=LOOK_S)
                tell(dict.fromkeys(range(len(under_way)), 0.0))
                for own in ready:
                    yield _taken(ray, own, under_way.pop(own), store)
        finally:
            for own in under_way:
                ray.cancel(own, force=True)


def _ray() -> Any:
    # Without this it sends statistics to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        remedy = 'install it with `pip install "anabranch[ray]"`, or leave `--on ray` out'
        raise ScenarioError(f"Ray is not installed; {remedy}") from error
    return ray


@contextmanager
def _cluster(ray: Any, address: str | None) -> Iterator[None]:
    """Join a cluster, unless that was done before."""
    if ray.is_initialized():
        yield
        return
    alone = {} if address is not None else {"include_dashboard": False}
    try:
        _reach(address)
        # Ray would have SIGTERM end this process by another exit code.
        with kept_handlers():
            ray.init(address=address, log_to_driver=False, logging_level="error", **alone)
    except (OSError, ValueError, RuntimeError) as error:
        where = address or "this machine"
        raise ScenarioError(f"{where}: no Ray cluster can be joined there ({error}); check the address") from error
    try:
        yield
    finally:
        ray.shutdown()


def _reach(address: str | None) -> None:
    """Make sure that somebody listens at an address: Ray itself would wait for minutes.

    Raises
    ------
    OSError
        Nobody does.
    """
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=REACH_S).close()


def _send(
    ray: Any,
    base: Base,
    todo: Iterator[Point],
    store: Store,
    digests: Digests,
    task: Any,
    place: str | None,
    under_way: dict[Any, SweptRun],
) -> Generator[SweptRun | Failed, None, bool]:
    """Send tasks until enough wait; give what needs none. The value in the end says whether there are no more."""
    most = AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
    while len(under_way) < most:
        point = next(todo, None)
        if point is None:
            return True
        key = base.key(point)
        try:
            plan, files = digests.plan(base, point)
        except FileChangedError:
            raise
        except ScenarioError as error:
            yield Failed(point, key, error_text(error))
            continue
        made = SweptRun(point, key, run_name(plan.resolved), files)
        if store.is_whole(made.run):
            yield made
        else:
            under_way[task.remote(plan.resolved, plan.core.warnings, made.run, place)] = made
    return False


def simulate(scenario: str, warnings: list[str], run: str, place: str | None) -> Sent:
    """Simulate a resolved scenario, on a node; write it to the folder of the sweep, if that is there.

    A resolved scenario has all defaults written out, so ``warnings`` are those of the scenario as it was written.
    """
    try:
        plan = read_plan(scenario)
        result = run_plan(plan, threads=1)
        of_run = result.meta["warnings"][len(plan.core.warnings) :]
        result = replace(result, scenario=scenario, meta={**result.meta, "warnings": [*warnings, *of_run]})
        files = files_of(result)
        if place is not None:
            Store(Path(place)).put(run, files)
    except StorageError as error:
        return Sent({}, {}, "", str(error), code_version())
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic is no Exception
        return Sent({}, {}, error_text(error), "", code_version())
    facts = facts_of(result, files)
    return Sent({} if place is not None else files, facts, "", "", code_version())


def _taken(ray: Any, own: Any, made: SweptRun, store: Store) -> SweptRun | Failed:
    """Take what a node has sent, and write it if it has not."""
    try:
        sent: Sent = ray.get(own)
    except ray.exceptions.RayError as error:
        words = str(error).strip().splitlines() or [type(error).__name__]
        return Failed(made.point, made.key, f"no node has brought it to its end: {words[0]}")
    if sent.code != code_version():
        raise ScenarioError(f"a node has anabranch {sent.code}, this machine {code_version()}; install the same on all")
    if sent.cannot_write:
        raise StorageError(f"on a node: {sent.cannot_write}")
    if sent.error:
        return Failed(made.point, made.key, sent.error)
    if sent.files:
        if not store.put(made.run, sent.files):
            return made
        tables = _tables(sent.files)
    else:
        tables = tables_of(read_result(store.place(made.run)))
    return replace(made, is_new=True, facts=sent.facts, tables=tables)


def _tables(files: dict[str, bytes]) -> dict[str, pl.DataFrame]:
    found = {n: pl.read_parquet(io.BytesIO(files[f"{n}.parquet"])) for n in TOGETHER if f"{n}.parquet" in files}
    return {"runs": facts_frame(json.loads(files["meta.json"])), **found}
