"""The summary of an allocation: plain values by name, which print as lines."""

from __future__ import annotations

from typing import Any

from anabranch import _core

MEANINGS = {
    "passes": "iterations of the method, such as pivots of a simplex method",
    "tolerance": "the residual up to which rates count as fair",
    "certified": "whether the rates are proved, by code that shares nothing with the method",
    "residual": "optimality gap: how far any path is from its bottleneck, as a part of it; 0 is exactly fair",
    "overload": "constraint violation: the most that a link carries above its capacity, as a part of it",
    "unmet_reserved": "connections whose reserved part does not fit",
    "least_reserved_met": "the least part of a reserved part that a connection has",
    "gap": "duality gap: how far the rates and prices are from the optimum",
}
"""What the names of numbers mean, in the words of optimisation."""


class Summary(dict[str, Any]):
    """The request, the result and its proof as plain values; printed, a line for each, some with what they mean."""

    def __repr__(self) -> str:
        names = {name: name.removesuffix("_bps").replace("_", " ") for name in self}
        width = max(map(len, names.values()), default=0)
        texts = {name: _text(name, value) for name, value in self.items()}
        return "\n".join(f"{names[name]:{width}}  {text}{_meaning(name)}" for name, text in texts.items())


def _meaning(name: str) -> str:
    return f" ({MEANINGS[name]})" if name in MEANINGS else ""


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_bps"):
        return _core.format_rate(value)
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"
