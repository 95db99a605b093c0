"""Text of a program that a person can read.

In: a Program. Out: its listing. Not its job: assembly text or C of a machine (`codegen`), legality.
"""

from typing import assert_never

from isamap.ir import Affine, pretty

from .layout import Layout
from .program import (
    Address,
    For,
    Issue,
    Node,
    Operand,
    Placement,
    Program,
    Run,
    Span,
    Spread,
    When,
)

MAX_RUNS = 4  # shown per call


def listing(program: Program) -> str:
    """The whole program as indented text: placements, loops, conditions, calls with addresses and
    tokens."""
    lines = [f"program {program.name} on {program.hardware}"]
    groups = (
        ("input", program.inputs),
        ("output", program.outputs),
        ("scratch", program.scratch),
    )
    for word, placements in groups:
        lines.extend(f"{word} {_show_placement(placement)}" for placement in placements)
    for call in program.host_calls:
        lines.append(f"host call {call.name}:")
        lines.extend("  " + line for line in pretty(call).splitlines())
    lines.extend(_show_body(program.body, 0))
    return "\n".join(lines) + "\n"


def show_span(span: Span) -> str:
    """`16`, `min(16, 700 - 16*j)` or `min(4, ceil((700 - 16*j) / 16))`."""
    if span.total is None:
        return str(span.limit)
    rest = str(span.offset.scaled(-1) + span.total)
    if span.offset.terms:  # the total first reads better than sorted terms first
        tail = str(Affine(span.offset.scaled(-1).terms))
        constant = span.total - span.offset.constant
        rest = f"{constant} - {tail[1:]}" if tail.startswith("-") else f"{constant} + {tail}"
    if span.unit != 1:
        rest = f"ceil(({rest}) / {span.unit})"
    return f"min({span.limit}, {rest})"


def show_address(address: Address) -> str:
    """`1024 + 256*i1 + 512*((i0 + 1) % 2)`."""
    constant = address.offset.constant
    terms = str(Affine(address.offset.terms))
    parts = [str(constant)] if constant or not address.offset.terms else []
    if address.offset.terms:
        parts.append(terms)
    for rotation in address.rotations:
        parts.append(f"{rotation.stride_bytes}*(({rotation.counter}) % {rotation.modulo})")
    return " + ".join(parts).replace("+ -", "- ")


def _show_placement(placement: Placement) -> str:
    layout = placement.layout
    shape = ", ".join(map(str, layout.shape))
    head = f"{placement.buffer}: {layout.dtype}[{shape}] at byte {placement.address}"
    return f"{head}, {layout.size_bytes} bytes, {_show_layout(layout)}"


def _show_layout(layout: Layout) -> str:
    if layout.is_natural:
        return "row-major"
    axes = ", ".join(
        f"{axis.size} x (dim {axis.dim} step {axis.step}) every {axis.stride_bytes} B"
        for axis in layout.axes
    )
    border = f", border {layout.border}" if any(layout.border) else ""
    border += f", padded with {layout.padding}" if layout.padding else ""
    planes = f", byte planes {layout.plane_bytes} B apart" if layout.plane_bytes else ""
    return f"packed [{axes}]{border}{planes}"


def _show_body(body: tuple[Node, ...], depth: int) -> list[str]:
    indent = "  " * depth
    lines: list[str] = []
    for node in body:
        match node:
            case For(loop, span, inner, spread):
                where = f" on {_show_spread(spread)}" if spread else ""
                lines.append(f"{indent}for {loop} < {show_span(span)}{where}:")
                lines.extend(_show_body(inner, depth + 1))
            case When(conditions, inner):
                text = " and ".join(f"{edge.value} {loop}" for loop, edge in conditions)
                lines.append(f"{indent}when {text}:")
                lines.extend(_show_body(inner, depth + 1))
            case Issue():
                lines.append(indent + _show_issue(node))
            case _:
                assert_never(node)
    return lines


def _show_spread(spread: Spread) -> str:
    """`cores along row`, or with the step between them."""
    every = f", {spread.step} apart" if spread.step != 1 else ""
    return f"cores along {spread.axis}{every}"


def _show_issue(issue: Issue) -> str:
    fields = [f"{loop}={show_span(span)}" for loop, span in issue.extents]
    fields += [f"{name}=#{value}" for name, value in issue.immediates]
    text = f"{issue.instruction}({', '.join(fields)})"
    operands = ", ".join(_show_operand(operand) for operand in issue.operands)
    if operands:
        text += f" {operands}"
    for repeat in issue.repeats:
        steps = ", ".join(map(str, repeat.strides_bytes))
        text += f" repeat {repeat.name}={show_span(repeat.span)} step [{steps}]"
    for channel in issue.pops:
        text += f" pop {channel}"
    for channel in issue.pushes:
        text += f" push {channel}"
    return text + _show_starts(issue.starts)


def _show_starts(starts: tuple[Run, ...]) -> str:
    """` at 0 + 37*[0..43], 1700` and how many more."""
    if not starts:
        return ""
    shown = [
        str(run.first) if run.count == 1 else f"{run.first} + {run.step}*[0..{run.count - 1}]"
        for run in starts[:MAX_RUNS]
    ]
    rest = sum(run.count for run in starts[MAX_RUNS:])
    return f" at {', '.join(shown)}" + (f" and {rest} more" if rest else "")


def _show_operand(operand: Operand) -> str:
    strides = ", ".join(map(str, operand.strides_bytes))
    place = f"{operand.memory}[{show_address(operand.address)}]"
    return f"{operand.name}={place} by ({strides})"
