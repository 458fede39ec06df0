"""Reports of reproductions: a page for each paper with tables, figures and verdicts, and one over all papers."""

from anabranch.site.all_papers import reproduce_all
from anabranch.site.report import report, reproduce_to

__all__ = ["report", "reproduce_all", "reproduce_to"]
