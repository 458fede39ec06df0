"""Solve every network of ../shared/data/topologies with gravity demands; prints a Markdown table and a summary.

Every link has 10 Gbit/s, the demands sum to half of all capacity, each has up to 4 paths. Kdl, with 567,762
connections, takes minutes; name networks as arguments to solve only those.
"""

import sys
import time
import warnings
from pathlib import Path

import anabranch as ab

TOPOLOGIES = Path(__file__).parents[2] / "shared" / "data" / "topologies" / "graphml"


def solve(file: Path) -> tuple[str, str]:
    """The outcome in a word, and the row of the table."""
    network = ab.read_network(file, capacity="10 Gbit/s")
    began = time.process_time()
    try:
        demands = ab.gravity(network, total=0.5 * network.core.capacity_bps.sum(), seed=1)
        allocation = ab.solve(network, demands, fairness="upward-max-min")
    except ab.ScenarioError as error:
        return "refused", f"{file.stem} | {len(network)} | | | | {str(error)[:90]}..."
    found = allocation.certificate
    outcome = "certified" if found.holds else "NOT certified"
    seconds = time.process_time() - began
    numbers = f"{len(allocation.path_rates):,} | {allocation.passes} | {seconds:.2f}"
    return outcome, f"{file.stem} | {len(network)} | {numbers} | {outcome}, residual {found.residual:.2g}"


def main() -> None:
    if not TOPOLOGIES.exists():
        print(f"nothing to solve: {TOPOLOGIES} is absent")
        return
    warnings.simplefilter("ignore", ab.ConvergenceWarning)
    wanted = sys.argv[1:]
    files = [f for f in sorted(TOPOLOGIES.glob("*.graphml")) if not wanted or f.stem in wanted]
    print("| network | nodes | subflows | passes | CPU s | outcome |\n|---|---|---|---|---|---|")
    outcomes: dict[str, int] = {}
    for file in files:
        outcome, row = solve(file)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        print(f"| {row} |", flush=True)
    print("\n" + ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))


if __name__ == "__main__":
    main()
