"""Published results reproduced: what papers print, what our runs give, and reports of both."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.reproduce.reproduction import reproduce

__all__ = ["reproduce"]


def __getattr__(name: str) -> Any:
    """Load `reproduce` when it is asked for: the files of experiments are read without all that runs them."""
    if name != "reproduce":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from anabranch.reproduce.reproduction import reproduce

    return reproduce
