"""Measures of curves of means over 50 s, of shifts, and of iterations from random starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.reproduce.reproduction import reproduce

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """
[run]
duration = "200 s"
sample = "0.5 s"
record = ["connections", "subflows", "links"]

[defaults.connection]
protocol = "vegas"
packet = "1000 B"

[[link]]
name = "one"
source = "a"
target = "b"
capacity = "1 Mbit/s"
delay = "10 ms"
capacity_changes = [
  { at = "50 s", capacity = "0.8 Mbit/s" },
  { at = "100 s", capacity = "0.4 Mbit/s" },
  { at = "150 s", capacity = "0.8 Mbit/s" },
]

[[connection]]
name = "c"
source = "a"
target = "b"
"""

RUNS = """
[[run]]
name = "optimal"
method = "proportional"

[[run]]
name = "level"
method = "proportional"
set = ["link.0.capacity_changes=[]"]

[[run]]
name = "own"
method = "simulate"

[[run]]
name = "algorithm-2"
method = "weight-allocation"

[[run]]
name = "allocation"
method = "random-starts"
starts = { algorithm = "weight-allocation", count = 5 }
passes = 10

[[run]]
name = "gradient"
method = "random-starts"
starts = { algorithm = "gradient", count = 5, theta = 0.1, gamma = 0.1 }
passes = 2000

[[run]]
name = "wild"
method = "random-starts"
starts = { algorithm = "gradient", count = 5, theta = 10.0, gamma = 10.0 }
passes = 200
"""


def measured(tmp_path: Path, wanted: dict[str, tuple[float, float]], window: str) -> None:
    """Measure numbers of a network with a single link, and compare them."""
    folder = tmp_path / "mine-figure-1"
    folder.mkdir(exist_ok=True)
    head = 'paper = "mine"\nitem = "figure-1"\ntitle = "t"\nrates_in = "Mbit/s"\nscenario = "scenario.toml"\n'
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "experiment.toml").write_text(head + RUNS)
    rows = [
        f'[[quantity]]\nname = "{name}"\nwindow = {window}\nrecorded = {value}\n'
        f'tolerance = {close}\ntolerance_why = "w"\n'
        for name, (value, close) in wanted.items()
    ]
    (folder / "expected.toml").write_text("\n".join(rows))
    for row in reproduce("mine", experiments=tmp_path):
        assert row.verdict == "as recorded", (row.quantity, row.ours)


def test_a_curve_has_a_point_for_each_50_seconds(tmp_path: Path) -> None:
    # 1, 0.8, 0.4 and 0.8. At -1, -1/3, 1/3 and 1 the parabola has (4/9) (1 - 0.8 - 0.4 + 0.8) / (4 (4/9)^2) = 0.3375.
    # Beside 1 all the time it is 0, 0.2, 0.6 and 0.2 away, 0.25 in the mean.
    wanted = {
        "optimal greatest-step c": (0.4, 1e-6),
        "optimal least-step c": (-0.4, 1e-6),
        "optimal last-by-first c": (0.8, 1e-6),
        "optimal swing c.1": (0.6, 1e-6),
        "optimal curvature c": (0.3375, 1e-6),
        "optimal curve-deviation level": (0.25, 1e-6),
        "optimal subflow-curve-deviation level": (0.25, 1e-6),
        "optimal greatest-deviation level": (0.25, 1e-6),
        "own greatest-step c": (0.4, 0.02),
        "own least-step c": (-0.4, 0.02),
    }
    measured(tmp_path, wanted, '["0 s", "200 s"]')


def test_a_shift_is_complete_at_nine_tenths(tmp_path: Path) -> None:
    # The link falls from 0.8 to 0.4 Mbit/s at once, and what is averaged over 2 s within 2 s; the window takes 2 more.
    measured(
        tmp_path, {"own shift-time c.1": (2.0, 2.0), "own granted-variation c": (0.05, 0.05)}, '["100 s", "150 s"]'
    )


def test_iterations_from_random_starts_settle_or_not(tmp_path: Path) -> None:
    # On a single path the first step of algorithm 2 is the optimum. Great steps overshoot for ever.
    wanted = {
        "allocation settled-starts": (1.0, 0.0),
        "allocation most-steps": (1.0, 0.0),
        "allocation median-steps": (1.0, 0.0),
        "gradient settled-starts": (1.0, 0.0),
        "wild settled-starts": (0.0, 0.0),
        "algorithm-2 price-gap c": (0.0, 0.0),
    }
    measured(tmp_path, {name: (value, 1e-9) for name, (value, _) in wanted.items()}, '["0 s", "200 s"]')
