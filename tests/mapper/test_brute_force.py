"""All bindings of single loops, found by executing instead of comparing roles.

In: random small contractions and instructions. Out: failures. Not its job: fused groups.

Oracle. A binding of kernel loops to instruction loops is right when every call's operands can be
gathered so that the instruction's own meaning gives the kernel's: two points of a call that share
an element of the instruction's operand must share the element of the kernel's buffer (an operand
register holds one value), and an output element must be the same register exactly when it is the
same element of the kernel's target.
"""

import random
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import pytest

from isamap.hwdesc import Instruction, load_hardware
from isamap.ir import Access, Affine, Buffer, Kernel, Loop, Role, verify
from isamap.mapper import match_statement

ROOT = Path(__file__).resolve().parent.parent.parent
SMOPA = load_hardware(ROOT / "hw_specs" / "outer.yaml").instruction("smopa")
Binding = tuple[tuple[str, tuple[str, ...]], ...]
Point = dict[str, int]


def random_contraction(name: str, generator: random.Random, loops: str) -> Kernel:
    """C[..] += i32(A[..]) * i32(B[..]); each loop moves some of the three, extents 2 and 3."""
    extents = {loop: generator.choice((2, 3)) for loop in loops}
    used = [[x for x in loops if generator.random() < 0.6] for _ in "ABC"]
    dtypes, roles = ("i8", "i8", "i32"), (Role.IN, Role.IN, Role.INOUT)
    buffers = tuple(
        Buffer(n, dtype, tuple(extents[x] for x in names), role)
        for n, dtype, names, role in zip("ABC", dtypes, used, roles, strict=True)
    )
    read = [Access(n, tuple(Affine.var(x) for x in names)) for n, names in zip("ABC", used)]
    pattern = SMOPA.semantics.statements[0]
    left, right = (replace(cast, args=(a,)) for cast, a in zip(pattern.value.args, read))
    statement = replace(
        pattern,
        loops=tuple(Loop(x, extents[x]) for x in loops),
        target=read[2],
        value=replace(pattern.value, args=(left, right)),
    )
    kernel = Kernel(name, buffers, (statement,))
    verify(kernel)
    return kernel


def element(access: Access, point: Point) -> tuple[int, ...]:
    """Which element of its buffer an access touches."""
    return tuple(
        index.constant + sum(c * point[name] for name, c in index.terms) for index in access.indices
    )


def is_right(binding: dict[str, str | None], kernel: Kernel, swap: bool) -> bool:
    """Does every operand element of a call stand for one element of the kernel's buffer?"""
    statement, pattern = kernel.statements[0], INSTRUCTION_STATEMENT
    bound = {loop: name for name, loop in binding.items() if loop is not None}
    extents = {loop.name: loop.extent for loop in statement.loops}
    own = list(pattern.accesses)
    theirs = list(statement.accesses)
    if swap:
        theirs[1], theirs[2] = theirs[2], theirs[1]
    inside: list[Point] = [
        dict(zip(bound, values, strict=True))
        for values in product(*(range(extents[loop]) for loop in bound))
    ]
    for number, (mine, its) in enumerate(zip(own, theirs, strict=True)):
        holds: dict[tuple[int, ...], tuple[int, ...]] = {}
        for values in inside:
            point = {loop: values.get(loop, 0) for loop in extents}
            register = element(
                mine,
                {name: values[loop] if loop else 0 for name, loop in binding.items()},
            )
            if holds.setdefault(register, element(its, point)) != element(its, point):
                return False
        if number == 0 and len(set(holds.values())) < len(holds):
            return False  # two registers would sum parts of one element
    return True


INSTRUCTION_STATEMENT = SMOPA.semantics.statements[0]


def brute_force(kernel: Kernel, instruction: Instruction) -> set[tuple[Binding, bool]]:
    """All right assignments of at most one kernel loop to each instruction loop.

    Loops that move nothing are left outside: they repeat the call, and cannot be inside one.
    """
    names = [loop.name for loop in instruction.semantics.statements[0].loops]
    statement = kernel.statements[0]
    moving = {
        name for access in statement.accesses for index in access.indices for name in index.names
    }
    choices: list[str | None] = [x.name for x in statement.loops if x.name in moving]
    found = set()
    for chosen in set(permutations([*choices, *[None] * len(names)], len(names))):
        for swap in (False, True):
            binding = dict(zip(names, chosen, strict=True))
            if is_right(binding, kernel, swap):
                rows = tuple((n, (x,) if x else ()) for n, x in binding.items())
                found.add((rows, swap))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_single_loop_bindings_are_those_that_execution_allows(seed: int) -> None:
    kernel = random_contraction(f"random{seed}", random.Random(seed), "xyzw"[: 2 + seed % 3])
    matches, _ = match_statement(kernel, 0, SMOPA)
    found = {
        (m.binding, dict(m.operands)["A"].buffer == "B")
        for m in matches
        if all(len(group) <= 1 for _, group in m.binding)
    }
    assert found == brute_force(kernel, SMOPA)
