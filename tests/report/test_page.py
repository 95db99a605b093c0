"""The page: nothing from outside is markup, its numbers are the trace's, it asks nobody for
anything."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np

from isamap.emulator import Trace, trace_program
from isamap.report import Bar, Fact, Page, Section, find_roofs, render_page
from isamap.report.render_page import json_for_html
from tests.emulator.hand_programs import gemm, machine

TINY = machine("tiny")
EVIL = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)> & \"'"


class Reader(HTMLParser):
    """Elements, attributes and the text within each kind of element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.inside: dict[str, str] = {}
        self.stack: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        name = tag if ("type", "application/json") not in attrs else "data"
        self.stack.append(name)

    def handle_endtag(self, tag: str) -> None:
        if self.stack:
            self.stack.pop()

    def handle_data(self, data: str) -> None:
        where = self.stack[-1] if self.stack else ""
        self.inside[where] = self.inside.get(where, "") + data


def page_of(trace: Trace, text: str = "plain", **reserved: int) -> Page:
    """A page that says `text` wherever it can."""
    return Page(
        text,
        text,
        (Fact(text, text, text),),
        (Bar(text, 100, text),),
        text,
        find_roofs(trace, 2 * 16**3, 3072),
        (Section(text, (text, text)),),
        text,
        tuple(reserved.items()),
        ((0, text),),
        text,
    )


def data_of(html: str) -> dict[str, Any]:
    """What the page draws."""
    found: dict[str, Any] = json.loads(Reader(html).inside["data"])
    return found


def unpack(values: int | list[int], count: int) -> np.ndarray:
    """A column, which may be one value for all."""
    return np.array([values] * count if isinstance(values, int) else values)


def test_text_from_outside_is_never_markup() -> None:
    trace = trace_program(gemm(16, 16, 16), TINY)
    plain, evil = (Reader(render_page(page_of(trace, text), trace)) for text in ("plain", EVIL))
    assert plain.tags == evil.tags
    assert not [name for name, _ in evil.attributes if name.startswith("on")]
    assert evil.inside["h1"] == EVIL
    assert json.loads(evil.inside["data"])["bars"][0][0] == EVIL


def test_json_in_html_holds_nothing_that_ends_its_element() -> None:
    text = json_for_html({EVIL: [EVIL, "\u2028"]})
    assert not set(text) & set("<>&\u2028")
    assert json.loads(text) == {EVIL: [EVIL, "\u2028"]}


def test_the_page_needs_no_network_and_runs_its_own_script_only() -> None:
    trace = trace_program(gemm(16, 16, 16), TINY)
    html = render_page(page_of(trace), trace)
    reader = Reader(html)
    assert not {"link", "img", "iframe", "object", "embed"} & set(reader.tags)
    assert not [value for name, value in reader.attributes if name in ("src", "href")]
    policy = next(v for _, v in reader.attributes if v and v.startswith("default-src"))
    digest = base64.b64encode(hashlib.sha256(reader.inside["script"].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    # the only address is the name of SVG's elements
    assert set(re.findall(r"https?://[^\"'\s]+", html)) == {"http://www.w3.org/2000/svg"}


def test_the_page_holds_the_times_of_the_trace() -> None:
    trace = trace_program(gemm(40, 33, 70, buffers=2), TINY)
    data = data_of(render_page(page_of(trace, sram=4096), trace))
    assert (data["cycles"], data["num_calls"]) == (trace.timing.cycles, trace.num_calls)
    calls, count = data["calls"], data["shown"]
    assert count == trace.num_calls
    columns = {"family": 0, "copy": 1, "instance": 2, "issue": 4, "latency": 5, "stall": 6}
    for name, column in columns.items():
        np.testing.assert_array_equal(unpack(calls[name], count), trace.rows[:, column])
    starts = np.cumsum(unpack(calls["start"], count))
    np.testing.assert_array_equal(starts, trace.rows[:, 3])
    words = {calls["words"][n] for n in calls["wait"]}
    assert {"the call before it", "S in acc to be written"} <= words
    for row in data["losses"]:
        assert (
            row["busy"] + sum(cycles for _, cycles in row["waits"]) + row["rest"] == row["capacity"]
        )
        assert row["rest"] >= 0
    for room in data["live"]:
        assert room["bytes"][-1] == 0
        assert max(room["bytes"]) <= room["size"]
    assert {room["name"]: room["reserved"] for room in data["live"]} == {"sram": 4096, "acc": None}
    for row in data["history"]:
        assert max(row["share"]) <= 1
        assert len(row["share"]) == trace.history.shape[1]


def test_a_page_of_fewer_calls_says_so_and_shows_the_whole_history() -> None:
    trace = trace_program(gemm(40, 33, 70), TINY)
    whole, part = (data_of(render_page(page_of(trace), trace, max_calls=n)) for n in (1000, 9))
    assert (part["shown"], part["num_calls"]) == (9, trace.num_calls)
    assert part["complete"] == trace.rows[9:, 3].min()
    assert part["history"] == whole["history"]
    assert part["losses"] == whole["losses"]
    last = (trace.rows[:9, 3] + trace.rows[:9, 5]).max()
    assert part["live"]
    for some, every in zip(part["live"], whole["live"]):
        count = len(some["cycles"])
        assert sum(some["cycles"]) <= last < sum(every["cycles"][: count + 1])
        assert (some["cycles"], some["bytes"]) == (every["cycles"][:count], every["bytes"][:count])


def test_roofs_are_what_the_machine_says() -> None:
    """16 x 16 x 16 products in 16 cycles; a port of 16 bytes per cycle for all of DRAM."""
    trace = trace_program(gemm(32, 32, 32), TINY)
    roofs = find_roofs(trace, 2 * 32**3, None)
    best = roofs.units[0]
    assert (best.unit, best.instruction) == ("matrix", "mma")
    assert best.operations_per_cycle == 2 * 16**3 / 16
    dram = roofs.memories[0]
    moved = {row.memory: row.read_bytes + row.written_bytes for row in trace.timing.traffic}
    assert (dram.memory, dram.bytes_per_cycle, dram.moved_bytes) == ("dram", 16, moved["dram"])
    reached = roofs.operations / roofs.cycles
    assert reached <= best.operations_per_cycle
    assert reached <= roofs.operations / dram.moved_bytes * dram.bytes_per_cycle
