"""All figures of a result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.figures.errors import draw_errors
from anabranch.figures.loads import draw_loads
from anabranch.figures.network import draw_network
from anabranch.figures.queues import draw_queues
from anabranch.figures.rates import draw_rates

if TYPE_CHECKING:
    import os

    from anabranch.runs.result import Result


def draw_result(result: Result, folder: str | os.PathLike[str]) -> None:
    """Draw all figures of a result, each as SVG and as PNG.

    They are called ``rates``, ``errors``, ``queues``, ``loads`` and ``network``; rates and errors are left out where
    they were not recorded.

    Parameters
    ----------
    folder : path
        One that exists, such as that of the result.
    """
    place = Path(folder)
    for suffix in (".svg", ".png"):
        if "connections" in result.series or result.grants is not None:
            draw_rates(result, file=place / f"rates{suffix}")
        if result.series.has("connections", "fair_bps"):
            draw_errors(result, file=place / f"errors{suffix}")
        draw_queues(result, file=place / f"queues{suffix}")
        draw_loads(result, file=place / f"loads{suffix}")
        draw_network(result.network, result, file=place / f"network{suffix}")
