"""Reports of reproductions: a page for each paper with tables, figures and verdicts, and one over all papers."""

from anabranch.reproduce.report.all_papers import reproduce_all
from anabranch.reproduce.report.report import report, reproduce_to

__all__ = ["report", "reproduce_all", "reproduce_to"]
