"""A topology manager: it answers requests for paths, with their groups and filters, while links fail and return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch import _core
from anabranch.errors import ScenarioError
from anabranch.model.arguments import whole
from anabranch.model.paths import Sharing, link_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.model.network import Network


class TopologyManager:
    """Paths of many requests on one network, with their groups and filters [thomas2016, sec. III].

    A request names a receiver and the publishers of its item. A path is up while its links, and those of its way back,
    are up. Methods that change a link return the numbers of the requests whose paths changed.

    Parameters
    ----------
    sharing : {"links", "nodes"}
        What paths of a group share, as for `groups`.
    without : sequence of str
        Links that do not count as shared.
    seed : int
        Seed of the identities of links.

    Raises
    ------
    ScenarioError
        A link that is not in the network, or an unknown kind of sharing.
    """

    def __init__(
        self, network: Network, *, sharing: Sharing = "links", without: Sequence[str] = (), seed: int = 1
    ) -> None:
        self.network = network
        try:
            self.core = _core.TopologyManager(network.core, sharing, link_names(without), whole("seed", seed))
        except ValueError as error:
            raise ScenarioError(str(error)) from error

    def __repr__(self) -> str:
        return f"<TopologyManager {len(self.requests)} requests on {self.network!r}>"

    @property
    def requests(self) -> list[int]:
        """The numbers of the requests there are."""
        return self.core.requests()

    def request(self, receiver: str, publishers: Sequence[str], paths: int = 4) -> int:
        """Find paths from each publisher to the receiver that avoid failed links; give the request's number.

        Raises
        ------
        ScenarioError
            An unknown node, one that stands twice, or a count out of its range.
        """
        count = whole("paths", paths)
        ends = self._nodes(publishers)
        try:
            return self.core.request(self._node(receiver), ends, count)
        except ValueError as error:
            raise ScenarioError(str(error)) from error

    def end(self, request: int) -> None:
        """Forget a request."""
        self.core.end(whole("request", request))

    def records(self, request: int) -> pl.DataFrame:
        """Give a row for each path of a request that is up, in the order in which they were found or added.

        Returns
        -------
        DataFrame
            ``path`` (its number), ``publisher``, ``group``, ``links`` (a list of names), ``has_way_back`` (whether all
            links have twins), and of the filters there and back ``forward_table``, ``forward_fill``,
            ``reverse_table``, ``reverse_fill``; null where there is none.
        """
        nodes, links = self.network.core.node_names, self.network.core.link_names
        rows = []
        for path, publisher, own, group, has_back, forward, reverse in self.core.records(whole("request", request)):
            names = [links[link] for link in own]
            there, back = forward or (None, None), reverse or (None, None)
            rows.append((path, nodes[publisher], group, names, has_back, *there, *back))
        schema: dict[str, Any] = {
            "path": pl.UInt64,
            "publisher": pl.String,
            "group": pl.UInt32,
            "links": pl.List(pl.String),
            "has_way_back": pl.Boolean,
            "forward_table": pl.UInt8,
            "forward_fill": pl.Float64,
            "reverse_table": pl.UInt8,
            "reverse_fill": pl.Float64,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")

    def fail(self, link: str) -> list[int]:
        """Take a link down; the requests that lost a path by it."""
        return self.core.fail(link)

    def restore(self, link: str) -> list[int]:
        """Take a link up again; the requests that have a path back by it."""
        return self.core.restore(link)

    def add_path(self, request: int, links: Sequence[str]) -> int:
        """Add a path, given by its links, from a publisher of the request to its receiver; its number."""
        return self.core.add_path(whole("request", request), list(links))

    def remove_path(self, request: int, path: int) -> None:
        """Take a path away."""
        self.core.remove_path(whole("request", request), whole("path", path))

    def set_publishers(self, request: int, publishers: Sequence[str]) -> None:
        """Give a request other publishers: paths of those that stay are kept, those of new ones are found."""
        self.core.set_publishers(whole("request", request), self._nodes(publishers))

    def find_again(self, request: int) -> bool:
        """Find the paths of a request again over the links that are up; tell whether any path changed."""
        return self.core.find_again(whole("request", request))

    def _nodes(self, names: Sequence[str]) -> list[int]:
        if isinstance(names, str):
            raise ScenarioError(f"the publishers are {names!r}; give a list of the names of nodes")
        return [self._node(name) for name in names]

    def _node(self, name: str) -> int:
        number = self.network.core.find_node(name)
        if number is None:
            raise ScenarioError(f"there is no node `{name}`{self.network.core.node_hint(name)}; correct the name")
        return number
