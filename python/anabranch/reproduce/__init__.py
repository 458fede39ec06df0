"""Published results, reproduced: the numbers and claims of papers beside those of our runs, and reports of both."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.reproduce.reproduction import reproduce

__all__ = ["reproduce"]


def __getattr__(name: str) -> Any:
    """Load `reproduce` on its first use, so that experiments can be read without the modules that run them."""
    if name != "reproduce":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from anabranch.reproduce.reproduction import reproduce

    return reproduce
