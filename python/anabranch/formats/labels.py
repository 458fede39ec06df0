"""Node names from labels that may repeat or be empty."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def unique_names(labels: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Name each node by its label; where a label repeats, all its nodes get their id: ``Paris (12)``.

    All of them, so that ``Paris`` alone is refused with a hint rather than taken for any one. A node without label
    is ``node (12)``. If such a name is some other node's label, a prime is added until it is free.
    """
    count = Counter(labels)
    taken = {label for label in labels if label and count[label] == 1}
    names = []
    for label, identity in zip(labels, ids, strict=True):
        if label in taken and count[label] == 1:
            names.append(label)
            continue
        name = f"{label or 'node'} ({identity})"
        while name in taken:
            name += "'"
        taken.add(name)
        names.append(name)
    return names
