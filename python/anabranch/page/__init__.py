"""The page that shows runs: their data, and the file that holds page and data together."""

from anabranch.page.content import Content
from anabranch.page.of_allocation import allocation_content
from anabranch.page.of_cases import holds_cases, put_cases_page, write_cases_page
from anabranch.page.of_folder import read_folder, shown_content, title_of
from anabranch.page.of_live import beside_contents
from anabranch.page.of_plan import Growing, plan_header
from anabranch.page.of_result import result_content
from anabranch.page.report import page_template, report_html, write_report
from anabranch.page.shown import report

__all__ = [
    "Content",
    "Growing",
    "allocation_content",
    "beside_contents",
    "holds_cases",
    "page_template",
    "plan_header",
    "put_cases_page",
    "read_folder",
    "report",
    "report_html",
    "result_content",
    "shown_content",
    "title_of",
    "write_cases_page",
    "write_report",
]
