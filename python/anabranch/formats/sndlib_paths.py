"""The admissible paths of SNDlib's native format: for each demand, paths as lists of link names.

A path walks from the demand's source; where a link lies against the walk, its twin is taken. The paths are attached
to the demands if the network has every link that they name, and passed over otherwise: the demands may well be read
onto another network with the same nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.errors import ScenarioError
from anabranch.formats.source import excerpt
from anabranch.model.paths import given_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.formats.source import Place, Source
    from anabranch.model.demands import Demands

Listed = dict[str, list[tuple[int, list[str]]]]


def attach_paths(demands: Demands, lines: Sequence[tuple[int, list[str]]], source: Source) -> None:
    """Give demands the paths of a section's lines, if there are any and the network has their links."""
    listed = _listed(lines, source)
    if not listed:
        return
    unknown = set(listed) - set(demands.core.names)
    if unknown:
        name = min(unknown)
        place = source.element(f"section ADMISSIBLE_PATHS, `{excerpt(name)}`")
        raise place.error("there is no demand of this name", "declare it or correct the name")
    core = demands.network.core
    number = {name: i for i, name in enumerate(core.link_names)}
    if any(link not in number for paths in listed.values() for _, path in paths for link in path):
        return
    walk = _Walk(number, core.link_names, core.link_source.tolist(), core.link_target.tolist(), core.twin.tolist())
    paths = []
    for name, start in zip(demands.core.names, demands.core.source.tolist(), strict=True):
        paths.append([walk.along(path, start, source.line(line)) for line, path in listed.get(name, [])])
    try:
        demands.paths = given_paths(demands, paths, by="links")
    except ScenarioError as error:
        raise ScenarioError(f"{source.path}, section ADMISSIBLE_PATHS: {error}") from error


def _listed(lines: Sequence[tuple[int, list[str]]], source: Source) -> Listed:
    """Read ``demand (``, ``path ( link link ... )`` and ``)``; keep the number of each path's line."""
    listed: Listed = {}
    own: list[tuple[int, list[str]]] | None = None
    for line, words in lines:
        if words == [")"] and own is not None:
            own = None
        elif own is None and len(words) == 2 and words[1] == "(":
            own = listed.setdefault(words[0], [])
        elif own is not None and len(words) > 3 and words[1] == "(" and words[-1] == ")":
            own.append((line, words[2:-1]))
        else:
            place = source.line(line)
            raise place.error(f"`{excerpt(' '.join(words))}` is not `path ( link link ... )`", "correct it")
    return listed


class _Walk:
    """The links of a network by number, to turn each into the walk's direction."""

    def __init__(
        self, number: dict[str, int], names: list[str], source: list[int], target: list[int], twin: list[int]
    ) -> None:
        self.number, self.names, self.source, self.target, self.twin = number, names, source, target, twin

    def along(self, path: list[str], start: int, place: Place) -> list[str]:
        """Give the links of a path that begins at a node, each or its twin as the walk goes."""
        node = start
        taken = []
        for name in path:
            link = self.number[name]
            if self.source[link] != node:
                link = self.twin[link]
            if link < 0 or self.source[link] != node:
                raise place.error(
                    f"link `{excerpt(name)}` does not go on where the path has come to", "correct the path"
                )
            taken.append(self.names[link])
            node = self.target[link]
        return taken
