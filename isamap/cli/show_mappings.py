"""Print or write a stream of mappings.

In: the stream. Out: a line each while it runs, then the counts; JSON. Not its job: finding them.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import islice

import click

from isamap.bindings import MappingList
from isamap.errors import MappingError
from isamap.ir import Kernel, pretty_statement
from isamap.mapper import Mapping
from isamap.scheduler import nearest_reasons

from .write import write_json

SCHEMA_VERSION = 1


def show_mappings(
    found: MappingList, *, counts_only: bool, limit: int | None, json_path: str | None
) -> None:
    """Print every mapping, or only how many there are per statement and instruction.

    Raises:
        MappingError: there is none.
    """
    to_stdout = json_path == "-"
    counts: Counter[Place] = Counter()
    kept: list[tuple[Place, Mapping]] = []
    stream = found.stream if counts_only else islice(found.stream, limit)
    for kernel, mapping in stream:
        place = _place(found, kernel, mapping)
        if not counts_only and not to_stdout:
            if not any(known.text == place.text for known in counts):
                click.echo(place.text)
            click.echo("  " + mapping_line(mapping))
        if json_path is not None and not counts_only:
            kept.append((place, mapping))
        counts[place] += 1
    if not counts:
        raise MappingError(_why_none(found), hint=found.hint())
    is_cut = not counts_only and next(found.stream, None) is not None
    if not to_stdout:
        for line in count_lines(found, counts, is_cut):
            click.echo(line)
    if json_path is not None:
        write_json(json_path, _to_json(found, kept, counts, is_cut))


@dataclass(frozen=True, slots=True)
class Place:
    """What a count is of: a statement of the kernel or of a form of it, and an instruction.

    `number`: of the statement in its kernel; `name`: empty where there is only one.
    """

    number: int
    name: str
    text: str
    instruction: str


def _place(found: MappingList, kernel: Kernel, mapping: Mapping) -> Place:
    text = pretty_statement(kernel.statements[mapping.statement])
    name = ""
    if mapping.rewrites:
        name = f"{text}  after {', '.join(mapping.rewrites)}"
    elif len(found.kernel.statements) > 1:
        name = f"statement {mapping.statement + 1}"
    return Place(mapping.statement, name, text, mapping.instruction)


def mapping_line(mapping: Mapping) -> str:
    """`compute  C=y A=x W=weights  i={b,p} j={o} k={i}`."""
    operands = " ".join(f"{name}={access.buffer}" for name, access in mapping.operands)
    groups = " ".join(f"{loop}={{{','.join(names)}}}" for loop, names in mapping.groups)
    rewrites = f"  after {', '.join(mapping.rewrites)}" if mapping.rewrites else ""
    return f"{mapping.instruction}  {operands}  {groups}{rewrites}"


def count_lines(found: MappingList, counts: Counter[Place], is_cut: bool) -> list[str]:
    """The total, then one row per statement and instruction."""
    total = sum(counts.values())
    word = "mapping" if total == 1 else "mappings"
    more = " (the first; there are more)" if is_cut else ""
    lines = [f"{total} {word} of {found.kernel.name} onto {found.hardware.name}{more}"]
    for place, count in counts.items():
        lines.append(f"{count:>8}  {place.instruction}  {place.name}".rstrip())
    return lines


def _to_json(
    found: MappingList, kept: list[tuple[Place, Mapping]], counts: Counter[Place], is_cut: bool
) -> dict[str, object]:
    return {
        "schema": "isamap-mappings",
        "schema_version": SCHEMA_VERSION,
        "kernel": found.kernel.name,
        "hardware": found.hardware.name,
        "is_complete": not is_cut,
        "counts": [
            {
                "statement": place.number,
                "text": place.text,
                "instruction": place.instruction,
                "mappings": count,
            }
            for place, count in counts.items()
        ],
        "mappings": [_mapping_json(place, mapping) for place, mapping in kept],
    }


def _mapping_json(place: Place, mapping: Mapping) -> dict[str, object]:
    return {
        "statement": mapping.statement,
        "text": place.text,
        "instruction": mapping.instruction,
        "operands": {
            name: {"buffer": access.buffer, "indices": [str(index) for index in access.indices]}
            for name, access in mapping.operands
        },
        "immediates": dict(mapping.immediates),
        "loops": {loop: list(names) for loop, names in mapping.groups},
        "rewrites": list(mapping.rewrites),
    }


def _why_none(found: MappingList) -> str:
    """Statement by statement: what one lacks says nothing about another."""
    kernel, hw = found.kernel, found.hardware
    lines = [f"no instruction of {hw.name} computes"]
    for number, statement in enumerate(kernel.statements):
        lines.append(pretty_statement(statement))
        reasons = nearest_reasons(kernel, number, hw, found.mismatches)
        lines += [f"  {text}" for text in reasons]
    return "\n".join(lines)
