"""Which protocols of a run keep windows."""

from anabranch import _core


def window_protocols() -> set[str]:
    """Give the titles of the protocols that keep windows: their rates are estimates, which never rest."""
    capabilities = ((title, _core.protocol_capabilities(name) or {}) for name, title, *_ in _core.protocols())
    return {title for title, known in capabilities if known.get("keeps_windows")}
