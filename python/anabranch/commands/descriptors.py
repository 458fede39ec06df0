"""The limit on open files of a program: the system allows few until a program asks for more."""

from __future__ import annotations

from contextlib import suppress

MANY = 32_768
"""Open files that are enough: each connection of a program is one, and each to a target."""


def allow_many() -> None:
    """Let this process have as many open files as it may, up to `MANY`; where it cannot, it has as many as before."""
    # Some systems have no such limits.
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = MANY if hard == resource.RLIM_INFINITY else min(MANY, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
