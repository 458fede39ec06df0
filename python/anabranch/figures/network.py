"""The network as a weather map: each link is half of a cable, coloured by its utilisation.

Traffic leaves the node at whose side the half lies; the arrows of both directions meet in the middle. Width is
capacity. A saturated link has a dark rim and a white line inside, so that it shows without colour. All geometry is in
points (1/72 inch) from the lower left corner of the map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from anabranch import _core
from anabranch.allocation.allocation import Allocation
from anabranch.errors import ScenarioError
from anabranch.figures import two_nodes
from anabranch.figures.labels import place_labels
from anabranch.figures.paper import PaperChoice, is_titled, on_paper, scaled, size_on_paper
from anabranch.figures.save import any_glyph, check_suffix, save
from anabranch.figures.style import GREY, INK, PALE, SOFT_INK, method_name

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from anabranch.model.network import Network
    from anabranch.runs.result import Result

UTILISATION = LinearSegmentedColormap.from_list("utilisation", ["#c6cfda", "#eac567", "#ec9a3c", "#d4502e", "#7f1842"])
"""From idle to full; lightness never rises, so that it reads without hue."""

MEASURED = 1e-2
"""A link that was loaded to this share of its capacity on average counts as saturated."""

MOST_NAMES = 60
SMALL_NODE = 1.8
"""Nodes of a smaller radius, in points, are dots."""

WIDTH_IN = 10.0
TITLE_PT, EDGE_PT, MARGIN_PT = 46.0, 6.0, 34.0
"""The width on a screen; the heights of the title and of the edge without one, and the free edge of the map."""

STRIP_PT, NARROW_STRIP_PT, NARROW_PT = 50.0, 92.0, 500.0
"""The height of the legend below, also where the map is narrow, and what is narrow."""


@on_paper
def draw_network(
    network: Network,
    loads: Allocation | Result | None = None,
    *,
    file: str | os.PathLike[str] | None = None,
    title: str | None = None,
    names: bool | None = None,
    **paper: Unpack[PaperChoice],
) -> Figure:
    """Draw the network, coloured by the utilisation in an allocation or a run.

    Parameters
    ----------
    loads : Allocation or Result
        Of this network: links are coloured by their utilisation; for a run by its mean after the warm-up.
    file : path, optional
        The file to write, as SVG, PNG or PDF by suffix.
    title : str, optional
        The network's name if not given.
    names : bool, optional
        Whether nodes are named, where there is room; if not given, up to 60 nodes are.
    **paper
        ``width``, ``font`` and ``font_size``, as in `PaperChoice`. The width is 10 inches if not given.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ScenarioError
        A suffix other than ``.svg``, ``.png`` and ``.pdf``, a file that cannot be written, loads of another network.
    """
    if file is not None:
        check_suffix(file)
    utilisation = None if loads is None else _utilisation(network, loads)
    is_free = not is_titled() and not title
    width = size_on_paper(WIDTH_IN, 1.0)[0] / scaled(1.0) * 72.0
    drawing = _plan(network, width, thickness=1.0 if loads is not None else 0.5, above=EDGE_PT if is_free else TITLE_PT)
    size_in = (scaled(drawing.width) / 72.0, scaled(drawing.whole) / 72.0)
    figure = Figure(figsize=size_in, facecolor="white")
    with any_glyph():
        axes = _map_axes(figure, drawing)
        tolerance = loads.tolerance if isinstance(loads, Allocation) else MEASURED
        _draw_links(axes, drawing, utilisation, tolerance)
        if two_nodes.are_two(network):
            two_nodes.draw_nodes(axes, network, drawing.places)
            two_nodes.draw_names(axes, network, drawing.segments(), drawing.link_widths)
        else:
            _draw_nodes(axes, drawing)
        if not two_nodes.are_two(network) and (names or (names is None and len(network) <= MOST_NAMES)):
            place_labels(figure, axes, drawing.places, network.core.node_names, drawing.radius, drawing.segments())
        if not is_free:
            _draw_title(figure, title or network.name or "Network", _subtitle(network, loads))
        _draw_legend(figure, drawing, utilisation, tolerance)
    if file is not None:
        save(figure, file)
    return figure


@dataclass(frozen=True)
class _Drawing:
    """Where everything lies, in points."""

    network: Network
    width: float
    height: float
    places: NDArray[np.float64]
    radius: float
    link_widths: NDArray[np.float64]
    lanes: NDArray[np.float64]
    """How far each link lies beside the straight line, to the left of its direction."""
    above: float
    """The height above the map."""

    @property
    def is_narrow(self) -> bool:
        """Whether the legend has no room in one row."""
        return self.width < NARROW_PT

    @property
    def strip(self) -> float:
        """The height of the legend below the map."""
        return NARROW_STRIP_PT if self.is_narrow else STRIP_PT

    @property
    def whole(self) -> float:
        """The height of the figure."""
        return self.height + self.above + self.strip

    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give where each link begins and ends."""
        core = self.network.core
        start, end = self.places[core.link_source], self.places[core.link_target]
        ahead = _ahead(start, end)
        left = np.column_stack([-ahead[:, 1], ahead[:, 0]]) * self.lanes[:, None]
        return start + left, end + left

    def segments(self) -> NDArray[np.float64]:
        """Give the links as pairs of points, shape (links, 2, 2)."""
        return np.stack(self.ends(), axis=1)


def _utilisation(network: Network, loads: Allocation | Result) -> NDArray[np.float64]:
    links, count = len(network.core.link_names), len(loads.links)
    if count != links:
        what, done = ("allocation", "solved") if isinstance(loads, Allocation) else ("result", "simulated")
        raise ScenarioError(
            f"the {what} is of {count} links and the network has {links}; draw the network that was {done}"
        )
    return loads.links["utilisation"].fill_null(0.0).to_numpy()


def _ahead(start: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give unit vectors along the links."""
    along = end - start
    length = np.linalg.norm(along, axis=1, keepdims=True)
    ahead: NDArray[np.float64] = np.divide(along, length, out=np.zeros_like(along), where=length > 0.0)
    return ahead


def _plan(network: Network, width: float, thickness: float, above: float) -> _Drawing:
    """Fit the nodes into the page, and choose sizes by the room that each node has."""
    if two_nodes.are_two(network):
        widths = thickness * _widths(network.core.capacity_bps, 4.0, 9.0)
        height, places = two_nodes.height_of(network), two_nodes.places_of(network, width)
        lanes = _lanes(network, widths, two_nodes.STEP_PT)
        return _Drawing(network, width, height, places, two_nodes.NODE_PT, widths, lanes, above)
    places = network.layout()
    low = places.min(axis=0) if len(places) else np.zeros(2)
    extent = (places.max(axis=0) - low) if len(places) else np.ones(2)
    inner = width - 2.0 * MARGIN_PT
    aspect = float(np.clip(extent[1] / extent[0] if extent[0] > 0.0 else 1.0, 0.22, 0.78))
    height = inner * aspect + 2.0 * MARGIN_PT
    room = np.array([inner, height - 2.0 * MARGIN_PT])
    scale = float(np.min(np.divide(room, extent, out=np.full(2, np.inf), where=extent > 0.0)))
    scale = scale if np.isfinite(scale) else 1.0
    fitted = (places - low - extent / 2.0) * scale + np.array([width, height]) / 2.0
    space = float(np.sqrt(room.prod() / max(len(places), 1)))
    most = float(np.clip(0.10 * space, 2.4, 9.0))
    widths = thickness * _widths(network.core.capacity_bps, max(1.1, most / 3.0), most)
    radius = float(np.clip(0.065 * space - 0.3, 0.8, 6.0))
    return _Drawing(network, width, height, fitted, radius, widths, _lanes(network, widths), above)


def _widths(capacity: NDArray[np.float64], least: float, most: float) -> NDArray[np.float64]:
    """Width by the logarithm of capacity, between two bounds."""
    sure = capacity[(capacity > 0.0) & np.isfinite(capacity)]
    if not len(sure) or sure.min() == sure.max():
        return np.full(len(capacity), 0.75 * most)
    low, high = np.log(sure.min()), np.log(sure.max())
    clipped = np.log(np.clip(capacity, sure.min(), sure.max()))
    return np.asarray(least + (most - least) * (clipped - low) / (high - low))


def _lanes(network: Network, widths: NDArray[np.float64], step_pt: float | None = None) -> NDArray[np.float64]:
    """Put links between the same nodes side by side, as close as they can be; a link and its twin share a lane."""
    core = network.core
    source, target, twin = core.link_source.tolist(), core.link_target.tolist(), core.twin.tolist()
    lanes: dict[tuple[int, int], list[int]] = {}
    for link in range(len(source)):
        if twin[link] < 0 or link < twin[link]:
            lanes.setdefault((min(source[link], target[link]), max(source[link], target[link])), []).append(link)
    beside = np.zeros(len(source))
    for links in lanes.values():
        step = float(widths[links].max()) + 1.5 if step_pt is None else step_pt
        for rank, link in enumerate(links):
            # The first one is on top.
            offset = ((len(links) - 1) / 2.0 - rank) * step
            beside[link] = offset if source[link] < target[link] else -offset
            if twin[link] >= 0:
                beside[twin[link]] = -beside[link]
    return beside


def _map_axes(figure: Figure, drawing: _Drawing) -> Axes:
    axes = figure.add_axes((0.0, drawing.strip / drawing.whole, 1.0, drawing.height / drawing.whole))
    axes.set(xlim=(0.0, drawing.width), ylim=(0.0, drawing.height))
    axes.set_axis_off()
    return axes


def _draw_links(axes: Axes, drawing: _Drawing, utilisation: NDArray[np.float64] | None, tolerance: float) -> None:
    start, end = drawing.ends()
    if utilisation is None:
        axes.add_collection(
            LineCollection(list(drawing.segments()), colors=GREY, linewidths=scaled(1.0) * drawing.link_widths)
        )
        return
    alone = np.flatnonzero(drawing.network.core.twin < 0)
    axes.add_collection(LineCollection(list(drawing.segments()[alone]), colors=PALE, linewidths=scaled(0.8)))
    halves = _halves(start, end, drawing.link_widths)
    saturated = utilisation >= 1.0 - tolerance
    # Idle below, busy above: where links cross, the one that matters is seen.
    for links in (np.flatnonzero(~saturated), np.flatnonzero(saturated)):
        order = links[np.argsort(utilisation[links], kind="stable")]
        full = bool(len(order)) and bool(saturated[order[0]])
        colours = UTILISATION(np.clip(utilisation[order], 0.0, 1.0))
        axes.add_collection(
            PolyCollection(
                list(halves[order]),
                facecolors=colours,
                edgecolors=INK if full else "white",
                linewidths=scaled(1.0) * np.clip(0.16 * drawing.link_widths[order], 0.35, 0.9) if full else scaled(0.3),
                joinstyle="miter",
            )
        )
    full_links = np.flatnonzero(saturated)
    ahead = _ahead(start, end)[full_links]
    middle = (start[full_links] + end[full_links]) / 2.0
    tips = 1.6 * drawing.link_widths[full_links, None] * ahead
    white = np.stack([start[full_links] + ahead * drawing.radius, middle - tips], axis=1)
    white_pt = scaled(1.0) * np.clip(0.22 * drawing.link_widths[full_links], 0.35, 1.6)
    axes.add_collection(LineCollection(list(white), colors="white", linewidths=white_pt))


def _halves(start: NDArray[np.float64], end: NDArray[np.float64], widths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Arrows from each link's beginning to its middle, as polygons of five points."""
    ahead = _ahead(start, end)
    left = np.column_stack([-ahead[:, 1], ahead[:, 0]]) * widths[:, None] / 2.0
    middle = (start + end) / 2.0
    half = np.linalg.norm(middle - start, axis=1)
    neck = middle - ahead * np.minimum(1.1 * widths, 0.6 * half)[:, None]
    return np.stack([start + left, neck + left, middle, neck - left, start - left], axis=1)


def _draw_nodes(axes: Axes, drawing: _Drawing) -> None:
    size = np.full(len(drawing.places), 2.0 * drawing.radius)
    axes.add_collection(
        EllipseCollection(
            size,
            size,
            np.zeros(len(size)),
            units="xy",
            offsets=drawing.places,
            offset_transform=axes.transData,
            facecolors="white" if drawing.radius > SMALL_NODE else INK,
            edgecolors=INK,
            linewidths=scaled(min(1.1, 0.35 * drawing.radius)),
            zorder=3,
        )
    )


def _draw_title(figure: Figure, title: str, subtitle: str) -> None:
    width, height = (72.0 * inches / scaled(1.0) for inches in figure.get_size_inches())
    x = MARGIN_PT / width
    figure.text(x, 1.0 - 20.0 / height, title, size=scaled(14), weight="bold", color=INK, va="center", parse_math=False)
    figure.text(x, 1.0 - 37.0 / height, subtitle, size=scaled(9.5), color=SOFT_INK, va="center", parse_math=False)


def _subtitle(network: Network, loads: Allocation | Result | None) -> str:
    facts = [f"{len(network)} nodes, {len(network.core.link_names)} directed links"]
    if isinstance(loads, Allocation):
        total = float(loads.connection_rates.sum())
        rate = f"{total:.4g}" if loads.paths is None else _core.format_rate(float(f"{total:.4g}"))
        by = ", approximated by" if loads.is_approximation else " by"
        kind = loads.fairness.replace("upward-", "upward ")
        facts.insert(0, f"{kind} fair rates{by} {method_name(loads.method)}")
        facts.append(f"{len(loads.connection_rates)} connections, {rate} in all")
    elif loads is not None:
        facts.insert(0, f"mean loads of {loads.meta['reached_s'] - loads.meta['warm_up_s']:g} s simulated")
        protocols = ", ".join(loads.connections["protocol"].unique().sort())
        facts.append(f"{len(loads.connections)} connections by {protocols}")
    return "  ·  ".join(facts)


def _draw_legend(figure: Figure, drawing: _Drawing, utilisation: NDArray[np.float64] | None, tolerance: float) -> None:
    """Draw the colour bar, widths and the mark of saturation: in a strip below the map, higher where that is narrow."""
    strip = figure.add_axes((0.0, 0.0, 1.0, drawing.strip / drawing.whole))
    strip.set(xlim=(0.0, drawing.width), ylim=(0.0, drawing.strip))
    strip.set_axis_off()
    x = MARGIN_PT
    if utilisation is not None:
        _draw_colour_bar(figure, drawing, over=bool((utilisation > 1.0 + 1e-9).any()))
        at = MARGIN_PT if drawing.is_narrow else MARGIN_PT + 0.36 * drawing.width
        x = _draw_saturated_sample(strip, at, int((utilisation >= 1 - tolerance).sum()))
    # Names of two nodes' links tell their capacities.
    if not two_nodes.are_two(drawing.network):
        _draw_width_samples(strip, drawing, x)


def _draw_colour_bar(figure: Figure, drawing: _Drawing, *, over: bool) -> None:
    bottom, share = (68.0, 0.8) if drawing.is_narrow else (26.0, 0.30)
    place = (MARGIN_PT / drawing.width, bottom / drawing.whole, share, 9.0 / drawing.whole)
    colours = ScalarMappable(Normalize(0.0, 100.0), UTILISATION)
    bar = figure.colorbar(
        colours, cax=figure.add_axes(place), orientation="horizontal", extend="max" if over else "neither"
    )
    bar.set_ticks([0, 25, 50, 75, 100], labels=["0 %", "25 %", "50 %", "75 %", "100 %"])
    bar.ax.tick_params(labelsize=scaled(8), length=scaled(2), pad=scaled(2), color=GREY, labelcolor=INK)
    bar.outline.set_visible(False)
    bar.ax.set_title("utilisation (load / capacity)", fontsize=scaled(8), color=INK, loc="left", pad=scaled(3))


def _draw_saturated_sample(strip: Axes, x: float, count: int) -> float:
    """Draw an arrow as saturated links are, and give where it ends."""
    start, end = np.array([[x, 30.5]]), np.array([[x + 68.0, 30.5]])
    shape = _halves(start, end, np.array([8.0]))
    rim = scaled(0.9)
    strip.add_collection(PolyCollection(list(shape), facecolors=[UTILISATION(1.0)], edgecolors=INK, linewidths=rim))
    white = [(x + 2.0, 30.5), (x + 22.0, 30.5)]
    strip.add_collection(LineCollection([white], colors="white", linewidths=scaled(1.6)))
    strip.text(x + 41.0, 30.5, f"saturated: {count}", size=scaled(8), color=INK, va="center")
    strip.text(x, 14.0, "arrow: direction of traffic", size=scaled(8), color=INK, va="center")
    return x + 148.0


def _draw_width_samples(strip: Axes, drawing: _Drawing, x: float) -> None:
    capacity = drawing.network.core.capacity_bps
    if not len(capacity):
        return
    ends = [int(capacity.argmin()), int(capacity.argmax())]
    for row, link in enumerate(ends[: 1 if capacity[ends[0]] == capacity[ends[1]] else 2]):
        y = 30.5 - 16.5 * row
        width = scaled(drawing.link_widths[link])
        strip.add_collection(LineCollection([[(x, y), (x + 26.0, y)]], colors=GREY, linewidths=width))
        text = f"capacity {_core.format_rate(float(capacity[link]))}"
        strip.text(x + 33.0, y, text, size=scaled(8), color=INK, va="center")
