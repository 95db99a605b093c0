"""The compiler that $CC names, and what is said when it does not do its work."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import isamap
from isamap.c_compiler import find_compiler
from isamap.codegen import Toolchain, find_toolchain, load_functions
from isamap.codegen.c.read_ahead import ENOUGH
from isamap.emulator.build import compile_c, run_executable
from isamap.errors import IsamapError
from isamap.measured import Measured
from isamap.measured.timed_process import TimedProcess
from isamap.native import tune

HW = isamap.load_hardware(Path(__file__).parent / "vec4.yaml")
KERNEL = f"{Path(__file__).parent / 'c_kernels.py'}:sgemm"
PROGRAM = "int main(void) { return ANSWER; }\n"
SAYS_VERSION = 'case "$*" in *--version*) exec gcc --version;; esac'
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc: apt-get install gcc")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A program that only compiles with a flag of $CC."""
    file = tmp_path / "main.c"
    file.write_text(PROGRAM)
    return file


def test_the_compiler_may_have_words_behind_its_name(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "env gcc -DANSWER=0")
    env, plain = str(shutil.which("env")), Toolchain("gcc", (), ())
    assert find_compiler() == (env, "gcc", "-DANSWER=0")
    assert find_compiler("gcc") == (shutil.which("gcc"),)  # a machine's own
    toolchain = find_toolchain(HW)
    assert toolchain.version() == plain.version()
    assert "-DANSWER=0" in toolchain.all_flags  # which times depend on
    toolchain.compile_program((source,), source.with_name("a"))
    toolchain.execute(source.with_name("a"), (), 10)
    compile_c(PROGRAM)


def test_a_compiler_may_lie_in_a_folder_with_spaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "a folder" / "cc"
    compiler.parent.mkdir()
    compiler.symlink_to(str(shutil.which("gcc")))
    monkeypatch.setenv("CC", str(compiler))
    assert find_compiler() == (str(compiler),)


def test_a_quote_that_does_not_end_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "gcc '-g")
    with pytest.raises(IsamapError, match="CC=gcc '-g cannot be split .* No closing") as caught:
        find_toolchain(HW)
    assert caught.value.hint == "for example CC='gcc -g'"


def test_a_compiler_that_fails_in_silence_has_a_status(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(IsamapError, match="/false failed: status 1, without a word"):
        find_toolchain(HW).compile_program((source,), source.with_name("a"))
    with pytest.raises(IsamapError, match="/false failed: status 1, without a word"):
        compile_c(PROGRAM)


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that says its version at once and never ends compiling."""
    monkeypatch.setenv("CC", str(script(tmp_path, f"{SAYS_VERSION}\nexec sleep 100")))
    monkeypatch.setattr("isamap.codegen.c.toolchain.COMPILE_SECONDS", 0.3)
    monkeypatch.setattr("isamap.emulator.build.COMPILE_SECONDS", 0.3)
    monkeypatch.setattr("isamap.codegen.c.read_ahead.LIMIT_S", 0.3)
    return tmp_path / "compiler"


def test_a_compiler_that_takes_too_long_is_named(slow: Path, source: Path) -> None:
    toolchain, target = find_toolchain(HW), source.with_name("a")
    for compile_it in (lambda: toolchain.compile_program((source,), target),
                       lambda: compile_c(PROGRAM + "// slow")):  # fmt: skip
        with pytest.raises(IsamapError, match=f"{slow} took longer than 0.3 s") as caught:
            compile_it()
        assert caught.value.hint == "CC names another compiler: CC=gcc"
    with_headers = replace(toolchain, headers=("stdio.h",))
    for _ in range(ENOUGH):
        with pytest.raises(IsamapError, match="took longer"):
            with_headers.compile_program((source,), target)


def test_a_candidate_that_takes_too_long_to_compile_counts_as_failed(
    slow: Path, tmp_path: Path
) -> None:
    model = Measured(2, tmp_path / "m", seconds=0)
    shapes = [{"m": 2, "n": 3, "k": 2}]
    (done,) = tune(KERNEL, HW, shapes, model=model, may_reassociate=True)
    assert "candidates for sgemm on vec4 can be measured" in done.problem
    assert f"the first: {slow} took longer than 0.3 s" in done.problem


def test_what_is_no_program_is_no_compiler(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = script(tmp_path, "")
    compiler.write_bytes(b"\x7fELFjunk")
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(IsamapError, match=f"cannot run {compiler}: Exec format error") as caught:
        find_toolchain(HW).compile_program((source,), source.with_name("a"))
    assert caught.value.hint == "CC names another compiler: CC=gcc"
    with pytest.raises(IsamapError, match=f"cannot run {compiler}: Exec format error"):
        compile_c(PROGRAM)


WRITES_RUBBISH = """
for word; do
  if [ "$before" = -o ]; then echo rubbish > "$word"; fi
  before=$word
done
"""
EXECUTE = "the folder for temporary files must allow execution: TMPDIR names another one"


@pytest.mark.parametrize(
    "compiler, problem, hint",
    [
        ("exit 0", "/compiler wrote nothing", "CC names another compiler: CC=gcc"),
        (WRITES_RUBBISH, "cannot load what was compiled: ", EXECUTE),
    ],
)
def test_what_cannot_be_loaded_is_told(
    compiler: str, problem: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", str(script(tmp_path, compiler)))
    with pytest.raises(IsamapError, match=problem) as caught:
        isamap.build(KERNEL, HW, sizes={"m": 2, "n": 3, "k": 2}, may_reassociate=True)
    assert caught.value.hint == hint


def test_what_cannot_be_run_is_told(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a folder that allows no execution: what is written is no executable file."""
    monkeypatch.setenv("CC", str(script(tmp_path, WRITES_RUBBISH)))
    toolchain, target = find_toolchain(HW), source.with_name("a")
    toolchain.compile_program((source,), target)
    for run_it in (lambda: toolchain.execute(target, (), 10),
                   lambda: TimedProcess([str(target)], frozenset(), 10.0)):  # fmt: skip
        with pytest.raises(IsamapError, match="run what was compiled: Permission den") as caught:
            run_it()
        assert caught.value.hint == EXECUTE
    with pytest.raises(IsamapError, match=f"cannot run {target}: Permission denied") as caught:
        run_executable(target, (), 10)
    assert caught.value.hint == "name a folder that allows execution by ISAMAP_CACHE_DIR"


def test_functions_that_a_library_lacks_are_told(source: Path) -> None:
    source.write_text("int there;\n")
    find_toolchain(HW).compile_shared(source, source.with_name("a.so"))
    with pytest.raises(IsamapError, match="cannot load what was compiled: .*undefined .* absent"):
        load_functions(source.with_name("a.so"), ("absent",))


def script(folder: Path, text: str) -> Path:
    """A program that stands in for a compiler."""
    file = folder / "compiler"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file
