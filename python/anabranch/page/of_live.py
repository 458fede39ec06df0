"""The data of a live run beside its simulation for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.page.of_result import result_content
from anabranch.runs.compare import compared

if TYPE_CHECKING:
    from anabranch.page.content import Content
    from anabranch.runs.result import Result

NAMES = ("the simulation", "the live run")
"""What the two runs are called on their page."""


def beside_contents(simulated: Result, live: Result) -> list[Content]:
    """Give the data of both runs for one page, with the means of each connection compared.

    Parameters
    ----------
    simulated, live : Result
        Of one scenario, with rates and windows of subflows recorded.
    """
    contents = [result_content(result, name=name) for result, name in zip((simulated, live), NAMES, strict=True)]
    contents[0].header["compared"] = _compared(simulated, live)
    return contents


def _compared(simulated: Result, live: Result) -> dict[str, list[Any]]:
    """Give the comparison by column, null for what is no number."""
    frame = compared(simulated, live)
    floats = frame.select(frame.columns[1:]).fill_nan(None)
    return {"connection": frame["connection"].to_list(), **floats.to_dict(as_series=False)}
