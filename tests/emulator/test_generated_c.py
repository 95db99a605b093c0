"""The generated C itself: clean under sanitizers, cached, and unable to hurt the tool."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isamap.emulator import run, time_program
from isamap.emulator.bind import bind
from isamap.emulator.build import compile_c, run_executable
from isamap.emulator.c_functional import emit_functional
from isamap.emulator.c_timing import emit_timing
from isamap.errors import IsamapError
from isamap.hwdesc import Expression, Instruction
from isamap.ir import Kernel
from isamap.program import Issue
from tests.emulator.hand_programs import gemm, issue_load, issue_mma, machine, straight

TINY, TOKENS = machine("tiny"), machine("tiny_tokens")
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def test_generated_c_is_clean_under_sanitizers(tmp_path: Path) -> None:
    bound = bind(gemm(20, 33, 40, buffers=2), TINY)
    timing = compile_c(emit_timing(bound), "-O1", SANITIZE)
    assert run_executable(timing, (), 60).startswith("ok")
    image = tmp_path / "image"
    image.write_bytes(bytes(bound.extent("dram").size_bytes))
    functional = compile_c(emit_functional(bound), "-O1", SANITIZE)
    assert run_executable(functional, (str(image),), 60) == "ok\n"


def test_an_executable_is_made_once() -> None:
    text = emit_timing(bind(gemm(16, 16, 16), TINY))
    first = compile_c(text)
    made = first.stat().st_mtime_ns
    assert compile_c(text) == first
    assert first.stat().st_mtime_ns == made
    assert compile_c(text, "-O0") != first


def test_a_cache_without_room_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copying into it fails, as on a full disk; the executable lies among temporary files."""
    cache, others = tmp_path / "cache", tmp_path / "temporary"
    others.mkdir()
    monkeypatch.setenv("ISAMAP_CACHE_DIR", str(cache))
    monkeypatch.setattr("tempfile.tempdir", str(others))
    copy, is_full = shutil.copy, {cache}

    def copy_or_fail(source: Path, folder: str) -> str:
        if is_full & set(Path(folder).parents):
            raise OSError(28, "No space left on device")
        return str(copy(source, folder))

    monkeypatch.setattr("isamap.emulator.build.shutil.copy", copy_or_fail)
    text = '#include <stdio.h>\nint main(void) { puts("here"); }'
    made = compile_c(text)
    assert made.parent.parent == others
    assert run_executable(made, (), 60) == "here\n"
    assert compile_c(text) == made  # found again
    is_full.add(others)
    with pytest.raises(IsamapError, match="cannot write .*: No space left on device") as caught:
        compile_c(text, "-O1")
    assert caught.value.hint == "name a folder with room by ISAMAP_CACHE_DIR"
    is_full.clear()
    assert compile_c(text, "-O1").parent == cache


def test_bad_c_crashes_and_endless_loops_are_errors() -> None:
    with pytest.raises(IsamapError, match=r"failed: (.|\n)*error"):
        compile_c("int main(void) { return nothing; }")
    crash = compile_c("#include <stdlib.h>\nint main(void) { abort(); }")
    with pytest.raises(IsamapError, match="ended with status -6"):
        run_executable(crash, (), 60)
    endless = compile_c("int main(void) { for (volatile int i = 0;; i++); }")
    with pytest.raises(IsamapError, match=r"ran longer than 0.2 s"):
        run_executable(endless, (), 0.2)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_sync_instruction_only_carries_tokens(compiled: bool) -> None:
    wait = Instruction(
        "wait",
        Kernel("wait", (), ()),
        (),
        (),
        "matrix",
        Expression.constant(1),
        Expression.constant(5),
        is_sync=True,
    )
    hardware = replace(TOKENS, instructions=(*TOKENS.instructions, wait))
    calls = (
        issue_load(0, 0),
        issue_load(256, 4096, pushes=("load_to_matrix",)),
        Issue("wait", (), (), pops=("load_to_matrix",), pushes=("matrix_to_store",)),
    )
    program = straight(calls, "tiny_tokens")
    assert time_program(program, hardware, compiled=compiled).cycles == 52 + 5
    arrays = {"X": np.zeros(4096, np.int8), "Y": np.arange(4096, dtype=np.int32)}
    result = run(program, hardware, arrays, compiled=compiled)
    assert np.array_equal(result.outputs["Y"], arrays["Y"])


def test_energy_of_the_same_call_adds_up_exactly() -> None:
    tenth = tuple(
        replace(i, energy_pj=Expression.parse("i / 10")) if i.name == "mma" else i
        for i in TINY.instructions
    )
    hardware = replace(TINY, instructions=tenth)
    program = straight((issue_mma(0, 0, 0, rows=3),), repeats=7)
    for compiled in (True, False):
        assert time_program(program, hardware, compiled=compiled).energy_pj == 2.1
