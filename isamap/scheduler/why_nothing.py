"""Say why a kernel has no schedule on a machine.

In: a kernel, a machine, what was tried. Out: the error. Not its job: trying.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from isamap.errors import MappingError
from isamap.hwdesc import Hardware, show_bytes
from isamap.ir import Kernel, pretty_statement
from isamap.mapper import Mismatch, find_missing, nearest_miss

TOKENS_HINT = (
    "units tell each other by 'channels': add those that the machine has, with 'depth' 2 or more"
    " where they hold as many tokens"
)
MAX_MISSES = 5  # named in an error


@dataclass(frozen=True, slots=True)
class Misfits:
    """How many coverings could not be scheduled, by reason: the copies' order, too little room.

    `why_unordered`: of the first one whose copies have none.
    `too_large_bytes`: least room that buffers would need in the external memory; 0: they fit.
    """

    too_large_bytes: int
    num_unordered: int
    num_unfit: int
    why_unordered: str = ""


def why_nothing(
    kernel: Kernel, hw: Hardware, mismatches: list[Mismatch], misfits: Misfits
) -> MappingError:
    """The error, nearest reason first."""
    subject = kernel.statements[0]
    statement = pretty_statement(subject)
    if misfits.too_large_bytes:
        return too_large(kernel, misfits.too_large_bytes, hw)
    if misfits.num_unordered and not misfits.num_unfit:
        return MappingError(
            f"{misfits.num_unordered} coverings of {kernel.name} need copies on {hw.name} that"
            f" cannot be scheduled so far, the first because {misfits.why_unordered}:\n{statement}",
            loc=subject.loc,
            hint=TOKENS_HINT if hw.has_tokens else "",
            reason=misfits.why_unordered,
        )
    if misfits.num_unfit:
        return MappingError(
            f"{misfits.num_unfit} coverings of {kernel.name} do not fit the memories of {hw.name}:"
            f"\n{statement}",
            loc=subject.loc,
            hint="give its memories more room: what one call touches must lie there at once",
        )
    lines = [f"no instruction of {hw.name} computes\n{statement}"]
    lines += [f"  {text}" for text in nearest_reasons(kernel, 0, hw, mismatches)]
    lacking = _lacks(find_missing(kernel, subject, hw))
    return MappingError(
        "\n".join(lines),
        loc=subject.loc,
        hint="" if hw.host else "a machine with a 'host' runs there what no instruction computes",
        reason="; ".join(filter(None, [lacking, nearest_miss(mismatches)])),
    )


def nearest_reasons(
    kernel: Kernel, number: int, hw: Hardware, mismatches: Iterable[Mismatch]
) -> list[str]:
    """Why no instruction computes the statement of that number: operations that the machine lacks,
    then the nearest misses, nearest first."""
    missing = find_missing(kernel, kernel.statements[number], hw)
    own = [miss for miss in mismatches if miss.statement == number]
    misses = sorted(own, key=lambda miss: -miss.progress)
    texts = dict.fromkeys(f"{miss.instruction}: {miss.reason}" for miss in misses)
    lacking = [f"nothing on {hw.name} performs: {', '.join(missing)}"] if missing else []
    return lacking + list(texts)[:MAX_MISSES]


def too_large(kernel: Kernel, needed_bytes: int, hw: Hardware) -> MappingError:
    """That the kernel's arrays need more room than the external memory has."""
    name, size = hw.external.name, hw.external.size_bytes
    return MappingError(
        f"the buffers of {kernel.name} need {show_bytes(needed_bytes)},"
        f" {name!r} of {hw.name} has {show_bytes(size)}"
    )


def _lacks(operations: tuple[str, ...]) -> str:
    return f"it lacks {', '.join(operations)}" if operations else ""
