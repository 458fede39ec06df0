"""Names of links as people read them: with the ends, where the name says nothing of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.model.network import Network


def link_label(name: str, source: str, target: str) -> str:
    """Give the name of a link, followed by its ends if it contains the name of neither: ``L35 Berlin-Leipzig``."""
    return name if _has_word(name, source) or _has_word(name, target) else f"{name} {source}-{target}"


def link_labels(network: Network) -> dict[str, str]:
    """Give the label of each link of a network, by its name."""
    core = network.core
    ends = zip(core.link_names, core.link_source.tolist(), core.link_target.tolist(), strict=True)
    nodes = core.node_names
    return {name: link_label(name, nodes[source], nodes[target]) for name, source, target in ends}


def _has_word(text: str, word: str) -> bool:
    """Tell whether a text contains a word that no letter or digit continues: `L1` is no name of node `1`."""
    begin = text.find(word)
    while begin >= 0:
        end = begin + len(word)
        if not text[max(begin - 1, 0) : begin].isalnum() and not text[end : end + 1].isalnum():
            return True
        begin = text.find(word, begin + 1)
    return False
