"""Executables of the emulator as processes."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not any(map(shutil.which, ("cc", "gcc", "clang"))),
    reason="needs Linux and a C compiler",
)
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
