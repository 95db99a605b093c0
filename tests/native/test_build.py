"""Compiled kernels as functions on NumPy arrays: results, and what they refuse."""

import ctypes
import os
import pickle
import shutil
import subprocess
import sys
import weakref
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.errors import ProgramError
from isamap.native import ArrayError

MACHINES = Path(__file__).parent.parent / "codegen"
KERNELS = MACHINES / "c_kernels.py"
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> isamap.BuiltKernel:
    machine = tmp_path_factory.mktemp("machine") / "faster.yaml"
    own = "name: faster\nsource: estimate\nclock: 2 GHz\n"
    machine.write_text(f"base: {MACHINES / 'vec4.yaml'}\n{own}")
    return isamap.build(
        f"{KERNELS}:sgemm",
        machine,
        sizes={"m": 5, "n": 6, "k": 7},
        out=tmp_path_factory.mktemp("built"),
        may_reassociate=True,
    )


def whole(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 4, shape).astype(np.float32)


def test_a_built_kernel_computes_into_a_new_or_a_given_array(product: isamap.BuiltKernel) -> None:
    A, B = whole(5, 7), whole(7, 6)
    assert np.array_equal(product(A=A, B=B), A @ B)
    C = np.full((5, 6), 9, np.float32)
    assert product(A=A, B=B, C=C) is C
    assert np.array_equal(C, A @ B)
    assert product.packed == ()


def test_the_files_are_there_and_the_depfile_names_what_they_were_made_of(
    product: isamap.BuiltKernel,
) -> None:
    files = product.files
    assert "void sgemm(" in files.source.read_text()
    assert "A: in, f32[5, 7], row-major, 140 bytes" in files.header.read_text()
    assert files.library.stat().st_size > 0
    made_of = files.depfile.read_text().split(": ")[1].split()
    machine = product.mapped.hardware.file
    assert made_of == [machine, str(MACHINES / "vec4.yaml"), str(MACHINES / "c_kernels.py")]


def test_make_reads_the_names_in_a_depfile(tmp_path: Path) -> None:
    source = tmp_path / "my $own #1 kernel.py"
    source.write_text((MACHINES / "c_kernels.py").read_text())
    built = isamap.build(
        f"{source}:sgemm", MACHINES / "vec4.yaml", out=tmp_path / "made", may_reassociate=True
    )
    rule = built.files.depfile.read_text()
    assert str(tmp_path / "my\\ $$own\\ \\#1\\ kernel.py") in rule
    if shutil.which("make"):
        library = built.files.library
        makefile = tmp_path / "makefile"
        makefile.write_text(f"{library}:\n\t@echo built again\ninclude {built.files.depfile}\n")
        os.utime(library, (os.path.getmtime(source) + 9,) * 2)
        assert "built again" not in made(makefile)
        os.utime(source, (os.path.getmtime(source) + 18,) * 2)
        assert "built again" in made(makefile), "the kernel has changed"


def made(makefile: Path) -> str:
    ran = subprocess.run(["make", "-f", makefile], capture_output=True, text=True, check=True)
    return ran.stdout


@pytest.mark.parametrize(
    "ending",
    [
        "print(built.files.source.read_text())",
        "built.files; os.fork() or sys.exit(); os.wait(); print(built.files.source.read_text())",
        "print(built.source.text, flush=True); os._exit(0)",
        "Process(target=lambda: print(build().files.source.read_text())).start()",
    ],
)
def test_files_without_a_folder_of_their_own_last_as_long_as_the_process(
    ending: str, tmp_path: Path
) -> None:
    given = f"{f'{KERNELS}:sgemm'!r}, {str(MACHINES / 'vec4.yaml')!r}, may_reassociate=True"
    script = (
        "import isamap, os, sys, multiprocessing\nProcess = multiprocessing.get_context('fork')"
        f".Process\nbuild = lambda: isamap.build({given})\nbuilt = build()\n{ending}"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "void sgemm(" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arrays, message, hint",
    [
        ({"A": whole(5, 7)}, "sgemm needs an array for 'B'", ""),
        ({"D": whole(1)}, "sgemm has no buffer 'D'", "A, B, C"),
        ({"A": whole(7, 5), "B": whole(7, 6)}, "array 'A' is float32[7, 5], expected", "converted"),
        ({"A": whole(5, 7).astype(np.float64), "B": whole(7, 6)}, "array 'A' is float64", "type"),
        ({"A": whole(7, 5).T, "B": whole(7, 6)}, "array 'A' has strides [4, 20] bytes", "contig"),
        ({"A": np.ma.masked_less(whole(5, 7), 0), "B": whole(7, 6)}, "array 'A' is masked", "fill"),
    ],
)
def test_arrays_are_checked(
    product: isamap.BuiltKernel, arrays: Mapping[str, np.ndarray], message: str, hint: str
) -> None:
    with pytest.raises(ArrayError) as caught:
        product(**arrays)
    assert caught.value.message.startswith(message)
    assert hint in caught.value.hint


def test_the_file_says_how_to_compile_it(product: isamap.BuiltKernel, tmp_path: Path) -> None:
    comment = " ".join(product.files.source.read_text().split("*/")[0].split())
    flags, extra = comment.split("Compile with ")[1].split(" (GCC: ")
    library = tmp_path / "own.so"
    compiler = shutil.which("gcc") or "clang"
    more = extra.split(" as well")[0].split() if "gcc" in compiler else []
    assert "-ffp-contract=off" in flags.split()
    source = str(product.files.source)
    command = [compiler, "-shared", "-fPIC", source, "-o", str(library), *flags.split(), *more]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).sgemm
    A, B, C = whole(5, 7), whole(7, 6), np.zeros((5, 6), np.float32)
    arrays = {"A": A, "B": B, "C": C}
    places = [arrays[parameter.buffer] for parameter in product.source.parameters]
    function(*(ctypes.c_void_p(array.ctypes.data) for array in places))
    assert np.array_equal(C, A @ B)


def test_arrays_without_names_are_refused(product: isamap.BuiltKernel) -> None:
    A, B = whole(5, 7), whole(7, 6)
    message = "sgemm takes its arrays by name, 1 came without"
    for call in (product, product.prepare, product.prepare(B=B)):
        with pytest.raises(ArrayError, match=message) as caught:
            call(A)
        assert "A=.., B=.., C=.." in caught.value.hint


def test_overlapping_and_read_only_outputs_are_refused(product: isamap.BuiltKernel) -> None:
    memory = whole(100)
    A, B, C = memory[:35].reshape(5, 7), whole(7, 6), memory[30:60].reshape(5, 6)
    with pytest.raises(ArrayError, match="arrays 'A' and 'C' overlap"):
        product(A=A, B=B, C=C)
    fixed = whole(5, 6)
    fixed.flags.writeable = False
    with pytest.raises(ArrayError, match="'C' is written, but it is read-only"):
        product(A=whole(5, 7), B=B, C=fixed)


def test_buffers_that_the_program_wants_packed_are_named_and_packed(tmp_path: Path) -> None:
    built = isamap.build(
        f"{KERNELS}:window", MACHINES / "vec4.yaml", out=tmp_path, may_reassociate=True
    )
    X, W = whole(9), whole(3)
    assert built.packed == ("X",)
    assert np.array_equal(built(X=X, W=W), np.convolve(X, W[::-1], "same"))


def test_only_inputs_are_packed_ahead() -> None:
    with pytest.raises(isamap.IsamapError, match="sgemm has no input 'C' that could be") as caught:
        isamap.build(f"{KERNELS}:sgemm", MACHINES / "vec4.yaml", ahead=["C"])
    assert caught.value.hint == "its inputs are A, B"


def test_a_machine_that_runs_elsewhere_is_not_built_for(tmp_path: Path) -> None:
    text = (MACHINES / "vec4.yaml").read_text()
    machine = tmp_path / "far.yaml"
    machine.write_text(text.replace("compiler:\n", "compiler:\n  run: [env]\n"))
    with pytest.raises(isamap.IsamapError, match="run under env, not here") as caught:
        isamap.build(f"{KERNELS}:sgemm", machine, may_reassociate=True)
    assert "run-on" in caught.value.hint


def test_a_missing_compiler_or_emulator_is_named_with_its_packages(tmp_path: Path) -> None:
    text = (MACHINES / "vec4.yaml").read_text()
    machine = tmp_path / "far.yaml"
    for key in ("command: no-such-cc", "run: [no-such-qemu]"):
        entry = f"compiler:\n  {key}\n  packages: [pack-a, pack-b]\n"
        machine.write_text(text.replace("compiler:\n", entry))
        with pytest.raises(isamap.IsamapError, match="'no-such-") as caught:
            isamap.run_on(f"{KERNELS}:sgemm", machine, may_reassociate=True)
        assert caught.value.hint == "apt-get install pack-a pack-b"


def test_a_program_that_breaks_a_rule_is_not_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def reject(*_: object) -> None:
        raise ProgramError("call 3 reads bytes outside the buffer")

    monkeypatch.setattr("isamap.native.mapped.check_program", reject)
    sizes = {"m": 5, "n": 6, "k": 7}
    with pytest.raises(ProgramError, match="outside the buffer"):
        isamap.build(
            f"{KERNELS}:sgemm", MACHINES / "vec4.yaml", sizes=sizes, out=tmp_path / "built",
            may_reassociate=True,
        )  # fmt: skip
    assert not (tmp_path / "built").exists()


def test_a_repeated_call_keeps_the_arrays_that_it_runs_on(product: isamap.BuiltKernel) -> None:
    A, B, C = whole(5, 7), whole(7, 6), whole(5, 6)
    expected = A @ B
    run = product.prepare().repeat(A=A, B=B, C=C)
    kept = weakref.ref(A)
    del A
    assert kept() is not None
    run()
    assert np.array_equal(C, expected)


def test_it_cannot_be_pickled_and_says_what_to_do(product: isamap.BuiltKernel) -> None:
    with pytest.raises(TypeError, match="sgemm is a library loaded .* build it again where it is"):
        pickle.dumps(product)


def test_what_is_built_anew_in_a_folder_does_not_change_what_was_built_there(
    tmp_path: Path,
) -> None:
    built = {
        n: isamap.build(
            f"{KERNELS}:sgemm",
            MACHINES / "vec4.yaml",
            sizes={"m": 5, "n": n, "k": 7},
            out=tmp_path,
            may_reassociate=True,
        )
        for n in (6, 9)
    }
    for n, kernel in built.items():
        A, B = whole(5, 7), whole(7, n)
        assert np.array_equal(kernel(A=A, B=B), A @ B)


def test_outputs_that_read_padding_alone_are_zero(tmp_path: Path) -> None:
    file = tmp_path / "one_tap.py"
    file.write_text(
        "from isamap.lang import In, Out, f32, grid, kernel\n\n@kernel\ndef one_tap():\n"
        "    X, W, Y = In(f32, 7, 3), In(f32, 3, 5), Out(f32, 7, 5)\n"
        "    for p, j, k in grid(7, 5, 3):\n"
        "        Y[p, j] += X.at(2 * p - 3, k, pad=0) * W[k, j]\n"
    )
    built = isamap.build(file, MACHINES / "vec4.yaml", may_reassociate=True)
    X, W, Y = whole(7, 3), whole(3, 5), np.full((7, 5), 9, np.float32)
    expected = np.zeros((7, 5), np.float32)
    expected[2:5] = X[1:6:2] @ W
    assert np.array_equal(built(X=X, W=W, Y=Y), expected)
