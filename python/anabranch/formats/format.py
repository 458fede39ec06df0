"""A format of networks or demands: how its files are recognised, read and written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.formats.source import Source
    from anabranch.model.demands import Demands
    from anabranch.model.network import Draft, Network


@dataclass(frozen=True)
class Format:
    """A format; detection, reading, writing and messages are made of this.

    Attributes
    ----------
    name : str
        The name by which it is chosen.
    description : str
        The look of a file, in messages.
    looks_like : callable
        Tells whether a file is of this format, by its `Source`. Formats before it in the list are asked first.
    read : callable
        Reads a network; it also takes the options named in `takes`.
    suffixes : tuple of str
        Endings of names that belong to this format alone.
    begins : str
        The character that each file begins with; a file that begins so is of no format that begins otherwise.
    takes : tuple of str
        The options of `read_network` that only some formats have: ``"nodes"``, ``"network_id"``.
    has_network : bool
        Whether a file holds a network; False if it holds demands alone.
    has_own_demands : bool
        Whether the file of a network may hold demands too.
    read_demands : callable or None
        Reads demands between the nodes of a network; None if the format holds none.
    write : callable or None
        Returns a network as text; None if the format cannot hold everything.
    write_nodes : callable or None
        Returns the nodes as the text of a second file, if the first holds only links.
    writes_to : tuple of str
        Endings of names for which this format is written, besides its `suffixes`.
    """

    name: str
    description: str
    looks_like: Callable[[Source], bool]
    read: Callable[..., Draft]
    suffixes: tuple[str, ...] = ()
    begins: str = ""
    takes: tuple[str, ...] = ()
    has_network: bool = True
    has_own_demands: bool = False
    read_demands: Callable[[Source, Network], Demands] | None = None
    write: Callable[[Network], str] | None = None
    write_nodes: Callable[[Network], str] | None = None
    writes_to: tuple[str, ...] = ()
