"""Cards for notebooks: networks, demands, paths, allocations and results at a glance, as HTML.

Nothing is asked of the net, no script runs, and colours are readable on light and dark pages. Names come from files, so
all text is escaped.
"""

from anabranch.notebook.cards import allocation_html, demands_html, network_html, paths_html, result_html

__all__ = ["allocation_html", "demands_html", "network_html", "paths_html", "result_html"]
