"""What of a transfer hides behind its neighbours because parts follow each other, and what a fifo
memory adds.

In: a flow's instruction, the instruction that computes. Out: cycles per block. Not its job: how
often (`passes`), the contract (docs/timing.md, section 4).
"""

from collections.abc import Mapping

from isamap.hwdesc import Hardware, Instruction, Which


def overlap_cycles(
    mover: Instruction, computing: Instruction, operand: str, block_cycles: float, issue_cycles: int
) -> float:
    """Cycles of a block's transfer during which the computation already follows it, or it the
    computation: all but the first part, where both go through the block part by part.

    Args:
        operand: of the computing instruction, which the block belongs to.
        block_cycles: issue cycles of the block's transfer; issue_cycles: of one computing call.
    """
    if mover.stream is None or computing.stream is None:
        return 0.0
    if not computing.access(operand).moves_with(computing.stream.loop):
        return 0.0
    return max(0.0, min(block_cycles, float(issue_cycles)) - computing.stream.every_cycles)


def apart_cycles(
    first: Instruction, then: Instruction, values: Mapping[str, int], hw: Hardware
) -> int:
    """Least cycles from the start of a call of extents `values` to any later one of another
    instruction."""
    return max(
        (
            rule.cycles.evaluate({n: values[n] for n in rule.cycles.names})
            for rule in hw.distances
            if rule.which is Which.ALWAYS and (rule.first, rule.then) == (first.name, then.name)
        ),
        default=0,
    )


def entry_cycles(computing: Instruction, values: Mapping[str, int], hw: Hardware) -> int:
    """Least cycles from one new entry to the next between calls of extents `values`."""
    name = computing.name
    return max(
        (
            rule.cycles.evaluate({n: values[n] for n in rule.cycles.names})
            for rule in hw.distances
            if rule.which is Which.NEW_ENTRY and name in (rule.first, rule.then)
        ),
        default=0,
    )


def latency_cycles(instruction: Instruction, values: Mapping[str, int]) -> int:
    """From start to results: never less than issue, but where parts follow each other."""
    latency = instruction.latency_cycles.evaluate(values)
    if instruction.stream is not None:
        return latency
    return max(latency, instruction.issue_cycles.evaluate(values))
