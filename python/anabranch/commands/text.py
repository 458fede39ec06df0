"""Names, times and counts on a terminal."""

from anabranch import _core

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
COUNTS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def printable(name: str) -> str:
    """Give a name with its control characters written out, so that it cannot move the cursor or start a line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)


def time_text(seconds: float) -> str:
    """Give a time with its unit, to four digits: ``12.5 ms``."""
    scale, unit = next((u for u in UNITS if abs(seconds) >= u[0]), UNITS[0 if seconds == 0.0 else -1])
    return f"{seconds / scale:.4g} {unit}" if abs(seconds) < 1e4 else f"{seconds:.0f} s"


def count_text(count: float) -> str:
    """Give a large count to three digits: ``1.38 M``."""
    scale, prefix = next((c for c in COUNTS if count >= c[0]), (1.0, ""))
    return f"{count / scale:.3g} {prefix}".rstrip() if prefix else f"{count:.0f}"


def more_text(left: int) -> str:
    """Give the line that counts the hidden rows of a table, and how to show them."""
    return f"... and {left} more; --rows 0 shows all"


def rate_text(bps: float) -> str:
    """Give a rate to three digits: ``2.32 Gbit/s``."""
    return _core.format_rate(float(f"{bps:.3g}"))
