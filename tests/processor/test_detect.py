"""`isamap detect`: what this processor can run, and why it cannot run the rest."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import isamap
from isamap.cli.main import main
from isamap.processor import detect
from isamap.resources import find_hardware

VEC4 = Path(__file__).parents[1] / "codegen" / "vec4.yaml"


@pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)
def test_instructions_of_a_native_machine_are_measured() -> None:
    found = detect(isamap.load_hardware(VEC4))
    assert found is not None and found.reason == ""
    assert [peak.instruction for peak in found.peaks] == ["multiply_add"]
    assert found.peaks[0].products == "f32"
    assert found.peaks[0].described_per_s == 4e9
    assert found.peaks[0].measured_per_s > 0


@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("compiler:\n", "compiler:\n  run: [qemu-x]\n", "its programs run under qemu-x"),
        ("compiler:\n", "compiler:\n  features: [no-such]\n", "this processor lacks no-such"),
        ("compiler:\n", "compiler:\n  command: no-such\n  packages: [p]\n", "apt-get install p"),
    ],
)
def test_the_reason_why_a_machine_is_not_this_one_is_told(
    old: str, new: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "vec4.yaml").write_text(VEC4.read_text().replace(old, new))
    found = detect(isamap.load_hardware(tmp_path / "vec4.yaml"))
    assert found is not None and found.peaks == ()
    assert reason in found.reason


def test_machines_without_c_text_are_no_candidates() -> None:
    assert detect(isamap.load_hardware(find_hardware("vta"))) is None


def test_the_command_names_each_machine_once(tmp_path: Path) -> None:
    text = VEC4.read_text().replace("compiler:\n", "compiler:\n  run: [qemu-x]\n")
    (tmp_path / "vec4.yaml").write_text(text)
    answer = CliRunner().invoke(main, ["detect", str(tmp_path / "vec4.yaml"), "vta"])
    assert answer.exit_code == 0
    assert answer.output == "vec4: its programs run under qemu-x\n"


OLD = """#!/bin/sh
for word; do
  if [ "$word" = -mnew ]; then printf "cc: error: no option '-mnew'\\nusage: ..\\n" >&2; exit 1; fi
done
exec gcc "$@"
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc: apt-get install gcc")
def test_flags_that_the_compiler_does_not_know_end_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(OLD)
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    text, new = VEC4.read_text(), tmp_path / "new.yaml"
    new.write_text(text.replace("compiler:\n", "compiler:\n  flags: [-mnew]\n"))
    answer = CliRunner().invoke(main, ["detect", str(new), str(VEC4)])
    assert answer.exit_code == 0
    first, second, *_ = answer.output.splitlines()
    assert first == f"vec4: {compiler} failed: cc: error: no option '-mnew'"
    assert second == "vec4: runs here"


def test_a_compiler_that_compiles_nothing_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    for compiler, reason in (
        ("false", "/false failed: status 1, without a word"),
        ("true", "/true wrote nothing (CC names another compiler: CC=gcc)"),
    ):
        monkeypatch.setenv("CC", compiler)
        found = detect(isamap.load_hardware(VEC4))
        assert found is not None and found.peaks == ()
        assert found.reason.endswith(reason)
