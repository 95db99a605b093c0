"""One self-contained page about a program: no network, no other file.

In: a Page, a Trace. Out: HTML text. Not its job: finding what it says, files, the drawing itself
(`page.js`).

Whatever comes from outside (names, texts of kernels and of machines) is escaped: as HTML, or as
JSON in which no character can end the element around it. The page's policy lets no script run but
the one here, by its hash.
"""

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from string import Template

from isamap.emulator import Trace

from .page import Page, Section
from .page_data import Json, page_data

PAGE_CALLS = 50_000  # shown one by one: some megabytes of page


def render_page(page: Page, trace: Trace, *, max_calls: int = PAGE_CALLS) -> str:
    """The page; of the trace's calls the first `max_calls` are shown one by one."""
    script = _read("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_read("page.html")).substitute(
        title=escape(page.title),
        subtitle=escape(page.subtitle),
        policy=escape(
            f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
        ),
        style=_read("page.css"),
        script=script,
        data=json_for_html(page_data(trace, page, max_calls)),
        facts="\n".join(_fact(f.label, f.value, f.note) for f in page.facts),
        sections="\n".join(_section(section) for section in page.sections),
        listing=escape(page.listing),
        version=escape(page.version),
    )


def json_for_html(data: Json) -> str:
    """JSON that may stand inside a script element: it holds no `<`, `>` or `&`."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _fact(label: str, value: str, note: str) -> str:
    parts = f"<dt>{escape(label)}</dt><dd>{escape(value)}</dd>"
    small = f"<dd class=note>{escape(note)}</dd>" if note else ""
    return f"<div>{parts}{small}</div>"


def _section(section: Section) -> str:
    text = escape("\n".join(section.lines))
    return f"<section class=text><h2>{escape(section.title)}</h2><pre>{text}</pre></section>"


def _read(name: str) -> str:
    return files("isamap.report").joinpath(name).read_text(encoding="utf-8")
