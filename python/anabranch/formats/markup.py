"""XML, read with care: no entities of its own, nothing fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from anabranch.formats.source import excerpt

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from anabranch.formats.source import Source


def parse(source: Source) -> Element:
    """Give the root element of an XML file."""
    if "<!ENTITY" in source.text:
        raise source.whole.error("it declares XML entities", "replace them by what they stand for")
    try:
        return ElementTree.fromstring(source.text)
    except ElementTree.ParseError as error:
        line = error.position[0]
        raise source.line(line).error(f"it is not well-formed XML ({error})", "correct it or fetch it again") from error
    except ValueError as error:
        raise source.whole.error(f"it is not well-formed XML ({error})", "correct it or fetch it again") from error


def local(element: Element) -> str:
    """Give an element's name without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def children(element: Element, name: str) -> list[Element]:
    """Give an element's children of this name, in whatever namespace."""
    return [child for child in element if local(child) == name]


def child_text(element: Element, name: str) -> str | None:
    """Give the text of the first child of this name, without the blanks around it; None if there is no such child."""
    found = children(element, name)
    return (found[0].text or "").strip() if found else None


def attribute(element: Element, name: str, source: Source, words: str) -> str:
    """Give an attribute that must be there; `words` say what the element is."""
    value = element.get(name)
    if value is None:
        raise source.element(words).error(f"<{excerpt(local(element))}> has no attribute `{name}`", "add it")
    return value
