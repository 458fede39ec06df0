"""Rates and times: a number in bit/s or seconds, or text with a unit."""

from __future__ import annotations

from anabranch import _core


def rate_bps(rate: float | str, what: str = "rate") -> float:
    """Give a rate in bit/s, from a number of bit/s or text such as ``"10 Gbit/s"``."""
    if isinstance(rate, str):
        return _core.parse_rate(rate)
    if not rate >= 0.0:
        raise ValueError(f"{what} is {rate} bit/s; it must be 0 or more")
    return float(rate)


def span_s(span: float | str, what: str = "time") -> float:
    """Give a time in seconds, from a number of seconds or text such as ``"5 ms"``."""
    if isinstance(span, str):
        return _core.parse_span(span)
    if not 0.0 <= span < float("inf"):
        raise ValueError(f"{what} is {span} s; it must be finite and 0 or more")
    return float(span)
