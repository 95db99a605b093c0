"""Loops over rows side by side are one, on machines with caches: the same values, no covering lost.

In: random statements, products with a batch. Out: failures. Not its job: coverings of one loop per
dimension (`test_brute_force`).
"""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import (
    Access,
    Affine,
    Apply,
    Buffer,
    Kernel,
    Loop,
    Role,
    Statement,
    interpret,
    parse_semantics,
    random_arrays,
    verify,
)
from isamap.mapper import coverings
from isamap.mapper.collapse import collapse_loops
from isamap.mapper.tasks import ALONE, Ends, Setting
from isamap.resources import find_hardware
from isamap.scheduler import Wishes, find_schedule

MACHINES = Path(__file__).parents[1] / "specs" / "machines"


def cached(name: str) -> Hardware:
    return load_hardware(find_hardware(name))


def batched(taken: str, summed: str, sizes: tuple[int, int, int, int, int]) -> Kernel:
    """A product whose rows and columns have two dimensions each."""
    b, t, g, j, p = sizes
    left, right = "x[b, t, p]", "w[p, g, j]"
    if taken != summed:
        left, right = f"{summed}({left})", f"{summed}({right})"
    text = (
        f"x, w, y = In({taken}, {b}, {t}, {p}), In({taken}, {p}, {g}, {j}),"
        f" InOut({summed}, {b}, {t}, {g}, {j})\n"
        f"for b, t, g, j, p in grid({b}, {t}, {g}, {j}, {p}):\n"
        f"  y[b, t, g, j] += {left} * {right}\n"
    )
    return parse_semantics(text, "batched")


def random_statement(rng: random.Random) -> Kernel:
    """A sum of two products over up to four loops, most arrays with their dimensions in order."""
    loops = tuple(Loop(f"l{n}", rng.choice((1, 2, 3, 4))) for n in range(rng.randint(2, 4)))

    def access(name: str, moving: list[Loop]) -> tuple[Buffer, Access]:
        if rng.random() < 0.2:
            rng.shuffle(moving)
        shape = tuple(x.extent + (rng.random() < 0.1) for x in moving) or (1,)
        indices = tuple(Affine.var(x.name) for x in moving) or (Affine(),)
        return Buffer(name, "i32", shape, Role.IN), Access(name, indices)

    chosen = [[x for x in loops if rng.random() < 0.75] for _ in range(3)]
    every = [access(name, moving) for name, moving in zip("CAB", chosen, strict=True)]
    (target, left, right), buffers = [a for _, a in every], [b for b, _ in every]
    buffers[0] = replace(buffers[0], role=Role.INOUT)
    value = Apply("*", (left, right))
    return Kernel("sum", tuple(buffers), (Statement(loops, target, "+=", value),))


def seen(arrays: dict[str, np.ndarray], kernel: Kernel) -> dict[str, np.ndarray]:
    """The arrays in the shapes of a kernel's buffers."""
    return {name: array.reshape(kernel.buffer(name).shape) for name, array in arrays.items()}


def test_random_statements_mean_the_same_with_fewer_loops() -> None:
    rng, count = random.Random("collapse"), 0
    for _ in range(400):
        kernel = random_statement(rng)
        verify(kernel)
        found = collapse_loops(kernel, ALONE)
        if found is None:
            continue
        verify(found.kernel)
        arrays = random_arrays(kernel, rng.randrange(1 << 30))
        (name,) = (b.name for b in kernel.buffers if b.role is Role.INOUT)
        expected = interpret(kernel, arrays)[name]
        result = interpret(found.kernel, seen(arrays, found.kernel))[name]
        assert np.array_equal(result.reshape(expected.shape), expected), kernel
        assert collapse_loops(found.kernel, found.setting) is None, "all at once"
        count += 1
    assert count > 80, "else nothing is tested"


@pytest.mark.parametrize(
    "text",
    [
        "x, y = In(i8, 4, 5), Out(i8, 5, 4)\nfor i, j in grid(4, 5):\n  y[j, i] = x[i, j]",
        "x, y = In(i8, 4, 6), Out(i8, 4, 5)\nfor i, j in grid(4, 5):\n  y[i, j] = x[i, j]",
        "x, y = In(i8, 4, 6), Out(i8, 4, 5)\nfor i, j in grid(4, 5):\n  y[i, j] = x[i, j + 1]",
        "x, y = In(i8, 5), Out(i8, 4, 5)\nfor i, j in grid(4, 5):\n  y[i, j] = x[j]",
        "x, y = In(i8, 4, 2, 5), Out(i8, 4, 5)\nfor i, j in grid(4, 5):\n  y[i, j] = x[i, 1, j]",
        "x, y = In(i8, 7, 5), Out(i8, 4, 5)\nfor i, j in grid(4, 5):\n  y[i, j] = x[2 * i, j]",
        "x, y = In(i8, 4, 5), Out(i8, 4, 5)\n"
        "for i, j in grid(4, 5):\n  y[i, j] = x.at(i, j, pad=0)",
    ],
)
def test_rows_that_do_not_lie_end_to_end_keep_their_loops(text: str) -> None:
    assert collapse_loops(parse_semantics(text, "copy"), ALONE) is None


def test_what_is_taken_over_is_seen_alike_and_held_loops_stay() -> None:
    text = (
        "b, x, y = In(i32, 3, 5), In(i32, 7, 2, 3, 5), InOut(i32, 7, 2, 3, 5)\n"
        "for t, z, g, j in grid(7, 2, 3, 5):\n  y[t, z, g, j] += x[t, z, g, j]"
    )
    kernel = parse_semantics(text, "sum")
    bias = Access("b", (Affine.var("g"), Affine.var("j")))
    found = collapse_loops(kernel, Setting(held=("t",), ends=Ends(bias, None, None)))
    assert found is not None and found.setting.ends is not None
    assert found.kernel.statements[0].extents == {"t": 7, "z": 2, "g_j": 15}
    assert found.setting.ends.inlet == Access("b", (Affine.var("g_j"),))
    assert found.parts == {"g_j": ("g", "j")}


@pytest.mark.parametrize(
    ("machine", "dtypes"),
    [
        ("x86_avx2", ("f32", "f32")),
        ("x86_avx2", ("i8", "i32")),
        ("x86_avx512", ("f32", "f32")),
        ("x86_avx512", ("bf16", "f32")),
        ("amx", ("i8", "i32")),
    ],
    ids=str,
)
def test_products_with_a_batch_are_right(machine: str, dtypes: tuple[str, str]) -> None:
    """Tiles end within rows; what must be laid out anew is covered dimension by dimension."""
    for sizes in ((3, 5, 3, 7, 12), (1, 2, 2, 5, 3)):
        kernel = batched(*dtypes, sizes)
        found = isamap.map(kernel, cached(machine), verify="full", may_reassociate=True, effort=0.2)
        assert found.verification.is_verified, found.verification.failure


Binding = tuple[tuple[str, tuple[str, ...]], ...]


def bindings(kernel: Kernel, hw: Hardware) -> set[tuple[str, Binding]]:
    return {(covering.instruction, covering.binding) for covering in coverings(kernel, hw, [])}


def test_what_is_laid_out_anew_is_covered_dimension_by_dimension() -> None:
    """Sums of groups of four need the weights in an order of their own."""
    kernel, hw = batched("i8", "i32", (5, 7, 1, 13, 31)), cached("x86_avx512")
    best = find_schedule(kernel, hw).best.covering
    layouts = [end.layout for plan in best.operands for _, _, end in plan.ends]
    assert not all(layout.is_natural for layout in layouts)


def test_tiles_end_within_rows() -> None:
    """15 rows are one loop, not 3 times 5, of which no tile of 6 could be cut."""
    kernel = batched("f32", "f32", (3, 5, 3, 64, 64))
    found = find_schedule(kernel, cached("x86_avx2"), Wishes(may_reassociate=True)).best
    assert [loop.name for loop in found.covering.loops] == ["b_t", "g_j", "p"]
    for plan in found.covering.operands:
        for _, name, end in plan.ends:
            assert end.layout.is_natural and end.layout.shape == kernel.buffer(name).shape


def test_instructions_of_several_dimensions_are_still_found() -> None:
    """A call copies rows and columns: as one loop they would fill but one row of it."""
    plain = load_hardware(MACHINES / "chained_sums.yaml")
    hw = replace(plain, memories=(*plain.memories, *cached("x86_avx2").caches))
    text = "S, D = In(i32, 8, 12), Out(i32, 8, 12)\nfor i, j in grid(8, 12):\n  D[i, j] = S[i, j]"
    kernel = parse_semantics(text, "copy")
    before, after = bindings(kernel, plain), bindings(kernel, hw)
    apart = {one for one in before if sum(bool(group) for _, group in one[1]) > 1}
    assert apart and apart <= after
    assert any(("i_j",) in dict(binding).values() for _, binding in after)
