"""Dependences against brute force over all pairs of iterations."""

from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from isamap.ir import (
    Affine,
    Kernel,
    Loop,
    LoopKind,
    Statement,
    accesses,
    carrying_loop,
    kernel_loop_kinds,
    loop_kinds,
    may_distribute,
    may_interchange,
    may_permute,
    may_swap,
    move_out,
    parse_semantics,
    solve_box,
)
from tests.strategies import kernels

Point = dict[str, int]
QUICK = settings(max_examples=300, suppress_health_check=list(HealthCheck))


def points(statement: Statement) -> list[Point]:
    """All iterations, in order."""
    names = [loop.name for loop in statement.loops]
    ranges = [range(loop.extent) for loop in statement.loops]
    return [dict(zip(names, values, strict=True)) for values in product(*ranges)]


def place(access: object, point: Point) -> tuple[object, ...]:
    """The element an access touches."""
    return (access.buffer, *(index.evaluate(point) for index in access.indices))


def pair_kind(first: Statement, x: Point, second: Statement, y: Point) -> LoopKind:
    """Conflict between two single iterations."""
    write_x, write_y = place(first.target, x), place(second.target, y)
    hard = any(place(a, y) == write_x for a in accesses(second.value))
    hard = hard or any(place(a, x) == write_y for a in accesses(first.value))
    if hard or (write_x == write_y and not (first.update == second.update != "=")):
        return LoopKind.SEQUENTIAL
    return LoopKind.REDUCTION if write_x == write_y else LoopKind.PARALLEL


def worst(kinds: list[LoopKind]) -> LoopKind:
    """The most restrictive of some kinds."""
    return max(kinds, key=list(LoopKind).index, default=LoopKind.PARALLEL)


@QUICK
@given(kernels())
def test_loop_kinds_are_exactly_those_of_brute_force(kernel: Kernel) -> None:
    for statement in kernel.statements:
        all_points = points(statement)
        for name, kind in loop_kinds(statement).items():
            pairs = [
                pair_kind(statement, x, statement, y)
                for x in all_points
                for y in all_points
                if x[name] < y[name]
            ]
            assert kind is worst(pairs), name


@QUICK
@given(kernels())
def test_swapping_is_allowed_exactly_when_no_iterations_conflict(kernel: Kernel) -> None:
    assume(len(kernel.statements) > 1)
    first, second = kernel.statements[:2]
    expected = worst(
        [pair_kind(first, x, second, y) for x in points(first) for y in points(second)]
    )
    assert may_swap(first, second, may_reassociate=False) == (expected is LoopKind.PARALLEL)
    assert may_swap(first, second, may_reassociate=True) == (expected is not LoopKind.SEQUENTIAL)


@QUICK
@given(kernels())
def test_distribution_is_allowed_exactly_when_no_later_iteration_conflicts(kernel: Kernel) -> None:
    assume(len(kernel.statements) > 1)
    first, second = kernel.statements[:2]
    names = {loop.name for loop in second.loops}
    shared = tuple(loop.name for loop in first.loops if loop.name in names)
    is_broken = any(
        pair_kind(first, x, second, y) is not LoopKind.PARALLEL
        for x in points(first)
        for y in points(second)
        if [y[n] for n in shared] < [x[n] for n in shared]
    )
    assert may_distribute(first, second, shared) == (not is_broken)


@QUICK
@given(kernels(), st.booleans())
def test_interchange_is_allowed_exactly_when_no_conflict_crosses(
    kernel: Kernel, may_reassociate: bool
) -> None:
    for outer, inner in zip(kernel.statements[0].loops, kernel.statements[0].loops[1:]):
        under = tuple(s for s in kernel.statements if {outer, inner} <= set(s.loops))
        around = [loop.name for loop in under[0].loops[: under[0].loops.index(outer)]]
        crossing = [
            pair_kind(a, x, b, y)
            for a in under
            for b in under
            for x in points(a)
            for y in points(b)
            if x[outer.name] < y[outer.name]
            and x[inner.name] > y[inner.name]
            and all(x[name] == y[name] for name in around)
        ]
        found = may_interchange(
            under, outer.name, inner.name, around, may_reassociate=may_reassociate
        )
        limit = LoopKind.REDUCTION if may_reassociate else LoopKind.PARALLEL
        assert found == (worst([limit, *crossing]) is limit)


@QUICK
@given(kernels())
def test_kernel_loop_kinds_cover_all_statements_under_a_loop(kernel: Kernel) -> None:
    for name, kind in kernel_loop_kinds(kernel).items():
        under = [s for s in kernel.statements if name in {loop.name for loop in s.loops}]
        names = [loop.name for loop in under[0].loops]
        outer = names[: names.index(name)]
        pairs = [
            pair_kind(a, x, b, y)
            for a in under
            for b in under
            for x in points(a)
            for y in points(b)
            if x[name] < y[name] and all(x[n] == y[n] for n in outer)
        ]
        assert kind is worst(pairs)


@settings(max_examples=150)
@given(
    st.lists(st.tuples(*[st.integers(-6, 6)] * 4), min_size=1, max_size=2),
    st.tuples(*[st.tuples(st.integers(-4, 4), st.integers(0, 4))] * 3),
)
def test_box_equations_are_decided_exactly(
    rows: list[tuple[int, ...]], ranges: tuple[tuple[int, int], ...]
) -> None:
    bounds = {n: (low, low + size) for n, (low, size) in zip("xyz", ranges, strict=True)}
    equations = tuple(Affine.of(zip("xyz", row[:3], strict=True), row[3]) for row in rows)
    values = [range(low, high + 1) for low, high in bounds.values()]
    expected = any(
        all(e.evaluate(dict(zip("xyz", point, strict=True))) == 0 for e in equations)
        for point in product(*values)
    )
    assert solve_box.has_solution(equations, bounds) == expected


def test_search_that_gives_up_says_maybe(monkeypatch: pytest.MonkeyPatch) -> None:
    equation = Affine.of([("x", 6), ("y", 10), ("z", 15)], -1)
    bounds = dict.fromkeys("xyz", (-100, 100))
    monkeypatch.setattr(solve_box, "MAX_NODES", 1)
    assert solve_box.has_solution((equation.scaled(1),), bounds)


def test_recurrence_carries_its_loop() -> None:
    kernel = parse_semantics(
        "h, x = InOut(i8, 9, 4), In(i8, 8, 4)\n"
        "for t, i in grid(8, 4):\n    h[t + 1, i] = h[t, i] + x[t, i]",
        "scan",
    )
    (statement,) = kernel.statements
    assert loop_kinds(statement) == {"t": LoopKind.SEQUENTIAL, "i": LoopKind.PARALLEL}
    assert may_permute(statement, ("i", "t"), may_reassociate=False)


def test_float_sums_keep_their_order_unless_allowed() -> None:
    kernel = parse_semantics(
        "A, y = In(f32, 4, 5, 6), InOut(f32, 4)\n"
        "for i, j, k in grid(4, 5, 6):\n    y[i] += A[i, j, k]",
        "sum",
    )
    (statement,) = kernel.statements
    assert may_permute(statement, ("j", "k", "i"), may_reassociate=False)
    assert not may_permute(statement, ("i", "k", "j"), may_reassociate=False)
    assert may_permute(statement, ("i", "k", "j"), may_reassociate=True)


def test_distribution_looks_at_inner_loops_of_one_outer_iteration_only() -> None:
    kernel = parse_semantics(
        "a, b, c = In(i8, 4, 5), Temp(i8, 4, 5), Out(i8, 4, 5)\n"
        "for i, j in grid(4, 4):\n    b[i, j] = a[i, j]\n    c[i, j] = b[3 - i, j]",
        "mirror",
    )
    first, second = kernel.statements
    assert not may_distribute(first, second, ("i", "j"))
    assert may_distribute(first, second, ("j",), fixed=("i",))


def test_the_loop_that_carries_a_conflict_is_the_outermost_that_is_not_parallel() -> None:
    text = "D, A = InOut(f32, 3, 9), In(f32, 3, 9)\nfor i, k in grid(3, 9):\n"
    kernel = parse_semantics(text + "  D[i, 0] += A[i, k]\n  D[i, 0] += A[i, k]", "sums")
    loop = carrying_loop(kernel.statements, ())
    assert loop == Loop("k", 9)
    assert carrying_loop(kernel.statements, ("k",)) is None
    assert carrying_loop(kernel.statements[:1], ()) == loop
    moved = move_out(kernel.statements[0], loop, 0)
    assert [other.name for other in moved.loops] == ["k", "i"]
