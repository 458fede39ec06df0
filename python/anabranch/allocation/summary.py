"""The summary of an allocation: plain values by name, which print as lines."""

from __future__ import annotations

from typing import Any

from anabranch import _core


class Summary(dict[str, Any]):
    """The request, the result and its proof as plain values; printed, a line for each."""

    def __repr__(self) -> str:
        names = {name: name.removesuffix("_bps").replace("_", " ") for name in self}
        width = max(map(len, names.values()), default=0)
        return "\n".join(f"{names[name]:{width}}  {_text(name, value)}" for name, value in self.items())


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_bps"):
        return _core.format_rate(value)
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"
