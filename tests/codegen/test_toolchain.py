"""The compiler that $CC names, and what is said when it does not do its work."""

import shutil
from pathlib import Path

import pytest

import isamap
from isamap.codegen import Toolchain, find_toolchain
from isamap.emulator.build import compile_c
from isamap.errors import IsamapError
from isamap.find_compiler import find_compiler

HW = isamap.load_hardware(Path(__file__).parent / "vec4.yaml")
PROGRAM = "int main(void) { return ANSWER; }\n"
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
