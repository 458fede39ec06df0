"""Content security policies, and plain pages: the list of routes, and refusals."""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = re.compile(r"<script(?![^>]*type=\"application/)[^>]*>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)

STYLES = """body { margin: 2em auto; max-width: 60em; padding: 0 1em; font: 15px/1.5 system-ui, sans-serif; }
:root { color-scheme: light dark; } h2 { margin: 1.6em 0 0; font: bold 15px monospace; } li { margin: 0; }"""


def policy(page: str) -> str:
    """Give the content security policy of a page: it allows only its own scripts and styles, and this server."""
    scripts = " ".join(_hash(text) for text in SCRIPT.findall(page)) or "'none'"
    styles = " ".join(_hash(text) for text in STYLE.findall(page)) or "'none'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src 'self' data:; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def routes_page(schema: dict[str, Any]) -> str:
    """Give the routes, as OpenAPI has them, as a page without scripts."""
    body = "\n".join(_route(schema))
    title = f"<h1>{escape(schema['info']['title'])}</h1><p>{escape(schema['info']['description'])}</p>"
    return plain_page("anabranch: routes", title + body)


def plain_page(title: str, body: str) -> str:
    """Give a page without scripts; ``body`` is HTML."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return f'<!doctype html><html lang="en"><head>{head}<style>{STYLES}</style></head><body>{body}</body></html>'


def _route(schema: dict[str, Any]) -> Iterator[str]:
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            yield f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(route['summary'])}.</p><ul>"
            for parameter in route.get("parameters", ()):
                what = escape(parameter.get("description", ""))
                yield f"<li><code>{escape(parameter['name'])}</code> ({parameter['in']}) {what}</li>"
            for status, answer in route["responses"].items():
                yield f"<li>{status}: {escape(answer['description'])}</li>"
            yield "</ul>"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
