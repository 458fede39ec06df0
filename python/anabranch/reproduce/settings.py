"""Settings of a reproduction that are not the experiments' own: smaller networks, other values, other seeds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anabranch.reproduce.size import sized
from anabranch.reproduce.spec.run import OVER_TIME

if TYPE_CHECKING:
    from anabranch.reproduce.experiment import Experiment
    from anabranch.reproduce.spec.run import Run


@dataclass(frozen=True)
class Settings:
    """What a reproduction is run with besides the experiments' own settings.

    Attributes
    ----------
    scale : float
        Factor for the random connections, the hosts and the capacities of large networks, over 0 and at most 1.
    sets : tuple of str
        Values in place of those in the scenarios, such as ``"run.duration=5 s"``; they come after those of a run.
    seeds : int or None
        The number of seeds that each simulation is run with, 1 to this; None for the experiments' own.
    mutate : bool
        Whether each row is also judged with wrong numbers, which must turn it.
    live : bool
        Whether runs that say how are also carried out with real packets.
    """

    scale: float = 1.0
    sets: tuple[str, ...] = ()
    seeds: int | None = None
    mutate: bool = False
    live: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.scale <= 1.0:
            raise ValueError(f"scale is {self.scale}; it must be over 0 and at most 1")
        if self.seeds is not None and self.seeds < 1:
            raise ValueError(f"seeds is {self.seeds}; it must be a whole number, 1 or more")

    @property
    def text(self) -> str:
        """The settings in words; empty if there are none."""
        words = [f"set {one}" for one in self.sets]
        if self.seeds is not None:
            words.append(f"{self.seeds} seeds" if self.seeds > 1 else "1 seed")
        return ", ".join(words)


def adjusted(experiment: Experiment, settings: Settings) -> Experiment:
    """Give an experiment with these settings; the same object if nothing of it changes."""
    own = sized(experiment, settings.scale)
    runs = {name: _adjusted(run, settings) for name, run in own.runs.items()}
    return own if all(runs[name] is run for name, run in own.runs.items()) else replace(own, runs=runs)


def _adjusted(run: Run, settings: Settings) -> Run:
    if settings.sets and run.method in OVER_TIME:
        run = replace(run, sets=(*run.sets, *settings.sets))
    if settings.seeds is not None and run.method == "simulate":
        own = tuple(range(1, settings.seeds + 1))
        run = replace(run, seed=None, seeds=own, margin=None)
    return run
