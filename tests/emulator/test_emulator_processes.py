"""Executables of the emulator as processes."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.emulator import run
from isamap.ir import random_arrays
from tests.processes import awaited, is_there

ENDLESS = r"""
import sys
from isamap.emulator.build import compile_c, run_executable
from isamap.emulator.c_text import PRELUDE

MAIN = r'''
int main(int argc, char **argv) {
  FILE *file = argc > 1 ? fopen(argv[1], "w") : NULL;
  if (file) { fprintf(file, "%d\n", (int)getpid()); fclose(file); }
  for (;;) sleep(1);
}
'''
run_executable(compile_c(PRELUDE + MAIN), (sys.argv[1],), 60)
"""


needs_linux_and_compiler = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not any(map(shutil.which, ("cc", "gcc", "clang"))),
    reason="needs Linux and a C compiler",
)


@needs_linux_and_compiler
def test_an_executable_ends_with_whoever_waits_for_it(tmp_path: Path) -> None:
    note = tmp_path / "process"
    waiting = subprocess.Popen([sys.executable, "-c", ENDLESS, str(note)])
    process = int(awaited(lambda: note.exists() and note.read_text().strip()))
    try:
        assert is_there(process)
        waiting.kill()
        waiting.wait()
        assert awaited(lambda: not is_there(process)), "it ends too"
    finally:
        if is_there(process):
            os.kill(process, signal.SIGKILL)


KILLED = r"""
import os, sys
from importlib import import_module
import isamap

import_module("isamap.emulator.optimisation").MAX_INTERPRETED_STEPS = -1
run = import_module("isamap.emulator.run")
given = run.run_executable

def killed(executable, arguments, *others):
    print(os.path.realpath(arguments[0]), flush=True)
    given(executable, arguments, *others)
    os.kill(os.getpid(), 9)

run.run_executable = killed
isamap.map("gemm", "vecdot", sizes={"m": 4, "n": 4, "k": 4})
"""


@needs_linux_and_compiler
@pytest.mark.parametrize("has_memory", [True, False])
def test_the_memory_of_a_program_goes_with_the_process(has_memory: bool, tmp_path: Path) -> None:
    script = KILLED if has_memory else "import os; del os.memfd_create" + KILLED
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    image = Path(done.stdout.split()[0])
    assert image.exists() != has_memory and image.is_relative_to(tmp_path) != has_memory


@needs_linux_and_compiler
def test_a_system_without_unnamed_files_runs_programs_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(name: str) -> int:
        raise OSError(f"no {name}")

    monkeypatch.setattr(os, "memfd_create", refuse)
    found = isamap.map("gemm", "gemmini", sizes={"m": 5, "n": 3, "k": 4}, verify="off")
    assert isinstance(found, isamap.Result)
    program, hw = found.schedule.program, found.hardware
    arrays = random_arrays(found.kernel, 1)
    placed = {p.buffer: arrays[p.buffer].reshape(p.layout.shape) for p in program.inputs}
    both = [run(program, hw, placed, compiled=way).outputs["C"] for way in (True, False)]
    np.testing.assert_array_equal(*both)
