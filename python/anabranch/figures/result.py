"""All figures of a result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from anabranch.errors import ScenarioError
from anabranch.figures.errors import draw_errors, has_errors
from anabranch.figures.loads import draw_loads
from anabranch.figures.network import draw_network
from anabranch.figures.paper import PaperChoice, paper_of
from anabranch.figures.queues import draw_queues
from anabranch.figures.rates import draw_rates
from anabranch.figures.windows import draw_round_trips, draw_windows

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from anabranch.runs.result import Result

FORMATS = ("svg", "png", "pdf")
"""The formats of figures."""

USUAL = ("svg", "png")


def draw_result(
    result: Result,
    folder: str | os.PathLike[str],
    *,
    formats: Sequence[str] = USUAL,
    **paper: Unpack[PaperChoice],
) -> None:
    """Draw all figures of a result, each in every format.

    They are called ``rates``, ``errors``, ``windows``, ``round_trips``, ``queues``, ``queues_over_time``, ``loads`` and
    ``network``. What was not recorded is left out, and ``errors`` where no connection is granted a rate.

    Parameters
    ----------
    folder : path
        One that exists, such as that of the result.
    formats : sequence of {"svg", "png", "pdf"}
    **paper
        ``width``, ``font`` and ``font_size``, as in `PaperChoice`.

    Raises
    ------
    ScenarioError
        Another format, a paper that cannot be, or a file that cannot be written.
    """
    unknown = next((own for own in formats if own not in FORMATS), None)
    if unknown is not None:
        raise ScenarioError(f"there is no picture format `{unknown}`; take svg, png or pdf")
    with paper_of(paper):
        for name, draw in _drawings(result).items():
            for own in formats:
                draw(Path(folder) / f"{name}.{own}")


def _drawings(result: Result) -> dict[str, Callable[[Path], object]]:
    """Give what can be drawn of a result, by the name of the file."""
    series = result.series
    found: dict[str, Callable[[Path], object]] = {}
    if "connections" in series or result.grants is not None:
        found["rates"] = lambda file: draw_rates(result, file=file)
    if has_errors(result):
        found["errors"] = lambda file: draw_errors(result, file=file)
    if series.has("subflows", "window_bytes"):
        found["windows"] = lambda file: draw_windows(result, file=file)
    if series.has("subflows", "rtt_s"):
        found["round_trips"] = lambda file: draw_round_trips(result, file=file)
    found["queues"] = lambda file: draw_queues(result, file=file)
    if series.has("links", "peak_packets", "carried_bps"):
        found["queues_over_time"] = lambda file: draw_queues(result, over="time", file=file)
    found["loads"] = lambda file: draw_loads(result, file=file)
    found["network"] = lambda file: draw_network(result.network, result, file=file)
    return found
