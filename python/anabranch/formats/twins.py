"""Twins, the links that lead back, as a file states them; otherwise `Draft.pair_opposites` pairs links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.formats.source import excerpt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.formats.source import Source
    from anabranch.model.network import Draft


def pair_stated(draft: Draft, twins: Sequence[str | None], source: Source) -> None:
    """Make edges twins as the file states by name; None for an edge without one."""
    number = {edge.name: i for i, edge in enumerate(draft.edges)}
    for i, (edge, twin) in enumerate(zip(draft.edges, twins, strict=True)):
        if twin is None:
            continue
        back = number.get(twin)
        place = source.element(f"link `{draft.edge_name(edge)}`")
        if back is None:
            raise place.error(f"there is no link `{excerpt(twin)}` to be its twin", "name one of the file's links")
        if draft.edges[back].two_way or edge.two_way:
            raise place.error(
                f"it states the twin `{excerpt(twin)}`, and one of the two is two-way", "make both one-way"
            )
        ends = draft.edges[back].source, draft.edges[back].target
        if (
            ends != (edge.target, edge.source)
            or twins[back] not in (None, edge.name)
            or draft.edges[back].twin not in (None, i)
        ):
            remedy = "twins must be opposite links that name each other"
            raise place.error(f"`{excerpt(twin)}` does not lead back as its twin", remedy)
        edge.twin, draft.edges[back].twin = back, i
