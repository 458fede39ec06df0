"""The page that shows runs: their data."""

from anabranch.page.content import Content
from anabranch.page.of_allocation import allocation_content
from anabranch.page.of_result import result_content

__all__ = ["Content", "allocation_content", "result_content"]
