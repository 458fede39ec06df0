"""A figure of a published experiment: what its table says, and how it is drawn.

``[[figure]]`` in ``experiment.toml``::

    file = "figure-3"                   how its files are called
    draw = "rates"                      or subflow-rates, mean-rates, mean-subflow-rates, marks, queues,
                                        queues-over-time, longest-queue, errors, completions, convergence, steps, bars,
                                        boxes, fluid, eigenvalues
    runs = ["d-slen", "other"]          a panel for each, or with queues a bar for each
    title = "..."                       if not the experiment's
    caption = "..."
    connections = ["c1", "c2"]          with rates: which, ["*"] for all; the first 7 if left out
    most = "4 Mbit/s"                   with rates: where the axis ends
    of = "link"                         with errors: of bottlenecks instead of sources
    window = ["0 s", "0.5 s"]           with rates, errors and queues over time: this part of the time only
    last = "3 s"                        instead: from so long before the first of the connections leaves
    links = ["l1"]                      with queues over time: which, instead of the 7 with the longest
    target = "limit"                    with convergence, steps and mean rates: the run whose rates are drawn as the aim
    bin = "5 s"                         with mean rates and marks: means over so long

``mean-rates``, ``mean-subflow-rates`` and ``marks`` (the shares of marked packets that protocols go by) are of runs
with seeds: means over them, and from the least to the greatest. Others over time are of the first seed, and say so.
``bars`` and ``boxes`` have no ``runs``, and keys of their own: see `anabranch.reproduce.spec.bars` and
`anabranch.reproduce.spec.boxes`. ``steps`` is of a run with
``weight-allocation``: rates and prices of paths after each step. ``convergence`` is of c-SLEN and IEWF: rates after
each pass by running time. ``fluid`` is of fluid models, with keys of `anabranch.reproduce.spec.fluid.FluidAxes`: rates
above and prices below, over steps. ``eigenvalues`` is of models ``tree-sweep``. All others are of simulated runs.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from anabranch.folder import put_file
from anabranch.reproduce.measures.over_seeds import optimal_rates, repeated_marks, repeated_rates
from anabranch.reproduce.spec.bars import Bars, bars_frame, read_bars
from anabranch.reproduce.spec.boxes import Boxes, boxes_frame, read_boxes
from anabranch.reproduce.spec.fluid import FluidAxes, SweepPlan, read_axes
from anabranch.runs.settling import by_amount

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anabranch.reproduce.execute.outcome import Outcome
    from anabranch.reproduce.execute.simulated import Simulated
    from anabranch.reproduce.spec.run import Run
    from anabranch.reproduce.spec.table import Table
    from anabranch.runs.result import Result

Draw = Literal[
    "rates",
    "subflow-rates",
    "mean-rates",
    "mean-subflow-rates",
    "queues",
    "queues-over-time",
    "longest-queue",
    "marks",
    "errors",
    "completions",
    "convergence",
    "steps",
    "bars",
    "boxes",
    "fluid",
    "eigenvalues",
]

TO_AIM: dict[Draw, str] = {
    "convergence": "",
    "steps": "",
    "mean-rates": "proportional",
    "mean-subflow-rates": "proportional",
}
"""What is drawn beside an aim, and what method the aim must have, if a certain one."""


BORNE_BY = {"mean-rates": "connection", "mean-subflow-rates": "subflow", "marks": "subflow"}
"""What the means of rates, and of marks, are of."""

OF_ONE_SEED = ("rates", "subflow-rates", "queues-over-time", "longest-queue", "errors")
"""What shows one run over time, though it may have several seeds."""


@dataclass(frozen=True)
class FigurePlan:
    """What is to be drawn."""

    file: str
    draw: Draw
    runs: tuple[str, ...]
    title: str
    caption: str
    connections: tuple[str, ...]
    most_bps: float | None
    window_s: tuple[float, float] | None
    last_s: float | None
    target: str
    of: str = "connection"
    extremes: bool = True
    bin_s: float = 1.0
    links: tuple[str, ...] = ()
    bars: Bars | None = None
    boxes: Boxes | None = None
    axes: FluidAxes | None = None


def read_figure(table: Table, item: str, runs: Mapping[str, Run]) -> FigurePlan:
    """Read a ``[[figure]]`` of an experiment with these runs.

    Raises
    ------
    ScenarioError
        A run that is not there or cannot be drawn so; a window that is none.
    """
    draw = table.choice("draw", get_args(Draw), "convergence")
    window = table.window_s("window")
    plan = FigurePlan(
        file=table.text("file", item),
        draw=draw,
        runs=tuple(table.texts("runs")),
        title=table.text("title", ""),
        caption=table.text("caption"),
        connections=tuple(table.texts("connections")),
        most_bps=table.rate_bps("most"),
        window_s=window,
        last_s=table.span_s("last"),
        target="" if draw not in TO_AIM else table.text("target", *([""] if TO_AIM[draw] else [])),
        bin_s=table.span_s("bin") or 1.0,
        of=table.choice("of", ("connection", "link"), "connection"),
        extremes=table.flag("extremes", default=True) if draw == "errors" else True,
        links=tuple(table.texts("links")) if draw == "queues-over-time" else (),
        bars=read_bars(table, runs, window) if draw == "bars" else None,
        boxes=read_boxes(table, runs, window) if draw == "boxes" else None,
        axes=read_axes(table) if draw == "fluid" else None,
    )
    if plan.last_s is not None and (window or plan.connections in ((), ("*",))):
        raise table.error("last", "it is the end of the stay of connections", "name connections, and give no window")
    _check_runs(table, plan, runs)
    table.finish()
    return plan


def _check_runs(table: Table, plan: FigurePlan, runs: Mapping[str, Run]) -> None:
    if plan.bars is not None or plan.boxes is not None:
        if plan.runs or (plan.bars is not None and not plan.bars.order):
            raise table.error(
                "runs",
                f"{plan.draw} are of numbers",
                "leave it out, and name runs in each [[figure.bar]] or [[figure.box]]",
            )
        return
    if not plan.runs:
        raise table.error("runs", "it is empty", f"choose among {', '.join(runs)}")
    targets = [("target", plan.target)] if plan.target else []
    for key, name in [*(("runs", name) for name in plan.runs), *targets]:
        if name not in runs:
            raise table.error(key, f"there is no run `{name}`", f"choose among {', '.join(runs)}")
    wanted = TO_AIM.get(plan.draw)
    if plan.target and wanted and runs[plan.target].method != wanted:
        raise table.error("target", f"run `{plan.target}` is of another method", f'name one with method = "{wanted}"')
    for name in plan.runs:
        run = runs[name]
        if plan.draw in ("fluid", "eigenvalues"):
            if run.fluid is None:
                raise table.error("runs", f"run `{name}` is no fluid model", 'draw only runs with method = "fluid"')
            if isinstance(run.fluid, SweepPlan) != (plan.draw == "eigenvalues"):
                remedy = 'draw models "tree-sweep" with "eigenvalues", others with "fluid"'
                raise table.error("runs", f"run `{name}` is of another model", remedy)
        elif plan.draw == "steps":
            if run.method != "weight-allocation" or len(plan.runs) > 1:
                raise table.error("runs", "it must be one with steps", 'name one with method = "weight-allocation"')
        elif plan.draw != "convergence":
            if run.method != "simulate":
                raise table.error("runs", f"run `{name}` is not simulated", 'draw only runs with method = "simulate"')
        elif run.method not in ("c-slen", "iewf") or run.stop_change_bps is None:
            remedy = 'draw only methods "c-slen" and "iewf" with a stop_change, which end after a number of passes'
            raise table.error("runs", f"run `{name}` cannot be timed pass by pass", remedy)


@dataclass(frozen=True)
class Figure:
    """What a figure is drawn from.

    Attributes
    ----------
    item : str
        Table or figure of the paper.
    plan : FigurePlan
        What is drawn.
    title : str
    rates_in : str
        Unit of the rates of a convergence.
    frame : DataFrame
        The numbers drawn. Of a convergence a row for each run, pass and connection: ``run``, ``pass``, ``time_us``,
        ``connection``, ``rate``. Of rates a row for each change: ``run``, ``time_s``, ``name``, ``granted_bps``. Of
        queues ``run``, ``link``, ``most_packets``, or over time ``run``, ``time_s``, ``link``, ``peak_packets``, of the
        longest without ``link``; of errors ``run`` and what `Result.errors` gives; of completions ``run`` and what
        `anabranch.runs.settling.by_amount` gives; of mean rates ``run`` and what
        `anabranch.reproduce.measures.over_seeds` gives; of steps ``step``, ``name``, ``rate``, ``price``; of fluid
        models ``run``, ``at``, ``name``, ``value``; of bars and boxes what `anabranch.reproduce.spec.bars` and
        `anabranch.reproduce.spec.boxes` give.
    targets : dict
        The rate that each connection of a convergence, or subflow of steps, tends to.
    results : dict
        Simulated runs, by the name that is written above them.
    window_s : pair of float or None
    optimum : DataFrame or None
        Of mean rates, what `anabranch.reproduce.measures.over_seeds.optimal_rates` gives.
    """

    item: str
    plan: FigurePlan
    title: str
    rates_in: str
    frame: pl.DataFrame
    targets: dict[str, float]
    results: dict[str, Result]
    window_s: tuple[float, float] | None
    optimum: pl.DataFrame | None = None

    def write(self, folder: Path) -> None:
        """Write it into a folder as SVG and PNG, and its numbers as CSV."""
        put_file(self.frame.write_csv(), folder / f"{self.plan.file}.csv")
        for suffix in (".svg", ".png"):
            self._draw(folder / f"{self.plan.file}{suffix}")

    def without_data(self) -> Figure:
        """Give what it shows without what it is drawn from: results of whole runs may be large."""
        return replace(self, frame=self.frame.clear(), targets={}, results={}, optimum=None)

    def _draw(self, file: Path) -> None:
        # Only now: matplotlib takes longer to load than the experiments take to run.
        from anabranch import figures

        draw, title, caption = self.plan.draw, self.title, self.plan.caption
        if draw == "convergence":
            figures.draw_convergence(
                self.frame, targets=self.targets, rates_in=self.rates_in, title=title, caption=caption, file=file
            )
        elif self.plan.bars is not None:
            own = self.plan.bars
            figures.draw_estimates(self.frame, ylabel=own.ylabel, xlabel=own.across, title=title, file=file)
        elif self.plan.boxes is not None:
            boxes = self.plan.boxes
            figures.draw_boxes(
                self.frame,
                ylabel=boxes.ylabel,
                xlabel=boxes.across,
                logarithmic=boxes.logarithmic,
                title=title,
                file=file,
            )
        elif self.plan.axes is not None:
            figures.draw_fluid(self.frame, title=title, note=caption, file=file, **asdict(self.plan.axes))
        elif draw == "eigenvalues":
            figures.draw_eigenvalues(self.frame, title=title, note=caption, file=file)
        elif draw == "steps":
            figures.draw_steps(self.frame, targets=self.targets, rates_in=self.rates_in, title=title, file=file)
        elif draw in ("mean-rates", "mean-subflow-rates"):
            figures.draw_repeated(
                self.results,
                self.frame,
                self.optimum,
                of=BORNE_BY[draw],
                title=title,
                most_bps=self.plan.most_bps,
                file=file,
            )
        elif draw == "marks":
            figures.draw_marks(self.results, self.frame, title=title, file=file)
        elif draw == "queues":
            figures.draw_queues(self.results, title=title, file=file)
        elif draw == "queues-over-time":
            links = self.plan.links or None
            figures.draw_queues(self.results, over="time", links=links, window_s=self.window_s, title=title, file=file)
        elif draw == "longest-queue":
            figures.draw_longest_queue(self.results, window_s=self.window_s, title=title, file=file)
        elif draw == "completions":
            figures.draw_completions(self.results, title=title, file=file)
        elif draw == "errors":
            plan = self.plan
            figures.draw_errors(
                self.results, of=plan.of, window_s=self.window_s, extremes=plan.extremes, title=title, file=file
            )
        else:
            figures.draw_rates(
                self.results,
                connections=self.plan.connections or None,
                subflows=draw == "subflow-rates",
                window_s=self.window_s,
                most_bps=self.plan.most_bps,
                title=title,
                file=file,
            )


def item_name(item: str) -> str:
    """Give an item as people write it: ``Theorem 8.2`` for ``theorem-8-2``."""
    return re.sub(r"(?<=\d)-(?=\d)", ".", item).replace("-", " ").capitalize()


def make_figure(
    plan: FigurePlan, item: str, title: str, rates_in: str, outcomes: dict[str, Outcome], place: Path
) -> Figure:
    """Gather what a figure is drawn from; `place` is the file that it is in."""
    heading = f"{item_name(item)}: {plan.title or title}"
    if plan.bars is not None:
        return Figure(item, plan, heading, rates_in, bars_frame(plan.bars, outcomes, place), {}, {}, None)
    if plan.boxes is not None:
        return Figure(item, plan, heading, rates_in, boxes_frame(plan.boxes, outcomes, place), {}, {}, None)
    if plan.draw == "convergence":
        aim = outcomes[plan.target]
        targets = dict(zip(aim.paths.demands.core.names, aim.connection_rates.tolist(), strict=True))
        frame = pl.concat(_passes(name, outcomes[name]) for name in plan.runs)
        return Figure(item, plan, heading, rates_in, frame, targets, {}, None)
    if plan.draw in ("fluid", "eigenvalues"):
        models = {name: model for name in plan.runs if (model := outcomes[name].fluid) is not None}
        followed = pl.concat(model.frame(name) for name, model in models.items())
        return Figure(item, plan, heading, rates_in, followed, {}, {}, None)
    if plan.draw == "steps":
        return _steps(plan, item, heading, rates_in, outcomes)
    if plan.draw in BORNE_BY:
        return _repeated(plan, item, heading, rates_in, outcomes)
    runs = _by_protocol(plan, outcomes)
    seeds = max(1 + len(outcomes[name].others) for name in plan.runs)
    if plan.draw in OF_ONE_SEED and seeds > 1:
        heading = f"{heading}; one seed of {seeds}"
    frame = pl.concat(_numbers(plan, run).select(pl.lit(name).alias("run"), pl.all()) for name, run in runs.items())
    results = {name: run.result for name, run in runs.items()}
    return Figure(item, plan, heading, rates_in, frame, {}, results, _window(plan, runs))


def _steps(plan: FigurePlan, item: str, title: str, rates_in: str, outcomes: Mapping[str, Outcome]) -> Figure:
    """Give rates and prices after each step, from the step 1 on."""
    outcome, aim = outcomes[plan.runs[0]], outcomes[plan.target]
    found = outcome.weights
    assert found is not None, "the reader asks for it"
    names = _subflow_names(outcome)
    steps = range(1, len(found.rates) + 1)
    columns = {"step": [s for _ in names for s in steps], "name": [name for name in names for _ in steps]}
    frame = pl.DataFrame(columns | {"rate": found.rates.T.ravel(), "price": found.prices.T.ravel()})
    targets = dict(zip(names, aim.path_rates.tolist(), strict=True))
    return Figure(item, plan, title, rates_in, frame, targets, {}, None)


def _subflow_names(outcome: Outcome) -> list[str]:
    offsets, names = outcome.paths.connection_offsets.tolist(), outcome.paths.demands.core.names
    return [f"{name}/{p + 1}" for c, name in enumerate(names) for p in range(offsets[c + 1] - offsets[c])]


def _repeated(plan: FigurePlan, item: str, title: str, rates_in: str, outcomes: Mapping[str, Outcome]) -> Figure:
    """Give means over the seeds of each run."""
    runs = _by_protocol(plan, outcomes)
    of = BORNE_BY[plan.draw]
    parts, connections = [], list(plan.connections)
    for own, name in zip(runs, plan.runs, strict=True):
        seeds = [one.simulated for one in (outcomes[name], *outcomes[name].others) if one.simulated is not None]
        if plan.connections in ((), ("*",)):
            connections = list(seeds[0].connections)
        means = (repeated_marks if plan.draw == "marks" else repeated_rates)(
            seeds, connections, of=of, bin_s=plan.bin_s
        )
        parts.append(means.select(pl.lit(own).alias("run"), pl.all()))
    aim = outcomes[plan.target].optimum if plan.target else None
    optimum = None if aim is None else optimal_rates(aim, connections, of=of)
    results = {name: run.result for name, run in runs.items()}
    return Figure(item, plan, title, rates_in, pl.concat(parts), {}, results, None, optimum)


def _by_protocol(plan: FigurePlan, outcomes: Mapping[str, Outcome]) -> dict[str, Simulated]:
    """Give the runs by their protocols as people read them, or by their own names where two have the same."""
    runs = {name: run for name in plan.runs if (run := outcomes[name].simulated) is not None}
    titles = {run.protocol: run for run in runs.values()}
    return titles if len(titles) == len(runs) else runs


def _window(plan: FigurePlan, runs: Mapping[str, Simulated]) -> tuple[float, float] | None:
    if plan.last_s is None:
        return plan.window_s
    ends = [min(run.connections[c]["end_s"] for c in plan.connections) for run in runs.values()]
    return min(ends) - plan.last_s, max(ends)


def _numbers(plan: FigurePlan, run: Simulated) -> pl.DataFrame:
    """Give the numbers drawn of one run."""
    if plan.draw == "queues":
        return run.result.links.filter(pl.col("most_packets") > 0).select("link", "most_packets")
    if plan.draw == "queues-over-time":
        rows = run.samples("link").filter(pl.col("peak_packets").max().over("name") > 0)
        rows = rows.filter(pl.col("name").is_in(plan.links)) if plan.links else rows
        return rows.select("time_s", pl.col("name").alias("link"), "peak_packets")
    if plan.draw == "errors":
        return run.result.errors(of=plan.of)
    if plan.draw == "longest-queue":
        return run.samples("run").select("time_s", "peak_packets")
    if plan.draw == "completions":
        return by_amount(run.result)
    rates = run.result.rates(subflows=plan.draw == "subflow-rates")
    # The subflows of c1 are called c1/1, c1/2, ...
    connection = pl.col("name").str.replace(r"/\d+$", "") if plan.draw == "subflow-rates" else pl.col("name")
    some = plan.connections not in ((), ("*",))
    return rates.filter(connection.is_in(plan.connections)) if some else rates


def _passes(name: str, outcome: Outcome) -> pl.DataFrame:
    assert outcome.trace is not None, "the runs of a convergence are timed"
    passes, connections = outcome.trace.rates.shape
    return pl.DataFrame(
        {
            "run": [name] * (passes * connections),
            "connection": [c for c in outcome.paths.demands.core.names for _ in range(passes)],
            "pass": list(range(1, passes + 1)) * connections,
            "time_us": outcome.trace.time_us.cumsum().tolist() * connections,
            "rate": outcome.trace.rates.T.ravel(),
        }
    ).select("run", "pass", "time_us", "connection", "rate")
