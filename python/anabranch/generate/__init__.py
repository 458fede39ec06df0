"""Networks and demands made by rule and seed: the same arguments give the same answer, anywhere.

All links are two-way. Rates are numbers of bit/s or text such as ``"10 Gbit/s"``; times are numbers of seconds or
text such as ``"5 ms"``. Wrong arguments raise ValueError with what would do. Seeds are integers from 0 to 2**64 - 1.
"""

from anabranch.generate.demands import gravity, hot_spots, random_pairs, uniform
from anabranch.generate.networks import (
    dumbbell,
    fat_tree,
    grid,
    leaf_spine,
    parking_lot,
    random_regular,
    ring,
    transit_stub,
    waxman,
)

__all__ = [
    "dumbbell",
    "fat_tree",
    "gravity",
    "grid",
    "hot_spots",
    "leaf_spine",
    "parking_lot",
    "random_pairs",
    "random_regular",
    "ring",
    "transit_stub",
    "uniform",
    "waxman",
]
