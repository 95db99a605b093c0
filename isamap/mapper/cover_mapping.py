"""Turn a mapping into coverings: order its groups, tile them, plan copies and layouts.

In: a kernel, a machine, a mapping of it. Out: coverings that realise the mapping, lazily. Not its
job: which mappings there are, which covering is good.
"""

from collections.abc import Iterator
from itertools import product

from isamap.hwdesc import Hardware
from isamap.ir import Kernel

from .blocks import tile_loops
from .cover import NO_COPY, NO_TILING, NO_ZEROS
from .cover_match import cover_match
from .covering import Covering
from .mappings import Mapping, orientations
from .match import Match, Mismatch
from .operand_plans import plans_on


def cover_mapping(
    kernel: Kernel, hw: Hardware, mapping: Mapping, mismatches: list[Mismatch]
) -> Iterator[Covering]:
    """Coverings of every orientation of the mapping, each loop of a group outermost in turn.

    Appends to `mismatches` why an order had none. The caller has seen to it that the statement may
    be reordered (`coverings` checks it for its own).
    """
    known_plans = plans_on(hw)
    for match in _matches(hw, mapping):
        reason = ""
        is_covered = False
        for loops in tile_loops(kernel, mapping.statement, match):
            found = cover_match(kernel, mapping.statement, hw, match, loops, known_plans)
            if not isinstance(found, str):
                is_covered = True
                yield from found
                break
            reason = reason or found
        if not is_covered:
            progress = NO_COPY if reason else NO_TILING
            mismatches.append(
                Mismatch(mapping.instruction, mapping.statement, progress, reason or NO_ZEROS)
            )


def _matches(hw: Hardware, mapping: Mapping) -> Iterator[Match]:
    instruction = hw.instruction(mapping.instruction)
    for image in orientations(instruction, mapping):
        names = [loop for loop, _ in image.groups]
        for ordered in product(*(_rotations(group) for _, group in image.groups)):
            binding = tuple(zip(names, ordered, strict=True))
            yield Match(instruction, image.operands, image.immediates, binding, image.inlets)


def _rotations(group: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Each loop outermost once, the others in their order; only the outermost may end in a part."""
    if not group:
        return [()]
    return [(name, *(other for other in group if other != name)) for name in group]
