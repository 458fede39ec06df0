"""Reproduce a paper: run its experiments, and put every printed number or claim beside ours."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError, did_you_mean
from anabranch.interrupts import held_interrupts
from anabranch.reproduce.execute.execute import execute
from anabranch.reproduce.experiment import Experiment, find_experiments, read_experiment
from anabranch.reproduce.figures.kind import gather_figure
from anabranch.reproduce.judge import row_of
from anabranch.reproduce.live import run_live, with_live
from anabranch.reproduce.mutation import unturned
from anabranch.reproduce.outcomes.kinds import Simulated
from anabranch.reproduce.papers import read_papers
from anabranch.reproduce.readme import MADE, readme
from anabranch.reproduce.repeat import repeat
from anabranch.reproduce.rows import ReproductionInterrupted, Rows, SimulationCost, item_name
from anabranch.reproduce.settings import Settings, adjusted
from anabranch.reproduce.size import sized
from anabranch.reproduce.spec.traces import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from anabranch.reproduce.execute.execute import Simulations
    from anabranch.reproduce.figures.kind import GatheredFigure
    from anabranch.reproduce.outcomes.kinds import Outcome
    from anabranch.reproduce.outcomes.simulation import Simulation

    Progress = Callable[[str, float, float, int], None]
    EachItem = Callable[[Rows, list[GatheredFigure]], None]


def reproduce(
    name: str,
    item: str | None = None,
    *,
    scale: float = 1.0,
    sets: Sequence[str] = (),
    seeds: int | None = None,
    mutate: bool = False,
    live: bool = False,
    experiments: str | Path | None = None,
    progress: Progress | None = None,
    each_item: EachItem | None = None,
) -> Rows:
    """Run the experiments of a paper.

    Parameters
    ----------
    name : str
        The paper, such as ``"upward-max-min"``.
    item : str, optional
        A table or figure, such as ``"table-7"``; all if not given.
    scale : float
        Simulate large networks with this many times the random connections and hosts, over links of this many times
        the capacity, over 0 and at most 1: a quick look, whose numbers are not those of the paper's size and not
        judged.
    sets : sequence of str
        Values in place of those in all simulated scenarios, such as ``"run.duration=5 s"``.
    seeds : int, optional
        Run each simulation with seeds 1 to this many, in place of the experiments' own.
    mutate : bool
        Also judge each row with wrong numbers, and keep those that do not turn in ``unturned``.
    live : bool
        Also carry out with real packets the runs that say how, one at a time, in real time. Needs what
        `anabranch.live` needs.
    experiments : path, optional
        Folder of experiments; ``./experiments`` or that of the source checkout if not given.
    progress : callable, optional
        Called with the progress of a simulation: the run, simulated time and duration in seconds, and events.
    each_item : callable, optional
        Called with all rows and the new figures as soon as a table or figure of the paper is done. The rows then keep
        figures without their numbers, which may be gigabytes for a whole paper.

    Returns
    -------
    Rows
        A list of `Row`, one for each printed number or claim.

    Raises
    ------
    ScenarioError
        An unknown paper or item; a mistake in an experiment's files.
    ReproductionInterrupted
        Ctrl-C; a KeyboardInterrupt with the rows of the tables and figures that are done.
    """
    settings = Settings(scale, tuple(sets), seeds, mutate=mutate, live=live)
    return reproduce_with(settings, name, item, experiments=experiments, progress=progress, each_item=each_item)


def reproduce_with(
    settings: Settings,
    name: str,
    item: str | None = None,
    *,
    experiments: str | Path | None = None,
    progress: Progress | None = None,
    each_item: EachItem | None = None,
) -> Rows:
    """Run the experiments of a paper, as `reproduce` does, with settings that it makes of its arguments."""
    folder = find_experiments(experiments)
    papers = read_papers(folder)
    if name not in papers:
        hint = did_you_mean(name, papers)
        raise ScenarioError(f"{folder}: there is no paper `{name}`{hint}; there is {', '.join(sorted(papers))}")
    paper = papers[name]
    if item is not None and item not in paper.items:
        hint = did_you_mean(item, paper.items)
        raise ScenarioError(f"{folder}: there is no `{item}` of {name}{hint}; there is {', '.join(paper.items)}")
    rows = Rows(paper=paper)
    rows.settings = settings
    rows.unturned = [] if settings.mutate else None
    rows.not_done = list(paper.items) if item is None else [item]
    try:
        wanted = [read_experiment(folder / f"{name}-{own}") for own in rows.not_done]
        _reproduce_all(wanted, rows, progress, each_item)
    except KeyboardInterrupt as stopped:
        raise ReproductionInterrupted(rows) from stopped
    return rows


def _reproduce_all(wanted: list[Experiment], rows: Rows, progress: Progress | None, each_item: EachItem | None) -> None:
    simulations: Simulations = {}
    for number, experiment in enumerate(wanted):
        known = len(rows.figures)
        lacking = missing(experiment.traces)
        if lacking is None:
            _reproduce(experiment, rows, simulations, progress)
        else:
            own = item_name(experiment.item)
            rows.left_out.append(f"{own} is left out: it follows traces in {lacking}, which are not there")
        rows.not_done = [later.item for later in wanted[number + 1 :]]
        _forget(simulations, wanted[number + 1 :])
        if each_item is None:
            continue
        # A signal must not lose what has just been done.
        with held_interrupts() as interrupts:
            each_item(rows, rows.figures[known:])
        rows.figures[known:] = [figure.without_data() for figure in rows.figures[known:]]
        if interrupts.came:
            raise KeyboardInterrupt


def _forget(simulations: Simulations, experiments: Iterable[Experiment]) -> None:
    """Drop the simulations of scenarios that none of the experiments runs."""
    needed = {run.scenario.resolve() for experiment in experiments for run in experiment.runs.values()}
    for key in [key for key in simulations if key[0] not in needed]:
        del simulations[key]


def _reproduce(whole: Experiment, rows: Rows, simulations: Simulations, progress: Progress | None) -> None:
    experiment = adjusted(whole, rows.settings)
    is_sized = sized(whole, rows.settings.scale) is not whole
    timed = {run for figure in experiment.figures for run in figure.timed}
    outcomes: dict[str, tuple[Outcome, ...]] = {}

    def tell(name: str) -> Callable[[float, float, int], None] | None:
        return None if progress is None else partial(progress, f"{experiment.item}: {name}")

    place = experiment.folder / "experiment.toml"
    known = {id(simulated) for simulated in simulations.values()}
    for name, run in experiment.runs.items():
        outcomes[name] = execute(run, experiment.unit_bps, simulations, timed=name in timed, progress=tell(name))
    expected, unit_bps = experiment.folder / "expected.toml", experiment.unit_bps
    repeat(outcomes, experiment.runs, experiment.quantities, expected, unit_bps, simulations, tell)
    made = []
    for name, own in outcomes.items():
        simulated = [one.simulation for one in own if isinstance(one, Simulated)]
        new = {id(one) for one in simulated} - known
        if new:
            made.append(_cost(experiment.item, name, simulated))
            known |= new
    found = [row_of(experiment, quantity, outcomes) for quantity in experiment.quantities]
    not_live: list[str] = []
    if rows.settings.live:
        lived, not_live = run_live(experiment, tell)
        found = with_live(experiment, found, lived)
    figures = []
    for figure in experiment.figures:
        title = f"{item_name(experiment.item)}: {figure.heading.title or experiment.title}"
        figures.append(gather_figure(figure, experiment.item, title, experiment.rates_in, outcomes, place))
    # All at once: a signal may come before.
    rows.experiments.append(experiment)
    rows.made += made
    rows.left_out += not_live
    rows.figures += figures
    text = readme(experiment, outcomes, found)
    if rows.unturned is not None:
        rows.unturned += unturned(experiment, outcomes, found)
    if text is not None:
        rows.readmes[experiment.folder / MADE] = text
    rows += [row.unjudged for row in found] if is_sized else found


def _cost(item: str, run: str, simulated: list[Simulation]) -> SimulationCost:
    metas = [one.result.meta for one in simulated]
    time_s, wall_s, hops = (sum(meta[key] for meta in metas) for key in ("reached_s", "wall_s", "packet_hops"))
    return SimulationCost(item, run, time_s, wall_s, metas[0]["threads"], hops)
