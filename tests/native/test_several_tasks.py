"""Kernels of several tasks as one C function: results, sanitizers, inputs packed ahead."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.ir import interpret, random_arrays
from isamap.native import ArrayError, execute_c, execute_together
from isamap.verify import compare
from isamap.verify.tolerance import reference_tolerance, telling_inputs

VEC4 = Path(__file__).parent.parent / "codegen" / "vec4.yaml"
STRICT = ("-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover")
HOST = """units: {load: {}, alu: {}, store: {}, scalar: {}}
host: {unit: scalar, start: 10 cycles, operation: 1 cycle, source: invented}
"""
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The invented core with a host beside it."""
    path = tmp_path_factory.mktemp("machine") / "vec4_host.yaml"
    path.write_text(VEC4.read_text().replace("units: {load: {}, alu: {}, store: {}}\n", HOST))
    return path


CASES: tuple[tuple[str, Mapping[str, int]], ...] = (
    ("gru:gru_skip_bf16", {"steps": 2, "batch": 1, "hidden": 5}),
    ("attention", {"b": 1, "m": 3, "n": 5, "d": 2, "e": 3}),
    ("gemm_epilogue:gemm_requantise", {"m": 3, "n": 5, "k": 7}),
    ("layer_norm", {"m": 1, "n": 5}),
)


@pytest.mark.parametrize("kernel, sizes", CASES, ids=lambda value: str(value))
def test_plans_become_one_function_that_is_right_and_clean(
    kernel: str, sizes: Mapping[str, int], machine: Path
) -> None:
    built = isamap.build(kernel, machine, sizes=sizes, time_limit_s=0.2, may_reassociate=True)
    tolerance = partial(reference_tolerance, built.kernel)
    arrays, allowed = telling_inputs(built.kernel, 0, tolerance)
    expected = interpret(built.kernel, arrays)
    got = built(**{name: array.copy() for name, array in arrays.items()})
    found = got if isinstance(got, dict) else dict(zip(expected, [got], strict=True))
    assert compare(found, expected, "the kernel's meaning", allowed) is None
    again = execute_c(built.program, built.mapped.hardware, arrays, STRICT)
    assert compare(again, found, "the library") is None


def test_inputs_given_ahead_are_packed_once(machine: Path) -> None:
    """In an early answer: a longer search finds one that takes U as it lies."""
    sizes = {"steps": 2, "batch": 2, "hidden": 6}
    built = isamap.build(
        "gru:gru_skip", machine, sizes=sizes, ahead=["U"], effort=0.02, may_reassociate=True
    )
    assert built.packed == ("U",)
    rng = np.random.default_rng(0)
    shapes = {b.name: b.shape for b in built.kernel.buffers}
    names = ("x", "h", "U", "bias", "recurrent_bias")
    arrays = {n: rng.standard_normal(shapes[n]).astype(np.float32) for n in names}
    ahead = {name: arrays.pop(name) for name in ("U",)}
    prepared = built.prepare(**ahead)
    for _ in range(2):  # scratch of one call does no harm to the next
        states = arrays["h"].copy()
        expected = built(**ahead, **{**arrays, "h": arrays["h"].copy()})
        assert prepared(**{**arrays, "h": states}) is states
        assert np.array_equal(states, np.asarray(expected))
    with pytest.raises(ArrayError, match="'U' was given when the kernel was prepared"):
        prepared(**ahead, **arrays)
    with pytest.raises(ArrayError, match="no input 'h' that could be given ahead") as caught:
        built.prepare(h=arrays["h"])
    assert "inputs are x, U, bias" in caught.value.hint


def test_packing_in_c_is_packing_in_numpy(tmp_path: Path) -> None:
    """A window reads `X` with a border of zeros around it."""
    kernels = VEC4.parent / "c_kernels.py"
    built = isamap.build(f"{kernels}:window", VEC4, out=tmp_path, may_reassociate=True)
    assert built.source.packers == {"X": "window_pack_X"}
    X, W = np.arange(9, dtype=np.float32), np.float32([1, 2, 3])
    prepared = built.prepare(X=X)
    X[:] = 0  # what was packed stays
    assert np.array_equal(prepared(W=W), np.convolve(np.arange(9), W[::-1], "same"))


def test_a_call_of_another_thread_in_the_middle_of_one_changes_nothing() -> None:
    built = isamap.build(f"{VEC4.parent / 'c_kernels.py'}:window", VEC4, may_reassociate=True)
    assert built.packed == ("X",)
    X, W = np.arange(9, dtype=np.float32), np.float32([1, 2, 3])
    others = []

    def interrupted(*places: object) -> None:
        """Packed is the first call's X, and it has not run yet."""
        if not others:
            others.append(None)
            others[0] = prepared(X=X[::-1].copy())
        built.run(places)

    prepared = replace(built, _function=interrupted).prepare(W=W)
    for _ in range(2):
        assert np.array_equal(prepared(X=X), np.convolve(X, W[::-1], "same"))
    assert np.array_equal(others[0], np.convolve(X[::-1], W[::-1], "same"))


def test_many_programs_run_in_one_process_each_on_its_own_arrays() -> None:
    kernel = f"{VEC4.parent / 'c_kernels.py'}:sgemm"
    mapped = isamap.map(kernel, VEC4, may_reassociate=True, verify="off", time_limit_s=0.2)
    program = mapped.schedule.program
    given = [random_arrays(mapped.kernel, seed) for seed in range(5)]
    outputs = execute_together([(program, arrays) for arrays in given], mapped.hardware)
    for arrays, got in zip(given, outputs, strict=True):
        assert compare(got, interpret(mapped.kernel, arrays), "the kernel's meaning") is None
