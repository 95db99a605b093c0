"""Loops of host calls as C: the same bits as the interpreter, in whatever order they run."""

import ctypes
import shutil
import subprocess
from collections.abc import Mapping
from fractions import Fraction
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isamap.codegen.c.host_loops import Place, host_functions, write_host_call
from isamap.codegen.c.text import LEAST
from isamap.codegen.c.toolchain import FLAGS
from isamap.hwdesc import HostLoops, HostRule, Shared, Single, Way
from isamap.ir import (
    Affine,
    Kernel,
    interpret,
    parse_semantics,
    random_arrays,
    rounding_errors,
    size_bytes,
)
from isamap.program import Address, Operand
from tests.strategies import kernels

STRICT = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
COMPILERS = ("gcc", "clang")


def rule(lanes: int) -> HostRule:
    """A host with vectors of so many f32."""
    return HostRule("core", Fraction(1), Fraction(1), is_apart=False, lanes=lanes)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Elements between neighbours along each dimension."""
    return tuple(prod(shape[dim + 1 :]) for dim in range(len(shape)))


def c_text(
    kernel: Kernel, lanes: int, may_reassociate: bool, names: Mapping[str, str] | None = None
) -> str:
    """A function `run` of one pointer per buffer, in their order, perhaps with other names."""
    places = {}
    called = {buffer.name: f"p_{buffer.name}" for buffer in kernel.buffers} | dict(names or {})
    for buffer in kernel.buffers:
        steps = tuple(size_bytes(buffer.dtype) * step for step in row_major(buffer.shape))
        operand = Operand(buffer.name, "dram", Address(Affine()), steps)
        places[buffer.name] = Place(operand, called[buffer.name], buffer.name)
    lines = write_host_call(kernel, places, rule(lanes), may_reassociate)
    parameters = ", ".join(f"void *restrict {called[buffer.name]}" for buffer in kernel.buffers)
    includes = [f"#include <{name}.h>" for name in ("stdint", "math", "string")]
    least = [LEAST] if any("isamap_least(" in line for line in lines) else []
    head = [f"void run({parameters});", f"void run({parameters}) {{"]
    return "\n".join([*includes, *least, *host_functions(lines), *head, *lines, "}", ""])


def run_c(
    kernel: Kernel, arrays: dict[str, np.ndarray], folder: Path, *, lanes: int = 8,
    compiler: str = "gcc", may_reassociate: bool = False, flags: tuple[str, ...] = (),
    names: Mapping[str, str] | None = None,
) -> dict[str, np.ndarray]:  # fmt: skip
    """What the compiled loops make of the arrays."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source, library = folder / "run.c", folder / f"run{len(list(folder.iterdir()))}.so"
    source.write_text(c_text(kernel, lanes, may_reassociate, names))
    command = [compiler, "-O2", *FLAGS, *STRICT, *flags, "-shared", "-fPIC", str(source)]
    subprocess.run([*command, "-o", str(library), "-lm"], check=True)
    held = {b.name: np.zeros(b.shape, np.float32) for b in kernel.buffers}
    for name, array in arrays.items():
        held[name][...] = array
    pointers = [held[b.name].ctypes.data_as(ctypes.c_void_p) for b in kernel.buffers]
    ctypes.CDLL(str(library)).run(*pointers)
    return {b.name: held[b.name] for b in kernel.buffers if b.role.value in ("Out", "InOut")}


PADDED = (
    "Y[p, i] = X.at(p - 1, i, pad=3)",
    "Y[p, i] = X.at(2 * p - 3, i, pad=-1) + X.at(p + 1, i, pad=2)",
    "Y[p, i] = X.at(p - 1, i, pad=3) * X.at(p, i - 2, pad=0.5)",
    "Y[p, i] = X.at(p - 4, i + 1, pad=7)",
    "Y[p, i] = X.at(p, i, pad=7) + X.at(p - 1, i, pad=1) * X.at(p - 1, i, pad=2)",
)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("statement", PADDED)
def test_reads_outside_give_their_padding(compiler: str, statement: str, tmp_path: Path) -> None:
    head = "X, Y = In(f32, 5, 40), Out(f32, 6, 40)\n"
    kernel = parse_semantics(f"{head}for p, i in grid(6, 40):\n  {statement}", "padded")
    arrays = random_arrays(kernel)
    assert same(run_c(kernel, arrays, tmp_path, compiler=compiler), interpret(kernel, arrays))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("names", [{"x": "y", "y": "x"}, {"x": "x", "y": "x_"}, {"y": "i"}])
def test_operands_may_be_called_as_the_arrays_around_them(
    compiler: str, names: dict[str, str], tmp_path: Path
) -> None:
    text = "x, y = In(f32, 5), Out(f32, 5)\nfor i in range(5):\n  y[i] = x[i] + x.at(i - 1, pad=2)"
    kernel = parse_semantics(text, "shifted")
    arrays = random_arrays(kernel)
    found = run_c(kernel, arrays, tmp_path, compiler=compiler, names=names)
    assert same(found, interpret(kernel, arrays))


def test_what_no_lane_decides_is_tested_once_and_what_is_certain_not_at_all() -> None:
    head = "X, Y = In(f32, 5, 40), Out(f32, 6, 40)\nfor p, i in grid(6, 40):\n  "
    texts = [c_text(parse_semantics(head + s, "padded"), 8, False) for s in PADDED]
    tests = [text.count("(uint64_t)") for text in texts]
    assert tests == [1, 4, 5, 2, 6]
    assert [text.count("} else {") for text in texts] == [1, 1, 1, 0, 1]


VALUES = ("X[i, j]", "X[i, j] * B[j]", "X[i, j] * X[i, j] - C[i]", "Z[j, i]", "max(X[i, j], 0.5)")
UPDATES = ("S[i] += {}", "S[i] = max(S[i], {})", "S[i] *= {}", "S[i] = min(S[i], {})")


def rows_kernel(rows: int, columns: int, update: str, value: str, *, is_shared: bool) -> Kernel:
    """Rows are joined and scaled by what they gave, under one loop or one after the other."""
    head = f"for i in range({rows}):\n  for j in range({columns}):\n    "
    first = f"{head}{update.format(value)}\n"
    second = "Y[i, k] = X[i, k] - S[i]"
    rest = f"  for k in range({columns}):\n    {second}\n"
    if not is_shared:
        rest = f"for h in range({rows}):\n{rest}".replace("i, k", "h, k").replace("[i]", "[h]")
    buffers = f"""
X, B, C = In(f32, {rows}, {columns}), In(f32, {columns}), In(f32, {rows})
Z, S, Y = In(f32, {columns}, {rows}), InOut(f32, {rows}), Out(f32, {rows}, {columns})
"""
    return parse_semantics(f"{buffers}{first}{rest}", "rows")


def same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> bool:
    """Are all numbers the same?"""
    return all(np.array_equal(found[n], expected[n], equal_nan=True) for n in expected)


@settings(max_examples=16, deadline=None)
@given(
    st.integers(1, 19), st.sampled_from([1, 2, 7, 8, 9, 16, 31, 64, 65, 130, 257, 520]),
    st.sampled_from(UPDATES), st.sampled_from(VALUES), st.booleans(), st.sampled_from([1, 4, 8]),
    st.sampled_from(COMPILERS),
)  # fmt: skip
def test_rows_give_the_bits_of_the_interpreter(
    tmp_path_factory: pytest.TempPathFactory, rows: int, columns: int, update: str, value: str,
    is_shared: bool, lanes: int, compiler: str,
) -> None:  # fmt: skip
    kernel = rows_kernel(rows, columns, update, value, is_shared=is_shared)
    arrays = random_arrays(kernel)
    found = run_c(
        kernel, arrays, tmp_path_factory.mktemp("rows"), lanes=lanes, compiler=compiler
    )  # fmt: skip
    assert same(found, interpret(kernel, arrays))


@settings(max_examples=10, deadline=None)
@given(kernels(("f32",)), st.integers(0, 3), st.sampled_from([1, 4, 8]))
def test_any_statements_are_as_near_as_their_functions(
    tmp_path_factory: pytest.TempPathFactory, kernel: Kernel, seed: int, lanes: int
) -> None:
    arrays = random_arrays(kernel, seed)
    found = run_c(kernel, arrays, tmp_path_factory.mktemp("any"), lanes=lanes)
    expected, errors = interpret(kernel, arrays), rounding_errors(kernel, arrays)
    for name, array in expected.items():
        with np.errstate(invalid="ignore"):  # two infinities have no distance: they are the same
            is_near = np.abs(found[name] - array) <= errors[name]
        is_same = (found[name] == array) | (np.isnan(found[name]) & np.isnan(array))
        assert np.all(is_near | is_same | ~np.isfinite(errors[name])), name


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("update", UPDATES[1:4:2])
def test_what_is_no_number_wins_wherever_it_stands(
    compiler: str, update: str, tmp_path: Path
) -> None:
    kernel = rows_kernel(9, 70, update, "X[i, j]", is_shared=False)
    arrays = random_arrays(kernel)
    for row, column in enumerate((0, 3, 15, 16, 63, 64, 65, 69)):
        arrays["X"][row, column] = np.nan
    arrays["S"][8] = np.nan
    found = run_c(kernel, arrays, tmp_path, compiler=compiler)
    assert np.all(np.isnan(found["S"]))
    assert same(found, interpret(kernel, arrays))


def test_sums_in_any_order_stay_within_what_that_may_change(tmp_path: Path) -> None:
    for number, value in enumerate(VALUES[:3]):
        kernel = rows_kernel(5, 517, UPDATES[0], value, is_shared=False)
        arrays = random_arrays(kernel, number)
        found = run_c(kernel, arrays, tmp_path, may_reassociate=True)
        expected, errors = interpret(kernel, arrays), rounding_errors(kernel, arrays)
        assert np.all(np.abs(found["S"] - expected["S"]) <= errors["S"])
        assert not np.array_equal(found["S"], expected["S"]), "the order did not change"


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_element_beyond_the_arrays_is_touched(compiler: str, tmp_path: Path) -> None:
    """The address sanitizer watches a program with arrays of its own."""
    kernel = rows_kernel(11, 267, UPDATES[0], VALUES[1], is_shared=True)
    text = c_text(kernel, 8, False)
    calls = "".join(
        f"  float *{b.name} = calloc({int(np.prod(b.shape))}, sizeof(float));\n"
        for b in kernel.buffers
    )
    frees = "".join(f"  free({b.name});\n" for b in kernel.buffers)
    names = ", ".join(b.name for b in kernel.buffers)
    main = f"#include <stdlib.h>\nint main(void) {{\n{calls}  run({names});\n{frees}}}\n"
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source, program = tmp_path / "main.c", tmp_path / "main"
    source.write_text(text + main)
    sanitizers = ("-fsanitize=address,undefined", "-fno-sanitize-recover")
    command = [compiler, "-O1", *FLAGS, *STRICT, *sanitizers, str(source), "-o", str(program)]
    subprocess.run([*command, "-lm"], check=True)
    subprocess.run([str(program)], check=True)


def ways(kernel: Kernel, lanes: int = 8, **options: bool) -> list[Way]:
    """How each statement runs, on arrays that lie row by row."""
    strides = {buffer.name: row_major(buffer.shape) for buffer in kernel.buffers}

    def flat(nodes: tuple[Single | Shared, ...]) -> list[Way]:
        return [w for n in nodes for w in ([n.way] if isinstance(n, Single) else flat(n.body))]

    return flat(HostLoops(kernel, rule(lanes), strides, **options).plan())


def test_vectors_lie_along_what_lies_side_by_side() -> None:
    def of(update: str, value: str, lanes: int = 8, **options: bool) -> Way:
        return ways(rows_kernel(9, 20, update, value, is_shared=False), lanes, **options)[0]

    assert of(UPDATES[0], "X[i, j]") is Way.ROWS
    assert of(UPDATES[0], "X[i, j]", may_reassociate=True) is Way.LANES
    assert of(UPDATES[1], "X[i, j]") is Way.LANES  # which is exact in any order
    assert of(UPDATES[0], "Z[j, i]") is Way.ACROSS
    assert of(UPDATES[0], "X[i, j]", lanes=1) is Way.IN_ORDER


def test_what_follows_a_sum_under_its_loop_takes_as_many_rows() -> None:
    kernel = rows_kernel(9, 20, UPDATES[0], "X[i, j]", is_shared=True)
    assert ways(kernel) == [Way.ROWS, Way.ACROSS]
    assert "i_first" in c_text(kernel, 8, False)
