"""All right mappings of a small product, found by executing every binding there is.

In: random instructions and kernels, or given ones. Out: sets of mappings up to the instruction's
symmetries. Not its job: what isamap says they are.

Oracle. A binding of kernel loops to instruction loops (or to none) and of factors to operands is
executed call by call: registers are loaded from the kernel's arrays, the instruction's meaning is
applied to them, the results are stored. What register holds which element is not checked: a wrong
binding shows in the result. A binding *copies side by side* when two values of a bound loop find
the same element of an operand in different registers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from isamap.hwdesc import ExtentKind, ExtentRule, Hardware, Instruction, load_hardware
from isamap.ir import Access, Affine, Buffer, Kernel, Loop, Role, index_range, verify
from isamap.mapper import mappings

ROOT = Path(__file__).resolve().parent.parent.parent
OUTER = load_hardware(ROOT / "hw_specs" / "outer.yaml")
SMOPA = OUTER.instruction("smopa")
DTYPES, ROLES = ("i8", "i8", "i32"), (Role.IN, Role.IN, Role.INOUT)
Groups = tuple[tuple[str, frozenset[str]], ...]
Case = tuple[Groups, tuple[str, str]]  # groups, and the kernel's buffers on operands A and B
Point = dict[str, int]


def product_kernel(
    name: str, loops: tuple[tuple[str, int], ...], indices: dict[str, tuple[Affine, ...]]
) -> Kernel:
    """C[..] += i32(A[..]) * i32(B[..]) with the given indices, buffers as large as they reach."""
    extents = dict(loops)
    shifted = {
        buffer: tuple(index + -index_range(index, extents)[0] for index in given)
        for buffer, given in indices.items()
    }
    buffers = tuple(
        Buffer(b, d, tuple(index_range(x, extents)[1] + 1 for x in shifted[b]), role)
        for b, d, role in zip("ABC", DTYPES, ROLES, strict=True)
    )
    pattern = SMOPA.semantics.statements[0]
    read = [Access(b, shifted[b]) for b in "AB"]
    casts = [replace(cast, args=(a,)) for cast, a in zip(pattern.value.args, read, strict=True)]
    statement = replace(
        pattern,
        loops=tuple(Loop(x, extent) for x, extent in loops),
        target=Access("C", shifted["C"]),
        value=replace(pattern.value, args=tuple(casts)),
    )
    kernel = Kernel(name, buffers, (statement,))
    verify(kernel)
    return kernel


@st.composite
def kernels(draw: st.DrawFn, names: str = "xyzw") -> Kernel:
    """Up to four loops; each index is a loop, a sum of two (a window), or a multiple of one."""
    loops = tuple((x, draw(st.integers(2, 3))) for x in names[: draw(st.integers(1, len(names)))])
    indices: dict[str, tuple[Affine, ...]] = {}
    for buffer in "ABC":
        used = [x for x, _ in loops if draw(st.booleans())]
        rows: list[Affine] = []
        for x in used:
            term = Affine.of([(x, draw(st.sampled_from((1, 1, 1, 2, -1))))])
            if rows and draw(st.integers(0, 3)) == 0:
                rows[-1] = rows[-1] + term
            else:
                rows.append(term)
        indices[buffer] = tuple(rows) or (Affine(),)
    return product_kernel("random", loops, indices)


@st.composite
def instructions(draw: st.DrawFn) -> Instruction:
    """A product of up to three loops; sometimes an input slides: A[i + k]."""
    names = "ijk"[: draw(st.integers(1, 3))]
    indices: dict[str, tuple[Affine, ...]] = {}
    for buffer in "ABC":
        used = [Affine.var(x) for x in names if draw(st.booleans())]
        if buffer == "A" and len(used) > 1 and draw(st.integers(0, 2)) == 0:
            used = [used[0] + used[1], *used[2:]]
        indices[buffer] = tuple(used) or (Affine(),)
    unused = [x for x in names if not any(x in i.names for row in indices.values() for i in row)]
    if unused:  # every loop moves something
        indices["C"] = (*indices["C"], *(Affine.var(x) for x in unused))
    semantics = product_kernel("random", tuple((x, 4) for x in names), indices)
    extents = tuple((x, ExtentRule(ExtentKind.AT_MOST, 4)) for x in names)
    return replace(SMOPA, name="random", semantics=semantics, extents=extents)


def sliding() -> Instruction:
    """C[i] += A[i + k] * B[k]: a window inside the instruction."""
    i, k = Affine.var("i"), Affine.var("k")
    semantics = product_kernel("slide", (("i", 4), ("k", 4)), {"A": (i + k,), "B": (k,), "C": (i,)})
    extents = tuple((x, ExtentRule(ExtentKind.AT_MOST, 4)) for x in "ik")
    return replace(SMOPA, name="slide", semantics=semantics, extents=extents)


def machine(instruction: Instruction) -> Hardware:
    """A machine that can do nothing else."""
    return replace(OUTER, instructions=(instruction,))


def found_mappings(
    kernel: Kernel, instruction: Instruction, *, replicate: bool
) -> list[frozenset[Case]]:
    """What isamap lists, each as the class of mappings that are the same."""
    stream = mappings(kernel, machine(instruction), gather=True, replicate=replicate)
    classes = []
    for mapping in stream:
        groups = tuple((name, frozenset(members)) for name, members in mapping.groups)
        operands = {name: access.buffer for name, access in mapping.operands}
        classes.append(images((groups, (operands["A"], operands["B"])), instruction))
    return classes


def right_mappings(
    kernel: Kernel, instruction: Instruction, *, replicate: bool
) -> set[frozenset[Case]]:
    """All bindings that compute the kernel and leave no loop out that could be in an empty
    group."""
    statement = kernel.statements[0]
    everything = statement.accesses
    moving = {name for a in everything for index in a.indices for name in index.names}
    right: set[Case] = set()
    for case in all_cases(kernel, instruction):
        if not set().union(*dict(case[0]).values()) <= moving:
            continue
        if not replicate and copies_side_by_side(case, kernel, instruction):
            continue
        if computes(case, kernel, instruction):
            right.add(case)
    return {images(case, instruction) for case in right if not is_extended(case, right)}


def all_cases(kernel: Kernel, instruction: Instruction) -> Iterator[Case]:
    """Every assignment of kernel loops to instruction loops or none, at least one of them bound;
    no two to a loop that slides in a window."""
    names = [loop.name for loop in instruction.semantics.statements[0].loops]
    loops = [loop.name for loop in kernel.statements[0].loops]
    windows = window_loops(instruction)
    for places in product((None, *names), repeat=len(loops)):
        groups = tuple(
            (n, frozenset(x for x, place in zip(loops, places, strict=True) if place == n))
            for n in names
        )
        sliding = [members for n, members in groups if n in windows and members]
        is_simple = len(sliding) < 2 or all(len(members) == 1 for members in sliding)
        if is_simple and any(members for _, members in groups):
            yield from ((groups, order) for order in (("A", "B"), ("B", "A")))


def window_loops(instruction: Instruction) -> set[str]:
    """Loops that the instruction adds to others."""
    names = [b.name for b in instruction.semantics.buffers]
    rows = [index for name in names for index in instruction.access(name).indices]
    return {name for index in rows if len(index.names) > 1 for name in index.names}


def is_extended(case: Case, right: set[Case]) -> bool:
    """Is there a right mapping with the same groups but one, empty here, that holds one loop?"""
    groups, order = case
    for number, (name, members) in enumerate(groups):
        if members:
            continue
        for other, other_order in right:
            rest = (*other[:number], (name, frozenset()), *other[number + 1 :])
            if other_order == order and len(other[number][1]) == 1 and rest == groups:
                return True
    return False


def element(access: Access, point: Point) -> tuple[int, ...]:
    """Which element of its buffer an access touches."""
    return tuple(index.evaluate(point) for index in access.indices)


@dataclass(frozen=True, slots=True)
class _Call:
    """Register and element of every operand (A, B, C) at each point of the iteration space."""

    outside: tuple[int, ...]
    registers: tuple[tuple[int, ...], ...]
    elements: tuple[tuple[int, ...], ...]


def calls(case: Case, kernel: Kernel, instruction: Instruction) -> Iterator[_Call]:
    """One row per point of the kernel's iteration space."""
    (groups, order), statement = case, kernel.statements[0]
    by_buffer = {a.buffer: a for a in statement.accesses}
    theirs = [by_buffer[order[0]], by_buffer[order[1]], statement.target]
    own = [instruction.access(name) for name in "ABC"]
    bound = set().union(*dict(groups).values())
    for values in product(*(range(loop.extent) for loop in statement.loops)):
        point = {loop.name: value for loop, value in zip(statement.loops, values, strict=True)}
        inner: Point = {}
        for name, members in groups:
            inner[name] = 0
            for loop in statement.loops:  # the group's loops as digits of one number
                if loop.name in members:
                    inner[name] = inner[name] * loop.extent + point[loop.name]
        outside = tuple(value for name, value in point.items() if name not in bound)
        yield _Call(
            outside,
            tuple(element(a, inner) for a in own),
            tuple(element(a, point) for a in theirs),
        )


def computes(case: Case, kernel: Kernel, instruction: Instruction) -> bool:
    """Execute the binding on random arrays: is the result the kernel's?"""
    generator = np.random.default_rng(0)
    arrays = {b.name: generator.integers(1, 10**6, b.shape) for b in kernel.buffers}
    expected, found = arrays["C"].copy(), arrays["C"].copy()
    a, b = (arrays[name] for name in case[1])
    rounds: dict[tuple[int, ...], list[_Call]] = {}
    for call in calls(case, kernel, instruction):
        rounds.setdefault(call.outside, []).append(call)
        expected[call.elements[2]] += a[call.elements[0]] * b[call.elements[1]]
    for inside in rounds.values():
        left = {call.registers[0]: a[call.elements[0]] for call in inside}
        right = {call.registers[1]: b[call.elements[1]] for call in inside}
        sums = {call.registers[2]: found[call.elements[2]] for call in inside}
        for call in inside:
            x, y, z = call.registers
            sums[z] = sums[z] + left[x] * right[y]
        for call in inside:
            found[call.elements[2]] = sums[call.registers[2]]
    return bool(np.array_equal(found, expected))


def copies_side_by_side(case: Case, kernel: Kernel, instruction: Instruction) -> bool:
    """Does some bound loop move an operand's register but not its element?"""
    statement = kernel.statements[0]
    rows = list(calls(case, kernel, instruction))
    spans = [range(loop.extent) for loop in statement.loops]
    number_of = {values: number for number, values in enumerate(product(*spans))}
    for position in range(len(statement.loops)):
        for operand in range(3):
            moved = [False, False]  # register, element
            for values, number in number_of.items():
                start = number_of[*values[:position], 0, *values[position + 1 :]]
                here, there = rows[number], rows[start]
                moved[0] |= here.registers[operand] != there.registers[operand]
                moved[1] |= here.elements[operand] != there.elements[operand]
            if moved == [True, False]:
                return True
    return False


def images(case: Case, instruction: Instruction) -> frozenset[Case]:
    """The mappings that are the same: all renamings of loops and factors that leave the
    instruction's operands as they are but for the order of their dimensions."""
    groups, (a, b) = case
    names = [name for name, _ in groups]
    shapes = {
        name: [frozenset(index.terms) for index in instruction.access(name).indices if index.terms]
        for name in "ABC"
    }
    found = {case}
    for order in permutations(names):
        renamed = dict(zip(names, order, strict=True))
        for own, other in (("ABC", "ABC"), ("ABC", "BAC")):
            if all(_same(shapes[x], shapes[y], renamed) for x, y in zip(own, other, strict=True)):
                given = dict(groups)
                image = tuple((name, given[renamed[name]]) for name in names)
                found.add((image, (a, b) if other == "ABC" else (b, a)))
    return frozenset(found)


def _same(
    rows: list[frozenset[tuple[str, int]]],
    others: list[frozenset[tuple[str, int]]],
    renamed: dict[str, str],
) -> bool:
    own = [frozenset((renamed[name], c) for name, c in row) for row in rows]
    return sorted(map(sorted, own)) == sorted(map(sorted, others))
