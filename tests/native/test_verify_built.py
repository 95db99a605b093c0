"""What is compiled is run and compared; wrong elements are found wherever they are."""

import ctypes
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import isamap
from isamap.cli import main
from isamap.ir import interpret, parse_semantics
from isamap.native import WrongError
from isamap.native.verify_built import EFFORT, verify_built
from isamap.verify import Check, Mismatch, Verification, scaled_arrays
from isamap.verify.sample import INTEGER
from tests.compiled_cases import running_here

MACHINES = Path(__file__).parent.parent / "codegen"
KERNELS, VEC4 = MACHINES / "c_kernels.py", MACHINES / "vec4.yaml"
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)


@pytest.fixture(scope="module")
def product() -> isamap.BuiltKernel:
    return isamap.build(
        f"{KERNELS}:sgemm", VEC4, sizes={"m": 13, "n": 22, "k": 7}, may_reassociate=True,
        verify="off",
    )  # fmt: skip


def machine_here() -> str:
    """One with plain loops, or the test is skipped."""
    machines = running_here()
    if not machines:
        pytest.skip("this processor runs none of the bundled machines")
    return machines[0]


def spoilt(
    built: isamap.BuiltKernel,
    spoil: Callable[[ctypes.Array[ctypes.c_float]], None],
    name: str = "C",
    size: int = 13 * 22,
) -> isamap.BuiltKernel:
    """The function, and then something that happens to a buffer and the element after it."""
    number = [p.buffer for p in built.source.parameters].index(name)

    def run(*places: ctypes.c_void_p) -> None:
        built.run(places)
        spoil((ctypes.c_float * (size + 1)).from_address(places[number].value or 0))

    return replace(built, _function=run)


@pytest.mark.parametrize("check", [Check.QUICK, Check.FULL])
def test_a_right_function_is_right_bit_for_bit(product: isamap.BuiltKernel, check: Check) -> None:
    found = verify_built(product, check)
    assert found.is_verified and found.tolerance == 0.0
    assert found.sizes == (("i", 13), ("j", 22), ("p", 7))
    assert found.subject == "the compiled function"


@pytest.mark.parametrize("index", [(0, 0), (12, 21), (5, 16)])
def test_one_wrong_element_is_found(product: isamap.BuiltKernel, index: tuple[int, int]) -> None:
    def spoil(C: ctypes.Array[ctypes.c_float]) -> None:
        C[index[0] * 22 + index[1]] += 1

    found = verify_built(spoilt(product, spoil), Check.QUICK)
    assert found.is_wrong and found.mismatch is not None
    assert (found.mismatch.index, found.mismatch.num_wrong) == (index, 1)


def test_what_is_left_as_it_was_is_wrong(product: isamap.BuiltKernel) -> None:
    found = verify_built(replace(product, _function=lambda *_: None), Check.QUICK)
    assert found.mismatch is not None and found.mismatch.num_wrong == 13 * 22


def test_writing_beyond_an_array_is_found(product: isamap.BuiltKernel) -> None:
    def spoil(C: ctypes.Array[ctypes.c_float]) -> None:
        C[13 * 22] = 0.0

    found = verify_built(spoilt(product, spoil), Check.QUICK)
    assert found.is_wrong and "beyond C" in found.failure


def test_changing_an_input_is_found(product: isamap.BuiltKernel) -> None:
    def spoil(A: ctypes.Array[ctypes.c_float]) -> None:
        A[3] += 1.0

    found = verify_built(spoilt(product, spoil, "A", 13 * 7), Check.QUICK)
    assert found.is_wrong and "changes A" in found.failure


def test_of_a_large_product_rows_and_columns_are_compared(
    product: isamap.BuiltKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(EFFORT[Check.QUICK], iterations=1400 * INTEGER)
    monkeypatch.setitem(EFFORT, Check.QUICK, few)
    found = verify_built(product, Check.QUICK)
    assert found.is_verified
    assert found.subject == (
        "the compiled function, at C[4 of 13, all] and C[all, 7 of 22],"
    )  # fmt: skip

    def spoil(C: ctypes.Array[ctypes.c_float]) -> None:
        for i in range(13):
            C[22 * i + 21] = -1.0

    wrong = verify_built(spoilt(product, spoil), Check.QUICK).mismatch
    assert wrong is not None and wrong.index == (0, 21)


def test_what_takes_too_long_is_not_verified_and_says_so(
    product: isamap.BuiltKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = EFFORT[Check.QUICK]
    for limit, words in (("call_s", "a call takes about"), ("elements", "its arrays have")):
        monkeypatch.setitem(EFFORT, Check.QUICK, replace(whole, **{limit: 0.0}))
        found = verify_built(product, Check.QUICK)
        assert not found.is_verified and not found.is_wrong
        assert words in found.failure and found.failure.endswith("--verify full")
    none = replace(whole, iterations=0.0)
    monkeypatch.setitem(EFFORT, Check.QUICK, none)
    assert "no part of its results" in verify_built(product, Check.QUICK).failure


def test_functions_for_another_processor_are_not_run(
    product: isamap.BuiltKernel,
) -> None:
    hw = product.mapped.hardware
    assert hw.compiler is not None
    other = replace(hw, compiler=replace(hw.compiler, features=("no_such_vectors",)))

    def crash(*_: object) -> None:
        pytest.fail("it was run")

    built = replace(product, mapped=replace(product.mapped, hardware=other), _function=crash)
    found = verify_built(built, Check.QUICK)
    assert not found.is_verified and not found.is_wrong
    assert found.failure == "not this processor, which lacks no_such_vectors"


def test_functions_with_rounding_are_compared_within_its_bounds() -> None:
    sizes = {"m": 5, "n": 9}
    built = isamap.build(
        "softmax", machine_here(), sizes=sizes, may_reassociate=True, verify="full"
    )
    found = built.verification
    assert found.is_verified and 0 < found.tolerance < 1e-5

    def spoil(y: ctypes.Array[ctypes.c_float]) -> None:
        y[44] *= 1.01

    assert verify_built(spoilt(built, spoil, "y", 45), Check.QUICK).is_wrong


def test_states_that_are_rounded_to_whole_numbers_go_on_without_errors() -> None:
    sizes = {"steps": 3, "batch": 2, "inputs": 9, "hidden": 17}
    built = isamap.build("lstm:lstm_i8", machine_here(), sizes=sizes, may_reassociate=True)
    assert built.verification.is_verified and 0 < built.verification.tolerance < 1e-4


def test_without_a_bound_bits_are_compared_and_other_bits_prove_nothing(
    product: isamap.BuiltKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isamap.native.verify_built.whole_numbers", lambda _: None)
    monkeypatch.setattr("isamap.native.verify_built._tolerance", lambda *_: np.inf)

    def keep(C: ctypes.Array[ctypes.c_float]) -> None:
        for i, value in enumerate(exact.reshape(-1)):
            C[i] = value

    def spoil(C: ctypes.Array[ctypes.c_float]) -> None:
        keep(C)
        C[0] = np.nextafter(np.float32(C[0]), np.float32(9.0))

    arrays = next(iter(scaled_arrays(product.kernel, 0)))
    exact = interpret(product.kernel, arrays)["C"]
    assert verify_built(spoilt(product, keep), Check.QUICK).is_verified
    found = verify_built(spoilt(product, spoil), Check.QUICK)
    assert not found.is_verified and not found.is_wrong
    assert found.failure.startswith("not bit-exact, and rounding errors have no bound")


def test_kernels_with_floats_inside_alone_are_compared() -> None:
    text = "A, C = In(i8, 33), Out(i8, 33)\nfor i in range(33):\n  C[i] = sat_i8(f32(A[i]) * 1.5)\n"
    built = isamap.build(parse_semantics(text, "scaled"), machine_here(), verify="quick")
    assert built.verification.is_verified


def test_a_wrong_function_is_not_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrong = Mismatch("C", (2, 3), "1.0", "2.0", "the kernel's meaning", 4, 42)
    found = Verification(Check.QUICK, (("i", 6),), mismatch=wrong, is_wrong=True)
    module = sys.modules["isamap.native.build"]
    monkeypatch.setattr(module, "verify_built", lambda *_: found)
    where = tmp_path / "built"
    with pytest.raises(WrongError, match=r"sgemm is wrong: 4 of 42 .* at \[2, 3\]: 1.0, exp"):
        isamap.build(f"{KERNELS}:sgemm", VEC4, may_reassociate=True, out=where)
    arguments = ["build", f"{KERNELS}:sgemm", "--hw", str(VEC4), "--allow", "reassociate"]
    done = CliRunner().invoke(main, [*arguments, "-o", str(where)])
    assert done.exit_code == 1
    assert "WRONG on i=6: 4 of 42 elements of C differ" in done.output
    assert "no file was written" in done.output
    assert not where.exists()


def test_inputs_packed_ahead_are_checked_so() -> None:
    built = isamap.build(
        f"{KERNELS}:sgemm", VEC4, sizes={"m": 5, "n": 9, "k": 30}, may_reassociate=True,
        ahead=["B"], verify="full",
    )  # fmt: skip
    assert built.verification.is_verified
    assert np.isfinite(built.verification.tolerance)


DATA = """
from isamap.lang import In, Out, grid, i32, kernel

@kernel
def by_data(n=33):
    a, b, c, y = In(i32, n), In(i32, n), In(i32, n), Out(i32, n)
    for i in range(n):
        y[i] = {value}
"""


@pytest.mark.parametrize("value", ["a[i] << b[i]", "a[i] // b[i]", "(a[i] >> b[i]) // c[i]"])
def test_numbers_that_a_kernel_cannot_take_are_not_drawn(value: str, tmp_path: Path) -> None:
    path = tmp_path / "by_data.py"
    path.write_text(DATA.format(value=value))
    assert isamap.build(path, machine_here()).verification.is_verified


def test_a_kernel_without_a_meaning_on_random_inputs_is_built_unverified(tmp_path: Path) -> None:
    path = tmp_path / "by_data.py"
    path.write_text(DATA.format(value="a[i] // (b[i] - b[i])"))
    found = isamap.build(path, machine_here()).verification
    assert not found.is_verified and not found.is_wrong
    assert found.failure == "integer division by zero on all random inputs that were tried"
