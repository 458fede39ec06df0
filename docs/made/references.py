"""The bibliography as a page, and keys in square brackets as links to it."""

import re
import unicodedata
from pathlib import Path

BIBLIOGRAPHY = Path(__file__).parents[1] / "references.bib"

ACCENTS = {"'": "\u0301", "`": "\u0300", "~": "\u0303", '"': "\u0308", "^": "\u0302"}
FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", re.MULTILINE)
CITED = re.compile(r"\[((?:[a-z]+(?:19|20)\d\d|rfc\d{4})\b[^\]]*)\](?!\()")
KEY = re.compile(r"\b(?:[a-z]+(?:19|20)\d\d|rfc\d{4})\b")


def plain(tex: str) -> str:
    """Turn the TeX commands of a bibliography into plain text."""
    accented = re.sub(r"""\{?\\(['`~"^])\{?\\?(\w)\}?\}?""", lambda m: m[2] + ACCENTS[m[1]], tex)
    return unicodedata.normalize("NFC", re.sub(r"[{}]", "", accented)).replace("--", "\u2013")


def entries() -> dict[str, str]:
    """Give the entries of the bibliography by key, in the order of the keys."""
    found = re.split(r"\n(?=@)", BIBLIOGRAPHY.read_text(encoding="utf-8").strip())
    return dict(sorted((entry.partition("{")[2].partition(",")[0], entry) for entry in found))


def entry_text(entry: str) -> str:
    """Write one entry on a line: authors, title, place, year."""
    has = {name: plain(text) for name, text in FIELD.findall(entry)}
    people = (has.get("author") or has["editor"]).split(" and ")
    authors = people[0] if len(people) == 1 else ", ".join(people[:-1]) + " and " + people[-1]
    place = has.get("journal") or has.get("booktitle") or has.get("publisher", "")
    if not place and "type" in has:
        place = f"{has['type']} {has['number']}, {has['institution']}"
    if "series" in has:
        place += f", {has['series']}"
    if "volume" in has:
        place += f" {has['volume']}" + (f"({has['number']})" if "number" in has else "")
    pages = f", {has['pages']}" if "pages" in has else ""
    doi = f". doi:{has['doi']}" if "doi" in has else ""
    return f"{authors}. *{has['title']}*. {place}{pages}, {has['year']}{doi}."


def references_page() -> str:
    """Give the bibliography as a page, by key."""
    paragraphs = [f"(ref-{key})=\n**{key}**. {entry_text(entry)}\n" for key, entry in entries().items()]
    return "# References\n\n" + "\n".join(paragraphs)


def cited_in(text: str) -> list[str]:
    """Give the keys that a text cites, in the order of their first mention."""
    return list(dict.fromkeys(key for group in CITED.findall(text) for key in KEY.findall(group)))


def cited_works(text: str) -> str:
    """List the works that a text cites."""
    known = entries()
    return "\n".join(f"- {{ref}}`{key} <ref-{key}>`: {entry_text(known[key])}" for key in cited_in(text))


def linked(text: str, role: str) -> str:
    """Turn the keys in square brackets into links."""

    def link(found: re.Match[str]) -> str:
        return "[" + KEY.sub(lambda key: f"{role}`{key[0]} <ref-{key[0]}>`", found[1]) + "]"

    return CITED.sub(link, text)
