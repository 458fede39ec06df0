"""Sweep files, told from scenarios."""

from anabranch import _core


def is_sweep(text: str) -> bool:
    """Tell whether a TOML text is a sweep file: it names the scenario that it varies."""
    try:
        return isinstance(_core.read_toml(text).get("scenario"), str)
    except ValueError:
        return False
