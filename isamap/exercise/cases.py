"""Calls worth trying: extents, repeats, strides, places and numbers at their ends.

In: an instruction, its machine. Out: cases, or why one cannot be made. Not its job: values in the
operands (`values`), running.
"""

from dataclasses import dataclass
from math import inf, lcm, prod

from isamap.hwdesc import (
    ExtentKind,
    ExtentRule,
    Hardware,
    Instruction,
    MemoryKind,
    StrideRule,
)
from isamap.ir import index_range, size_bytes

MAX_BYTES = 1 << 24  # of one operand: larger strides are not tried
MAX_REPEATS = 3


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operand of a case lies: `shape` over its repeats and then its dimensions, with the
    byte strides of both; positions that do not move (stride 0) have size 1."""

    name: str
    memory: str
    dtype: str
    address: int
    shape: tuple[int, ...]
    repeat_strides: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def all_strides(self) -> tuple[int, ...]:
        """Of repeats and dimensions."""
        return (*self.repeat_strides, *self.strides)


@dataclass(frozen=True, slots=True)
class Case:
    """One call."""

    extents: tuple[tuple[str, int], ...]
    repeats: tuple[tuple[str, int], ...]
    immediates: tuple[tuple[str, int | float], ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Wish:
    """Which end of every rule a case takes: 0 least, 1 greatest, 2 in between."""

    extents: tuple[int, ...]
    strides: int
    repeats: int
    address: int
    immediates: int


def wishes(instruction: Instruction) -> tuple[Wish, ...]:
    """Least, greatest, in between; every loop at its greatest alone; strides and places crossed."""
    loops = [rule for _, rule in instruction.extents]
    count = len(loops)
    least, greatest, middle = (0,) * count, (1,) * count, (2,) * count
    rows = [
        Wish(least, 0, 0, 0, 0),
        Wish(greatest, 0, 0, 1, 1),
        Wish(greatest, 1, 1, 0, 2),
        Wish(middle, 1, 2, 1, 0),
        Wish(middle, 2, 1, 0, 1),
        Wish(least, 2, 2, 1, 2),
        Wish(middle, 3, 2, 0, 2),
    ]
    for number, rule in enumerate(loops):
        if rule.kind is not ExtentKind.EXACTLY and count > 1:
            alone = tuple(int(n == number) for n in range(count))
            rows.append(Wish(alone, number % 3, number % 3, number % 2, number % 3))
    return tuple(dict.fromkeys(rows))


def choose_extent(rule: ExtentRule, end: int) -> int:
    """The extent at one end of a rule."""
    match rule.kind:
        case ExtentKind.EXACTLY:
            return rule.maximum
        case ExtentKind.AT_MOST:
            middle = 2 * rule.maximum // 3 | 1  # odd
            return (1, rule.maximum, min(middle, rule.maximum))[end]
        case ExtentKind.MULTIPLE_OF:
            most = rule.maximum // rule.multiple
            return (1, most, (most + 1) // 2)[end] * rule.multiple


def make_case(instruction: Instruction, hw: Hardware, wish: Wish) -> Case | str:
    """The call that a wish asks for, or why the machine has no room for it."""
    extents = tuple(
        (name, choose_extent(rule, end))
        for (name, rule), end in zip(instruction.extents, wish.extents, strict=True)
    )
    repeats = tuple(
        (rule.name, min(rule.maximum, (1, 2, MAX_REPEATS)[wish.repeats]))
        for rule in instruction.repeats
    )
    blocks: list[Place] = []
    for number, rule in enumerate(instruction.operands):
        others = sum(other.memory == rule.memory for other in instruction.operands)
        room = min(MAX_BYTES, hw.memory(rule.memory).size_bytes // (others + 1))
        block = _block(instruction, number, dict(extents), repeats, wish.strides, room)
        if isinstance(block, str):
            return block
        blocks.append(block)
    placed = _arrange(tuple(blocks), instruction, hw, at_end=wish.address == 1)
    if isinstance(placed, str):
        return placed
    immediates = tuple(
        (rule.name, (rule.minimum, rule.maximum, _between(rule.minimum, rule.maximum))[end])
        for rule in instruction.immediates
        for end in [wish.immediates]
    )
    return Case(extents, repeats, immediates, placed)


def _between(low: int | float, high: int | float) -> int | float:
    """A small number inside the limits."""
    return min(max(type(low)(3), low), high)


def touched(instruction: Instruction, name: str, extents: dict[str, int]) -> tuple[int, ...]:
    """Elements of an operand along each dimension, from its first, that a call may touch."""
    buffer = instruction.semantics.buffer(name)
    sizes = [1] * len(buffer.shape)
    for statement in instruction.semantics.statements:
        for access in statement.accesses:
            if access.buffer == name:
                for dim, index in enumerate(access.indices):
                    reach = index_range(index, extents)[1] + 1
                    sizes[dim] = max(sizes[dim], min(reach, buffer.shape[dim]))
    return tuple(sizes)


def _block(
    instruction: Instruction,
    number: int,
    extents: dict[str, int],
    repeats: tuple[tuple[str, int], ...],
    end: int,
    room: int,
) -> Place | str:
    """The operand's shape and strides, in `room` bytes if they leave a choice, not yet at its
    address."""
    rule = instruction.operands[number]
    rounds = prod(count for _, count in repeats)
    dtype = instruction.semantics.buffer(rule.name).dtype
    sizes = touched(instruction, rule.name, extents)
    written = any(s.target.buffer == rule.name for s in instruction.semantics.statements)
    strides, span = _strides(
        rule.strides, sizes, size_bytes(dtype), end, room // rounds, may_rest=not written
    )
    if strides is None:
        return f"operand {rule.name}: elements of {dict(extents)} would overlap"
    steps: list[int] = []
    unit = size_bytes(dtype)
    dense = span
    for repeat, (_, count) in reversed(list(zip(instruction.repeats, repeats, strict=True))):
        own = repeat.strides[number]
        if own.is_dense:
            step = dense
        elif own.fixed_bytes is not None:
            step = own.fixed_bytes
        else:
            step = 0 if end == 3 and own.may_be_zero else _pick(own, span, end, room // rounds)
        if 0 < step < span and count > 1 and written:
            return f"operand {rule.name}: repeats would overlap"
        steps.insert(0, step)
        dense = step * count if step else dense
        span = max(span, step * (count - 1) + span)
    if span > MAX_BYTES:
        return f"operand {rule.name}: would take {span} bytes"
    shape = tuple(
        count if step else 1 for (_, count), step in zip(repeats, steps, strict=True)
    ) + tuple(size if stride else 1 for size, stride in zip(sizes, strides, strict=True))
    assert span >= unit
    return Place(rule.name, rule.memory, dtype, 0, shape, tuple(steps), strides)


def _strides(
    rules: tuple[StrideRule, ...],
    sizes: tuple[int, ...],
    element: int,
    end: int,
    room: int,
    *,
    may_rest: bool,
) -> tuple[tuple[int, ...] | None, int]:
    """Byte strides without overlap, and the bytes they span; None where fixed strides overlap."""
    order = list(reversed(range(len(rules))))
    if not any(rule.is_dense for rule in rules):  # dense means: around the dimension after it
        order.sort(key=lambda dim: rules[dim].fixed_bytes or inf)
    strides = [0] * len(rules)
    span = element
    for dim in order:
        rule = rules[dim]
        if rule.fixed_bytes is not None:
            strides[dim] = rule.fixed_bytes
        elif rule.is_dense:
            inner = dim + 1 < len(rules)
            strides[dim] = strides[dim + 1] * sizes[dim + 1] if inner else element
        elif may_rest and end == 3 and rule.may_be_zero:
            strides[dim] = 0
        else:
            strides[dim] = _pick(rule, span, end, room // sizes[dim] // 2)
        is_far = not rule.is_dense and not rule.allows(strides[dim])
        if is_far and end:  # what lies inside has taken too much
            return _strides(rules, sizes, element, 0, room, may_rest=may_rest)
        if is_far or (0 < strides[dim] < span and sizes[dim] > 1 and not may_rest):
            return None, span
        span = max(span, strides[dim] * (sizes[dim] - 1) + span)
    return tuple(strides), span


def _pick(rule: StrideRule, span: int, end: int, room: int) -> int:
    """The least stride of at least `span` bytes, an odd multiple about three times as far, or the
    greatest that is allowed, of at most `room` bytes if the least is."""
    step = rule.multiple_bytes
    least = -(-span // step) * step
    limit = room if rule.maximum_bytes is None else min(room, rule.maximum_bytes)
    wide = (least * 3 // step | 1) * step
    wished = (least, wide, limit // step * step, least)[end]
    return wished if least <= wished <= limit else least


def _arrange(
    blocks: tuple[Place, ...], instruction: Instruction, hw: Hardware, *, at_end: bool
) -> tuple[Place, ...] | str:
    """Operands side by side in each memory, from its beginning or up to its end."""
    used: dict[str, int] = {}
    placed: list[Place] = []
    for block in blocks:
        memory = hw.memory(block.memory)
        align = lcm(memory.granule_bytes, instruction.operand(block.name).align_bytes)
        size = span_bytes(block)
        taken = used.get(memory.name, 0)
        is_external = memory.kind is MemoryKind.EXTERNAL
        if at_end and not is_external:
            address = (memory.size_bytes - taken - size) // align * align
            used[memory.name] = memory.size_bytes - address
        else:
            address = -(-taken // align) * align + (align if at_end else 0)
            used[memory.name] = address + size
        if address < 0 or address + size > memory.size_bytes:
            return f"operands do not fit side by side in {memory.name!r}"
        placed.append(
            Place(
                block.name, block.memory, block.dtype, address, block.shape, block.repeat_strides,
                block.strides,
            )
        )  # fmt: skip
    return tuple(placed)


def span_bytes(place: Place) -> int:
    """From an operand's first byte to its last."""
    reach = sum(s * (n - 1) for s, n in zip(place.all_strides, place.shape, strict=True))
    return reach + size_bytes(place.dtype)


def num_calls(case: Case) -> int:
    """Executions of the semantics: one per round of the repeats."""
    return prod(count for _, count in case.repeats)
