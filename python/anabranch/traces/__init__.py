"""Traces of links: opportunities to send and capacities by time, read, converted, written.

`read_trace` reads what a link of a scenario takes, and recordings that it does not: the Irish 5G data set, Lumos5G,
lists of mmWave uplink rates. `to_opportunities` and `to_capacities` make the one kind of trace of the other.
"""

from anabranch.traces.convert import to_capacities, to_opportunities
from anabranch.traces.read import read_trace
from anabranch.traces.trace import Capacities, Opportunities, rates_bps
from anabranch.traces.write import write_trace

__all__ = [
    "Capacities",
    "Opportunities",
    "rates_bps",
    "read_trace",
    "to_capacities",
    "to_opportunities",
    "write_trace",
]
