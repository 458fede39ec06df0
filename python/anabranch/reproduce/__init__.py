"""Published results, reproduced: the numbers and claims of papers beside those of our runs, and reports of both."""

from typing import TYPE_CHECKING

from anabranch.lazy import loader

if TYPE_CHECKING:
    from anabranch.reproduce.reproduction import reproduce

__all__ = ["reproduce"]

# Experiments can be read without the modules that run them.
__getattr__ = loader(__name__, {"reproduction": ("reproduce",)})
