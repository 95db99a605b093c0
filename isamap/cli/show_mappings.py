"""Print or write a stream of mappings.

In: the stream. Out: a line each while it runs, then the counts; JSON. Not its job: finding them.
"""

from collections import Counter
from itertools import islice

import click

from isamap.compile import MappingList
from isamap.errors import MappingError
from isamap.ir import pretty_statement
from isamap.mapper import Mapping

from .write import write_json

SCHEMA_VERSION = 1
NEAREST = 5  # reasons given when there is no mapping


def show_mappings(
    found: MappingList, *, counts_only: bool, limit: int | None, json_path: str | None
) -> None:
    """Print every mapping, or only how many there are per statement and instruction.

    Raises:
        MappingError: there is none.
    """
    to_stdout = json_path == "-"
    counts: Counter[tuple[int, str]] = Counter()
    kept: list[Mapping] = []
    stream = found.stream if counts_only else islice(found.stream, limit)
    for mapping in stream:
        key = (mapping.statement, mapping.instruction)
        if not counts_only and not to_stdout:
            if not any(statement == mapping.statement for statement, _ in counts):
                click.echo(pretty_statement(found.kernel.statements[mapping.statement]))
            click.echo("  " + mapping_line(mapping))
        if json_path is not None and not counts_only:
            kept.append(mapping)
        counts[key] += 1
    if not counts:
        raise MappingError(_why_none(found))
    is_cut = not counts_only and next(found.stream, None) is not None
    if not to_stdout:
        for line in count_lines(found, counts, is_cut):
            click.echo(line)
    if json_path is not None:
        write_json(json_path, _to_json(found, kept, counts, is_cut))


def mapping_line(mapping: Mapping) -> str:
    """`compute  C=y A=x W=weights  i={b,p} j={o} k={i}`."""
    operands = " ".join(f"{name}={access.buffer}" for name, access in mapping.operands)
    groups = " ".join(f"{loop}={{{','.join(names)}}}" for loop, names in mapping.groups)
    rewrites = f"  after {', '.join(mapping.rewrites)}" if mapping.rewrites else ""
    return f"{mapping.instruction}  {operands}  {groups}{rewrites}"


def count_lines(found: MappingList, counts: Counter[tuple[int, str]], is_cut: bool) -> list[str]:
    """The total, then one row per statement and instruction."""
    total = sum(counts.values())
    word = "mapping" if total == 1 else "mappings"
    more = " (the first; there are more)" if is_cut else ""
    lines = [f"{total} {word} of {found.kernel.name} onto {found.hardware.name}{more}"]
    for (statement, instruction), count in counts.items():
        which = f"  statement {statement + 1}" if len(found.kernel.statements) > 1 else ""
        lines.append(f"{count:>8}  {instruction}{which}")
    return lines


def _to_json(
    found: MappingList, kept: list[Mapping], counts: Counter[tuple[int, str]], is_cut: bool
) -> dict[str, object]:
    return {
        "schema": "isamap-mappings",
        "schema_version": SCHEMA_VERSION,
        "kernel": found.kernel.name,
        "hardware": found.hardware.name,
        "is_complete": not is_cut,
        "counts": [
            {"statement": statement, "instruction": instruction, "mappings": count}
            for (statement, instruction), count in counts.items()
        ],
        "mappings": [_mapping_json(mapping) for mapping in kept],
    }


def _mapping_json(mapping: Mapping) -> dict[str, object]:
    return {
        "statement": mapping.statement,
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
    statement = pretty_statement(found.kernel.statements[0])
    lines = [f"no instruction of {found.hardware.name} computes\n{statement}"]
    for miss in sorted(found.mismatches, key=lambda m: -m.progress)[:NEAREST]:
        lines.append(f"  {miss.instruction}: {miss.reason}")
    return "\n".join(lines)
