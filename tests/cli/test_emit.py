"""`isamap map --emit bin` and `isamap disasm`.

In: commands. Out: files and listings. Not its job: what the binaries compute (tests/codegen).
"""

import json

import pytest
from click.testing import CliRunner

from isamap.cli import main, show_map


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_binary_is_written_and_read_back(tmp_path):
    folder = tmp_path / "out"
    done = run("map", "gemm", "--hw", "vta", "--size", "m=5", "--emit", "bin", "-o", folder)
    assert done.exit_code == 0, done.output
    manifest = json.loads((folder / "manifest.json").read_text())
    assert [place["buffer"] for place in manifest["inputs"]] == ["A", "B", "C"]
    size = sum(part["run"]["bytes"] for part in manifest["program"]["parts"])
    assert size == (folder / "program.bin").stat().st_size
    assert manifest["image"]["bytes"] == (folder / "data.bin").stat().st_size
    read = run("disasm", folder, "--hw", "vta")
    assert read.output == (folder / "listing.txt").read_text()
    (folder / "program.bin").write_bytes((folder / "program.bin").read_bytes()[:-4])
    cut = run("disasm", folder, "--hw", "vta")
    assert cut.exit_code == 2
    assert f"program.bin has {size - 4} bytes, and manifest.json says {size}" in cut.output


def test_the_image_may_lie_anywhere_that_is_aligned(tmp_path):
    arguments = ("map", "gemm", "--hw", "vta", "--size", "m=5", "--emit", "bin", "-o", tmp_path)
    assert run(*arguments, "--base", 256 * 1000).exit_code == 0
    assert "S=4096" in run("disasm", tmp_path, "--hw", "vta").output
    done = run(*arguments, "--base", 100)
    assert done.exit_code == 2
    assert "base address 100 is no multiple of 256 bytes" in done.output


def test_what_a_binary_needs_is_said(tmp_path):
    done = run("map", "gemm", "--hw", "vta", "--emit", "bin")
    assert done.exit_code == 2 and "add '-o DIR'" in done.output
    done = run("map", "gemm", "--hw", "outer", "--emit", "bin", "-o", tmp_path)
    assert done.exit_code == 2
    assert "outer does not say how programs are written as bits" in done.output


def test_c_is_records_or_intrinsics(tmp_path):
    arguments = ("map", "gemm", "--size", "m=5", "--emit", "c", "-o", tmp_path, "--hw")
    assert run(*arguments, "gemmini").exit_code == 0
    assert "GEMMINI(6, " in (tmp_path / "gemm.c").read_text()
    assert run(*arguments, "arm_neon").exit_code == 0
    assert "vmmlaq_s32" in (tmp_path / "gemm.c").read_text()
    done = run("map", "pooling", "--hw", "gemmini", *arguments[4:8])
    assert done.exit_code == 2 and "between two runs of gemmini" in done.output


@pytest.mark.parametrize(
    ("form", "machine", "message"),
    [
        ("bin", "outer", "outer does not say how programs are written as bits"),
        ("c", "mesh", "no instruction of mesh has C text"),
        ("c", "vta", "vta does not say how records are written in C"),
        ("asm", "gemmini", "no instruction of gemmini has assembly text"),
    ],
)
def test_a_form_that_the_machine_lacks_is_refused_before_the_search(
    tmp_path, monkeypatch, form, machine, message
):
    monkeypatch.setattr(show_map, "map", lambda *a, **k: pytest.fail("it searches"))
    done = run("map", "gemm", "--hw", machine, "--emit", form, "-o", tmp_path / "out")
    assert done.exit_code == 2 and message in done.output
    assert not (tmp_path / "out").exists()


def test_a_front_is_not_written_as_one_schedule(tmp_path):
    done = run("map", "gemm", "--hw", "gemmini", "--pareto", "cycles,energy", "-o", tmp_path / "o")
    assert done.exit_code == 2 and "-o is for one schedule, --pareto shows several" in done.output


def test_bytes_that_are_no_program_are_refused(tmp_path):
    file = tmp_path / "noise.bin"
    file.write_bytes(bytes(range(100, 132)))
    done = run("disasm", file, "--hw", "vta")
    assert done.exit_code == 2
    assert "byte 0: 64 65 66 67" in done.output and "is no instruction of vta" in done.output
    assert run("disasm", tmp_path / "absent", "--hw", "vta").exit_code == 2
    for text in ("{}", "[]", "[" * 100_000):
        (tmp_path / "manifest.json").write_text(text)
        assert "is no manifest of a binary" in run("disasm", tmp_path, "--hw", "vta").output
